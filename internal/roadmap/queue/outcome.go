package queue

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"holdfast/internal/canon"
	"holdfast/internal/durable"
	"holdfast/internal/problem"
	"holdfast/internal/roadmap/event"
)

const outcomeSchema = "holdfast-outcome/1"

// Keep is how long an outcome can be asked for under its key.
const Keep = 30 * 24 * time.Hour

// Outcome is what became of a command: exactly one of the ways in [Ended].
type Outcome struct {
	Node     event.Node
	Attempts int // how often a commit was offered to the remote
	Ended    Ended
}

// Ended is a way in which a command ends, or does not end yet.
//
//sumtype:decl
type Ended interface{ ended() }

// Appended: the event is in the log, put there by this command.
type Appended struct {
	ID     event.ID
	Commit string // that has it
}

// AlreadyPresent: the event is in the log under the command's key.
type AlreadyPresent struct {
	ID     event.ID
	Commit string // that has it, the newest that was read
}

// Queued: the remote could not be reached, and the command stays in the queue.
type Queued struct{ Why string }

// Unknown: it may be in the log or not. Asking again under the same key tells.
// The command stays in the queue, if it may wait there.
type Unknown struct{ Why string }

// Refused: nothing was appended.
type Refused struct{ Problem *problem.Error }

func (Appended) ended()       {}
func (AlreadyPresent) ended() {}
func (Queued) ended()         {}
func (Unknown) ended()        {}
func (Refused) ended()        {}

type wireOutcome struct {
	Schema   string       `json:"schema"`
	Key      string       `json:"key"`
	Ticket   string       `json:"ticket"`
	At       time.Time    `json:"at"`
	Node     string       `json:"node"`
	Attempts int          `json:"attempts"`
	Late     bool         `json:"late"` // the command had been answered as queued
	Outcome  string       `json:"outcome"`
	ID       string       `json:"id,omitempty"`
	Commit   string       `json:"commit,omitempty"`
	Why      string       `json:"why,omitempty"`
	Problem  *wireProblem `json:"problem,omitempty"`
}

type wireProblem struct {
	Kind   string `json:"kind"`
	Step   string `json:"step"`
	Reason string `json:"reason"`
	Hint   string `json:"hint,omitempty"`
}

// Settled is an outcome as it was put down.
type Settled struct {
	Key    event.Key
	Ticket string
	At     time.Time
	// Late says that the command's caller had been told that it was queued, so
	// that nobody waits for this outcome.
	Late    bool
	Outcome Outcome
}

// Settle puts down what became of an entry, and takes it out of the queue unless
// it goes on waiting. Where that fails the entry is there still.
func (q *Queue) Settle(e Entry, o Outcome) error {
	before, ok, err := q.Outcome(e.Command.Key)
	late := err == nil && ok && before.Ticket == e.Ticket && (open(before.Outcome.Ended) || before.Late)
	if err := q.write(e, o, late); err != nil {
		return err
	}
	if stays(e.Command, o.Ended) {
		return nil
	}
	// Killed here, the entry is answered, and whoever publishes next takes it out.
	return q.Remove(e)
}

// write puts down an outcome.
func (q *Queue) write(e Entry, o Outcome, late bool) error {
	w := wireOutcome{
		Schema: outcomeSchema, Key: string(e.Command.Key), Ticket: e.Ticket, At: time.Now().UTC().Truncate(time.Millisecond),
		Node: string(e.Command.Node), Attempts: o.Attempts, Late: late,
	}
	w.fill(o.Ended)
	data, err := canon.Encode(w)
	if err != nil {
		return err
	}
	return q.outcomes.WriteFile(string(e.Command.Key)+suffix, data, perm)
}

// open is what was said of an entry that waits still; nothing, perhaps.
func (q *Queue) open(e Entry) Outcome {
	s, ok, err := q.Outcome(e.Command.Key)
	if err != nil || !ok || s.Ticket != e.Ticket {
		return Outcome{Node: e.Command.Node}
	}
	return s.Outcome
}

// Answer is what became of an entry since it was put or joined; false as long as
// that is nothing. What cannot be read is nothing: the log has what is true.
func (q *Queue) Answer(e Entry) (Outcome, bool) {
	name := string(e.Command.Key) + suffix
	version, err := q.outcomes.Version(name)
	if err != nil || version == e.before {
		return Outcome{}, false
	}
	s, err := q.readOutcome(name)
	return s.Outcome, err == nil && s.Ticket == e.Ticket
}

// stays says whether a command that ended so stays in the queue.
func stays(c event.Command, ended Ended) bool { return open(ended) && MayWait(c.Body) }

// open says whether an outcome is not the last word.
func open(ended Ended) bool {
	switch ended.(type) {
	case Queued, Unknown:
		return true
	case Appended, AlreadyPresent, Refused:
		return false
	default:
		return false
	}
}

// MayWait says whether a command may wait in the queue for a remote to come
// back. What decides who holds a node, or that it is done, may not: nobody would
// know meanwhile what is true.
func MayWait(b event.Body) bool {
	switch b.(type) {
	case event.Claimed, event.Accepted, event.ResultReturned:
		return false
	case event.Opened, event.Edited, event.Linked, event.Unlinked, event.Released, event.Progress, event.Blocked, event.HandedBack,
		event.Receipt, event.CommentCreated, event.CommentEdited, event.CommentDeleted, event.Dropped, event.Reopened, event.Reconciled:
		return true
	default:
		return false
	}
}

// fill writes how it ended.
func (w *wireOutcome) fill(ended Ended) {
	switch e := ended.(type) {
	case Appended:
		w.Outcome, w.ID, w.Commit = "appended", string(e.ID), e.Commit
	case AlreadyPresent:
		w.Outcome, w.ID, w.Commit = "already_present", string(e.ID), e.Commit
	case Queued:
		w.Outcome, w.Why = "queued", e.Why
	case Unknown:
		w.Outcome, w.Why = "unknown", e.Why
	case Refused:
		p := e.Problem
		w.Outcome, w.Problem = "refused", &wireProblem{p.Kind.String(), p.Step, p.Reason, p.Hint}
	}
}

// Outcome is what is known of a key; false where nothing is.
func (q *Queue) Outcome(key event.Key) (Settled, bool, error) {
	s, err := q.readOutcome(string(key) + suffix)
	if errors.Is(err, fs.ErrNotExist) {
		return Settled{}, false, nil
	}
	return s, err == nil, err
}

func (q *Queue) readOutcome(name string) (Settled, error) {
	data, err := q.outcomes.ReadFile(name, 1<<20)
	if err != nil {
		return Settled{}, err
	}
	var w wireOutcome
	if err := canon.Decode(data, &w); err != nil {
		return Settled{}, err
	}
	ended, ok := w.read()
	if w.Schema != outcomeSchema || !ok || w.Key+suffix != name {
		return Settled{}, errors.New("it is no outcome of this format")
	}
	return Settled{
		Key: event.Key(w.Key), Ticket: w.Ticket, At: w.At, Late: w.Late,
		Outcome: Outcome{Node: event.Node(w.Node), Attempts: w.Attempts, Ended: ended},
	}, nil
}

func (w *wireOutcome) read() (Ended, bool) {
	switch w.Outcome {
	case "appended":
		return Appended{event.ID(w.ID), w.Commit}, true
	case "already_present":
		return AlreadyPresent{event.ID(w.ID), w.Commit}, true
	case "queued":
		return Queued{w.Why}, true
	case "unknown":
		return Unknown{w.Why}, true
	case "refused":
		if w.Problem == nil {
			return nil, false
		}
		kind, ok := problem.ParseKind(w.Problem.Kind)
		p := problem.New(kind, w.Problem.Step, "%s", w.Problem.Reason)
		if w.Problem.Hint != "" {
			p = p.WithHint("%s", w.Problem.Hint)
		}
		return Refused{p}, ok
	default:
		return nil, false
	}
}

// Outcomes is all that is kept, by key, and what is there but cannot be read: a
// refusal of what was queued, perhaps, which nothing else would say.
func (q *Queue) Outcomes() ([]Settled, []Damaged, error) {
	names, err := q.outcomes.Names()
	if err != nil {
		return nil, nil, err
	}
	list, damaged := []Settled{}, []Damaged{}
	for _, name := range names {
		if durable.IsTemporary(name) {
			continue
		}
		s, err := q.readOutcome(name)
		switch {
		case errors.Is(err, fs.ErrNotExist): // forgotten meanwhile
		case err != nil:
			damaged = append(damaged, Damaged{Name: outcomeName(name), Reason: problem.Words(err)})
		default:
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b Settled) int { return strings.Compare(string(a.Key), string(b.Key)) })
	slices.SortFunc(damaged, func(a, b Damaged) int { return strings.Compare(a.Name, b.Name) })
	return list, damaged, nil
}

// Forget removes the outcomes that are older than [Keep] at now, unless their
// command waits still, and what writers left behind that were killed. The caller
// has the lock under which the queue is published.
func (q *Queue) Forget(now time.Time) (int, error) {
	for _, dir := range []*durable.Dir{q.waiting, q.outcomes} {
		if _, err := dir.RemoveAbandoned(); err != nil {
			return 0, err
		}
	}
	list, _, err := q.Outcomes()
	if err != nil {
		return 0, err
	}
	n := 0
	for _, s := range list {
		if now.Sub(s.At) < Keep {
			continue
		}
		if _, err := q.waiting.Version(string(s.Key) + suffix); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := q.outcomes.Remove(string(s.Key) + suffix); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
