package git

import (
	"context"
	"path/filepath"

	"holdfast/internal/durable"
)

// MoveBranch lets a branch of r itself point to id if it points to old, or if it
// is not there where old is the zero ID; otherwise it is a [*Moved]. It is for a
// repository that stands in for a remote and that nobody pushes to: no hook runs.
func (r *Repo) MoveBranch(ctx context.Context, branch Ref, id, old ID) error {
	return r.moveRef(ctx, branch, id, old)
}

// Borrow lets r read the objects of another repository as if they were its own.
// The other one must stay where it is beside r.
func (r *Repo) Borrow(other *Repo) error {
	objects := filepath.Join(r.dir, "objects")
	rel, err := filepath.Rel(objects, filepath.Join(other.dir, "objects"))
	if err != nil {
		return err
	}
	info, err := durable.OpenDir(filepath.Join(objects, "info"))
	if err != nil {
		return err
	}
	defer info.Close()
	return info.WriteFile("alternates", []byte(rel+"\n"), 0o644)
}
