package history

import (
	"cmp"
	"slices"
	"time"

	"holdfast/internal/roadmap/event"
)

// apply is the effect of one event, the next on the line.
func (s *State) apply(e event.Event) {
	if s.Events == 0 {
		s.Node, s.Opened, s.Standing = e.Node(), stampOf(e), Open{}
	}
	s.Events++
	s.Head, s.Updated = e.ID(), stampOf(e)
	switch b := e.Body().(type) {
	case event.Opened:
		s.Card = b.Card
	case event.Edited:
		s.Card = b.Card
	case event.Linked:
		s.link(Link(b))
	case event.Unlinked:
		s.unlink(Link(b))
	case event.Claimed:
		s.claimed(e, b)
	case event.Released:
		s.Standing = Open{}
		s.letGo()
	case event.Progress:
		s.Standing = InProgress{By: e.Author(), Note: b.Note}
	case event.Blocked:
		s.Standing = Blocked{By: e.Author(), Reason: b.Reason}
	case event.HandedBack:
		s.Standing = HandedBack{By: e.Author(), Reason: b.Reason}
		s.Holder, s.Since = "", time.Time{}
	case event.ResultReturned:
		s.result(e, b)
	case event.Accepted:
		s.Standing = Accepted{By: e.Author(), Reason: b.Reason}
		s.letGo()
	case event.Dropped:
		s.Standing = Dropped{By: e.Author(), Reason: b.Reason}
		s.letGo()
	case event.Reopened:
		s.Standing = Open{}
		s.letGo()
	case event.Receipt, event.CommentCreated, event.CommentEdited, event.CommentDeleted, event.Reconciled:
	}
}

// letGo: nobody holds it, and nobody waits to have it back.
func (s *State) letGo() {
	s.Holder, s.Since, s.ReturnTo, s.Claim = "", time.Time{}, "", ""
}

func (s *State) claimed(e event.Event, b event.Claimed) {
	s.Standing = Claimed{By: b.Assignee, Since: e.At()}
	s.Holder, s.Since, s.ReturnTo, s.Claim = b.Assignee, e.At(), b.ReturnTo, e.ID()
	s.Claims = append(s.Claims, Claim{Event: e.ID(), Assignee: b.Assignee, ReturnTo: b.ReturnTo, At: e.At()})
}

// result goes to the claim that it names, which need not be the newest. One that
// names no claim of the line, or an attempt that returned before, has no effect;
// one for a closed node spends its claim and opens nothing.
func (s *State) result(e event.Event, b event.ResultReturned) {
	i, ok := s.claim(b.Claim)
	if !ok || s.returned(b.Attempt) {
		return
	}
	c := &s.Claims[i]
	c.Attempts = append(slices.Clone(c.Attempts), b.Attempt)
	closed := Closed(s.Standing)
	switch out := b.Outcome.(type) {
	case event.Published:
		c.Spent = true
		if !closed {
			s.Standing = ReadyForReview{By: e.Author(), Result: Result{
				Event: e.ID(), Attempt: b.Attempt, Claim: b.Claim, Head: out.Head, Booth: out.Booth,
			}}
			s.Holder, s.Since, s.ReturnTo, s.Claim = c.ReturnTo, e.At(), c.ReturnTo, c.Event
		}
	case event.Waiting:
		if !closed {
			s.Standing = Blocked{By: e.Author(), Picks: out.Picks}
		}
	case event.VerificationFailed, event.GivenBack:
		c.Spent = true
	}
}

func (s *State) link(l Link) {
	if i, found := slices.BinarySearchFunc(s.Links, l, compareLinks); !found {
		s.Links = slices.Insert(s.Links, i, l)
	}
}

func (s *State) unlink(l Link) {
	if i, found := slices.BinarySearchFunc(s.Links, l, compareLinks); found {
		s.Links = slices.Delete(s.Links, i, i+1)
	}
}

// compareLinks puts relations in the order in which they are shown.
func compareLinks(a, b Link) int {
	return cmp.Or(
		cmp.Compare(slices.Index(event.Relations, a.Relation), slices.Index(event.Relations, b.Relation)),
		cmp.Compare(a.To, b.To),
	)
}
