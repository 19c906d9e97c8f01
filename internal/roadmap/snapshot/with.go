package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"holdfast/internal/canon"
	"holdfast/internal/durable"
	"holdfast/internal/problem"
	"holdfast/internal/roadmap/git"
)

// Snapshot is one that is open, for as long as the operation runs that has it.
type Snapshot struct {
	name   Name
	commit git.ID
	repo   *git.Repo
}

// Path is where it stands.
func (s *Snapshot) Path() string { return s.name.String() }

// Commit is what it pins.
func (s *Snapshot) Commit() git.ID { return s.commit }

// Repo is the instance's repository, whose git processes hold the owner's lock.
func (s *Snapshot) Repo() *git.Repo { return s.repo }

// Operation is what With does.
type Operation[T any] struct {
	Name string // lower case with hyphens, such as record
	// Find says which commit the snapshot is to be of; it may fetch it. Its repo's
	// processes hold the owner's lock.
	Find func(ctx context.Context, repo *git.Repo) (git.ID, error)
	// Do is the operation, on the snapshot.
	Do func(ctx context.Context, snap *Snapshot) T
	// Refuse makes a result of why there is no snapshot.
	Refuse func(err error) T
}

// With opens a snapshot, runs op on it, and removes it; then it answers. It removes
// it too when ctx has ended, and when Do panics, which then goes on.
func With[T any](ctx context.Context, s *Store, op Operation[T]) (answer Closed[T]) {
	answer.Close = NotOpened{}
	own, err := s.own(op.Name)
	if err != nil {
		answer.Result = op.Refuse(err)
		return answer
	}
	defer own.lock.Release()
	// Whatever becomes of the operation, its end is not an end to the removal.
	after := context.WithoutCancel(ctx)
	// A crash from here on leaves the owner's file, and perhaps a snapshot.
	defer func() { answer.Close = s.noted(after, op.Name, own.end(after)) }()
	commit, err := op.Find(ctx, own.repo)
	if err == nil {
		err = own.open(ctx, commit)
	}
	if err != nil {
		answer.Result = op.Refuse(err)
		return answer
	}
	answer.Result = op.Do(ctx, &Snapshot{own.name, commit, own.repo})
	return answer
}

// owned is a name whose owner this process is.
type owned struct {
	store *Store
	name  Name
	lock  *durable.Lock
	repo  *git.Repo // handing the lock on
	state state
	op    string
}

type state uint8

const (
	untouched  state = iota // git was not asked for a worktree
	attempted               // git was asked, and did not say that there is one
	registered              // there is one
)

// own makes the file of an owner, locked.
func (s *Store) own(operation string) (*owned, error) {
	if err := checkOperation(operation); err != nil {
		return nil, refusedToOpen(err)
	}
	if s.ident.machine == "" || s.ident.boot == "" {
		return nil, refusedToOpen(errors.New("the machine has no id, or its start has none"))
	}
	for {
		n := s.namespace.fresh()
		text, err := canon.Encode(owner{
			Schema: ownerSchema, Machine: s.ident.machine, Boot: s.ident.boot, PID: os.Getpid(),
			Operation: operation, Since: time.Now().UTC().Truncate(time.Second),
		})
		if err != nil {
			return nil, refusedToOpen(err)
		}
		lock, err := s.owners.CreateLocked(n.owner(), text, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, refusedToOpen(err)
		}
		return &owned{store: s, name: n, lock: lock, repo: s.repo.Holding(lock.File()), op: operation}, nil
	}
}

func refusedToOpen(cause error) error {
	return problem.New(problem.KindOf(cause), "snapshot-open", "No snapshot of the plan could be opened: %s.", problem.Words(cause)).Because(cause)
}

// open lets git register the worktree.
func (o *owned) open(ctx context.Context, commit git.ID) error {
	o.state = attempted
	err := o.repo.AddWorktree(ctx, o.name.String(), commit, fmt.Sprintf("holdfast %s, process %d", o.op, os.Getpid()))
	if err != nil {
		return refusedToOpen(err)
	}
	o.state = registered
	return nil
}

// end removes what there is of the snapshot, and then the owner's file.
func (o *owned) end(ctx context.Context) Close {
	c := o.remove(ctx)
	if _, failed := c.(CloseFailed); failed {
		return c // the owner's file stays, and its lock tells that the owner is gone
	}
	if failed, ok := o.store.forget(o.name).(CloseFailed); ok {
		return failed
	}
	return c
}

func (o *owned) remove(ctx context.Context) Close {
	switch o.state {
	case untouched:
		return NotOpened{}
	case registered:
		return o.store.remove(ctx, o.repo, o.name, true)
	case attempted:
	}
	// Git takes back what it began, but not if it was killed.
	c := o.store.removeLeft(ctx, o.repo, o.name)
	if _, ok := c.(Removed); ok {
		return NotOpened{}
	}
	return c
}

// removeLeft removes what was left at n, whether or not git has it on its list.
func (s *Store) removeLeft(ctx context.Context, repo *git.Repo, n Name) Close {
	list, err := s.Worktrees(ctx)
	if err != nil {
		return CloseFailed{Worktree: n.String(), ExitCode: noExit, Stderr: "git's list of worktrees cannot be read: " + err.Error()}
	}
	return s.remove(ctx, repo, n, slices.Contains(list, n))
}
