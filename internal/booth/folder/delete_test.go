package folder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func nobody() error { return nil }

func placeOf(t testing.TB, s string) Place {
	t.Helper()
	return name(t, s).Place()
}

// Red when tree gives back before all is gone, or empty misses what begins with a
// dot.
func TestDeleteRemovesAllOfIt(t *testing.T) {
	b, dir := makeBooth(t)
	outside := t.TempDir()
	write(t, outside, "f", "outside")
	link(t, outside, dir+"/link")
	link(t, "nowhere", dir+"/dangling")
	for i := range 300 {
		write(t, dir, fmt.Sprintf("d/e/.f%d/g", i), "g")
	}
	write(t, dir, ".forever", "")
	fifo(t, dir+"/pipe")
	data := makeData(t, dir+"/..")
	removed := 0
	check(t, data.Delete(context.Background(), placeOf(t, "x"), b.ID(), func() error { removed++; return nil }))
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Error("it is there", err)
	}
	if removed != 607 {
		t.Errorf("before was asked %d times", removed)
	}
	if got, err := os.ReadFile(outside + "/f"); err != nil || string(got) != "outside" {
		t.Errorf("%q, %v", got, err)
	}
	err := data.Delete(context.Background(), placeOf(t, "x"), b.ID(), nobody)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("again: %v", err)
	}
}

// Red when dir does not compare what it opened with the folder that is meant.
func TestDeleteRemovesOnlyTheFolderThatIsMeant(t *testing.T) {
	b, dir := makeBooth(t)
	data := makeData(t, dir+"/..")
	check(t, os.Rename(dir, dir+"-out"))
	write(t, dir, "theirs", "theirs")
	var u *Unserved
	if err := data.Delete(context.Background(), placeOf(t, "x"), b.ID(), nobody); !errors.As(err, &u) || u.Why != Changed {
		t.Errorf("%v", err)
	}
	check(t, os.RemoveAll(dir))
	link(t, dir+"-out", dir)
	if err := data.Delete(context.Background(), placeOf(t, "x"), b.ID(), nobody); err == nil {
		t.Error("deleted through a link")
	}
	if _, err := os.Stat(dir + "-out"); err != nil {
		t.Error(err)
	}
}

// An interrupted deletion goes on when it is called again.
func TestDeleteGoesOnWhereItStopped(t *testing.T) {
	b, dir := makeBooth(t)
	for i := range 10 {
		write(t, dir, fmt.Sprintf("d/f%d", i), "f")
	}
	data := makeData(t, dir+"/..")
	stop := errors.New("stop")
	for range 12 {
		left := 1
		err := data.Delete(context.Background(), placeOf(t, "x"), b.ID(), func() error {
			if left--; left < 0 {
				return stop
			}
			return nil
		})
		if err == nil {
			break
		}
		if !errors.Is(err, stop) {
			t.Fatal(err)
		}
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Error("it is there", err)
	}
	b, dir = makeBooth(t)
	write(t, dir, "f", "f")
	ended, end := context.WithCancel(context.Background())
	end()
	if err := makeData(t, dir+"/..").Delete(ended, placeOf(t, "x"), b.ID(), nobody); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(dir + "/f"); err != nil {
		t.Error(err)
	}
}

// Move never replaces. Red when it renames without NOREPLACE: an empty folder is
// replaced by rename(2).
func TestAMoveNeverReplaces(t *testing.T) {
	b, dir := makeBooth(t)
	data := makeData(t, dir+"/..")
	id := NewID()
	check(t, data.Move(placeOf(t, "x"), id.Aside()))
	check(t, os.Mkdir(dir, 0o755))
	if err := data.Move(id.Aside(), placeOf(t, "x")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("%v", err)
	}
	check(t, data.Move(id.Aside(), id.Trash()))
	if got, err := data.Standing(id.Trash()); err != nil || got != b.ID() {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := data.Standing(id.Aside()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	write(t, data.Dir().Name(), "file", "f")
	if _, err := data.Standing(placeOf(t, "file")); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if err := data.Move(id.Aside(), placeOf(t, "y")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	back, err := data.OpenAt(id.Trash(), name(t, "x"))
	check(t, err)
	defer back.Close()
	if back.ID() != b.ID() || back.Name() != b.Name() {
		t.Errorf("%v", back.ID())
	}
}

// Red when ID takes what only resembles one.
func TestPlacesThatAreSwept(t *testing.T) {
	data := makeData(t, t.TempDir())
	id := NewID()
	for _, s := range []string{id.Aside().String(), id.Trash().String(), ".trash-x", ".other", "booth"} {
		check(t, os.Mkdir(data.Dir().Name()+"/"+s, 0o755))
	}
	places, err := data.Swept()
	check(t, err)
	known := 0
	for _, p := range places {
		if got, ok := p.ID(); ok && got == id {
			known++
		}
	}
	if len(places) != 3 || known != 2 {
		t.Errorf("%v", places)
	}
	for _, s := range []string{"", id.String()[1:], strings.ToUpper(id.String()), id.String() + "00", strings.Repeat("g", 32)} {
		if _, ok := ParseID(s); ok && s != strings.ToLower(s) {
			t.Errorf("%q is an ID", s)
		}
	}
	if _, ok := placeOf(t, id.String()).ID(); ok {
		t.Error("a booth's place has an ID")
	}
}

// Red when a seal leaves out a path, a stamp or a size, or when machinery counts.
// (That it does not go by the clock is TestARemovalStaysUntilItIsUndone of package
// sweep.)
func TestASealSeesEachChange(t *testing.T) {
	old := time.Unix(1000, 0)
	changes := map[string]func(dir string){
		"a stamp": func(dir string) {
			check(t, os.Chtimes(dir+"/d/f", time.Now().Add(time.Hour), time.Now().Add(time.Hour)))
		},
		"a size":      func(dir string) { check(t, os.Truncate(dir+"/d/f", 0)); check(t, os.Chtimes(dir+"/d/f", old, old)) },
		"a new file":  func(dir string) { write(t, dir, "d/.new", ""); check(t, os.Chtimes(dir+"/d", old, old)) },
		"a file less": func(dir string) { check(t, os.Remove(dir+"/d/f")); check(t, os.Chtimes(dir+"/d", old, old)) },
		"another name": func(dir string) {
			check(t, os.Rename(dir+"/d/f", dir+"/d/g"))
			check(t, os.Chtimes(dir+"/d", old, old))
		},
		"the folder": func(dir string) { check(t, os.Chtimes(dir, old.Add(1), old.Add(1))) },
		"another kind": func(dir string) {
			check(t, os.Remove(dir+"/d/empty"))
			fifo(t, dir+"/d/empty")
			check(t, os.Chtimes(dir+"/d", old, old))
		},
	}
	for what, change := range changes {
		t.Run(what, func(t *testing.T) {
			b, dir := makeBooth(t)
			write(t, dir, "d/f", "f")
			write(t, dir, "d/empty", "")
			check(t, os.Chtimes(dir+"/d", old, old))
			check(t, os.Chtimes(dir, old, old))
			before := b.Seal(context.Background())
			write(t, dir, ".x.lock", "machinery")
			check(t, os.Chtimes(dir, old, old))
			if again := b.Seal(context.Background()); again != before || len(before.Sum) != 64 || before.Bytes != 1 {
				t.Errorf("%+v, then %+v", before, again)
			}
			change(dir)
			if after := b.Seal(context.Background()); after.Sum == before.Sum {
				t.Error("not seen")
			}
		})
	}
}

// Red when Stale leaves out a place where a stamp can be.
func TestOnlyAnOldTreeIsStale(t *testing.T) {
	cut := time.Now().Add(time.Hour) // everything is born before it
	later := cut.Add(time.Hour)
	fresh := map[string]func(dir string){
		"a file":             func(dir string) { check(t, os.Chtimes(dir+"/d/e/f", later, later)) },
		"at the very moment": func(dir string) { check(t, os.Chtimes(dir+"/d/e/f", cut, cut)) },
		"a folder":           func(dir string) { check(t, os.Chtimes(dir+"/d/e", later, later)) },
		"the booth":          func(dir string) { check(t, os.Chtimes(dir, later, later)) },
		"a dot file":         func(dir string) { write(t, dir, "d/.v", ""); check(t, os.Chtimes(dir+"/d/.v", later, later)) },
	}
	ask := func(t *testing.T, dir string) (bool, error) {
		b, err := makeData(t, dir+"/..").Booth(name(t, "x"))
		check(t, err)
		defer b.Close()
		return b.Stale(context.Background(), cut)
	}
	_, dir := makeBooth(t)
	write(t, dir, "d/e/f", "f")
	write(t, dir, ".x.lock", "machinery")
	check(t, os.Chtimes(dir+"/.x.lock", later, later))
	if stale, err := ask(t, dir); err != nil || !stale {
		t.Errorf("%v, %v", stale, err)
	}
	for what, make := range fresh {
		_, dir := makeBooth(t)
		write(t, dir, "d/e/f", "f")
		make(dir)
		if stale, err := ask(t, dir); err != nil || stale {
			t.Errorf("%s: %v, %v", what, stale, err)
		}
	}
	write(t, dir, strings.Repeat("d/", maxDepth+2)+"f", "f")
	if stale, err := ask(t, dir); stale || !errors.Is(err, errTooDeep) {
		t.Errorf("too deep: %v, %v", stale, err)
	}
}

// Red when Glances and Names disagree on what is a booth.
func TestAGlanceSaysWhatOneStatSays(t *testing.T) {
	b, dir := makeBooth(t)
	data := makeData(t, dir+"/..")
	write(t, data.Dir().Name(), "file", "f")
	write(t, data.Dir().Name(), ".dot/f", "f")
	write(t, data.Dir().Name(), "a/f", "f")
	link(t, dir, data.Dir().Name()+"/link")
	at := time.Unix(1000, 0).UTC()
	check(t, os.Chtimes(dir, at, at))
	glances, err := data.Glances()
	check(t, err)
	var names []Name
	for _, g := range glances {
		names = append(names, g.Name)
	}
	want, err := data.Names()
	check(t, err)
	if d := cmp.Diff(want, names, cmp.AllowUnexported(Name{})); d != "" {
		t.Fatal(d)
	}
	if g := glances[1]; g.ID != b.ID() || !g.Modified.Equal(at) || g.Err != nil {
		t.Errorf("%+v", g)
	}
}
