package history

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/roadmap/event"
)

const (
	node = event.Node("fix-login")
	ada  = event.Principal("principal:local/studio/ada")
	bo   = event.Principal("principal:local/studio/bo")
	cy   = event.Principal("principal:local/studio/cy")

	firstTry  = event.Attempt("0000000000000001")
	secondTry = event.Attempt("0000000000000002")
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// sameEvents compares events by their ids.
var sameEvents = cmp.Comparer(func(a, b event.Event) bool { return a.ID() == b.ID() })

// log is a history that a test makes, event by event, each a minute after the
// one before.
type log struct {
	t      testing.TB
	events []event.Event
	author event.Principal
}

func newLog(t testing.TB) *log { return &log{t: t, author: ada} }

// after says something that follows the given events.
func (l *log) after(body event.Body, parents ...event.Event) event.Event {
	l.t.Helper()
	d := event.Draft{
		Node: node, Author: l.author, Parents: idsOf(parents...),
		At: noon.Add(time.Duration(len(l.events)) * time.Minute), Body: body,
	}
	e, err := d.Seal()
	if err != nil {
		l.t.Fatalf("%#v: %v", body, err)
	}
	l.events = append(l.events, e)
	return e
}

// say says something that follows the newest event.
func (l *log) say(body event.Body) event.Event {
	l.t.Helper()
	if len(l.events) == 0 {
		return l.after(body)
	}
	return l.after(body, l.events[len(l.events)-1])
}

func (l *log) open() event.Event {
	return l.say(event.Opened{Card: event.Card{Title: "Mend the sign-in page"}})
}

func (l *log) claim(who event.Principal) event.Event {
	return l.say(event.Claimed{Assignee: who, ReturnTo: ada})
}

// ordered is the order of the log, which must have one.
func (l *log) ordered() Ordered {
	l.t.Helper()
	o, ok := Order(l.events).(Ordered)
	if !ok {
		l.t.Fatalf("unordered: %+v", Order(l.events))
	}
	return o
}

// unordered is why the log has no order.
func (l *log) unordered() Unordered {
	l.t.Helper()
	u, ok := Order(l.events).(Unordered)
	if !ok {
		l.t.Fatal("the log is ordered")
	}
	return u
}

func (l *log) state() State { return StateOf(node, l.events) }

// draft is a statement that follows the heads that there are.
func (l *log) draft(body event.Body) event.Draft {
	d := event.Draft{Node: node, Author: l.author, At: noon, Body: body}
	if o, ok := Order(l.events).(Ordered); ok {
		if head, ok := o.Head(); ok {
			d.Parents = []event.ID{head}
		}
	}
	return d
}

func idsOf(events ...event.Event) []event.ID {
	var ids []event.ID
	for _, e := range events {
		ids = append(ids, e.ID())
	}
	return ids
}
