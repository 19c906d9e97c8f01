package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"holdfast/internal/plain"
	"holdfast/internal/problem"
)

// Resolve is the object that ref points to, if it is there.
func (r *Repo) Resolve(ctx context.Context, ref Ref) (ID, bool, error) {
	out, err := r.run(ctx, Command{Args: []string{"for-each-ref", "--format=%(objectname) %(refname)", "--", ref.name}})
	if err != nil {
		return ID{}, false, err
	}
	if words := Words(out.Stderr); words != "" { // such as a ref that is broken: it is not absent
		return ID{}, false, &Unclear{Command: "git for-each-ref", Reason: words}
	}
	for line := range bytes.Lines(out.Stdout) {
		id, name, _ := strings.Cut(strings.TrimSuffix(string(line), "\n"), " ")
		if name != ref.name {
			continue // below the one that was asked for
		}
		parsed, ok := ParseID(id)
		if !ok {
			return ID{}, false, &Unclear{Command: "git for-each-ref", Reason: "it printed " + plain.Text(id) + " for an id"}
		}
		return parsed, true, nil
	}
	return ID{}, false, nil
}

// Moved is the error of a compare-and-swap that found something else.
type Moved struct {
	Ref Ref
	Is  ID // where it points to, zero for nowhere
}

func (e *Moved) Error() string {
	if e.Is.IsZero() {
		return e.Ref.name + " is not there any more"
	}
	return fmt.Sprintf("%s is at %s by now", e.Ref.name, e.Is)
}

func (e *Moved) Unwrap() error {
	return problem.Refusal("ref-moved", "%s. It was not moved.", sentence(e.Error()))
}

// UpdateRef lets ref, one of ours, point to id if it points to old, or if it is not
// there where old is the zero ID. Otherwise it is a [*Moved].
func (r *Repo) UpdateRef(ctx context.Context, ref Ref, id, old ID) error {
	if err := checkOwn(ref); err != nil {
		return err
	}
	return r.moveRef(ctx, ref, id, old)
}

func (r *Repo) moveRef(ctx context.Context, ref Ref, id, old ID) error {
	_, err := r.run(ctx, Command{Args: []string{"update-ref", "--no-deref", "--", ref.name, id.hex, old.hex}})
	if err == nil {
		return nil
	}
	if is, _, unread := r.Resolve(ctx, ref); unread == nil && is != old && is != id {
		return &Moved{Ref: ref, Is: is}
	}
	return err
}

// LockLeft reports whether a command failed because the ref that it was to write is
// locked: by a git that writes it, or by one that was killed before it took its
// lock away.
func LockLeft(err error) bool {
	var exited *Exited
	return errors.As(err, &exited) && strings.Contains(exited.Words, ".lock': File exists")
}

// ClearLock takes away the lock of ref that a killed git left. The caller holds what
// whoever writes the ref has to hold, so that nobody writes it now.
func (r *Repo) ClearLock(ref Ref) error {
	err := os.Remove(filepath.Join(r.dir, filepath.FromSlash(ref.name)+".lock"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
