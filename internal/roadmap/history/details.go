package history

import (
	"slices"

	"holdfast/internal/roadmap/event"
)

// Detail is what a node's own page shows beyond its [State].
type Detail struct {
	Comments []CommentState // as they were made; those of lines that were not kept come last
	Receipts []ReceiptState // oldest first
	Results  []Returned     // oldest first
	Timeline []event.Event  // what folds, oldest first
	Aside    []event.Event  // what does not
}

// CommentState is a comment as it is now.
type CommentState struct {
	Event   event.ID // that made it, which is its name where two have the same
	Comment event.Comment
	Answers event.ID // the Event of an earlier comment; may be empty
	Body    string   // empty where it was deleted
	Made    Stamp
	Changed Stamp // its last edit, or its deletion; zero where there was none
	Edited  bool
	Deleted bool
	Aside   bool // it was made on a line that was not kept
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

// Details reads the rest of an ordered history. It is total, as [Fold] is. What
// names a comment means one that was made before.
func Details(o Ordered) Detail {
	d := details{
		out:   Detail{Timeline: o.line, Aside: o.aside},
		made:  map[event.ID]*CommentState{},
		line:  map[event.Comment]*CommentState{},
		other: map[event.Comment]*CommentState{},
		aside: setOf(o.aside),
	}
	for _, e := range o.all() {
		if _, aside := d.aside[e.ID()]; aside {
			d.comment(e, d.onItsWay)
		} else {
			d.comment(e, d.named)
			d.rest(e)
		}
	}
	for _, aside := range []bool{false, true} {
		for _, c := range d.order {
			if c.Aside == aside {
				d.out.Comments = append(d.out.Comments, *c)
			}
		}
	}
	return d.out
}

// all is every event, after its parents.
func (o Ordered) all() []event.Event {
	if len(o.aside) == 0 {
		return o.line
	}
	return setOf(slices.Concat(o.line, o.aside)).topological()
}

// details is one reading.
type details struct {
	out   Detail
	state State // of the line so far
	aside set
	order []*CommentState
	made  map[event.ID]*CommentState
	line  map[event.Comment]*CommentState
	other map[event.Comment]*CommentState // the first made aside by that name
}

// comment reads what an event says of a comment. find is how it finds the one
// that it means, nil where there is none.
func (d *details) comment(e event.Event, find func(event.Event, event.Comment) *CommentState) {
	if b, ok := e.Body().(event.CommentCreated); ok {
		d.create(e, b, find)
	}
	if b, ok := e.Body().(event.CommentEdited); ok {
		if c := find(e, b.Comment); c != nil && !c.Deleted {
			c.Body, c.Edited, c.Changed = b.Body, true, stampOf(e)
		}
	}
	if b, ok := e.Body().(event.CommentDeleted); ok {
		if c := find(e, b.Comment); c != nil && !c.Deleted {
			c.Body, c.Deleted, c.Changed = "", true, stampOf(e)
		}
	}
}

// create makes a comment, unless its own line has one by that name.
func (d *details) create(e event.Event, b event.CommentCreated, find func(event.Event, event.Comment) *CommentState) {
	_, aside := d.aside[e.ID()]
	if old := find(e, b.Comment); old != nil && old.Aside == aside {
		return
	}
	c := &CommentState{Event: e.ID(), Comment: b.Comment, Body: b.Body, Made: stampOf(e), Aside: aside}
	answered := find(e, b.Parent)
	if answered == nil {
		answered = d.line[b.Parent]
	}
	if answered != nil {
		c.Answers = answered.Event
	}
	d.order = append(d.order, c)
	d.made[c.Event] = c
	if !aside {
		d.line[c.Comment] = c
	} else if d.other[c.Comment] == nil {
		d.other[c.Comment] = c
	}
}

// named is the comment that an event of the line means: one of the line, else the
// first that was set aside.
func (d *details) named(_ event.Event, name event.Comment) *CommentState {
	if c := d.line[name]; c != nil {
		return c
	}
	return d.other[name]
}

// onItsWay is the comment that an event aside means: one that was made before it
// on its own way, and aside too. What the line says of its comments stays.
func (d *details) onItsWay(e event.Event, name event.Comment) *CommentState {
	for id, more := before(e); more; {
		if c := d.made[id]; c != nil && c.Aside && c.Comment == name {
			return c
		}
		p, aside := d.aside[id]
		if !aside {
			return nil
		}
		id, more = before(p)
	}
	return nil
}

// rest reads what only the line says.
func (d *details) rest(e event.Event) {
	if b, ok := e.Body().(event.Receipt); ok {
		d.out.Receipts = append(d.out.Receipts, ReceiptState{Receipt: b, Made: stampOf(e), Event: e.ID()})
	}
	if b, ok := e.Body().(event.ResultReturned); ok {
		_, known := d.state.claim(b.Claim)
		d.out.Results = append(d.out.Results, Returned{
			Result: b, Made: stampOf(e), Event: e.ID(), Effective: known && !d.state.returned(b.Attempt),
		})
	}
	d.state.apply(e)
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
