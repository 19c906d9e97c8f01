// Package event is what the plan is made of: immutable statements about one
// node each.
//
// A [Draft] is what somebody wants to state, an [Event] is one that was checked
// and sealed: its canonical bytes (RFC 8785) and its id, the SHA-256 of them in
// lower-case hexadecimal. Only [Draft.Seal] and [Decode] make one, so that an
// Event at hand is a valid one. An [Envelope] is an event as the log carries it,
// with the operation key under which it was appended and its place in the log.
//
// The bytes of an event have the members schema, node, author, parents, kind and
// recorded_at, and those of its kind, see [Body]. A member that was not given is
// left out: an empty text or list is never written, and refused where it is read.
// Only parents is always there, empty for the first event of a node. recorded_at
// is RFC 3339 in UTC with exactly three digits of a second's fraction; it is for
// people, and nothing is ever ordered by it.
//
// Decoding is total. What is read is parsed, sealed again, and compared: bytes
// that differ by a member, a spelling or a space are refused, because the plan
// must read the same everywhere.
//
// The format is holdfast-event/1. A kind or member more would be another format:
// today's readers refuse it, and the node with it.
package event

import (
	"slices"
	"time"
)

// Schema names the format of an event's bytes.
const Schema = "holdfast-event/1"

// MaxBytes is the most that an event's canonical bytes may be.
const MaxBytes = 320 << 10

// Draft is a statement before it is sealed.
type Draft struct {
	Node    Node
	Author  Principal
	Parents []ID
	At      time.Time // to the millisecond; finer is cut off
	Body    Body
}

// Event is a sealed statement. The zero Event is none.
type Event struct {
	draft Draft
	id    ID
	bytes []byte
}

// ID is the lower-case hexadecimal SHA-256 of the canonical bytes.
func (e Event) ID() ID { return e.id }

// Bytes is the canonical form. It must not be changed.
func (e Event) Bytes() []byte { return e.bytes }

// Node is what the event is about.
func (e Event) Node() Node { return e.draft.Node }

// Author is who states it.
func (e Event) Author() Principal { return e.draft.Author }

// Parents are the events of the same node that it builds on. They must not be
// changed.
func (e Event) Parents() []ID { return e.draft.Parents }

// At is when its author's clock stood where. Nothing is ordered by it.
func (e Event) At() time.Time { return e.draft.At }

// Body is what it states.
func (e Event) Body() Body { return e.draft.Body }

// Kind is the public name of what it states.
func (e Event) Kind() Kind { return e.draft.Body.Kind() }

// Seal checks the draft and makes the event. The error is a [*Fault]. What the
// event says is read from its own bytes, so that it shares nothing with the draft
// and is what every other reader will see.
func (d Draft) Seal() (Event, error) {
	d.At = d.At.UTC()
	if fault := d.check(); fault != nil {
		if isNode(string(d.Node)) {
			fault.Node = d.Node
		}
		return Event{}, fault
	}
	return Decode(d.wire().canonical())
}

// check says what is wrong with a draft.
func (d Draft) check() *Fault {
	var c checker
	d.checkMembers(&c)
	if c.reason == "" {
		c.parents(d)
	}
	return c.fault()
}

// checkMembers checks all but the parents.
func (d Draft) checkMembers(c *checker) {
	if d.Body == nil {
		c.refuse("kind", "is missing")
		return
	}
	c.node("node", string(d.Node))
	c.principal("author", string(d.Author))
	if d.At.IsZero() || d.At.Year() < 1970 || d.At.Year() > 9999 {
		c.refuse("recorded_at", "is no time between the years 1970 and 9999")
	}
	d.Body.check(c)
}

// ids checks a list of ids, each once.
func (c *checker) ids(member string, list []ID) {
	for i, p := range list {
		c.id(member, string(p))
		if slices.Contains(list[:i], p) {
			c.refuse(member, "names "+string(p)+" twice")
		}
	}
}

// parents checks how many there may be: none for the first event, several only
// where a fork is mended.
func (c *checker) parents(d Draft) {
	c.ids("parents", d.Parents)
	_, opens := d.Body.(Opened)
	mend, mends := d.Body.(Reconciled)
	switch n := len(d.Parents); {
	case opens && n > 0:
		c.refuse("parents", "must be empty where a node is opened")
	case !opens && n == 0:
		c.refuse("parents", "is empty, and only the event that opens a node has none")
	case mends && n < 2:
		c.refuse("parents", "names one event, and a fork has several heads")
	case !mends && n > 1:
		c.refuse("parents", "names several events, and only reconciled has several")
	case mends && !slices.Contains(d.Parents, mend.Keep):
		c.refuse("keep", "is none of the parents")
	}
}
