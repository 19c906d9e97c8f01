package history

import (
	"slices"
	"time"

	"holdfast/internal/roadmap/event"
)

// State is what lists, admission and the graph need of one node. It has no
// comments and no texts but the card's and the standing's, so that an index can
// keep one for each node. Its members must not be changed.
type State struct {
	Node     event.Node
	Events   int      // all of them, those aside too; none for a node that is not there
	Head     event.ID // empty where there is no single one
	Card     event.Card
	Standing Standing // nil for a node that is not there
	Holder   event.Principal
	Since    time.Time       // when it became the holder, by the clock of who said so
	ReturnTo event.Principal // whom it goes to for review, or went back to
	Claim    event.ID        // under which the holder holds it, or held it last; empty after a release
	Claims   []Claim         // oldest first
	Links    []Link          // sorted
	Opened   Stamp
	Updated  Stamp // by the head
}

// Claim is one claim of the node, and what came of it.
type Claim struct {
	Event    event.ID
	Assignee event.Principal
	ReturnTo event.Principal
	At       time.Time
	Attempts []event.Attempt // that returned a result under it, oldest first
	Spent    bool            // one of them did more than wait
}

// Link is how the node stands to another one.
type Link struct {
	Relation event.Relation
	To       event.Node
}

// Stamp is who stated something, and what their clock said. It orders nothing.
type Stamp struct {
	By event.Principal
	At time.Time
}

// Fold makes the state out of an ordered history. It is total: the effects of
// the package comment's table, whatever was admitted.
func Fold(o Ordered) State {
	var s State
	for _, e := range o.line {
		s.apply(e)
	}
	s.Events += len(o.aside)
	return s
}

// StateOf is the state of a node that has these events, ordered or not.
func StateOf(node event.Node, events []event.Event) State {
	switch o := Order(events).(type) {
	case Ordered:
		s := Fold(o)
		s.Node = node
		return s
	case Unordered:
		s := o.state()
		s.Node = node
		return s
	}
	return State{Node: node}
}

// state is what can be told without an order: how many events there are, and the
// title that the node was opened with, if it was opened once.
func (u Unordered) state() State {
	s := State{Node: u.Node, Events: len(u.events), Standing: u.Why}
	var opened []event.Event
	for _, e := range u.events {
		if e.Kind() == event.KindOpened {
			opened = append(opened, e)
		}
	}
	if len(opened) == 1 {
		e := opened[0]
		if b, ok := e.Body().(event.Opened); ok {
			s.Card.Title, s.Opened = b.Card.Title, stampOf(e)
		}
	}
	return s
}

// Extend is the state after one more event. It is false, and s unchanged, where
// e does not simply follow the head: then the node's whole history is to be
// ordered again.
func (s State) Extend(e event.Event) (State, bool) {
	if !s.follows(e) {
		return s, false
	}
	s.Claims = slices.Clone(s.Claims)
	s.Links = slices.Clone(s.Links)
	s.apply(e)
	return s, true
}

func (s State) follows(e event.Event) bool {
	if s.Events == 0 {
		return len(e.Parents()) == 0 && (s.Node == "" || s.Node == e.Node())
	}
	return e.Node() == s.Node && s.Head != "" && len(e.Parents()) == 1 && e.Parents()[0] == s.Head
}

// claim finds a claim of the line by the event that made it.
func (s State) claim(id event.ID) (int, bool) {
	i := slices.IndexFunc(s.Claims, func(c Claim) bool { return c.Event == id })
	return i, i >= 0
}

// returned reports whether an attempt has already returned a result.
func (s State) returned(a event.Attempt) bool {
	return slices.ContainsFunc(s.Claims, func(c Claim) bool { return slices.Contains(c.Attempts, a) })
}

func (s State) linked(l Link) bool {
	_, found := slices.BinarySearchFunc(s.Links, l, compareLinks)
	return found
}

func stampOf(e event.Event) Stamp { return Stamp{By: e.Author(), At: e.At()} }
