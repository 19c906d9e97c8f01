// Package carrier carries the plan: an append-only log of events on one branch
// of an ordinary git remote.
//
// The tip's tree holds the whole log, and is of bounded size (see
// docs/FORMATS.md): sealed segments of 256 events, which never change, and a
// tail of at most 256 files. A [Carrier] keeps a bare repository of its own to
// fetch into and to push from, and an index of what it read.
//
// The log is append-only by check. [Carrier.Refresh] asks the remote for the tip
// in one of three ways (there, absent, unreachable), and reads what is new; a tip
// that does not descend from the one that was read before, or that lacks,
// reorders or changes an event of it, is [Rewritten]: what is shown stays what
// was read, and nothing is appended until the operator names the new tip.
//
// [Carrier.Append] puts a command into the home's queue; whoever has the queue's
// lock publishes all that waits as one commit, pushed with a lease on the tip that
// it was built on. The lease is the check: nothing is fetched before a push, and
// after any failure the tip is read again. What cannot be told is said to be
// unknown, and the operation key tells later.
//
// An operation that has to read opens a private snapshot; how that closed stands
// beside the result, and neither changes the other. What could not be removed is
// put down in the journal of the snapshots as well.
//
// A Carrier may be used concurrently, and so may several on one home.
package carrier

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"holdfast/internal/durable"
	"holdfast/internal/problem"
	"holdfast/internal/roadmap/git"
	"holdfast/internal/roadmap/index"
	"holdfast/internal/roadmap/queue"
	"holdfast/internal/roadmap/snapshot"
)

// Home is where a plan lives.
type Home struct {
	Plan     string // the folder of the plan, which is there
	Embedded string // the repository that stands in for a remote; need not be there
	Limits   git.Limits
	Format   git.Format   // of a new plan's objects; SHA-1 where it is not given
	Log      *slog.Logger // the default logger where it is nil
}

func (h Home) git() git.Options { return git.Options{Format: h.Format, Limits: h.Limits} }

func (h Home) repository() string { return filepath.Join(h.Plan, "carrier.git") }

// Locks of a plan. The queue's is taken before that of reading.
const (
	appendLock = "append.lock"
	readLock   = "read.lock"
	refsLock   = "refs.lock" // taken last, for as long as one git writes a ref
)

// patience is how long an operation tries in all.
const patience = 60 * time.Second

// Carrier is an open plan. Close it.
type Carrier struct {
	home   Home
	plan   *durable.Dir
	repo   *git.Repo
	remote remote
	at     settings // that the remote was opened by
	queue  *queue.Queue
	store  *snapshot.Store
	log    *slog.Logger

	mu  sync.RWMutex // guards idx, which is another one after a rebuild
	idx *index.Index
}

// Open opens the plan of a home. A home without one is refused at the step
// no-plan.
func Open(ctx context.Context, home Home) (*Carrier, error) {
	plan, err := durable.OpenDir(home.Plan)
	if err != nil {
		return nil, problem.Refusal("plan", "The folder of the plan cannot be opened: %s.", problem.Words(err)).Because(err)
	}
	c, err := open(ctx, home, plan)
	if err != nil {
		plan.Close()
		return nil, err
	}
	return c, nil
}

func open(ctx context.Context, home Home, plan *durable.Dir) (*Carrier, error) {
	s, err := readSettings(plan)
	if err != nil {
		return nil, err
	}
	c := &Carrier{home: home, plan: plan, at: s, log: home.Log}
	if c.log == nil {
		c.log = slog.Default()
	}
	if c.repo, err = git.Open(ctx, home.repository(), home.git()); err != nil {
		return nil, problem.New(problem.Failed, "carrier", "The plan's own repository cannot be opened: %s. Nothing was read.", strings.TrimSuffix(problem.Words(err), ".")).
			WithHint("the same holdfast roadmap init again makes one that is lost; move one that is damaged away first").Because(err)
	}
	if c.remote, err = c.openRemote(ctx, s); err != nil {
		return nil, err
	}
	if c.queue, err = queue.Open(plan); err != nil {
		return nil, problem.New(problem.Failed, "queue", "The plan's queue cannot be opened: %s. Nothing was read.", problem.Words(err)).Because(err)
	}
	if c.store, err = snapshot.OpenStore(c.repo); err != nil {
		c.queue.Close()
		return nil, problem.New(problem.Failed, "snapshots", "The plan's snapshots cannot be opened: %s. Nothing was read.", problem.Words(err)).Because(err)
	}
	if c.idx, err = c.openIndex(ctx); err != nil {
		c.queue.Close()
		c.store.Close()
		return nil, err
	}
	return c, nil
}

// Close lets the plan go.
func (c *Carrier) Close() {
	c.index().Close()
	c.store.Close()
	c.queue.Close()
	c.plan.Close()
}

// index is the open index, whichever file that is.
func (c *Carrier) index() *index.Index {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.idx
}

// follow opens the index anew where another carrier of the home has put another
// one in its place. The caller has the lock of reading, so that this is not under
// way.
func (c *Carrier) follow(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.idx.Replaced() {
		return nil
	}
	idx, err := c.openIndexLocked(ctx)
	if err != nil {
		return err
	}
	c.idx.Close()
	c.idx = idx
	return nil
}

// openIndex opens the index.
func (c *Carrier) openIndex(ctx context.Context) (*index.Index, error) {
	idx, err := index.Open(ctx, c.home.Plan)
	if err == nil {
		return idx, nil
	}
	// Somebody may be making it anew this instant, and is to come to the end of that.
	lock, err := c.lock(ctx, readLock, "opening the index of the plan")
	if err != nil {
		return nil, err
	}
	defer lock.Release()
	return c.openIndexLocked(ctx)
}

// openIndexLocked opens the index, and makes it anew where it is damaged. The
// caller has the lock of reading.
func (c *Carrier) openIndexLocked(ctx context.Context) (*index.Index, error) {
	idx, err := index.Open(ctx, c.home.Plan)
	var damaged *index.Damaged
	if errors.As(err, &damaged) {
		c.log.Warn("the index of the plan is made anew", "because", damaged.Error())
		if err := index.Discard(c.home.Plan); err != nil {
			return nil, indexFailed(err)
		}
		idx, err = index.Open(ctx, c.home.Plan)
	}
	if err != nil {
		return nil, indexFailed(err)
	}
	return idx, nil
}

// renewIndex throws the index away, for a reason, and opens an empty one. The
// caller has the lock of reading.
func (c *Carrier) renewIndex(ctx context.Context, because string) error {
	c.log.Warn("the index of the plan is made anew", "because", because)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := index.Discard(c.home.Plan); err != nil {
		return indexFailed(err)
	}
	// From here on the open one is replaced, and the next who follows opens another.
	idx, err := index.Open(ctx, c.home.Plan)
	if err != nil {
		return indexFailed(err)
	}
	c.idx.Close()
	c.idx = idx
	return nil
}

func indexFailed(err error) error {
	return problem.New(problem.Failed, "index", "The index of the plan cannot be used: %s. The plan itself was not touched.", problem.Words(err)).Because(err)
}

// lock takes one of the plan's locks, waiting for whoever has it.
func (c *Carrier) lock(ctx context.Context, name, command string) (*durable.Lock, error) {
	l, err := durable.Await(ctx, func() (*durable.Lock, error) { return c.plan.TryLock(name, command) })
	if err != nil {
		return nil, problem.New(problem.Failed, "busy", "The plan is in use: %s. Nothing was changed.", problem.Words(err)).Because(err)
	}
	return l, nil
}

// View is what the index says now, unasked whether the remote has more. Close it.
func (c *Carrier) View(ctx context.Context) (*index.View, error) {
	v, err := c.view(ctx)
	var damaged *index.Damaged
	if errors.As(err, &damaged) {
		return nil, err // Rebuild mends it
	}
	if err != nil {
		return nil, indexFailed(err)
	}
	return v, nil
}

// view is View with the errors of the index. One that stands nowhere, or is not the
// home's any more, is waited for, if somebody makes it anew.
func (c *Carrier) view(ctx context.Context) (*index.View, error) {
	v, err := c.index().View(ctx)
	if err == nil && v.Position().Commit != "" && !c.index().Replaced() {
		return v, nil
	}
	if err == nil {
		v.Close()
	}
	lock, err := c.lock(ctx, readLock, "opening the index of the plan")
	if err != nil {
		return nil, err
	}
	defer lock.Release()
	if err := c.follow(ctx); err != nil {
		return nil, err
	}
	return c.index().View(ctx)
}

// parse reads a commit out of the index.
func parse(commit string) (git.ID, error) {
	if commit == "" {
		return git.ID{}, nil
	}
	id, ok := git.ParseID(commit)
	if !ok {
		return id, &index.Damaged{Reason: fmt.Sprintf("it has %q for a commit", commit)}
	}
	return id, nil
}

// Store is the plan's snapshots.
func (c *Carrier) Store() *snapshot.Store { return c.store }
