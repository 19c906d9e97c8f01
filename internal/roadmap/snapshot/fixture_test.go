package snapshot

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"holdfast/internal/roadmap/git"
)

func TestMain(m *testing.M) {
	if asOwner() {
		return
	}
	goleak.VerifyTestMain(m)
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func is[T any](t *testing.T, v any) T {
	t.Helper()
	got, ok := v.(T)
	if !ok {
		t.Fatalf("%T %+v, want %T", v, v, got)
	}
	return got
}

// plainGit runs git as anybody would.
func plainGit(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// home is an instance: its store and a commit in its repository.
type home struct {
	*Store
	t      *testing.T
	plan   string
	commit git.ID
}

func newHome(t *testing.T) *home {
	t.Helper()
	return homeAt(t, filepath.Join(t.TempDir(), "plan"))
}

// homeAt makes an instance with its plan's folder at path.
func homeAt(t *testing.T, path string) *home {
	t.Helper()
	check(t, os.MkdirAll(path, 0o755))
	repo, err := git.Init(t.Context(), filepath.Join(path, "carrier.git"), git.Options{})
	check(t, err)
	return open(t, repo)
}

// open opens the instance of repo.
func open(t *testing.T, repo *git.Repo) *home {
	t.Helper()
	s, err := OpenStore(repo)
	check(t, err)
	t.Cleanup(s.Close)
	ref, err := git.OwnRef("written")
	check(t, err)
	commit, err := repo.Write(t.Context(), git.Commit{Ref: ref, Time: time.Unix(1, 0), Message: "m", Changes: []git.Change{{Path: "a", Data: []byte("1")}}})
	check(t, err)
	return &home{s, t, filepath.Dir(repo.Dir()), commit}
}

// at is an operation that looks at the home's commit and does do.
func (h *home) at(do func(*Snapshot)) Operation[string] {
	return Operation[string]{
		Name:   "test",
		Find:   func(context.Context, *git.Repo) (git.ID, error) { return h.commit, nil },
		Do:     func(_ context.Context, s *Snapshot) string { do(s); return "done" },
		Refuse: func(err error) string { return "refused: " + err.Error() },
	}
}

// run runs do on a snapshot.
func (h *home) run(do func(*Snapshot)) Closed[string] {
	h.t.Helper()
	return With(h.t.Context(), h.Store, h.at(do))
}

// left is the paths that git lists, those that are folders, and the owners' files.
func (h *home) left() (listed, folders, owners []string) {
	h.t.Helper()
	list, err := h.Worktrees(h.t.Context())
	check(h.t, err)
	for _, n := range list {
		listed = append(listed, n.String())
	}
	list, err = h.Folders()
	check(h.t, err)
	for _, n := range list {
		folders = append(folders, n.String())
	}
	owners, err = h.owners.Names()
	check(h.t, err)
	return listed, folders, owners
}

func (h *home) nothingLeft() {
	h.t.Helper()
	if l, f, o := h.left(); len(l)+len(f)+len(o) > 0 {
		h.t.Errorf("left are %v, %v and %v", l, f, o)
	}
}

func (h *home) failures() []Failure {
	h.t.Helper()
	all, err := h.Failures()
	check(h.t, err)
	return all
}

// name is the snapshot at path.
func (h *home) name(path string) Name {
	h.t.Helper()
	n, ok := h.namespace.Owned(path)
	if !ok {
		h.t.Fatalf("%q is not of this namespace", path)
	}
	return n
}
