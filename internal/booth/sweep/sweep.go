// Package sweep is the only deleter. What else removes a booth asks it to.
//
// The model. A [Sweeper] has the lock of one data folder, and nobody else sweeps
// there. At each tick it
//
//   - puts back what a crash left aside,
//   - records the booths that came ([ledger.Ledger.SetArrivals]),
//   - nominates: a cheap walk says which booths may have expired,
//   - condemns: of those that an earlier tick nominated, each is locked, read
//     strictly ([booth.At]), put aside under another name, read again, and only
//     then put into the trash,
//   - looks at the trash: what was touched since comes back, and what has been
//     there for long enough is deleted.
//
// A booth that is nominated and taken passes through these places in the data
// folder, where every ID is another one:
//
//	NAME → .sweeping-ID → .trash-ID → gone
//
// What it promises:
//   - Nothing is deleted the first time that it is seen expired, nor after the
//     clock jumped or the machine started again; nothing on a read that failed.
//   - Nothing is moved before its line in sweep.jsonl is durable. Whatever dies
//     when, the journal says what lies where; what it does not name is left alone.
//   - A name that is taken is never replaced.
//   - Only the timer honours holds: the operator's [Sweeper.Remove] takes a held
//     or kept booth like any other, and it can be undone.
//   - Who has a booth's lock, and found it by its name afterwards, has a booth
//     that the timer does not take while the lock is held. The operator waits for
//     it a little and then goes on without, since a lock that somebody forgot
//     would hold for ever; the journal's line says so. What is written afterwards
//     brings the booth back, and nothing is deleted while it is locked.
//   - Nobody waits for a deletion but who asked for it, and Close: it goes on
//     between the acts. What is being deleted cannot be restored.
//
// What it does not promise: that a booth goes at the first moment at which it
// could. Whatever is in doubt is tried again at the next tick.
//
// The journal is the record of what was done, and what recovery replays. Its
// lines are described at [record]; sweep.jsonl, .sweeper.json and the names above
// stand in docs/FORMATS.md too.
package sweep

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/internal/booth/folder"
	"holdfast/internal/booth/ledger"
	"holdfast/internal/canon"
	"holdfast/internal/durable"
	"holdfast/internal/problem"
)

// Config is what a sweeper works with. Every field but Faults is needed.
type Config struct {
	Data   *folder.Data
	Desk   *durable.Dir // the desk's folder in the home: sweep.jsonl
	Ledger *ledger.Ledger
	// TTL is how long a booth outlives its newest stamp, Tick the time from one
	// tick to the next: a booth goes no earlier than half of it after it was
	// first seen expired.
	TTL, Tick time.Duration
	// TrashTTL is how long the trash keeps a booth, in time that a sweeper was at
	// work; 0 deletes at once.
	TrashTTL time.Duration
	Clock    Clock
	Log      *slog.Logger
	Holder   string // who sweeps, for a second one to be told: "holdfast up"
	// Faults is asked before and after each effect, as in package durable. It is
	// nil outside tests.
	Faults durable.Faults
}

// Sweeper sweeps one data folder. It is safe for concurrent use: ticks and the
// operator's acts exclude each other, and wait for each other no longer than
// their contexts last.
type Sweeper struct {
	conf     Config
	lock     *durable.Lock
	patience time.Duration // how long an operator waits for a busy booth

	turn     turn             // taken before any booth's lock
	journal  *durable.Journal // guarded by turn; nil after it could not be opened again
	stale    bool             // guarded by turn: the journal may say more than we know
	book     book             // guarded by turn: what the journal says
	ticks    ledger.Ticks     // guarded by turn: what ticks.json says, or is about to
	since    time.Duration    // guarded by turn: monotonic time up to which ticks.Service counts
	rounds   int              // guarded by turn: ticks of this process
	warned   map[string]bool  // guarded by turn: places of which the log has been told
	deleting map[string]bool  // guarded by turn: the ids that somebody is deleting right now
	closed   bool             // guarded by turn: no deletion begins any more

	deletions sync.WaitGroup // as many as deleting has; none is added once closed
	shown     atomic.Pointer[shown]
}

// turn is a mutex for which nobody waits longer than a context lasts. Who waited
// first has it next.
type turn chan struct{}

func (t turn) take(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t turn) release() { <-t }

// shown is what a page may ask for while a tick is at work.
type shown struct {
	trash   []Trashed // Purge is the service time at which it ends
	aside   []Aside
	service time.Duration
	since   time.Duration
}

// Report is what a tick did. Both lists are by name. The names are exact bytes; in
// JSON, which holds Unicode only, what is not UTF-8 is U+FFFD.
type Report struct {
	Swept  []string `json:"swept"`
	Spared []Spared `json:"spared"`
}

// Spared is a booth that is expired by its age, or may be for all that was asked
// (a kept one, one with an open question), and was not taken. Why is its lifetime
// in a line, or why it was not decided yet.
type Spared struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

// Trashed is a booth in the trash.
type Trashed struct {
	ID    string
	Name  folder.Name
	At    time.Time // when it was put there
	By    string    // the principal that removed it, "" for the timer
	Rule  string    // why it went, in a sentence
	Bytes int64     // of its items
	// Purge is how much longer it is kept, in time that a sweeper is at work.
	Purge time.Duration
	// Trouble is why it neither went nor came back, "" for none.
	Trouble string
}

// Aside is a booth that was put aside and could not go back, since its name was
// taken meanwhile. It is tried again at each tick.
type Aside struct {
	ID   string
	Name folder.Name
	At   time.Time // when it was put aside
}

const (
	journalFile = "sweep.jsonl"
	holderFile  = ".sweeper.json"
	maxRecord   = 1 << 20 // of a line: a path of 128 names, each byte escaped
	maxHolder   = 4096
)

// Open takes the lock of the data folder and puts in order what a crash left. A
// second sweeper is refused at step "sweeper", and told who has it.
func Open(ctx context.Context, c Config) (*Sweeper, error) {
	lock, err := takeFolder(c)
	if err != nil {
		return nil, err
	}
	s := &Sweeper{
		conf: c, lock: lock, patience: 3 * time.Second, since: c.Clock.Monotonic(),
		turn: make(turn, 1), warned: map[string]bool{}, deleting: map[string]bool{},
	}
	if err := s.mendLocked(); err != nil {
		return nil, errors.Join(err, lock.Release())
	}
	s.ticks, err = c.Ledger.Ticks()
	if err != nil {
		c.Log.Warn("the record of ticks cannot be read: the count starts again", "error", err)
	}
	if s.ticks.Nominated == nil {
		s.ticks.Nominated = map[string]time.Duration{}
	}
	s.ticks.Service = max(s.ticks.Service, s.book.service)
	s.leftoversLocked(ctx)
	s.publishLocked()
	s.purgeAll(ctx)
	return s, nil
}

// takeFolder locks the data folder and says in it who has it.
func takeFolder(c Config) (*durable.Lock, error) {
	dir, err := durable.FromFile(c.Data.Dir())
	if err != nil {
		return nil, problem.New(problem.Failed, "sweeper", "The data folder cannot be locked.").Because(err)
	}
	defer dir.Close()
	lock, err := dir.LockDir()
	var held *durable.Held
	if errors.As(err, &held) {
		return nil, taken(dir).Because(err)
	}
	if err != nil {
		return nil, problem.New(problem.Failed, "sweeper", "The data folder cannot be locked.").Because(err)
	}
	line, err := canon.Encode(durable.Holder{PID: os.Getpid(), Command: c.Holder, Since: c.Clock.Now().UTC().Truncate(time.Second)})
	if err == nil {
		err = dir.WriteFile(holderFile, append(line, '\n'), 0o644)
	}
	if err != nil { // the lock decides; without the file a second one is told less
		c.Log.Warn("who sweeps could not be written down", "error", err)
	}
	return lock, nil
}

// taken is the refusal of a second sweeper.
func taken(dir *durable.Dir) *problem.Error {
	var h durable.Holder
	line, err := dir.ReadFile(holderFile, maxHolder)
	if err == nil {
		err = canon.Decode(line, &h)
	}
	if err != nil {
		return problem.Refusal("sweeper", "The data folder is swept by another process. Nothing was changed.")
	}
	return problem.Refusal("sweeper", "The data folder is swept by process %d (%s) since %s. Nothing was changed.",
		h.PID, h.Command, h.Since.UTC().Format(time.RFC3339))
}

// Close waits for what is under way and lets the data folder go. Its caller calls
// nothing else afterwards.
func (s *Sweeper) Close() error {
	s.turn <- struct{}{}
	s.closed = true
	s.turn.release()
	s.deletions.Wait()
	s.turn <- struct{}{}
	defer s.turn.release()
	var err error
	if s.journal != nil {
		err = s.journal.Close()
	}
	return errors.Join(err, s.lock.Release())
}

// Trash is what is in the trash, newest first.
func (s *Sweeper) Trash() []Trashed {
	now := s.shown.Load()
	service := now.service + s.conf.Clock.Monotonic() - now.since
	trash := slices.Clone(now.trash)
	for i := range trash {
		trash[i].Purge = max(0, trash[i].Purge-service)
	}
	return trash
}

// Aside is what could not go back, newest first.
func (s *Sweeper) Aside() []Aside { return slices.Clone(s.shown.Load().aside) }

// publishLocked shows what the book says now.
func (s *Sweeper) publishLocked() {
	v := &shown{service: s.ticks.Service, since: s.since, trash: []Trashed{}, aside: []Aside{}}
	for _, e := range s.book.sorted() {
		switch e.state {
		case inTrash, purging:
			t := e.trashed()
			t.Purge = e.service + s.conf.TrashTTL
			v.trash = append(v.trash, t)
		case stuck:
			v.aside = append(v.aside, Aside{e.id.String(), e.name, e.at})
		case aside: // for the length of a tick
		}
	}
	s.shown.Store(v)
}

func (e *entry) trashed() Trashed {
	return Trashed{
		ID: e.id.String(), Name: e.name, At: e.at, By: e.by, Rule: e.rule, Bytes: e.bytes, Trouble: e.trouble,
	}
}

// newestFirst is a total order: no two entries have one id.
func newestFirst(a, b *entry) int {
	return cmp.Or(b.at.Compare(a.at), cmp.Compare(a.id.String(), b.id.String()))
}

// do has one effect on the disk, unless Faults keeps it from happening.
func (s *Sweeper) do(step durable.Step, effect func() error) error {
	if s.conf.Faults == nil {
		return effect()
	}
	if err := s.conf.Faults(durable.Moment{Step: step}); err != nil {
		return err
	}
	if err := effect(); err != nil {
		return err
	}
	return s.conf.Faults(durable.Moment{Step: step, Done: true})
}
