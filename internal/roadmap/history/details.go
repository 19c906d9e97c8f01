package history

import (
	"holdfast/internal/roadmap/event"
)

// Detail is what a node's own page shows beyond its [State].
type Detail struct {
	Comments []CommentState // in the order in which they were made, those aside last
	Receipts []ReceiptState // oldest first
	Results  []Returned     // oldest first
	Timeline []event.Event  // what folds, oldest first
	Aside    []event.Event  // what does not
}

// CommentState is a comment as it is now.
type CommentState struct {
	Comment event.Comment
	Parent  event.Comment // that it answers to; may be empty
	Body    string        // empty where it was deleted
	Made    Stamp
	Changed Stamp // its last edit or its deletion; zero where there was none
	Edited  bool
	Deleted bool
	Aside   bool     // it was made on a line that was not kept
	Event   event.ID // that made it
}

// ReceiptState is evidence that was pointed at.
type ReceiptState struct {
	Receipt event.Receipt
	Made    Stamp
	Event   event.ID
}

// Returned is a result as it was returned.
type Returned struct {
	Result    event.ResultReturned
	Made      Stamp
	Event     event.ID
	Effective bool // it named a claim of the line, and its attempt had returned none before
}

// Details reads the rest of an ordered history. It is total, as [Fold] is.
func Details(o Ordered) Detail {
	d := &details{out: Detail{Timeline: o.line, Aside: o.aside}, byID: map[event.ID]event.Event{}, own: map[event.Comment]int{}}
	for _, e := range o.aside {
		d.byID[e.ID()] = e
		d.asideEvent(e)
	}
	asides := d.out.Comments
	d.out.Comments = nil
	d.aside = asides
	var s State
	for _, e := range o.line {
		d.lineEvent(e, s)
		s.apply(e)
	}
	d.out.Comments = append(d.out.Comments, d.aside...)
	return d.out
}

// details is one reading.
type details struct {
	out   Detail
	own   map[event.Comment]int // comments of the line, by their place in out
	aside []CommentState
	byID  map[event.ID]event.Event // the events aside
}

// lineEvent reads the next event of the line, before which the node stood at s.
func (d *details) lineEvent(e event.Event, s State) {
	switch b := e.Body().(type) {
	case event.CommentCreated:
		if _, there := d.own[b.Comment]; !there {
			d.own[b.Comment] = len(d.out.Comments)
			d.out.Comments = append(d.out.Comments, made(e, b))
		}
	case event.CommentEdited:
		d.find(b.Comment).edit(e, b.Body)
	case event.CommentDeleted:
		d.find(b.Comment).drop(e)
	case event.Receipt:
		d.out.Receipts = append(d.out.Receipts, ReceiptState{Receipt: b, Made: stampOf(e), Event: e.ID()})
	case event.ResultReturned:
		_, known := s.claim(b.Claim)
		d.out.Results = append(d.out.Results, Returned{Result: b, Made: stampOf(e), Event: e.ID(), Effective: known && !s.returned(b.Attempt)})
	default:
	}
}

// asideEvent reads an event aside. Only comments stay, and an edit reaches only
// what was made on its own line, aside too.
func (d *details) asideEvent(e event.Event) {
	switch b := e.Body().(type) {
	case event.CommentCreated:
		if d.before(e, b.Comment) == nil {
			c := made(e, b)
			c.Aside = true
			d.out.Comments = append(d.out.Comments, c)
		}
	case event.CommentEdited:
		d.before(e, b.Comment).edit(e, b.Body)
	case event.CommentDeleted:
		d.before(e, b.Comment).drop(e)
	default:
	}
}

// before is the comment that was made on the way to e, on its line aside.
func (d *details) before(e event.Event, name event.Comment) *CommentState {
	for id, more := before(e); more; {
		p, aside := d.byID[id]
		if !aside {
			return nil
		}
		for i := range d.out.Comments {
			if c := &d.out.Comments[i]; c.Event == id && c.Comment == name {
				return c
			}
		}
		id, more = before(p)
	}
	return nil
}

// find is the comment of that name: the line's, else the first aside.
func (d *details) find(name event.Comment) *CommentState {
	if i, ok := d.own[name]; ok {
		return &d.out.Comments[i]
	}
	for i := range d.aside {
		if d.aside[i].Comment == name {
			return &d.aside[i]
		}
	}
	return nil
}

func made(e event.Event, b event.CommentCreated) CommentState {
	return CommentState{Comment: b.Comment, Parent: b.Parent, Body: b.Body, Made: stampOf(e), Event: e.ID()}
}

// edit changes nothing where there is no such comment, or no more.
func (c *CommentState) edit(e event.Event, body string) {
	if c == nil || c.Deleted {
		return
	}
	c.Body, c.Edited, c.Changed = body, true, stampOf(e)
}

func (c *CommentState) drop(e event.Event) {
	if c == nil || c.Deleted {
		return
	}
	c.Body, c.Deleted, c.Changed = "", true, stampOf(e)
}

// standing is where the comment stands that a later event by that name means.
func (d Detail) standing(name event.Comment) CommentStanding {
	for _, c := range d.Comments {
		switch {
		case c.Comment != name:
		case c.Deleted:
			return CommentDeleted
		default:
			return CommentShown
		}
	}
	return CommentUnknown
}
