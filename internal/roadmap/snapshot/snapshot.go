// Package snapshot keeps the private snapshots in which operations look at the log,
// and sees to it that each is closed and that how is said.
//
// A snapshot is a worktree of the instance's own repository, at one commit:
// detached, nothing checked out, locked. It pins the commit, and what a crash leaves
// is something that git lists. It stands at
//
//	PLAN/snapshots/holdfast-roadmap-snapshot.NAMESPACE.SUFFIX
//
// where PLAN is the folder of the repository. The [Namespace] is a digest of fixed
// width, of the canonical path of the repository. A path is ours by its complete
// shape ([Namespace.Owned]), never by how it begins.
//
// Beside it, in PLAN/owners/, stands a file that says whose it is. It is locked
// (flock) from before it has its name until the snapshot is closed, and the lock is
// handed to every git process: it is free only when owner and children are gone.
// [Store.Judge] asks the kernel for that, never the age of anything.
//
// [With] is the only way to have a snapshot. The operation's result comes first,
// then the removal, then the answer, [Closed], which holds both. A removal that
// failed never changes the result. It is never dropped either: it is in the answer,
// and in the journal PLAN/close-failures.jsonl, which the next census reads.
//
// A removal empties the folder by descriptor, following no link and entering no
// mount; only then is git asked to remove what it has registered, since git removes
// through mounts and forgets a worktree even where the folder cannot be removed.
//
// Seen for long is not left behind: nothing here removes a snapshot but its owner,
// and [Store.Reap] where the owner is [Gone].
package snapshot

import (
	"context"
	"fmt"
	"path/filepath"
	"unicode/utf8"

	"holdfast/internal/durable"
	"holdfast/internal/problem"
	"holdfast/internal/roadmap/git"
)

// The names inside of PLAN.
const (
	snapshotsFolder = "snapshots"
	ownersFolder    = "owners"
	failuresFile    = "close-failures.jsonl"
)

// Store is the snapshots of one instance. It is safe for concurrent use.
type Store struct {
	repo      *git.Repo
	namespace Namespace
	plan      *durable.Dir
	snapshots *durable.Dir
	owners    *durable.Dir
	ident     identity
}

// OpenStore opens the snapshots that stand beside repo, and makes their folders if
// need be.
func OpenStore(repo *git.Repo) (*Store, error) {
	plan := filepath.Dir(repo.Dir())
	if !utf8.ValidString(plan) {
		return nil, problem.Refusal("snapshot-home", "The path of the plan's folder is not UTF-8, so that no record could name a snapshot in it. Nothing was changed.").
			WithHint("Give the home another name.")
	}
	s := &Store{repo: repo, namespace: NamespaceOf(repo.Dir()), ident: thisProcess()}
	var err error
	if s.plan, err = durable.OpenDir(plan); err == nil {
		s.snapshots, err = s.plan.MakeSub(snapshotsFolder, 0o700)
	}
	if err == nil {
		s.owners, err = s.plan.MakeSub(ownersFolder, 0o700)
	}
	if err != nil {
		s.Close()
		return nil, problem.New(problem.Failed, "snapshot-home", "The folder of the plan's snapshots cannot be opened: %s.", problem.Words(err)).Because(err)
	}
	return s, nil
}

// Close lets the folders go. Snapshots that are open stay so.
func (s *Store) Close() {
	for _, d := range []*durable.Dir{s.plan, s.snapshots, s.owners} {
		if d != nil {
			d.Close()
		}
	}
}

// Namespace is the instance's.
func (s *Store) Namespace() Namespace { return s.namespace }

// Plan is the folder that the snapshots' own stands in. The store closes it.
func (s *Store) Plan() *durable.Dir { return s.plan }

// Worktrees is git's list, as far as it is this instance's snapshots.
func (s *Store) Worktrees(ctx context.Context) ([]Name, error) {
	list, err := s.repo.Worktrees(ctx)
	if err != nil {
		return nil, err
	}
	var names []Name
	for _, w := range list {
		if n, ok := s.namespace.Owned(w.Path); ok {
			names = append(names, n)
		}
	}
	return names, nil
}

// Folders is the folders that have the shape of this instance's snapshots.
func (s *Store) Folders() ([]Name, error) {
	all, err := s.snapshots.Names()
	if err != nil {
		return nil, err
	}
	var names []Name
	for _, base := range all {
		n, ok := s.namespace.Owned(s.namespace.folder + "/" + base)
		if !ok {
			continue
		}
		dir, err := s.snapshots.IsDir(base)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", base, err)
		}
		if dir {
			names = append(names, n)
		}
	}
	return names, nil
}
