package git

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Counts is how a repository stores its objects.
type Counts struct {
	Loose int // objects in files of their own
	Packs int
	Bytes int64 // both together, on the disk
}

// Counts asks git for its own count.
func (r *Repo) Counts(ctx context.Context) (Counts, error) {
	out, err := r.run(ctx, Command{Args: []string{"count-objects", "-v"}})
	if err != nil {
		return Counts{}, err
	}
	said := map[string]int64{}
	for line := range bytes.Lines(out.Stdout) {
		name, value, ok := strings.Cut(strings.TrimSpace(string(line)), ": ")
		n, err := strconv.ParseInt(value, 10, 64)
		if ok && err == nil {
			said[name] = n
		}
	}
	for _, name := range []string{"count", "size", "packs", "size-pack"} {
		if _, ok := said[name]; !ok {
			return Counts{}, &Unclear{Command: "git count-objects", Reason: "it did not say " + name}
		}
	}
	return Counts{Loose: int(said["count"]), Packs: int(said["packs"]), Bytes: 1024 * (said["size"] + said["size-pack"])}, nil
}

// Repack puts loose objects, and small packs, into larger ones. Nothing is lost,
// reachable or not. The caller sees to it that nobody else does so now.
func (r *Repo) Repack(ctx context.Context, limit Deadline) error {
	_, err := r.run(ctx, Command{Args: []string{"repack", "-d", "-l", "--quiet", "--geometric=2"}, Deadline: limit})
	if err != nil {
		return err
	}
	graph := Command{Args: []string{"commit-graph", "write", "--reachable", "--split", "--no-progress"}, Deadline: limit}
	_, err = r.run(ctx, graph)
	if LockLeft(err) { // by one that was killed
		_ = os.Remove(filepath.Join(r.dir, "objects", "info", "commit-graphs", "commit-graph-chain.lock"))
		_, err = r.run(ctx, graph)
	}
	return err
}

// Prune removes loose objects that nothing reaches and that are older than a
// time.
func (r *Repo) Prune(ctx context.Context, before time.Time, limit Deadline) error {
	_, err := r.run(ctx, Command{Args: []string{"prune", "--expire=" + strconv.FormatInt(before.Unix(), 10)}, Deadline: limit})
	return err
}
