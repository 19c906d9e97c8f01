package history

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"holdfast/internal/problem"
	"holdfast/internal/roadmap/event"
)

// TestTheSequenceOfTheOrder: what is asked first decides. Red when Order asks for
// heads before it asks for missing parents.
func TestTheSequenceOfTheOrder(t *testing.T) {
	l := newLog(t)
	first := l.open()
	left := l.after(event.Progress{Note: "left"}, first)
	right := l.after(event.Progress{Note: "right"}, first)
	lost := l.after(event.Progress{Note: "lost"}, right)
	beyond := l.after(event.Progress{Note: "beyond"}, lost)
	mend := l.after(event.Reconciled{Keep: left.ID()}, right, left)
	sorted := func(e ...event.Event) []event.ID { return slices.Sorted(slices.Values(idsOf(e...))) }

	for name, c := range map[string]struct {
		events []event.Event
		line   []event.Event
		aside  []event.Event
		why    Disorder
	}{
		"nothing":                          {},
		"one":                              {events: []event.Event{first}, line: []event.Event{first}},
		"a line, newest first":             {events: []event.Event{right, first}, line: []event.Event{first, right}},
		"a fork":                           {events: []event.Event{first, left, right}, why: Forked{sorted(left, right)}},
		"a first that is missing":          {events: []event.Event{left}, why: Incomplete{idsOf(first)}},
		"missing counts once":              {events: []event.Event{left, right}, why: Incomplete{idsOf(first)}},
		"missing is said before forked":    {events: []event.Event{first, left, right, beyond}, why: Incomplete{idsOf(lost)}},
		"the same, twice":                  {events: []event.Event{first, first, left, left}, line: []event.Event{first, left}},
		"mended":                           {events: []event.Event{mend, left, right, first}, line: []event.Event{first, left, mend}, aside: []event.Event{right}},
		"mended, and one line went on":     {events: []event.Event{first, left, right, mend, lost}, why: Forked{sorted(lost, mend)}},
		"a reconciliation without a line":  {events: []event.Event{first, left, mend}, why: Incomplete{idsOf(right)}},
		"nothing of what the others state": {events: []event.Event{first, lost, beyond}, why: Incomplete{idsOf(right)}},
	} {
		t.Run(name, func(t *testing.T) {
			switch o := Order(c.events).(type) {
			case Ordered:
				if c.why != nil || !cmp.Equal(o.Line(), c.line, sameEvents, cmpopts.EquateEmpty()) || !cmp.Equal(o.Aside(), c.aside, sameEvents, cmpopts.EquateEmpty()) {
					t.Errorf("line %v, aside %v", o.Line(), o.Aside())
				}
				if head, ok := o.Head(); ok != (len(c.line) > 0) || ok && head != c.line[len(c.line)-1].ID() {
					t.Errorf("head = %s, %v", head, ok)
				}
			case Unordered:
				if d := cmp.Diff(c.why, o.Why); d != "" || o.Node != node {
					t.Errorf("%s: why (-want +got):\n%s", o.Node, d)
				}
			}
		})
	}
}

// TestTwoFirstsAreAFork: two people opened one name; whichever is kept, the other
// is set aside whole.
func TestTwoFirstsAreAFork(t *testing.T) {
	l := newLog(t)
	mine := l.after(event.Opened{Card: event.Card{Title: "mine"}})
	theirs := l.after(event.Opened{Card: event.Card{Title: "theirs"}})
	more := l.after(event.CommentCreated{Comment: "c", Body: "b"}, theirs)
	if s := l.state(); s.Card.Title != "" || Key(s.Standing) != "forked" || s.Events != 3 {
		t.Errorf("forked: %+v", s)
	}
	l.after(event.Reconciled{Keep: mine.ID()}, mine, more)
	o := l.ordered()
	if !cmp.Equal(o.Aside(), []event.Event{theirs, more}, sameEvents) || Fold(o).Card.Title != "mine" {
		t.Errorf("aside %v, card %+v", o.Aside(), Fold(o).Card)
	}
}

// TestAnEventOfAnotherNodeIsMissing. Red when missing does not compare nodes.
func TestAnEventOfAnotherNodeIsMissing(t *testing.T) {
	l := newLog(t)
	l.open()
	other, err := event.Draft{Node: "store", Author: ada, At: noon, Parents: idsOf(l.events[0]), Body: event.Released{}}.Seal()
	if err != nil {
		t.Fatal(err)
	}
	l.events = append(l.events, other)
	if d := cmp.Diff(Disorder(Incomplete{idsOf(l.events[0])}), l.unordered().Why); d != "" {
		t.Error(d)
	}
}

// TestOrderIsTotalAndOnlyAboutParents: over any graph, an Ordered is a walk from
// a first event to the one head, with everything else aside after its parents.
// Red when the walk takes the first parent of a reconciliation, when aside is
// sorted by id alone, or when a head is called missing.
func TestOrderIsTotalAndOnlyAboutParents(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		events := drawEvents(rt, t)
		children, missing := map[event.ID]int{}, map[event.ID]bool{}
		there := map[event.ID]bool{}
		for _, e := range events {
			there[e.ID()] = true
		}
		for _, e := range events {
			for _, p := range e.Parents() {
				children[p]++
				missing[p] = missing[p] || !there[p]
			}
		}
		heads, gone := 0, 0
		for id := range there {
			if children[id] == 0 {
				heads++
			}
		}
		for _, m := range missing {
			if m {
				gone++
			}
		}
		switch o := Order(events).(type) {
		case Ordered:
			if gone > 0 || len(events) > 0 && heads != 1 {
				rt.Fatalf("ordered with %d missing and %d heads", gone, heads)
			}
			checkOrdered(rt, o, there)
		case Unordered:
			switch why := o.Why.(type) {
			case Incomplete:
				if len(why.Missing) != gone || gone == 0 || !slices.IsSorted(why.Missing) {
					rt.Fatalf("%d missing: %v", gone, why.Missing)
				}
			case Forked:
				if gone > 0 || len(why.Heads) != heads || heads < 2 || !slices.IsSorted(why.Heads) {
					rt.Fatalf("%d missing, %d heads: %v", gone, heads, why.Heads)
				}
			}
		}
	})
}

func checkOrdered(t *rapid.T, o Ordered, there map[event.ID]bool) {
	seen := map[event.ID]bool{}
	for i, e := range o.Line() {
		switch {
		case i == 0 && len(e.Parents()) > 0:
			t.Fatalf("the line begins with %s, which has parents", e.ID())
		case i > 0:
			want := e.Parents()[0]
			if r, ok := e.Body().(event.Reconciled); ok {
				want = r.Keep
			}
			if o.Line()[i-1].ID() != want {
				t.Fatalf("%s follows %s, not %s", e.ID(), o.Line()[i-1].ID(), want)
			}
		}
		seen[e.ID()] = true
	}
	aside := map[event.ID]bool{}
	for _, e := range o.Aside() {
		for _, p := range e.Parents() {
			if !seen[p] && !aside[p] {
				t.Fatalf("%s comes before its parent %s", e.ID(), p)
			}
		}
		if seen[e.ID()] {
			t.Fatalf("%s is on the line and aside", e.ID())
		}
		aside[e.ID()] = true
	}
	if len(seen)+len(aside) != len(there) {
		t.Fatalf("%d on the line, %d aside, of %d", len(seen), len(aside), len(there))
	}
}

// TestTheOrderOfTheInputSaysNothing: also of what is made of the order. Red when
// topological takes free events as they come, or Unordered keeps the input's order
// and the title is the last one opened.
func TestTheOrderOfTheInputSaysNothing(t *testing.T) {
	all := cmp.Options{sameEvents, cmp.AllowUnexported(Ordered{}, Unordered{})}
	rapid.Check(t, func(rt *rapid.T) {
		events := drawEvents(rt, t)
		again := shuffled(rt, events)
		a, b := Order(events), Order(again)
		if d := cmp.Diff(a, b, all); d != "" {
			rt.Fatalf("order:\n%s", d)
		}
		if d := cmp.Diff(StateOf(node, events), StateOf(node, again)); d != "" {
			rt.Fatalf("state:\n%s", d)
		}
		if o, ok := a.(Ordered); ok {
			if d := cmp.Diff(Details(o), Details(b.(Ordered)), all); d != "" {
				rt.Fatalf("details:\n%s", d)
			}
		}
	})
}

// case R13. The same statements by clocks that differ by
// days, and run backwards, stand in the same order and amount to the same. Red
// when heads, or the line, are sorted by time.
func TestClocksSayNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawShape(rt)
		days := rapid.SliceOfN(rapid.IntRange(-400, 400), len(s), len(s)).Draw(rt, "days")
		mad := func(i int) time.Time { return noon.AddDate(0, 0, days[i]).Add(time.Duration(i) * time.Millisecond) }
		sane, skewed := s.told(t, minutes), s.told(t, mad)
		if d := cmp.Diff(amounts(sane), amounts(skewed)); d != "" {
			rt.Fatalf("by other clocks:\n%s", d)
		}
	})
}

// amounts is what a history amounts to, with places for ids and no times.
func amounts(events []event.Event) []any {
	place := map[event.ID]int{}
	for i, e := range events {
		place[e.ID()] = i
	}
	places := func(ids []event.ID) []int {
		var p []int
		for _, id := range ids {
			p = append(p, place[id])
		}
		slices.Sort(p)
		return p
	}
	s := StateOf(node, events)
	out := []any{Key(s.Standing), s.Events, s.Card, string(s.Holder), string(s.ReturnTo), s.Links, len(s.Claims)}
	switch o := Order(events).(type) {
	case Ordered:
		for _, e := range o.Line() {
			out = append(out, place[e.ID()])
		}
		out = append(out, places(idsOf(o.Aside()...)), len(Details(o).Comments))
	case Unordered:
		switch why := o.Why.(type) {
		case Forked:
			out = append(out, places(why.Heads))
		case Incomplete:
			out = append(out, len(why.Missing))
		}
	}
	return out
}

// TestADisorderIsSaidInWords: the phrase is promised, and what mends it is said.
func TestADisorderIsSaidInWords(t *testing.T) {
	l := newLog(t)
	first := l.open()
	left, right := l.after(event.Progress{Note: "l"}, first), l.after(event.Progress{Note: "r"}, first)
	forked := l.unordered()
	l.events = l.events[1:]
	for _, c := range []struct {
		u     Unordered
		names []event.Event
		words string
	}{
		{forked, []event.Event{left, right}, "2 heads"},
		{l.unordered(), []event.Event{first}, "1 event that cannot be found"},
	} {
		e := c.u.Refusal()
		if e.Kind != problem.Refused || e.Step != "history-unordered" || !strings.Contains(e.Reason, "a history that cannot be ordered: "+c.u.Text()) {
			t.Errorf("%+v", e)
		}
		for _, n := range c.names {
			if !strings.Contains(c.u.Text(), n.ID().Short()) {
				t.Errorf("%q does not name %s", c.u.Text(), n.ID().Short())
			}
		}
		if !strings.Contains(c.u.Text(), c.words) || !strings.Contains(e.Reason, string(node)) {
			t.Errorf("%q", e.Reason)
		}
	}
	many := Unordered{Node: node, Why: Forked{make([]event.ID, 11)}}
	if !strings.Contains(many.Text(), "and 3 more") {
		t.Errorf("%q", many.Text())
	}
}
