package access

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Red when: Redeem looks and removes under two locks.
func TestALinkIsGoodOnceForOneOfMany(t *testing.T) {
	for range 50 {
		var links Links
		token := links.Mint(noon, time.Minute)
		var won atomic.Int32
		var wg sync.WaitGroup
		for range 32 {
			wg.Go(func() {
				if links.Redeem(token, noon) == nil {
					won.Add(1)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 {
			t.Fatalf("%d won", won.Load())
		}
	}
}

// Red when: Redeem does not look at the time, or says one thing for both.
func TestALinkSaysWhetherItWasUsedOrTooLate(t *testing.T) {
	var links Links
	used, late := links.Mint(noon, time.Minute), links.Mint(noon, time.Minute)
	if err := links.Redeem(used, noon); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ token, words string }{
		{used, "used before"}, {"", "not known"}, {used + "A", "not known"}, {late, "expired"}, {late, "used before"},
	} {
		err := links.Redeem(c.token, noon.Add(time.Minute))
		if err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%v, want %q", err, c.words)
		}
	}
}

// Red when: Mint does not forget, or forgets the newest.
func TestLinksAreBoundedAndTheNewestStay(t *testing.T) {
	var links Links
	tokens := make([]string, 3*maxLinks)
	for i := range tokens {
		tokens[i] = links.Mint(noon, time.Minute)
	}
	if len(links.waiting) != maxLinks {
		t.Errorf("%d wait", len(links.waiting))
	}
	for i, token := range tokens {
		if good := links.Redeem(token, noon) == nil; good != (i >= 2*maxLinks) {
			t.Errorf("link %d: %v", i, good)
		}
	}
}

func TestLinksAreLongAndDiffer(t *testing.T) {
	var links Links
	a, b := links.Mint(noon, time.Minute), links.Mint(noon, time.Minute)
	if raw, ok := decode(a); !ok || len(raw) != 32 || a == b {
		t.Errorf("%q %q", a, b)
	}
}
