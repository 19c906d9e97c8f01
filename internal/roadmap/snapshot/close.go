package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"holdfast/internal/durable"
	"holdfast/internal/plain"
	"holdfast/internal/problem"
	"holdfast/internal/roadmap/git"
)

// Closed is the answer of an operation that may have opened a snapshot: what it came
// to, and, beside it, how the snapshot was closed.
type Closed[T any] struct {
	Result T
	Close  Close
}

// Close is how a snapshot was closed.
//
//sumtype:decl
type Close interface{ isClose() }

// NotOpened: there was none, and nothing of one is left.
type NotOpened struct{}

// Removed: there was one, and nothing of it is left.
type Removed struct{}

// CloseFailed: the worktree is left, in full or in part.
type CloseFailed struct {
	Worktree string
	ExitCode int    // git's, or -1 where git was not asked or did not end by itself
	Stderr   string // git's words, or ours
}

// Sentence says for people what was left, to stand after whatever else is said.
func (c CloseFailed) Sentence() string {
	how := fmt.Sprintf("git ended with exit status %d", c.ExitCode)
	if c.ExitCode == noExit {
		how = "its removal did not come to an end"
	}
	return fmt.Sprintf("The snapshot %s is left behind, since %s: %s", plain.Text(c.Worktree), how, plain.Lines(c.Stderr))
}

func (NotOpened) isClose()   {}
func (Removed) isClose()     {}
func (CloseFailed) isClose() {}

// noExit is the exit code of what was no exit of git's.
const noExit = -1

// removing is how long all of a removal may take that is not git's.
const removing = time.Minute

// remove removes what stands at n. registered says that git has it on its list. The
// owner's file stays.
func (s *Store) remove(ctx context.Context, repo *git.Repo, n Name, registered bool) Close {
	failed := func(code int, words string) Close {
		return CloseFailed{Worktree: n.String(), ExitCode: code, Stderr: plain.Unicode(words)}
	}
	limited, cancel := context.WithTimeout(ctx, removing)
	defer cancel()
	if err := s.empty(limited, n, registered); err != nil {
		return failed(noExit, "the folder could not be emptied: "+err.Error())
	}
	// A crash here leaves an empty folder, on git's list.
	if !registered {
		return Removed{}
	}
	out, err := repo.RemoveWorktree(ctx, n.String())
	var exited *git.Exited
	switch {
	case errors.As(err, &exited):
		return failed(exited.Code, exited.Words)
	case err != nil:
		return failed(noExit, err.Error())
	}
	if there, err := s.snapshots.IsDir(n.base); there || err != nil {
		return failed(out.Exit, strings.TrimSpace("the folder is there still. "+git.Words(out.Stderr)))
	}
	return Removed{}
}

// empty empties the folder of n. Git asks for the file .git in a folder that it has
// registered, so that is left for it; without it, the folder goes too.
func (s *Store) empty(ctx context.Context, n Name, registered bool) error {
	dir, err := s.snapshots.Sub(n.base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	kept := false
	err = dir.Empty(ctx, func(name string, mode fs.FileMode) bool {
		mine := registered && name == ".git" && mode.IsRegular()
		kept = kept || mine
		return mine
	})
	if err != nil || kept {
		return err
	}
	return s.snapshots.RemoveDir(n.base)
}

// Failure is a removal that failed, as the journal has it.
type Failure struct {
	Seq       int64 // counted from 1, without a gap
	At        time.Time
	Operation string
	Close     CloseFailed
}

// Failures is all of the journal. A line that is torn was never acknowledged, and is
// left out; whatever else is not as it should be is an error.
func (s *Store) Failures() ([]Failure, error) {
	var all []Failure
	_, err := s.plan.ReadJournal(failuresFile, maxFailure, replay(&all))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return all, err
}

// replay reads lines into all.
func replay(all *[]Failure) func(durable.Record) error {
	return func(line durable.Record) error {
		f, err := decodeFailure(line.Data)
		if err == nil && f.Seq != int64(len(*all))+1 {
			err = fmt.Errorf("it has the number %d where %d is due", f.Seq, len(*all)+1)
		}
		if err != nil {
			return err
		}
		*all = append(*all, f)
		return nil
	}
}

// note writes a removal that failed into the journal.
func (s *Store) note(ctx context.Context, operation string, c CloseFailed) error {
	ctx, cancel := context.WithTimeout(ctx, removing)
	defer cancel()
	lock, err := durable.Await(ctx, s.owners.LockDir) // one writes at a time
	if err != nil {
		return err
	}
	defer lock.Release()
	var all []Failure
	j, err := s.plan.OpenJournal(failuresFile, maxFailure, replay(&all))
	if err != nil {
		return err
	}
	defer j.Close()
	return j.Append(Failure{Seq: int64(len(all)) + 1, At: time.Now().UTC().Truncate(time.Second), Operation: operation, Close: c})
}

// noted is c, after it was written into the journal. Where that failed, c says so:
// it is then the only place that has it.
func (s *Store) noted(ctx context.Context, operation string, c Close) Close {
	failed, ok := c.(CloseFailed)
	if !ok {
		return c
	}
	if err := s.note(ctx, operation, failed); err != nil {
		failed.Stderr += "\n(this is not in the journal of failed removals: " + plain.Unicode(problem.Words(err)) + ")"
	}
	return failed
}
