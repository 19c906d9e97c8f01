// Package queue is where the commands of one home wait to be appended to the
// plan's log, and where what became of each is read.
//
// A command is put down as a file of its own before anything else is done with
// it, and stays until its outcome is on the disk. So whoever publishes takes all
// that is there at once, for everybody who waits, and a crash between any two
// steps leaves either the command or its outcome. Which of them is so is decided
// by the log alone: a command whose key is in the log was appended.
//
// The queue's folder has KEY.json for each command that waits, the outcomes'
// folder KEY.json for each that was answered. An entry has a ticket, and an outcome
// the ticket of the entry that it answers, so that an old answer is not taken for
// a new one. Neither folder is ordered by time of writing; what was queued first
// is published first, and a clock that jumps changes no more than that order.
package queue

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"holdfast/internal/canon"
	"holdfast/internal/durable"
	"holdfast/internal/problem"
	"holdfast/internal/roadmap/event"
)

const (
	entrySchema = "holdfast-queued/1"
	suffix      = ".json"

	queueFolder, outcomesFolder = "queue", "outcomes"

	maxEntry = event.MaxBytes + 4096
	perm     = 0o600
)

// Queue is the two folders. It may be used concurrently.
type Queue struct {
	waiting, outcomes *durable.Dir

	mu   sync.Mutex // guards last
	last time.Time  // when something was queued here last
}

// Open opens the queue in the folder of the plan, and makes it where it is not
// there.
func Open(plan *durable.Dir) (*Queue, error) {
	waiting, err := plan.MakeSub(queueFolder, 0o700)
	if err != nil {
		return nil, err
	}
	outcomes, err := plan.MakeSub(outcomesFolder, 0o700)
	if err != nil {
		waiting.Close()
		return nil, err
	}
	return &Queue{waiting: waiting, outcomes: outcomes}, nil
}

// Close lets the folders go.
func (q *Queue) Close() {
	q.waiting.Close()
	q.outcomes.Close()
}

// Entry is a command that waits.
type Entry struct {
	Command event.Command
	Ticket  string
	At      time.Time // when it was queued

	before durable.Version // of the key's outcome when the entry was put or joined
}

type wireEntry struct {
	Schema  string          `json:"schema"`
	Ticket  string          `json:"ticket"`
	At      time.Time       `json:"at"`
	Command json.RawMessage `json:"command"`
}

// Put queues a command. One that waits already is joined, if it is the same; a
// key that stands for another command is refused at the step operation-conflict.
func (q *Queue) Put(c event.Command) (Entry, error) {
	name := string(c.Key) + suffix
	before, err := q.outcomes.Version(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Entry{}, notQueued(err)
	}
	e := Entry{Command: c, Ticket: ticket(), At: q.now(), before: before}
	data, err := canon.Encode(wireEntry{Schema: entrySchema, Ticket: e.Ticket, At: e.At, Command: c.Bytes()})
	if err != nil {
		return Entry{}, err
	}
	err = q.waiting.Create(name, data, perm)
	switch {
	case err == nil:
		return e, nil
	case errors.Is(err, fs.ErrExist):
		return q.join(c, before)
	case durable.OutcomeOf(err) == durable.Unknown:
		return q.putAfterAll(e, err)
	default:
		return Entry{}, notQueued(err)
	}
}

func notQueued(err error) error {
	return problem.New(problem.Failed, "queue", "The command could not be put down in the queue; nothing was appended: %s.", problem.Words(err)).Because(err)
}

// now is the time, later than of all that was queued here before, so that what
// one caller queues stays in its order.
func (q *Queue) now() time.Time {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now().UTC().Truncate(time.Millisecond)
	if !now.After(q.last) {
		now = q.last.Add(time.Millisecond)
	}
	q.last = now
	return now
}

// putAfterAll looks for an entry of which it is not known whether it was put: one
// that is there waits as any other, though a crash could take it away.
func (q *Queue) putAfterAll(e Entry, cause error) (Entry, error) {
	waits, err := q.Waits(e)
	switch {
	case err == nil && waits:
		return e, nil
	case err == nil:
		return Entry{}, notQueued(cause)
	default:
		return Entry{}, problem.New(problem.Unknown, "queue", "Whether the command is in the queue cannot be told: %s.", problem.Words(cause)).
			WithHint("the same command with the key %s tells", e.Command.Key).Because(cause)
	}
}

// join is the entry that has the command's key.
func (q *Queue) join(c event.Command, before durable.Version) (Entry, error) {
	e, err := q.read(string(c.Key) + suffix)
	switch {
	case errors.Is(err, fs.ErrNotExist): // it was answered this instant
		return q.Put(c)
	case err != nil:
		return Entry{}, problem.Refusal("operation-read", "The key %s stands for a command in the queue that cannot be read (%s). Nothing was appended.", c.Key, problem.Words(err)).
			WithHint("holdfast roadmap queue").Because(err)
	case !e.Command.Same(c):
		return Entry{}, Conflict(c.Key)
	}
	e.before = before
	return e, nil
}

// Conflict is the refusal of a key that stands for another command.
func Conflict(key event.Key) error {
	return problem.Refusal("operation-conflict", "The key %s stands for another command. Nothing was appended.", key).
		WithHint("repeat that command with this key, or use a new key for this one")
}

func ticket() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// Damaged is a file of the queue that is no entry, or one that is no outcome.
type Damaged struct {
	Name   string // as [Queue.Withdraw] takes it
	Reason string
}

// outcomeName is the name by which a damaged outcome goes. No key has its like.
func outcomeName(file string) string { return outcomesFolder + "/" + file }

// IsOutcome reports whether it was the outcome of a command, and not a command
// that waits.
func (d Damaged) IsOutcome() bool { return strings.HasPrefix(d.Name, outcomeName("")) }

// Entries is all that waits, in the order in which it was queued, and what is
// there but cannot be read.
func (q *Queue) Entries() ([]Entry, []Damaged, error) {
	entries, damaged, err := q.all()
	return slices.DeleteFunc(entries, q.answered), damaged, err
}

// Take is Entries for whoever publishes them, and has the lock for that. An entry
// that was answered, and is there still since somebody was killed before it was
// taken out, goes now: to publish it again could undo the answer.
func (q *Queue) Take() ([]Entry, error) {
	entries, _, err := q.all()
	if err != nil {
		return nil, err
	}
	waiting := entries[:0]
	for _, e := range entries {
		if !q.answered(e) {
			waiting = append(waiting, e)
		} else if err := q.Remove(e); err != nil {
			return nil, err
		}
	}
	return waiting, nil
}

// answered reports whether the last word on an entry is on the disk.
func (q *Queue) answered(e Entry) bool {
	s, ok, err := q.Outcome(e.Command.Key)
	return err == nil && ok && s.Ticket == e.Ticket && !stays(e.Command, s.Outcome.Ended)
}

// all is every file of the queue.
func (q *Queue) all() ([]Entry, []Damaged, error) {
	names, err := q.waiting.Names()
	if err != nil {
		return nil, nil, err
	}
	entries, damaged := []Entry{}, []Damaged{}
	for _, name := range names {
		if durable.IsTemporary(name) {
			continue
		}
		e, err := q.read(name)
		switch {
		case errors.Is(err, fs.ErrNotExist): // answered meanwhile
		case err != nil:
			damaged = append(damaged, Damaged{Name: name, Reason: problem.Words(err)})
		default:
			entries = append(entries, e)
		}
	}
	slices.SortFunc(entries, func(a, b Entry) int {
		if c := a.At.Compare(b.At); c != 0 {
			return c
		}
		return strings.Compare(string(a.Command.Key), string(b.Command.Key))
	})
	slices.SortFunc(damaged, func(a, b Damaged) int { return strings.Compare(a.Name, b.Name) })
	return entries, damaged, nil
}

// read reads the entry in the file called name.
func (q *Queue) read(name string) (Entry, error) {
	data, err := q.waiting.ReadFile(name, maxEntry)
	if err != nil {
		return Entry{}, err
	}
	var w wireEntry
	if err := canon.Decode(data, &w); err != nil {
		return Entry{}, err
	}
	if w.Schema != entrySchema {
		return Entry{}, errors.New("it is of another format: " + w.Schema)
	}
	c, err := event.DecodeCommand(w.Command)
	if err != nil {
		return Entry{}, err
	}
	if string(c.Key)+suffix != name {
		return Entry{}, errors.New("it holds the command of another key")
	}
	return Entry{Command: c, Ticket: w.Ticket, At: w.At}, nil
}

// Waits reports whether the entry is in the queue still.
func (q *Queue) Waits(e Entry) (bool, error) {
	now, err := q.read(string(e.Command.Key) + suffix)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && now.Ticket == e.Ticket, err
}

// Remove takes an entry out of the queue without a word. The caller has the lock
// under which the queue is published.
func (q *Queue) Remove(e Entry) error { return q.waiting.Remove(string(e.Command.Key) + suffix) }

// Withdraw takes an entry, or a damaged one by its file's name, out of the queue,
// and puts down that it was; a damaged outcome, which holds no command, it only
// removes. The caller has the lock under which the queue is published.
func (q *Queue) Withdraw(name string) error {
	if (Damaged{Name: name}).IsOutcome() {
		return q.removeOutcome(name)
	}
	if _, err := q.waiting.Version(name + suffix); err == nil {
		name += suffix
	}
	e, err := q.read(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && q.answered(e) {
		return nothingCalled(name)
	}
	if err == nil {
		if err := q.write(e, withdrawn(q.open(e)), false); err != nil {
			return problem.New(problem.Failed, "queue", "That it was withdrawn could not be put down, and so it was not: %s.", problem.Words(err)).Because(err)
		}
	}
	return q.waiting.Remove(name)
}

// removeOutcome removes an outcome that cannot be read, and no other.
func (q *Queue) removeOutcome(name string) error {
	_, damaged, err := q.Outcomes()
	if err != nil {
		return problem.New(problem.Failed, "queue", "The outcomes cannot be read: %s. Nothing was removed.", problem.Words(err)).Because(err)
	}
	if !slices.ContainsFunc(damaged, func(d Damaged) bool { return d.Name == name }) {
		return nothingCalled(name)
	}
	return q.outcomes.Remove(strings.TrimPrefix(name, outcomeName("")))
}

func nothingCalled(name string) error {
	return problem.New(problem.Gone, "queue", "Nothing in the queue is called %q. Nothing was withdrawn.", name)
}

// withdrawn is the outcome of an entry that was taken out, after another one that
// was not the last word.
func withdrawn(before Outcome) Outcome {
	o := before
	if _, unsure := before.Ended.(Unknown); unsure {
		o.Ended = Unknown{Why: "it was withdrawn from the queue, after a try of which it is not known what became"}
		return o
	}
	o.Ended = Refused{Problem: problem.Refusal("withdrawn", "It was withdrawn from the queue. Nothing was appended.")}
	return o
}
