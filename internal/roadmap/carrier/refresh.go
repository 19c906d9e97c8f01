package carrier

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"holdfast/internal/problem"
	"holdfast/internal/roadmap/git"
	"holdfast/internal/roadmap/index"
	"holdfast/internal/roadmap/snapshot"
)

// Trust is whether the log is the one that was read before.
//
//sumtype:decl
type Trust interface{ trust() }

// Trusted: the remote's tip is what the index was made of.
type Trusted struct{}

// Rewritten: the remote has something that does not continue what was read. The
// index is still of what was read.
type Rewritten struct {
	Was string // the tip that was read
	Is  string // the remote's tip; empty: the branch is absent
}

func (Trusted) trust()   {}
func (Rewritten) trust() {}

// Refusal is the answer to whoever wants to append to a rewritten log.
func (r Rewritten) Refusal() *problem.Error {
	if r.Is == "" {
		return problem.Refusal("rewritten", "The plan's branch is gone from the remote, which had %s before. Nothing was appended.", short(r.Was)).
			WithHint("push it back from the plan's own repository: git push URL %s:refs/heads/%s", r.Was, branch)
	}
	return problem.Refusal("rewritten", "The plan's branch was rewritten: %s does not continue %s, which was read before. Nothing was appended.", short(r.Is), short(r.Was)).
		WithHint("look at both, and take the new one with: holdfast roadmap accept-rewrite %s", r.Is)
}

func short(commit string) string { return commit[:min(12, len(commit))] }

// Read is what came of asking the remote.
type Read struct {
	Trust Trust // where Err is nil
	Err   error // a *problem.Error: the remote could not be asked, or what it has not be read
}

// Refresh asks the remote, and reads what is new, so that the index is as new as
// the remote. It is [snapshot.NotOpened] where there was nothing to read.
func (c *Carrier) Refresh(ctx context.Context) snapshot.Closed[Read] {
	lock, err := c.lock(ctx, readLock, "reading the plan")
	if err != nil {
		return notOpened(Read{Err: err})
	}
	defer lock.Release()
	read := c.refreshLocked(ctx)
	if read.Result.Err == nil {
		c.remember(read.Result.Trust)
	}
	return read
}

func notOpened[T any](result T) snapshot.Closed[T] {
	return snapshot.Closed[T]{Result: result, Close: snapshot.NotOpened{}}
}

// refreshLocked is Refresh for whoever has the lock of reading.
func (c *Carrier) refreshLocked(ctx context.Context) snapshot.Closed[Read] {
	if err := c.follow(ctx); err != nil {
		return notOpened(Read{Err: err})
	}
	tip := c.remote.Tip(ctx)
	at, err := c.position(ctx)
	if err != nil {
		return notOpened(Read{Err: err})
	}
	switch tip := tip.(type) {
	case git.Unreachable:
		return notOpened(Read{Err: unreachable(tip.Words)})
	case git.Absent:
		was, err := c.verified(ctx, at)
		switch {
		case err != nil:
			return notOpened(Read{Err: err})
		case was.IsZero():
			return notOpened(Read{Err: ErrNoPlan})
		}
		return notOpened(Read{Trust: Rewritten{Was: was.String()}})
	case git.Present:
		if tip.Commit.String() == at.Commit {
			return notOpened(Read{Trust: Trusted{}})
		}
		return c.catchUpAnyhow(ctx, at)
	default:
		return notOpened(Read{Err: unreachable("its answer is not understood")})
	}
}

func unreachable(words string) error {
	return problem.Refusal("fetch", "The plan's remote could not be asked, so what it has now is not known: %s. Nothing was changed.", strings.TrimRight(words, ".")).
		WithHint("--as-of shows what was read last")
}

// position is where the index stands. A damaged index is made anew, and stands
// nowhere. The caller has the lock of reading.
func (c *Carrier) position(ctx context.Context) (index.Position, error) {
	v, err := c.index().View(ctx)
	if err == nil {
		defer v.Close()
		_, err = parse(v.Position().Commit)
	}
	var damaged *index.Damaged
	switch {
	case errors.As(err, &damaged):
		return index.Position{}, c.renewIndex(ctx, damaged.Error())
	case err != nil:
		return index.Position{}, indexFailed(err)
	}
	return v.Position(), nil
}

// readAt is the commit that the index is of, for whoever has not the lock of
// reading.
func (c *Carrier) readAt(ctx context.Context) (string, error) {
	v, err := c.view(ctx)
	if err != nil {
		return "", readFailed(err)
	}
	defer v.Close()
	return v.Position().Commit, nil
}

// verified is the newest tip that was read, which the index may have lost.
func (c *Carrier) verified(ctx context.Context, at index.Position) (git.ID, error) {
	if at.Commit != "" {
		return parse(at.Commit)
	}
	id, _, err := c.repo.Resolve(ctx, own(refVerified))
	if err != nil {
		return id, problem.New(problem.Failed, "carrier", "What was read of the plan before cannot be told: %s. Nothing was changed.", problem.Words(err)).Because(err)
	}
	return id, nil
}

// catchUpAnyhow is catchUp, and once more after an index that turned out damaged
// was made anew.
func (c *Carrier) catchUpAnyhow(ctx context.Context, at index.Position) snapshot.Closed[Read] {
	read := c.catchUp(ctx, at)
	var damaged *index.Damaged
	if !errors.As(read.Result.Err, &damaged) {
		return read
	}
	if err := c.renewIndex(ctx, damaged.Error()); err != nil {
		read.Result = Read{Err: err}
		return read
	}
	again := c.catchUp(ctx, index.Position{})
	again.Close = Worse(read.Close, again.Close)
	return again
}

// catchUp fetches and reads, in a snapshot.
func (c *Carrier) catchUp(ctx context.Context, at index.Position) snapshot.Closed[Read] {
	return snapshot.With(ctx, c.store, snapshot.Operation[Read]{
		Name: "read",
		Find: func(ctx context.Context, repo *git.Repo) (git.ID, error) {
			commit, err := c.remote.Fetch(ctx, repo)
			if err != nil {
				return commit, unreachable(problem.Words(err))
			}
			return commit, nil
		},
		Do: func(ctx context.Context, s *snapshot.Snapshot) Read {
			trust, err := c.verify(ctx, s.Repo(), at, s.Commit())
			if err != nil {
				return Read{Err: readFailed(err)}
			}
			return Read{Trust: trust}
		},
		Refuse: func(err error) Read { return Read{Err: readFailed(err)} },
	})
}

// Worse is the one of two closings that has to be said.
func Worse(a, b snapshot.Close) snapshot.Close {
	if rank(b) > rank(a) {
		return b
	}
	return a
}

func rank(c snapshot.Close) int {
	switch c.(type) {
	case snapshot.NotOpened:
		return 0
	case snapshot.Removed:
		return 1
	case snapshot.CloseFailed:
		return 2
	default:
		return 2
	}
}

// readFailed gives an error of reading public words, if it has none.
func readFailed(err error) error {
	if err == nil {
		return nil
	}
	var p *problem.Error
	if errors.As(err, &p) {
		return err
	}
	return problem.New(problem.Failed, "read", "The plan's log could not be read: %s. What was read before stays.", problem.Words(err)).Because(err)
}

// verify reads a commit that was fetched, if it continues what was read before.
// An index that stands nowhere first reads that again.
func (c *Carrier) verify(ctx context.Context, repo *git.Repo, at index.Position, commit git.ID) (Trust, error) {
	was, err := c.verified(ctx, at)
	if err != nil {
		return nil, err
	}
	if !was.IsZero() {
		if at.Commit != "" {
			if has, err := repo.Has(ctx, was); err != nil {
				return nil, err
			} else if !has {
				if err := c.renewIndex(ctx, "it is of another log"); err != nil {
					return nil, err
				}
				return c.verify(ctx, repo, index.Position{}, commit)
			}
		}
		descends, err := repo.Descends(ctx, commit, was)
		if err != nil {
			return nil, err
		}
		if !descends {
			return Rewritten{Was: was.String(), Is: commit.String()}, nil
		}
		if at.Commit == "" && was != commit {
			if err := c.readCommit(ctx, repo, was); err != nil {
				return nil, err
			}
		}
	}
	err = c.readCommit(ctx, repo, commit)
	if errors.Is(err, errRewritten) {
		return Rewritten{Was: was.String(), Is: commit.String()}, nil
	}
	if err != nil {
		return nil, err
	}
	return Trusted{}, nil
}

// readCommit brings the index from where it stands to a commit.
func (c *Carrier) readCommit(ctx context.Context, repo *git.Repo, commit git.ID) error {
	update, err := c.difference(ctx, repo, commit)
	if err != nil {
		return err
	}
	return c.record(ctx, update)
}

// record puts an update into the index, and notes its tip as verified. The
// caller has the lock of reading.
func (c *Carrier) record(ctx context.Context, u index.Update) error {
	if err := c.follow(ctx); err != nil {
		return err
	}
	if err := c.index().Apply(ctx, u); err != nil {
		return indexFailed(err)
	}
	// Killed here, the ref is behind the index, which alone is asked while it is
	// there. Without the index, more is read again than need be.
	return c.noteVerified(ctx, u)
}

// noteVerified lets the ref point to an update's tip. The caller has the lock of
// reading.
func (c *Carrier) noteVerified(ctx context.Context, u index.Update) error {
	old, err := parse(u.From)
	if err != nil {
		return err
	}
	commit, err := parse(u.To.Commit)
	if err != nil {
		return err
	}
	if c.moveVerified(ctx, commit, old) == nil {
		return nil
	}
	// The ref stood elsewhere: it was behind, or the index was made anew.
	is, _, err := c.repo.Resolve(ctx, own(refVerified))
	if err == nil && is != commit {
		err = c.moveVerified(ctx, commit, is)
	}
	return err
}

func (c *Carrier) moveVerified(ctx context.Context, commit, old git.ID) error {
	return refs{c.plan}.write(ctx, c.repo, own(refVerified), func(repo *git.Repo) error {
		return repo.UpdateRef(ctx, own(refVerified), commit, old)
	})
}

// Rebuild makes the index anew out of what was read before, because it turned out
// to be of no use. The remote is not asked.
func (c *Carrier) Rebuild(ctx context.Context, because string) snapshot.Closed[Read] {
	lock, err := c.lock(ctx, readLock, "making the index of the plan anew")
	if err != nil {
		return notOpened(Read{Err: err})
	}
	defer lock.Release()
	if err := c.follow(ctx); err != nil {
		return notOpened(Read{Err: err})
	}
	if err := c.renewIndex(ctx, because); err != nil {
		return notOpened(Read{Err: err})
	}
	was, err := c.verified(ctx, index.Position{})
	if err != nil || was.IsZero() {
		return notOpened(Read{Trust: Trusted{}, Err: err})
	}
	return snapshot.With(ctx, c.store, snapshot.Operation[Read]{
		Name: "rebuild",
		Find: func(context.Context, *git.Repo) (git.ID, error) { return was, nil },
		Do: func(ctx context.Context, s *snapshot.Snapshot) Read {
			if err := c.readCommit(ctx, s.Repo(), was); err != nil {
				return Read{Err: readFailed(err)}
			}
			return Read{Trust: Trusted{}}
		},
		Refuse: func(err error) Read { return Read{Err: readFailed(err)} },
	})
}

// difference reads what a commit has beyond the index.
func (c *Carrier) difference(ctx context.Context, repo *git.Repo, commit git.ID) (index.Update, error) {
	view, err := c.index().View(ctx)
	if err != nil {
		return index.Update{}, err
	}
	defer view.Close()
	k, err := knownOf(view)
	if err != nil {
		return index.Update{}, err
	}
	files, err := repo.Files(ctx, commit)
	if err != nil {
		return index.Update{}, err
	}
	objects, err := repo.Objects(ctx)
	if err != nil {
		return index.Update{}, err
	}
	defer objects.Close()
	committed, err := committedAt(objects, commit)
	if err != nil {
		return index.Update{}, err
	}
	r := reader{known: k, format: repo.Format(), objects: objects}
	u, err := r.read(files)
	u.From = k.at.Commit
	u.To.Commit, u.To.Committed, u.To.Read = commit.String(), committed, time.Now()
	return u, err
}

// committedAt is a commit's own time.
func committedAt(objects *git.Objects, commit git.ID) (time.Time, error) {
	o, err := objects.Read(commit.String(), 1<<20)
	if err != nil {
		return time.Time{}, err
	}
	for line := range bytes.Lines(o.Data) {
		if rest, ok := bytes.CutPrefix(line, []byte("committer ")); ok {
			fields := bytes.Fields(rest)
			if len(fields) < 2 {
				break
			}
			seconds, err := strconv.ParseInt(string(fields[len(fields)-2]), 10, 64)
			if err != nil {
				break
			}
			return time.Unix(seconds, 0).UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("commit %s has no time", commit)
}
