package simulation

import (
	"fmt"

	"holdfast/internal/fleet/claim"
	"holdfast/internal/fleet/order"
)

// consoles is a stand-in for the operations.
type consoles struct {
	ops []*operation
}

type operation struct {
	key, instance        string
	kind                 order.Kind
	incarnation, session uint64
	ordered              int // under which session
	over                 bool
}

// stepConsole begins an operation, or goes on with one.
func (w *World) stepConsole() bool {
	var open []*operation
	for _, o := range w.ops {
		if !o.over {
			open = append(open, o)
		}
	}
	if !w.calm && (len(open) == 0 || w.rng.IntN(20) == 0) {
		w.beginOperation()
		return true
	}
	if len(open) == 0 || w.down {
		return false
	}
	return w.goOn(open[w.rng.IntN(len(open))])
}

func (w *World) beginOperation() {
	if w.down || w.session.id == 0 {
		return
	}
	o := &operation{key: fmt.Sprintf("op%d", len(w.ops)), instance: []string{"a", "b"}[w.rng.IntN(2)], kind: order.Run}
	c, there := w.claims[o.instance]
	actor, _ := w.roster.Actor(enrollment)
	if there && c.State == claim.Held {
		o.kind, o.incarnation, o.session = order.Stop, c.Incarnation, c.Session
	} else {
		c.State, c.Operation, c.Enrollment = claim.Held, o.key, enrollment
		c.Session, c.Incarnation, c.Binding = c.Session+1, c.Incarnation+1, actor.Binding.Stamp()
		o.incarnation, o.session = c.Incarnation, c.Session
		w.claims[o.instance] = c
	}
	w.say("%s: %s %s", o.key, o.kind, at(o.instance, o.incarnation))
	w.ops = append(w.ops, o)
}

func (w *World) goOn(o *operation) bool {
	c := w.claims[o.instance]
	a, answered := w.acks[o.key]
	if !answered && o.ordered != w.session.id {
		o.ordered = w.session.id
		w.orders = append(w.orders, order.Order{
			Operation: o.key, Kind: o.kind, BoxSession: sessionName(w.session.id), Instance: o.instance,
			Incarnation: o.incarnation, Session: o.session, Binding: c.Binding,
		})
		return true
	}
	switch a.(type) {
	case order.Running:
		o.over = true
	case order.Refused:
		if o.kind == order.Run && c.Operation == o.key {
			c.State = claim.Released
			w.claims[o.instance] = c
		}
		o.over = true
	case order.Stopped:
		if c.Session == o.session {
			c.State = claim.Released
			w.claims[o.instance] = c
		}
		o.over = true
	case order.Stopping, nil:
		return false
	}
	return true
}

func (w *World) idle() bool {
	for _, o := range w.ops {
		if !o.over {
			return false
		}
	}
	return len(w.root.acts) == 0
}

func (w *World) finalConsoles() {
	for _, o := range w.ops {
		if !o.over {
			w.broken("%s is never over", o.key)
		}
	}
}
