package history

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"holdfast/internal/roadmap/event"
)

// at is a node at a standing that waits for others.
func at(n event.Node, s Standing, blockers ...event.Node) State {
	st := State{Node: n, Events: 1, Standing: s}
	for _, b := range slices.Sorted(slices.Values(blockers)) {
		st.Links = append(st.Links, Link{event.BlockedBy, b})
	}
	return st
}

// TestReadyIsOpenWithEveryBlockerAccepted. Red when any arm of is answers
// BlockerAccepted, or Ready takes a standing but open.
func TestReadyIsOpenWithEveryBlockerAccepted(t *testing.T) {
	for _, c := range []struct {
		blocker Standing
		is      BlockerIs
	}{
		{Accepted{}, BlockerAccepted},
		{Open{}, BlockerOpen},
		{Claimed{}, BlockerOpen},
		{InProgress{}, BlockerOpen},
		{Blocked{}, BlockerOpen},
		{HandedBack{}, BlockerOpen},
		{ReadyForReview{}, BlockerOpen},
		{Dropped{}, BlockerDropped},
		{Forked{}, BlockerUnordered},
		{Incomplete{}, BlockerUnordered},
		{nil, BlockerMissing},
	} {
		g := NewGraph([]State{at("n", Open{}, "done", "b"), at("done", Accepted{}), at("b", c.blocker)})
		want := []Blocker{{"b", c.is}, {"done", BlockerAccepted}}
		if d := cmp.Diff(want, g.Blockers("n")); d != "" {
			t.Errorf("%T (-want +got):\n%s", c.blocker, d)
		}
		if ready := c.is == BlockerAccepted; g.Ready("n") != ready || g.Blocked("n") == ready {
			t.Errorf("%T: ready %v, blocked %v", c.blocker, g.Ready("n"), g.Blocked("n"))
		}
		_, open := c.blocker.(Open)
		if g.Ready("b") != open {
			t.Errorf("%T alone: ready %v", c.blocker, g.Ready("b"))
		}
	}
	g := NewGraph([]State{at("n", Open{}, "gone")})
	if d := cmp.Diff([]Blocker{{"gone", BlockerMissing}}, g.Blockers("n")); d != "" || g.Ready("n") || g.Ready("gone") || g.Blocked("gone") {
		t.Errorf("a blocker that is not there: %s", d)
	}
}

// TestOtherLinksBlockNothing.
func TestOtherLinksBlockNothing(t *testing.T) {
	part := func(n event.Node, p event.Priority) State {
		return State{Node: n, Events: 1, Standing: Open{}, Card: event.Card{Priority: p}, Links: []Link{{event.ChildOf, "whole"}, {event.Related, "gone"}}}
	}
	g := NewGraph([]State{part("c", ""), part("a", "p3"), part("b", "p2"), part("d", "p0"), at("whole", Open{})})
	if d := cmp.Diff([]event.Node{"d", "b", "c", "a"}, g.Children("whole")); d != "" {
		t.Errorf("children (-want +got):\n%s", d)
	}
	if !g.Ready("c") || !g.Ready("whole") || g.Children("a") != nil {
		t.Error("a link that is none of blocked_by blocks")
	}
}

// TestRingsAreNamed: the shortest way round, beginning with who asks. Red when
// way does not turn what it walked, or a node that blocks itself is no ring.
func TestRingsAreNamed(t *testing.T) {
	g := NewGraph([]State{
		at("a", Open{}, "b"), at("b", Open{}, "c", "x"), at("c", Open{}, "a", "d"), at("d", Open{}, "c"),
		at("x", Open{}, "self"), at("self", Open{}, "self"), at("leads-in", Open{}, "a"),
	})
	for n, want := range map[event.Node][]event.Node{
		"a": {"a", "b", "c"}, "b": {"b", "c", "a"}, "c": {"c", "d"}, "d": {"d", "c"}, "self": {"self"},
		"x": nil, "leads-in": nil, "gone": nil,
	} {
		if d := cmp.Diff(want, g.Cycle(n)); d != "" {
			t.Errorf("%s (-want +got):\n%s", n, d)
		}
		if g.Ready(n) {
			t.Errorf("%s is ready", n)
		}
	}
}

// TestTheGraphIsDeterministicAndTrue: over any links, a ring is one, there is one
// where a walk comes back, and the order of the states says nothing.
func TestTheGraphIsDeterministicAndTrue(t *testing.T) {
	names := []event.Node{"a", "b", "c", "d", "e", "f"}
	rapid.Check(t, func(t *rapid.T) {
		var states []State
		links := map[event.Node][]event.Node{}
		for _, n := range names {
			links[n] = rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 3, rapid.ID).Draw(t, "blockers")
			standing := rapid.SampledFrom([]Standing{Open{}, Accepted{}, Forked{}}).Draw(t, "standing")
			states = append(states, at(n, standing, links[n]...))
		}
		g, again := NewGraph(states), NewGraph(rapid.Permutation(states).Draw(t, "order"))
		for _, n := range names {
			ring := g.Cycle(n)
			if d := cmp.Diff(ring, again.Cycle(n)); d != "" || g.Ready(n) != again.Ready(n) {
				t.Fatalf("%s depends on the order:\n%s", n, d)
			}
			if (ring != nil) != reaches(links, n, n, map[event.Node]bool{}) {
				t.Fatalf("%s: ring %v", n, ring)
			}
			for i, m := range ring {
				if !slices.Contains(links[m], ring[(i+1)%len(ring)]) {
					t.Fatalf("%v is no ring at %s", ring, m)
				}
			}
			if len(ring) > 0 && ring[0] != n {
				t.Fatalf("%v does not begin with %s", ring, n)
			}
		}
	})
}

func reaches(links map[event.Node][]event.Node, from, to event.Node, seen map[event.Node]bool) bool {
	for _, next := range links[from] {
		if next == to {
			return true
		}
		if !seen[next] {
			seen[next] = true
			if reaches(links, next, to, seen) {
				return true
			}
		}
	}
	return false
}

// TestListsAreOrderedByPriorityThenName: none counts as p2, and no clock is asked.
func TestListsAreOrderedByPriorityThenName(t *testing.T) {
	states := []State{
		{Node: "e", Card: event.Card{Priority: "p4"}},
		{Node: "d"},
		{Node: "c", Card: event.Card{Priority: "p2"}, Opened: Stamp{At: noon}},
		{Node: "b", Opened: Stamp{At: noon.AddDate(1, 0, 0)}},
		{Node: "z", Card: event.Card{Priority: "p0"}},
	}
	slices.SortFunc(states, Compare)
	var got []event.Node
	for _, s := range states {
		got = append(got, s.Node)
	}
	if d := cmp.Diff([]event.Node{"z", "b", "c", "d", "e"}, got); d != "" {
		t.Error(d)
	}
}
