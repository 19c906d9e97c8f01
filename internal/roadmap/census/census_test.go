//go:build linux

package census

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"holdfast/internal/problem"
	"holdfast/internal/roadmap/snapshot"
)

// The seed's control: six censuses, each of which reads what the last one wrote. Red
// when a receipt that is empty counts as absent, or an active snapshot is called
// anything but alive.
func TestSixCensusesInARow(t *testing.T) {
	h := newHome(t)
	other := homeAt(t, filepath.Join(h.plan, "holdfast-roadmap.foo"))
	r := h.take()
	r.counts(t, 0, 0, 0)
	is[Absent](t, r.Prior)
	h.with(func(s *snapshot.Snapshot) {
		other.with(func(*snapshot.Snapshot) {
			r = h.take()
			r.counts(t, 1, 0, 0)
			if n := len(is[Read](t, r.Prior).Snapshots); n != 0 {
				t.Errorf("the prior had %d", n)
			}
			r = h.take()
			r.counts(t, 1, 1, 0)
			is[snapshot.Alive](t, r.Snapshots[0].Owner) // seen twice, and at work
			if one := r.Snapshots[0]; one.Name.String() != s.Path() || one.Where != InBoth || r.PresentAcross[0] != one.Name {
				t.Errorf("%+v", r)
			}
			o := other.take()
			o.counts(t, 1, 0, 0)
			is[Absent](t, o.Prior)
			if reaped, err := Reap(t.Context(), h.store); err != nil || len(reaped.Removed) != 0 || len(reaped.Spared) != 1 {
				t.Errorf("reaped %+v, %v", reaped, err)
			}
		})
	})
	r = h.take()
	r.counts(t, 0, 0, 0)
	if n := len(is[Read](t, r.Prior).Snapshots); n != 1 {
		t.Errorf("the prior had %d", n)
	}
	check(t, os.Truncate(h.receipt(), 0))
	r = h.take()
	r.counts(t, 0, 0, 0)
	if p := is[Unreadable](t, r.Prior); !strings.Contains(p.Reason, "the document is empty") {
		t.Errorf("%+v", p)
	}
	r = h.take()
	r.counts(t, 0, 0, 0)
	is[Read](t, r.Prior)
}

// Red when look leaves git's list or the folders out.
func TestTheCensusIsTheUnionOfListAndFolders(t *testing.T) {
	h := newHome(t)
	h.with(func(a *snapshot.Snapshot) {
		h.with(func(b *snapshot.Snapshot) {
			h.with(func(c *snapshot.Snapshot) {
				check(t, os.RemoveAll(b.Path()))
				check(t, os.RemoveAll(h.plan+"/carrier.git/worktrees/"+filepath.Base(c.Path())))
				want := map[string]Where{a.Path(): InBoth, b.Path(): InGit, c.Path(): InFolder}
				check(t, os.WriteFile(filepath.Join(h.plan, "snapshots", filepath.Base(a.Path())[:len(filepath.Base(a.Path()))-1]+"_"), nil, 0o600))
				check(t, os.Mkdir(a.Path()+"x", 0o755))
				r := h.take()
				r.counts(t, 3, 0, 0)
				for _, s := range r.Snapshots {
					if want[s.Name.String()] != s.Where {
						t.Errorf("%s is seen by %s", s.Name, s.Where)
					}
				}
			})
		})
	})
}

// case R10. Red when judge gives a lock out for more than what is gone.
func TestTheReaperTakesOnlyWhatIsGone(t *testing.T) {
	h := newHome(t)
	gone, noOwner := h.fails(), h.fails()
	check(t, os.Remove(h.plan+"/owners/"+filepath.Base(noOwner)+".json"))
	h.with(func(alive *snapshot.Snapshot) {
		h.take()
		r := h.take()
		r.counts(t, 3, 3, 0)
		standing := map[string]snapshot.Owner{}
		for _, s := range r.Snapshots {
			standing[s.Name.String()] = s.Owner
		}
		is[snapshot.Gone](t, standing[gone])
		is[snapshot.Unknown](t, standing[noOwner])
		is[snapshot.Alive](t, standing[alive.Path()])
		got, err := Reap(t.Context(), h.store)
		if err != nil || len(got.Removed) != 1 || got.Removed[0].String() != gone || len(got.Spared) != 2 || len(got.Failed) != 0 {
			t.Errorf("%+v, %v", got, err)
		}
		h.take().counts(t, 2, 2, 0)
	})
}

// A snapshot that is closed between the list and the look at its owner. Red when
// observe does not look again.
func TestASnapshotClosedMeanwhileIsNotCalledUnknown(t *testing.T) {
	h := newHome(t)
	var place string
	h.with(func(s *snapshot.Snapshot) { place = s.Path() })
	check(t, h.repo.AddWorktree(t.Context(), place, h.commit, "without an owner"))
	h.take().counts(t, 1, 0, 0)
	bin, path := t.TempDir(), os.Getenv("PATH")
	check(t, os.WriteFile(bin+"/once", nil, 0o600))
	text := `#!/bin/sh
PATH=` + path + `
git "$@" || exit
case "$*" in *"worktree list"*) rm ` + bin + `/once 2>/dev/null && git "$1" worktree remove --force --force ` + place + `;; esac
exit 0
`
	check(t, os.WriteFile(bin+"/git", []byte(text), 0o755))
	t.Setenv("PATH", bin+":"+path)
	h.take().counts(t, 0, 0, 0)
	if _, err := os.Stat(bin + "/once"); err == nil {
		t.Error("it was not closed meanwhile")
	}
}

// Each failed removal is told of once, by its number, and again where it is not known
// that it was. Red when readPrior takes the covered number of an unreadable receipt
// for 0 or for the last, or Take keeps no copy.
func TestFailedRemovalsAreToldUntilOneReceiptWasReadable(t *testing.T) {
	h := newHome(t)
	h.take().counts(t, 0, 0, 0)
	h.fails()
	r := h.take() // of 1, on a prior that covers 0
	r.counts(t, 1, 0, 1)
	if f := r.CloseFailures[0]; f.Seq != 1 || f.Operation != "test" || f.Close.ExitCode != 128 || r.Covered != 1 {
		t.Errorf("%+v", r)
	}
	h.fails()
	h.take().counts(t, 2, 1, 1) // of 2; it read the one of 1
	h.take().counts(t, 2, 2, 0) // it read the one of 2
	h.fails()
	h.take().counts(t, 3, 2, 1) // of 3; the last known to be readable covers 2
	check(t, os.WriteFile(h.receipt(), []byte(`{"schema":`), 0o600))
	r = h.take()
	r.counts(t, 3, 0, 1)
	if p := is[Unreadable](t, r.Prior); p.Covered != 2 || r.CloseFailures[0].Seq != 3 || r.Covered != 3 {
		t.Errorf("%+v", r)
	}
	h.take().counts(t, 3, 3, 0)
	check(t, os.WriteFile(h.receipt(), nil, 0o600))
	check(t, os.WriteFile(filepath.Join(h.plan, Folder, lastReadable), nil, 0o600))
	r = h.take() // nothing is known to have been told
	r.counts(t, 3, 0, 3)
	if p := is[Unreadable](t, r.Prior); p.Covered != 0 {
		t.Errorf("%+v", p)
	}
	check(t, os.Remove(h.receipt()))
	h.take().counts(t, 3, 0, 3)
	check(t, os.Remove(h.plan+"/close-failures.jsonl")) // another journal begins
	h.fails()
	h.take().counts(t, 4, 3, 1)
}

// Red when Take answers with what it could not read or write.
func TestWhatCannotBeReadOrWrittenIsNoCensus(t *testing.T) {
	for step, act := range map[string]func(h *home){
		"census-worktrees":      func(h *home) { check(t, os.Rename(h.plan+"/carrier.git/HEAD", h.plan+"/carrier.git/HEAD2")) },
		"census-close-failures": func(h *home) { check(t, os.WriteFile(h.plan+"/close-failures.jsonl", []byte("\n"), 0o600)) },
		"census-receipt":        func(h *home) { check(t, os.MkdirAll(h.receipt(), 0o755)) },
	} {
		h := newHome(t)
		act(h)
		var e *problem.Error
		if _, err := Take(t.Context(), h.store, noon); !errors.As(err, &e) || e.Step != step || e.Kind != problem.Failed {
			t.Errorf("%s: %v", step, err)
		}
	}
}

// case R11. A full disk: the list is read, the receipt not written, the last one left.
func TestAFullDiskIsSaidAndLeavesTheLastReceipt(t *testing.T) {
	plan := filepath.Join(t.TempDir(), "plan")
	check(t, os.Mkdir(plan, 0o755))
	if err := unixMount(plan); err != nil {
		t.Fatalf("this test needs to mount (root): %v", err)
	}
	defer unixUnmount(plan)
	h := homeAt(t, plan)
	h.take()
	before, err := os.ReadFile(h.receipt())
	check(t, err)
	f, err := os.Create(plan + "/fill")
	check(t, err)
	for err == nil {
		_, err = f.Write(make([]byte, 512))
	}
	check(t, f.Close())
	var e *problem.Error
	if _, err := Take(t.Context(), h.store, noon); !errors.As(err, &e) || e.Step != "census-receipt" || !strings.Contains(e.Reason, "no room") {
		t.Errorf("%v", err)
	}
	if seen, err := observe(t.Context(), h.store); err != nil || len(seen) != 0 {
		t.Errorf("%v, %v", seen, err)
	}
	if after, err := os.ReadFile(h.receipt()); err != nil || string(after) != string(before) {
		t.Errorf("%s, %v", after, err)
	}
}

func unixMount(path string) error { return unix.Mount("none", path, "tmpfs", 0, "size=512k") }

func unixUnmount(path string) { _ = unix.Unmount(path, unix.MNT_DETACH) }
