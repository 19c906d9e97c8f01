package folder

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"holdfast/internal/problem"
)

// case B27. Red when RemoveSentinel unlinks a folder as a file, or follows a link.
func TestAMarkerOfAnyKindIsRemoved(t *testing.T) {
	target := t.TempDir() + "/target"
	check(t, os.WriteFile(target, []byte("x"), 0o644))
	plants := map[string]func(t testing.TB, path string){
		"file":             func(t testing.TB, path string) { t.Helper(); check(t, os.WriteFile(path, nil, 0)) },
		"link to a file":   func(t testing.TB, path string) { t.Helper(); check(t, os.Symlink(target, path)) },
		"link to a folder": func(t testing.TB, path string) { t.Helper(); check(t, os.Symlink(t.TempDir(), path)) },
		"dangling":         func(t testing.TB, path string) { t.Helper(); check(t, os.Symlink("nowhere", path)) },
	}
	for why, plant := range kinds {
		if why != Link && why != Device { // neither a link to a file of the system nor a device
			plants[why.String()] = plant
		}
	}
	for what, plant := range plants {
		b, dir := makeBooth(t)
		plant(t, dir+"/.forever")
		for _, want := range []bool{true, false} {
			removed, err := b.RemoveSentinel()
			check(t, err)
			if removed != want {
				t.Errorf("%s: removed is %v", what, removed)
			}
		}
		if there, err := b.Sentinel(); there || err != nil {
			t.Errorf("%s: %v, %v", what, there, err)
		}
	}
	if _, err := os.Stat(target); err != nil {
		t.Error(err)
	}
}

// case B27
func TestAMarkerWithSomethingInItIsRefused(t *testing.T) {
	b, dir := makeBooth(t)
	write(t, dir, ".forever/f", "x")
	removed, err := b.RemoveSentinel()
	publicly(t, err, problem.Refused, "keep-marker")
	if there, _ := b.Sentinel(); removed || !there {
		t.Errorf("removed is %v, there is %v", removed, there)
	}
}

// Red when Exchange is two renames: a folder cannot be renamed over a file.
func TestAnExchangeSwapsWhateverKindsOfFile(t *testing.T) {
	for why, plant := range kinds {
		if why == Link || why == Device {
			continue
		}
		b, dir := makeBooth(t)
		plant(t, dir+"/one")
		write(t, dir, "other", "x")
		one, err := os.Lstat(dir + "/one")
		check(t, err)
		other, err := os.Lstat(dir + "/other")
		check(t, err)
		check(t, b.Exchange("one", "other"))
		for name, want := range map[string]fs.FileInfo{"one": other, "other": one} {
			if got, err := os.Lstat(dir + "/" + name); err != nil || !os.SameFile(got, want) {
				t.Errorf("%s: %s: %v", why, name, err)
			}
		}
	}
}

// Red when Exchange makes one of the names, or leaves the booth.
func TestAnExchangeNeedsTwoFilesOfTheBooth(t *testing.T) {
	b, dir := makeBooth(t)
	write(t, dir, "one", "x")
	err := b.Exchange("one", "nothing")
	publicly(t, err, problem.Failed, "unwritable")
	if !errors.Is(err, unix.ENOENT) {
		t.Errorf("%v", err)
	}
	write(t, dir, "../y/f", "y")
	for _, name := range []string{"../y/f", "", ".", "..", "d/f", "\x00"} {
		publicly(t, b.Exchange("one", name), problem.Failed, problem.StepInternal)
		publicly(t, b.Exchange(name, "one"), problem.Failed, problem.StepInternal)
	}
	if readItem(t, b, "one") != "x" {
		t.Error("it was exchanged")
	}
}
