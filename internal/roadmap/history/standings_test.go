package history

import (
	"testing"
	"time"

	"holdfast/internal/roadmap/event"
)

// starts are histories that lead to each standing. Each but the last two is one
// line with a link, a comment, and, where the name has a claim in it, a claim of
// bo's for ada.
var starts = []struct {
	name string
	tell func(l *log)
}{
	{"open", func(*log) {}},
	{"claimed", func(l *log) { l.claim(bo) }},
	{"progress", func(l *log) { l.claim(bo); l.say(event.Progress{Note: "n"}) }},
	{"blocked", func(l *log) { l.claim(bo); l.say(event.Blocked{Reason: "r"}) }},
	{"blocked-free", func(l *log) { l.say(event.Blocked{Reason: "r"}) }},
	{"waiting", func(l *log) { l.claim(bo); l.returned(firstTry, event.Waiting{Picks: []string{"b/q"}}) }},
	{"handed", func(l *log) { l.claim(bo); l.say(event.HandedBack{Reason: "r"}) }},
	{"review", func(l *log) { l.claim(bo); l.returned(firstTry, event.Published{Booth: "b"}) }},
	{"accepted", func(l *log) { l.claim(bo); l.say(event.Accepted{Reason: "r"}) }},
	{"dropped", func(l *log) { l.claim(bo); l.say(event.Dropped{Reason: "r"}) }},
	{"forked", func(l *log) { l.fork() }},
	{"incomplete", func(l *log) { l.events = l.events[1:] }},
	{"none", func(l *log) { l.events = nil }},
}

// start is the history of that name.
func start(t testing.TB, name string) *log {
	t.Helper()
	l := newLog(t)
	l.open()
	l.say(event.Linked{Relation: event.BlockedBy, To: "store"})
	l.say(event.CommentCreated{Comment: "c1", Body: "why?"})
	for _, s := range starts {
		if s.name == name {
			s.tell(l)
			return l
		}
	}
	t.Fatalf("no start is named %q", name)
	return nil
}

func (l *log) fork() {
	l.t.Helper()
	head := l.events[len(l.events)-1]
	l.after(event.Progress{Note: "left"}, head)
	l.after(event.Progress{Note: "right"}, head)
}

// lastClaim is the newest claim of the log, or an event that is none.
func (l *log) lastClaim() event.ID {
	claim := event.ID("0000000000000000000000000000000000000000000000000000000000000000")
	for _, e := range l.events {
		if e.Kind() == event.KindClaimed {
			claim = e.ID()
		}
	}
	return claim
}

func (l *log) returned(a event.Attempt, o event.Outcome) event.Event {
	l.t.Helper()
	return l.say(event.ResultReturned{Attempt: a, Claim: l.lastClaim(), Outcome: o})
}

// says is a statement of each kind, by cy: as good a one as there can be.
var says = []struct {
	name string
	body func(l *log) event.Body
}{
	{"opened", func(*log) event.Body { return event.Opened{Card: event.Card{Title: "again"}} }},
	{"edited", func(*log) event.Body { return event.Edited{Card: event.Card{Title: "edited"}} }},
	{"linked", func(*log) event.Body { return event.Linked{Relation: event.Related, To: "store"} }},
	{"unlinked", func(*log) event.Body { return event.Unlinked{Relation: event.BlockedBy, To: "store"} }},
	{"claimed", func(*log) event.Body { return event.Claimed{Assignee: cy, ReturnTo: bo} }},
	{"released", func(*log) event.Body { return event.Released{} }},
	{"progress", func(*log) event.Body { return event.Progress{Note: "n"} }},
	{"blocked", func(*log) event.Body { return event.Blocked{Reason: "r"} }},
	{"handed_back", func(*log) event.Body { return event.HandedBack{Reason: "r"} }},
	{"receipt", func(*log) event.Body { return event.Receipt{Obligation: "o", Address: "a", Verdict: "v"} }},
	{"comment_created", func(*log) event.Body { return event.CommentCreated{Comment: "c2", Body: "b", Parent: "c1"} }},
	{"comment_edited", func(*log) event.Body { return event.CommentEdited{Comment: "c1", Body: "b"} }},
	{"comment_deleted", func(*log) event.Body { return event.CommentDeleted{Comment: "c1"} }},
	{"published", func(l *log) event.Body { return l.result(event.Published{Head: head}) }},
	{"waiting", func(l *log) event.Body { return l.result(event.Waiting{Picks: []string{"b/p"}}) }},
	{"failed", func(l *log) event.Body { return l.result(event.VerificationFailed{Cause: "red"}) }},
	{"given_back", func(l *log) event.Body { return l.result(event.GivenBack{Reason: "r"}) }},
	{"accepted", func(*log) event.Body { return event.Accepted{} }},
	{"dropped", func(*log) event.Body { return event.Dropped{} }},
	{"reopened", func(*log) event.Body { return event.Reopened{} }},
	{"reconciled", func(l *log) event.Body { return event.Reconciled{Keep: l.lastID()} }},
}

const head = "0123456789012345678901234567890123456789"

func (l *log) result(o event.Outcome) event.Body {
	return event.ResultReturned{Attempt: secondTry, Claim: l.lastClaim(), Outcome: o}
}

func (l *log) lastID() event.ID {
	if len(l.events) == 0 {
		return l.lastClaim()
	}
	return l.events[len(l.events)-1].ID()
}

// statement is the draft of that name for a log.
func (l *log) statement(t testing.TB, name string) event.Draft {
	t.Helper()
	for _, s := range says {
		if s.name != name {
			continue
		}
		l.author = cy
		d := l.draft(s.body(l))
		if u, ok := Order(l.events).(Unordered); ok && name == "reconciled" {
			if f, ok := u.Why.(Forked); ok {
				d.Parents = f.Heads
			}
		}
		d.At = noon.Add(time.Hour)
		return d
	}
	t.Fatalf("no statement is named %q", name)
	return event.Draft{}
}
