package simulation

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const histories = 5000

// No promise is broken in 5,000 histories, and each effect of root and of a console is
// among them, as the list says: one that is missing there is crashed no more.
func TestHistories(t *testing.T) {
	did := map[string]int{}
	for seed := range uint64(histories) {
		w := New(seed, None)
		if broken := w.Run(300); broken != "" {
			t.Fatalf("seed %d: %s\n%s", seed, broken, strings.Join(w.Trace()[max(0, len(w.Trace())-40):], "\n"))
		}
		for name, times := range w.did {
			did[name] += times
		}
	}
	var list strings.Builder
	for _, name := range slices.Sorted(maps.Keys(did)) {
		fmt.Fprintln(&list, name)
		if did[name] < 5 {
			t.Errorf("%s was done %d times in %d histories", name, did[name], histories)
		}
	}
	want, err := os.ReadFile("testdata/effects.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), list.String()); diff != "" {
		t.Errorf("what was done (-want +got):\n%s", diff)
	}
}

// A simulator that finds nothing proves nothing: each planted defect is found.
func TestPlantedBugsAreFound(t *testing.T) {
	for _, bug := range []Bug{
		LaunchUnchecked, LaunchUnknown, LaunchTwice, RefusedUnknown, StopUnfenced, StopEarly, StopNumeral, StopForgets, SureEarly,
		AbandonedEarly, ReleasedEarly, HoldForgotten,
	} {
		t.Run(string(bug), func(t *testing.T) {
			for seed := range uint64(histories) {
				w := New(seed, bug)
				if broken := w.Run(300); broken != "" {
					t.Logf("seed %d: %s", seed, broken)
					return
				}
			}
			t.Error("was not found")
		})
	}
}
