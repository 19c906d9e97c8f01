package simulation

import (
	"strings"
	"testing"
)

// 5,000 histories: no promise is broken.
func TestHistories(t *testing.T) {
	for seed := range uint64(5000) {
		w := New(seed, None)
		if broken := w.Run(200); broken != "" {
			t.Fatalf("seed %d: %s\n%s", seed, broken, strings.Join(w.Trace()[max(0, len(w.Trace())-40):], "\n"))
		}
	}
}

// A simulator that finds nothing proves nothing: each planted defect is found.
func TestPlantedBugsAreFound(t *testing.T) {
	for _, bug := range []Bug{
		LaunchUnchecked, LaunchUnknown, LaunchTwice, RefusedUnknown, StopUnfenced, StopEarly, StopNumeral, StopForgets,
		AbandonedEarly, ReleasedEarly, HoldForgotten,
	} {
		t.Run(string(bug), func(t *testing.T) {
			for seed := range uint64(5000) {
				w := New(seed, bug)
				if broken := w.Run(200); broken != "" {
					t.Logf("seed %d: %s", seed, broken)
					return
				}
			}
			t.Error("was not found")
		})
	}
}
