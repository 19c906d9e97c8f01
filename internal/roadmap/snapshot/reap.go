package snapshot

import (
	"context"
	"slices"
	"strings"
)

// Reaped is what came of asking for a snapshot to be removed whose owner is gone.
type Reaped struct {
	Owner Owner // as of then; only with Gone was anything removed
	Close Close // NotOpened where nothing was done
}

// Reap removes the snapshot n if its owner is gone. It holds the owner's lock while
// it does.
func (s *Store) Reap(ctx context.Context, n Name) Reaped {
	verdict, lock := s.judge(n.owner())
	if lock == nil {
		return Reaped{verdict, NotOpened{}}
	}
	defer lock.Release()
	const operation = "reap"
	c := s.removeLeft(ctx, s.repo.Holding(lock.File()), n)
	if _, ok := c.(Removed); ok {
		c = s.forget(n)
	}
	return Reaped{verdict, s.noted(context.WithoutCancel(ctx), operation, c)}
}

// forget removes the owner's file of n.
func (s *Store) forget(n Name) Close {
	if err := s.owners.Remove(n.owner()); err != nil {
		return CloseFailed{Worktree: n.String(), ExitCode: noExit, Stderr: "the owner's file could not be removed: " + err.Error()}
	}
	return Removed{}
}

// ReapOwners removes what is left of owners that had no snapshot yet, or none any
// more: files whose owner is gone and for which there is neither worktree nor folder.
func (s *Store) ReapOwners(ctx context.Context) error {
	if _, err := s.owners.RemoveAbandoned(); err != nil {
		return err
	}
	files, err := s.owners.Names()
	if err != nil {
		return err
	}
	for _, file := range files {
		base, isOwner := strings.CutSuffix(file, ".json")
		n, ok := s.namespace.Owned(s.namespace.folder + "/" + base)
		if !isOwner || !ok {
			continue
		}
		if err := s.reapOwner(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) reapOwner(ctx context.Context, n Name) error {
	_, lock := s.judge(n.owner())
	if lock == nil {
		return nil
	}
	defer lock.Release()
	// Under the lock: nobody makes one of this name any more.
	there, err := s.snapshots.IsDir(n.base)
	if err != nil || there {
		return err
	}
	list, err := s.Worktrees(ctx)
	if err != nil || slices.Contains(list, n) {
		return err
	}
	return s.owners.Remove(n.owner())
}
