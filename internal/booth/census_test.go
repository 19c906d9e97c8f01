package booth

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/booth/lifetime"
	"holdfast/internal/booth/marks"
)

// Red when a reason is left out of held, a state is counted in another lane, or a
// kept booth is counted as open without an open question.
func TestACensusCountsEachLaneAndEveryReason(t *testing.T) {
	open := marks.Parse([]byte(`{"schema":"holdfast.marks/v1","rev":1,"marks":[{"id":"p1","shape":"pick","title":"?","parts":[{"id":"a","kind":"text"}]}]}`))
	got := NewCensus([]Look{
		{State: lifetime.Kept{}},
		{State: lifetime.Kept{}, Marks: open},
		{State: lifetime.Held{Reason: lifetime.Open}, Marks: open},
		{State: lifetime.Held{Reason: lifetime.BusyHold}},
		{State: lifetime.Held{Reason: lifetime.BusyHold}},
		{State: lifetime.Counting{}},
	})
	want := Census{
		Kept: 2, Counting: 1, KeptAndOpen: 1,
		Held: map[string]int{"open": 1, "marks": 0, "tree": 0, "sentinel": 0, "mount": 0, "arrival": 0, "review": 0, "busy": 2},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if next := (lifetime.BusyHold + 1).String(); next != "invalid" {
		t.Errorf("the reason %s is not counted", next)
	}
}
