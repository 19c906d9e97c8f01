package bucket_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"holdfast/internal/bucket"
)

// after is the history after n more writes, and all ids that it had.
func after(h bucket.History, n int) (bucket.History, []bucket.WriteID) {
	var ids []bucket.WriteID
	for range n {
		ids = append(ids, bucket.NewWriteID())
		h = h.Next(ids[len(ids)-1])
	}
	return h, ids
}

// Red when: Next trims one too many or too few, or leaves the revision.
func TestAHistoryKeepsTheLast64Writes(t *testing.T) {
	for _, n := range []int{1, 2, 63, 64, 65, 200} {
		h, ids := after(bucket.History{}, n)
		if err := h.Check(); err != nil {
			t.Errorf("after %d writes: %v", n, err)
		}
		if h.Revision() != uint64(n) || h.WriteID != ids[n-1] {
			t.Errorf("after %d writes it is revision %d by %s", n, h.Revision(), h.WriteID)
		}
		var got []bucket.WriteID
		for _, w := range h.Writes {
			got = append(got, w.WriteID)
		}
		if diff := cmp.Diff(ids[max(0, n-bucket.MaxWrites):], got); diff != "" {
			t.Errorf("after %d writes:\n%s", n, diff)
		}
	}
}

// Two updates of one object can begin with the same history.
// Red when: Next appends in place.
func TestNextLeavesWhatItFollows(t *testing.T) {
	base, _ := after(bucket.History{}, 3)
	base.Writes = slices.Grow(base.Writes, 8)
	one := base.Next(bucket.NewWriteID())
	id := one.WriteID
	base.Next(bucket.NewWriteID())
	if one.Writes[3].WriteID != id {
		t.Error("the one changed with the other")
	}
}

// Each case is what Check would let pass if it did not look.
func TestAHistoryThatNoWritesMakeIsRefused(t *testing.T) {
	for name, spoil := range map[string]func(h *bucket.History){
		"none":              func(h *bucket.History) { *h = bucket.History{} },
		"another's id":      func(h *bucket.History) { h.WriteID = bucket.NewWriteID() },
		"a gap":             func(h *bucket.History) { h.Writes[0].Revision-- },
		"one left out":      func(h *bucket.History) { h.Writes = h.Writes[1:] },
		"one too many":      func(h *bucket.History) { h.Writes = append([]bucket.Write{{bucket.NewWriteID(), 6}}, h.Writes...) },
		"twice":             func(h *bucket.History) { h.Writes[3].WriteID = h.Writes[5].WriteID },
		"no id":             func(h *bucket.History) { h.Writes[3].WriteID = "" },
		"a short id":        func(h *bucket.History) { h.Writes[3].WriteID = h.Writes[3].WriteID[2:] },
		"an id in capitals": func(h *bucket.History) { h.Writes[3].WriteID = bucket.WriteID(strings.Repeat("AB", 16)) },
		"all revisions 0": func(h *bucket.History) {
			h.Writes = []bucket.Write{{h.WriteID, 0}}
		},
	} {
		h, _ := after(bucket.History{}, 70)
		spoil(&h)
		if h.Check() == nil {
			t.Errorf("%s: it was taken", name)
		}
	}
}

// The law of settling, against what truly happened: a series of writes, of which
// one may be ours, and a reader who sees the object after some of them.
//
// Red when: Settle says Passed where the history begins too late, or where it is
// another one; says Landed by the object's own id alone; or calls what is still
// the base passed.
func TestSettlingSaysNothingThatIsNotSo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base, _ := after(bucket.History{}, rapid.IntRange(0, 130).Draw(t, "before"))
		ours := bucket.NewWriteID()
		now, landed := base, rapid.Bool().Draw(t, "landed")
		if landed {
			now = now.Next(ours)
		}
		others := rapid.IntRange(0, 130).Draw(t, "others")
		now, _ = after(now, others)
		switch v := bucket.Settle(ours, base, now).(type) {
		case bucket.Landed:
			if !landed || v.Revision != base.Revision()+1 {
				t.Fatalf("landed as %d", v.Revision)
			}
		case bucket.Passed:
			if landed || others == 0 || others > bucket.MaxWrites {
				t.Fatal("passed")
			}
		case bucket.Pending:
			if landed || others > 0 {
				t.Fatal("pending")
			}
		case bucket.Beyond:
			if others < bucket.MaxWrites {
				t.Fatal("beyond")
			}
		}
	})
}

// An object that does not descend from what was read says nothing of the write.
func TestAnotherHistorySettlesNothing(t *testing.T) {
	common, _ := after(bucket.History{}, 10)
	base, _ := after(common, 5)
	for name, now := range map[string]bucket.History{
		"none":                    {},
		"older":                   common,
		"another branch, longer":  first(after(common, 8)),
		"another branch, as long": first(after(common, 5)),
		"damaged":                 {WriteID: base.WriteID, Writes: []bucket.Write{{base.WriteID, 99}}},
	} {
		if v, ok := bucket.Settle(bucket.NewWriteID(), base, now).(bucket.Beyond); !ok {
			t.Errorf("%s: %T", name, v)
		}
	}
}

func first[A, B any](a A, _ B) A { return a }
