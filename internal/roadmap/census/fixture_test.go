package census

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"holdfast/internal/roadmap/git"
	"holdfast/internal/roadmap/snapshot"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// home is an instance, with a commit in its repository.
type home struct {
	t      *testing.T
	store  *snapshot.Store
	repo   *git.Repo
	plan   string
	commit git.ID
	taken  int
}

func newHome(t *testing.T) *home {
	t.Helper()
	return homeAt(t, filepath.Join(t.TempDir(), "plan"))
}

func homeAt(t *testing.T, plan string) *home {
	t.Helper()
	check(t, os.MkdirAll(plan, 0o755))
	repo, err := git.Init(t.Context(), filepath.Join(plan, "carrier.git"), git.Options{})
	check(t, err)
	store, err := snapshot.OpenStore(repo)
	check(t, err)
	t.Cleanup(store.Close)
	ref, err := git.OwnRef("written")
	check(t, err)
	commit, err := repo.Write(t.Context(), git.Commit{Ref: ref, Time: noon, Message: "m"})
	check(t, err)
	return &home{t: t, store: store, repo: repo, plan: plan, commit: commit}
}

// with runs do on a snapshot.
func (h *home) with(do func(*snapshot.Snapshot)) snapshot.Close {
	h.t.Helper()
	return snapshot.With(h.t.Context(), h.store, snapshot.Operation[error]{
		Name:   "test",
		Find:   func(context.Context, *git.Repo) (git.ID, error) { return h.commit, nil },
		Do:     func(_ context.Context, s *snapshot.Snapshot) error { do(s); return nil },
		Refuse: func(err error) error { h.t.Error(err); return err },
	}).Close
}

// fails leaves a snapshot behind whose removal failed, and says where.
func (h *home) fails() (path string) {
	h.t.Helper()
	is[snapshot.CloseFailed](h.t, h.with(func(s *snapshot.Snapshot) {
		path = s.Path()
		check(h.t, os.RemoveAll(h.plan+"/carrier.git/worktrees/"+filepath.Base(path)))
	}))
	return path
}

// take takes a census, each a minute after the last, and checks that what is on the
// disk is what was answered.
func (h *home) take() Receipt {
	h.t.Helper()
	h.taken++
	r, err := Take(h.t.Context(), h.store, noon.Add(time.Duration(h.taken)*time.Minute))
	check(h.t, err)
	data, err := os.ReadFile(h.receipt())
	check(h.t, err)
	back, err := Decode(h.store.Namespace(), data)
	check(h.t, err)
	same(h.t, r, back)
	return r
}

func (h *home) receipt() string { return filepath.Join(h.plan, Folder, File) }

// same checks that two receipts are written alike.
func same(t *testing.T, a, b Receipt) {
	t.Helper()
	x, err := Encode(a)
	check(t, err)
	y, err := Encode(b)
	check(t, err)
	if string(x) != string(y) {
		t.Errorf("%s\nis not\n%s", x, y)
	}
}

// counts checks how many snapshots there are, how many of them were there before,
// and how many failures are told.
func (r Receipt) counts(t *testing.T, snapshots, across, failures int) {
	t.Helper()
	if len(r.Snapshots) != snapshots || len(r.PresentAcross) != across || len(r.CloseFailures) != failures {
		t.Errorf("%d snapshots, %d across, %d failures; want %d, %d, %d", len(r.Snapshots), len(r.PresentAcross), len(r.CloseFailures), snapshots, across, failures)
	}
}
