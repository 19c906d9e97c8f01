package snapshot

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/internal/roadmap/git"
)

func TestASnapshotPinsItsCommitAndIsClosedBeforeTheAnswer(t *testing.T) {
	h := newHome(t)
	var path string
	got := h.run(func(s *Snapshot) {
		path = s.Path()
		listed, folders, owners := h.left()
		if len(listed) != 1 || listed[0] != path || len(folders) != 1 || folders[0] != path || len(owners) != 1 {
			t.Errorf("during it there are %v, %v and %v", listed, folders, owners)
		}
		is[Alive](t, h.Judge(h.name(path)))
		names, err := os.ReadDir(path)
		if err != nil || len(names) != 1 {
			t.Errorf("checked out are %v, %v", names, err)
		}
		list, err := s.Repo().Worktrees(t.Context())
		if err != nil || list[1].Head != h.commit || !list[1].Detached || list[1].Locked == nil || !strings.Contains(*list[1].Locked, "holdfast test, process") {
			t.Errorf("%+v, %v", list, err)
		}
	})
	is[Removed](t, got.Close)
	if got.Result != "done" {
		t.Error(got.Result)
	}
	h.nothingLeft()
}

// Red when With removes only after a result, without defer.
func TestAPanicClosesTheSnapshotAndGoesOn(t *testing.T) {
	h := newHome(t)
	func() {
		defer func() {
			if r := recover(); r != "boom" {
				t.Errorf("recovered %v", r)
			}
		}()
		h.run(func(*Snapshot) { panic("boom") })
	}()
	h.nothingLeft()
}

// A failure during a panic has no answer to be in. Red when With does not journal it.
func TestAFailedRemovalDuringAPanicIsJournalled(t *testing.T) {
	h := newHome(t)
	func() {
		defer func() { _ = recover() }()
		h.run(func(s *Snapshot) {
			check(t, os.RemoveAll(filepath.Join(h.plan, "carrier.git/worktrees")))
			panic("boom")
		})
	}()
	if f := h.failures(); len(f) != 1 || f[0].Seq != 1 || f[0].Operation != "test" || f[0].Close.ExitCode != 128 {
		t.Errorf("%+v", f)
	}
}

// Red when With removes under the operation's own context.
func TestAStoppedOperationIsClosedToo(t *testing.T) {
	h := newHome(t)
	ctx, cancel := context.WithCancel(t.Context())
	got := With(ctx, h.Store, h.at(func(*Snapshot) { cancel() }))
	is[Removed](t, got.Close)
	h.nothingLeft()
}

func TestWhatCouldNotBeOpenedLeavesNothing(t *testing.T) {
	h := newHome(t)
	never := h.at(func(*Snapshot) { t.Error("done") })
	missing, _ := git.ParseID(strings.Repeat("1", 40))
	for name, find := range map[string]func(context.Context, *git.Repo) (git.ID, error){
		"not fetched":    func(context.Context, *git.Repo) (git.ID, error) { return git.ID{}, errors.New("no fetch") },
		"no such commit": func(context.Context, *git.Repo) (git.ID, error) { return missing, nil },
		"a folder without an entry": func(context.Context, *git.Repo) (git.ID, error) {
			// The add is refused because something lies there. Red when open's failure removes nothing.
			owners, err := h.owners.Names()
			check(t, err)
			dir := filepath.Join(h.plan, "snapshots", strings.TrimSuffix(owners[0], ".json"))
			return h.commit, errors.Join(os.MkdirAll(dir+"/x", 0o755), os.WriteFile(dir+"/x/y", nil, 0o600))
		},
		"an entry that stays": func(ctx context.Context, _ *git.Repo) (git.ID, error) {
			owners, err := h.owners.Names()
			check(t, err)
			dir := filepath.Join(h.plan, "snapshots", strings.TrimSuffix(owners[0], ".json"))
			return h.commit, h.repo.AddWorktree(ctx, dir, h.commit, "by somebody else")
		},
	} {
		t.Run(name, func(t *testing.T) {
			op := never
			op.Find = find
			got := With(t.Context(), h.Store, op)
			is[NotOpened](t, got.Close)
			if !strings.HasPrefix(got.Result, "refused: ") {
				t.Error(got.Result)
			}
			h.nothingLeft()
		})
	}
	op := never
	op.Name = "Not a name"
	if got := With(t.Context(), h.Store, op); !strings.HasPrefix(got.Result, "refused: ") {
		t.Error(got.Result)
	}
	h.nothingLeft()
}

// The seed's controls. Red when Owned asks for the beginning of the path only.
func TestOwnershipIsTheWholeShape(t *testing.T) {
	a := NamespaceOf("/srv/a/plan/carrier.git")
	good := a.fresh().String()
	if n, ok := a.Owned(good); !ok || n.String() != good {
		t.Errorf("%s is not owned", good)
	}
	dir, base := filepath.Split(good)
	for _, bad := range []string{
		"", "/", base, good + "x", good[:len(good)-1], good + "/", good + "/x", good[:len(good)-1] + "-", good[:len(good)-1] + "é",
		"/tmp/" + base, dir + "x/" + base, dir + "/" + base, dir + "../snapshots/" + base, dir + strings.Replace(base, ".", "..", 1),
		dir + strings.ToUpper(base), good + "\n", dir + "x" + base,
		NamespaceOf("/srv/a/plan/other.git").fresh().String(), NamespaceOf("/srv/b/plan/carrier.git").fresh().String(),
	} {
		if _, ok := a.Owned(bad); ok {
			t.Errorf("%q is owned", bad)
		}
	}
	for _, pair := range [][2]string{{"/srv/a_/b", "/srv/a/_b"}, {"/srv/a_b", "/srv/a/b"}, {"/srv/a", "/srv/a/holdfast-roadmap.foo"}, {"/srv/a", "/srv/a/"}} {
		if x, y := NamespaceOf(pair[0]), NamespaceOf(pair[1]); x.digest == y.digest || len(x.digest) != len(y.digest) {
			t.Errorf("%v have %s and %s", pair, x, y)
		}
	}
}

// Two instances, each with snapshots in git's real list, of its own repository and
// by mistake of the other's. Red when NamespaceOf replaces slashes instead of hashing,
// or Owned leaves out the folder.
func TestEachInstanceSeesExactlyItsOwn(t *testing.T) {
	for name, pair := range map[string][2]string{
		"collision": {"srv/a_/b", "srv/a/_b"},
		"overlap":   {"srv/a", "srv/a/holdfast-roadmap.foo"},
		"snapshots": {"srv/a", "srv/a/snapshots"},
	} {
		t.Run(name, func(t *testing.T) {
			base := t.TempDir()
			a, b := homeAt(t, filepath.Join(base, pair[0])), homeAt(t, filepath.Join(base, pair[1]))
			mine := map[*home]string{}
			for _, h := range []*home{a, b} {
				for _, at := range []Name{a.namespace.fresh(), b.namespace.fresh()} {
					check(t, h.repo.AddWorktree(t.Context(), at.String(), h.commit, "x"))
					if n, ok := h.namespace.Owned(at.String()); ok {
						mine[h] = n.String()
					}
				}
				// B's digest in A's folder, and wrong lengths.
				for _, other := range []string{b.namespace.digest + ".ABCDEFGHIJ", a.namespace.digest + ".KLMNOPQRST", h.namespace.digest + ".short", h.namespace.digest + ".ABCDEFGHIJK"} {
					path := filepath.Join(a.plan, "snapshots", stem+other)
					if _, ok := h.namespace.Owned(path); !ok {
						_ = h.repo.AddWorktree(t.Context(), path, h.commit, "x") // once for both
					}
				}
			}
			for _, h := range []*home{a, b} {
				if list, _, _ := h.left(); len(list) != 1 || list[0] != mine[h] {
					t.Errorf("%s sees %v, want %s", h.plan, list, mine[h])
				}
			}
		})
	}
}

// case R11
func TestAHomeOfAnyNameHasSnapshots(t *testing.T) {
	base := t.TempDir()
	odd := homeAt(t, filepath.Join(base, "a home\nof \"mine\" ü/plan"))
	is[Removed](t, odd.run(func(s *Snapshot) {
		if listed, folders, _ := odd.left(); len(listed) != 1 || len(folders) != 1 || listed[0] != s.Path() {
			t.Errorf("%q and %q, want %q", listed, folders, s.Path())
		}
	}).Close)
	odd.nothingLeft()

	link := filepath.Join(base, "link")
	check(t, os.Symlink(odd.plan, link))
	repo, err := git.Open(t.Context(), filepath.Join(link, "carrier.git"), git.Options{})
	check(t, err)
	linked := open(t, repo)
	if linked.namespace != odd.namespace {
		t.Errorf("through a link it is %v, not %v", linked.namespace, odd.namespace)
	}
	linked.run(func(*Snapshot) {
		if listed, _, _ := odd.left(); len(listed) != 1 {
			t.Errorf("%q", listed)
		}
	})
	if _, err := OpenStore(homeBadUTF8(t, base)); err == nil {
		t.Error("a path that is not UTF-8 cannot be in a record")
	}
}

func homeBadUTF8(t *testing.T, base string) *git.Repo {
	t.Helper()
	path := filepath.Join(base, "x\xff")
	check(t, os.Mkdir(path, 0o755))
	repo, err := git.Init(t.Context(), filepath.Join(path, "carrier.git"), git.Options{})
	check(t, err)
	return repo
}
