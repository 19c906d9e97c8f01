//go:build perm

package booth

// Root may read everything, so these run as an ordinary user: scripts/test-perm.

import (
	"context"
	"io/fs"
	"os"
	"testing"

	"holdfast/internal/booth/lifetime"
	"holdfast/internal/booth/marks"
	"holdfast/internal/permtest"
	"holdfast/internal/problem"
)

func holds(t *testing.T, l Look, want lifetime.Reason) {
	t.Helper()
	if s, ok := l.State.(lifetime.Held); !ok || s.Reason != want || s.Detail == "" {
		t.Errorf("%#v, want %v", l.State, want)
	}
}

// case B26: mode 000. Red when readMarks takes EACCES for "not there".
func TestPermMarksThatMayNotBeReadHold(t *testing.T) {
	permtest.Ordinary(t)
	b, dir := makeBooth(t)
	write(t, dir, marks.File, doc())
	if _, ok := look(b).State.(lifetime.Counting); !ok {
		t.Fatalf("%#v", look(b).State)
	}
	permtest.Lock(t, dir+"/"+marks.File, 0)
	holds(t, look(b), lifetime.MarksHold)
}

// Red when treeFact drops a failure, or the walk one of a stat.
func TestPermATreeThatMayNotBeReadHolds(t *testing.T) {
	permtest.Ordinary(t)
	for _, mode := range []fs.FileMode{0, 0o100, 0o400} {
		b, dir := makeBooth(t)
		write(t, dir, "d/f", "x")
		write(t, dir, "z", "x")
		permtest.Lock(t, dir+"/d", mode)
		l := look(b)
		holds(t, l, lifetime.TreeHold)
		if len(l.Items) != 1 || l.Explain().WouldExpire != "" {
			t.Errorf("mode %o: %d items, would expire %q", mode, len(l.Items), l.Explain().WouldExpire)
		}
	}
}

// Where a folder can be listed and nothing in it looked at, there may be a keep
// marker and may be marks. Red when Sentinel or ReadDot take EACCES for absent.
// All of the facts hold by themselves; the first in the order is shown.
func TestPermABoothThatMayNotBeEnteredHoldsOnEachFact(t *testing.T) {
	permtest.Ordinary(t)
	for _, mode := range []fs.FileMode{0, 0o400, 0o200} {
		b, dir := makeBooth(t)
		write(t, dir, KeepFile, "")
		permtest.Lock(t, dir, mode)
		l := look(b)
		holds(t, l, lifetime.MarksHold)
		if _, ok := l.Facts.Sentinel.(lifetime.SentinelUnreadable); !ok {
			t.Errorf("mode %o: sentinel %#v", mode, l.Facts.Sentinel)
		}
		if _, ok := l.Facts.Tree.(lifetime.TreeUnreadable); !ok {
			t.Errorf("mode %o: tree %#v", mode, l.Facts.Tree)
		}
		alone := l.Facts
		alone.Marks, alone.Tree = lifetime.MarksRead{}, lifetime.TreeWalked{Newest: l.At}
		if s, ok := lifetime.Decide(alone, day).(lifetime.Held); !ok || s.Reason != lifetime.SentinelHold {
			t.Errorf("mode %o: the sentinel alone: %#v", mode, s)
		}
	}
}

// Red when keptWhy's error is the sentinel's.
func TestPermAKeepMarkerThatMayNotBeReadKeeps(t *testing.T) {
	permtest.Ordinary(t)
	b, dir := makeBooth(t)
	write(t, dir, KeepFile, `{"why":"x"}`)
	permtest.Lock(t, dir+"/"+KeepFile, 0)
	if got := look(b).State; got != (lifetime.Kept{}) {
		t.Errorf("%#v", got)
	}
}

func TestPermAManifestThatMayNotBeReadStays(t *testing.T) {
	permtest.Ordinary(t)
	b, dir := makeBooth(t)
	write(t, dir, ManifestFile, `{"title":"x"}`)
	permtest.Lock(t, dir+"/"+ManifestFile, 0)
	if look(b).Manifest.Damage == "" {
		t.Error("no damage said")
	}
	if err := describeAt(t, dir, titled("new")); problem.KindOf(err) != problem.Refused {
		t.Errorf("%v", err)
	}
}

// Red when Describe reports a folder that cannot be written to as done.
func TestPermAFolderThatMayNotBeWrittenIsNotDescribed(t *testing.T) {
	permtest.Ordinary(t)
	b, dir := makeBooth(t)
	permtest.Lock(t, dir, 0o500)
	err := describeAt(t, dir, titled("new"))
	if err == nil {
		t.Fatal("done")
	}
	if _, err := os.Lstat(dir + "/" + ManifestFile); !os.IsNotExist(err) {
		t.Errorf("%v", err)
	}
	if _, ok := look(b).State.(lifetime.Counting); !ok {
		t.Errorf("%#v", look(b).State)
	}
}

// case B26: mode 000. Red when Repair needs to read what it keeps, or changes its
// mode.
func TestPermMarksThatMayNotBeReadAreMendedAndKept(t *testing.T) {
	permtest.Ordinary(t)
	s := newShed(t)
	_, dir := s.booth(t, "x")
	write(t, dir, marks.File, doc(openPick))
	permtest.Lock(t, dir+"/"+marks.File, 0)
	done, _ := repair(t, s)
	if done.Kept != 0 || len(done.Lost) == 0 {
		t.Errorf("%+v", done)
	}
	st, err := os.Lstat(dir + "/" + done.Aside)
	check(t, err)
	if st.Mode().Perm() != 0 {
		t.Errorf("mode %v", st.Mode())
	}
	permtest.Lock(t, dir+"/"+done.Aside, 0o600)
	if got := content(t, dir+"/"+done.Aside); got != doc(openPick) {
		t.Errorf("%q", got)
	}
}

// Red when marks that may not be read are taken for none: a note would put a
// document in their place.
func TestPermMarksThatMayNotBeReadAreNotWrittenOver(t *testing.T) {
	permtest.Ordinary(t)
	s := newShed(t)
	_, dir := s.booth(t, "x")
	write(t, dir, marks.File, doc(openPick))
	permtest.Lock(t, dir+"/"+marks.File, 0)
	step(t, addNote(s, "x"), problem.Refused, marks.StepDamaged)
	permtest.Lock(t, dir+"/"+marks.File, 0o600)
	if got := content(t, dir+"/"+marks.File); got != doc(openPick) {
		t.Errorf("%q", got)
	}
}

// case B27: what cannot be removed. Red when the refusal has no words of its own.
func TestPermABoothThatMayNotBeWrittenIsNotChanged(t *testing.T) {
	permtest.Ordinary(t)
	for _, mode := range []fs.FileMode{0o500, 0} {
		s := newShed(t)
		_, dir := s.booth(t, "x")
		write(t, dir, KeepFile, "")
		write(t, dir, marks.File, "broken")
		permtest.Lock(t, dir, mode)
		ctx, x := context.Background(), named(t, "x")
		released, err := Release(ctx, s.data, x, now)
		step(t, err, problem.Refused, "not-permitted")
		changed, kept := Keep(ctx, s.data, x, "why", "me", now)
		step(t, kept, problem.Refused, "not-permitted")
		done, err := Repair(ctx, s.data, x)
		step(t, err, problem.Refused, "not-permitted")
		if released || changed || done.Aside != "" {
			t.Errorf("mode %o: %v, %v, %+v", mode, released, changed, done)
		}
		permtest.Lock(t, dir, 0o700)
		if len(names(t, dir)) != 2 || content(t, dir+"/"+KeepFile) != "" || content(t, dir+"/"+marks.File) != "broken" {
			t.Errorf("mode %o: %v", mode, names(t, dir))
		}
	}
}
