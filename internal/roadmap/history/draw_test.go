package history

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"holdfast/internal/roadmap/event"
)

// shape is a history without clocks: what each event states and follows, by
// place, so that the same one can be told by several clocks.
type shape []step

type step struct {
	parents []int // places of earlier events
	keep    int   // for reconciled, which of the parents
	body    func(ids []event.ID) event.Body
	author  event.Principal
}

// drawShape draws any graph of events that could be in a log: forks, several
// firsts, reconciliations of what is no head, and statements that nobody would
// admit.
func drawShape(t *rapid.T) shape {
	var s shape
	for i := range rapid.IntRange(0, 14).Draw(t, "events") {
		s = append(s, drawStep(t, i))
	}
	return s
}

func drawStep(t *rapid.T, i int) step {
	st := step{author: rapid.SampledFrom([]event.Principal{ada, bo, cy}).Draw(t, "author")}
	what := rapid.IntRange(0, 11).Draw(t, "shape")
	switch {
	case i == 0 || what == 0:
		title := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "title")
		st.body = func([]event.ID) event.Body { return event.Opened{Card: event.Card{Title: title}} }
	case i > 1 && what <= 3:
		st.parents = rapid.SliceOfNDistinct(rapid.IntRange(max(0, i-4), i-1), 2, min(i, 3), rapid.ID).Draw(t, "heads")
		st.keep = rapid.SampledFrom(st.parents).Draw(t, "keep")
	case what <= 5:
		st.parents = []int{rapid.IntRange(0, i-1).Draw(t, "parent")}
		st.body = drawBody(t, i)
	default:
		st.parents = []int{i - 1}
		st.body = drawBody(t, i)
	}
	return st
}

// drawLine draws one line without forks.
func drawLine(t *rapid.T) shape {
	s := shape{{author: ada, body: func([]event.ID) event.Body { return event.Opened{Card: event.Card{Title: "a"}} }}}
	for i := range rapid.IntRange(0, 14).Draw(t, "events") {
		s = append(s, step{author: bo, parents: []int{i}, body: drawBody(t, i+1)})
	}
	return s
}

// drawBody draws a statement that is neither opened nor reconciled.
func drawBody(t *rapid.T, i int) func(ids []event.ID) event.Body {
	who := rapid.SampledFrom([]event.Principal{ada, bo, cy}).Draw(t, "who")
	claim := rapid.IntRange(0, i-1).Draw(t, "claim")
	attempt := rapid.SampledFrom([]event.Attempt{firstTry, secondTry}).Draw(t, "attempt")
	comment := rapid.SampledFrom([]event.Comment{"c1", "c2", "c3"}).Draw(t, "comment")
	link := event.Linked{
		Relation: rapid.SampledFrom(event.Relations).Draw(t, "relation"),
		To:       rapid.SampledFrom([]event.Node{node, "store", "web"}).Draw(t, "to"),
	}
	outcome := rapid.SampledFrom([]event.Outcome{
		event.Published{Booth: "b"},
		event.Waiting{Picks: []string{"b/q"}},
		event.VerificationFailed{Cause: "red"},
		event.GivenBack{Reason: "no"},
	}).Draw(t, "outcome")
	plain := rapid.SampledFrom([]event.Body{
		event.Edited{Card: event.Card{Title: "z", Labels: []string{"l"}, Priority: "p0"}},
		event.Claimed{Assignee: who, ReturnTo: ada},
		event.Claimed{Assignee: ada, ReturnTo: who},
		event.Released{},
		event.Progress{Note: "n"},
		event.Blocked{Reason: "r"},
		event.HandedBack{Reason: "r"},
		event.Receipt{Obligation: "o", Address: "a", Verdict: "v"},
		link, event.Unlinked(link),
		event.CommentCreated{Comment: comment, Body: "b"},
		event.CommentCreated{Comment: comment, Body: "b", Parent: "c1"},
		event.CommentEdited{Comment: comment, Body: "e"},
		event.CommentDeleted{Comment: comment},
		event.Accepted{},
		event.Dropped{Reason: "r"},
		event.Reopened{},
		nil, nil, nil,
	}).Draw(t, "body")
	return func(ids []event.ID) event.Body {
		if plain == nil {
			return event.ResultReturned{Attempt: attempt, Claim: ids[claim], Outcome: outcome}
		}
		return plain
	}
}

// told is the shape as events, in the order of its places.
func (s shape) told(t testing.TB, clock func(int) time.Time) []event.Event {
	events, ids := make([]event.Event, len(s)), make([]event.ID, len(s))
	for i, st := range s {
		d := event.Draft{Node: node, Author: st.author, At: clock(i)}
		for _, p := range st.parents {
			d.Parents = append(d.Parents, ids[p])
		}
		if st.body == nil {
			d.Body = event.Reconciled{Keep: ids[st.keep]}
		} else {
			d.Body = st.body(ids)
		}
		e, err := d.Seal()
		if err != nil {
			t.Fatalf("%+v: %v", d, err)
		}
		events[i], ids[i] = e, e.ID()
	}
	return events
}

func minutes(i int) time.Time { return noon.Add(time.Duration(i) * time.Minute) }

// drawEvents draws any set of events of one node, some of which may be missing.
func drawEvents(t *rapid.T, tb testing.TB) []event.Event {
	events := drawShape(t).told(tb, minutes)
	if rapid.IntRange(0, 4).Draw(t, "whole") > 0 {
		return events
	}
	return slices.DeleteFunc(events, func(event.Event) bool { return rapid.IntRange(0, 5).Draw(t, "gone") == 0 })
}

// shuffled is the same events in another order, some of them twice.
func shuffled(t *rapid.T, events []event.Event) []event.Event {
	twice := slices.Clone(events)
	for _, e := range events {
		if rapid.Bool().Draw(t, "twice") {
			twice = append(twice, e)
		}
	}
	return rapid.Permutation(twice).Draw(t, "order")
}
