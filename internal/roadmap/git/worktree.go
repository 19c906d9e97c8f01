package git

import (
	"context"
	"path/filepath"

	"holdfast/internal/plain"
)

// Worktree is one that git lists for a repository, the repository itself among
// them.
type Worktree struct {
	Path     string // as git has it: absolute, without links
	Head     ID     // zero for the bare repository, and where it cannot be told
	Branch   string // the full ref, empty when detached
	Bare     bool
	Detached bool
	Locked   *string // the reason, perhaps empty; nil if it is not locked
	Prunable *string // why git would prune it; nil if it would not
}

// AddWorktree registers a worktree at path, which must not be there or be empty, at
// commit: detached, nothing checked out, locked for reason.
func (r *Repo) AddWorktree(ctx context.Context, path string, commit ID, reason string) error {
	if !filepath.IsAbs(path) {
		return &Unclear{Command: "git worktree", Reason: plain.Text(path) + " is no absolute path"}
	}
	_, err := r.run(ctx, Command{Args: []string{
		"worktree", "add", "--quiet", "--detach", "--no-checkout", "--lock", "--reason", reason, "--", path, commit.hex,
	}})
	return err
}

// RemoveWorktree removes the worktree at path with all that is in it, locked and
// changed as it may be. Git crosses mounts and removes what it registered even if
// the folder cannot be removed: the caller has emptied the folder before.
func (r *Repo) RemoveWorktree(ctx context.Context, path string) (Output, error) {
	if !filepath.IsAbs(path) {
		return Output{Exit: -1}, &Unclear{Command: "git worktree", Reason: plain.Text(path) + " is no absolute path"}
	}
	return r.run(ctx, Command{Args: []string{"worktree", "remove", "--force", "--force", "--", path}})
}

// Worktrees is git's list of the repository's worktrees.
func (r *Repo) Worktrees(ctx context.Context) ([]Worktree, error) {
	out, err := r.run(ctx, Command{Args: []string{"worktree", "list", "--porcelain", "-z"}})
	if err != nil {
		return nil, err
	}
	list, err := decodeWorktrees(string(out.Stdout))
	if err != nil {
		return nil, &Unclear{Command: "git worktree", Reason: "its list is not understood", Err: err}
	}
	return list, nil
}
