package dirbucket_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"holdfast/internal/bucket"
	"holdfast/internal/bucket/buckettest"
	"holdfast/internal/durable"
	"holdfast/internal/problem"
)

// Something else in the place of an object, or of a folder on the way, is refused,
// not followed, not waited for, and still there afterwards.
//
// Red when: anything is opened by a path, or what cannot be read counts as absent.
func TestWhatIsPlantedIsNeitherFollowedNorReplaced(t *testing.T) {
	outside := t.TempDir()
	secret := filepath.Join(outside, "one.json")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, plant := range map[string]func(path string) error{
		"a folder":          func(path string) error { return os.Mkdir(path, 0o700) },
		"a link to a file":  func(path string) error { return os.Symlink(secret, path) },
		"a link to nothing": func(path string) error { return os.Symlink(filepath.Join(outside, "none"), path) },
		"a pipe":            func(path string) error { return unix.Mkfifo(path, 0o600) },
		"a link on the way": func(path string) error {
			return errors.Join(os.Remove(filepath.Dir(path)), os.Symlink(outside, filepath.Dir(path)))
		},
		"a pipe on the way": func(path string) error {
			return errors.Join(os.Remove(filepath.Dir(path)), unix.Mkfifo(filepath.Dir(path), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			path := filepath.Join(folder, object)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := plant(path); err != nil {
				t.Fatal(err)
			}
			s, k := open(t, folder), buckettest.Key(t, object)
			version := s.Put(t.Context(), buckettest.Key(t, "other"), []byte("x"), bucket.Absent{}).(bucket.Done).Version
			if got, err := s.Get(t.Context(), k); problem.KindOf(err) != problem.Refused {
				t.Errorf("it read %v, %v", got, err)
			}
			for _, on := range []bucket.Condition{bucket.Absent{}, bucket.At{Version: version}} {
				e, ok := s.Put(t.Context(), k, []byte("new"), on).(bucket.Failed)
				if !ok || problem.KindOf(e.Cause) != problem.Refused {
					t.Errorf("a write on %T ended as %T %+v", on, e, e)
				}
			}
			if got, err := s.List(t.Context(), ""); name != "a folder" && err == nil {
				t.Errorf("it lists %v", got)
			}
			if got, err := os.ReadFile(secret); err != nil || string(got) != "secret" {
				t.Errorf("outside there is now %q, %v", got, err)
			}
			if list, err := os.ReadDir(outside); err != nil || len(list) != 1 {
				t.Errorf("outside there is now %v, %v", list, err)
			}
		})
	}
}

// An object that somebody made larger than any is no reason to read it all.
func TestAnObjectThatIsTooLargeIsRefused(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "k"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(folder, "k"), bucket.MaxObject+1); err != nil {
		t.Fatal(err)
	}
	if got, err := open(t, folder).Get(t.Context(), buckettest.Key(t, "k")); problem.KindOf(err) != problem.Refused {
		t.Errorf("it read %T, %v", got, err)
	}
}

// What others keep in the folder is not listed, and stays. A temporary file goes
// only when its writer is provably gone.
//
// Red when: sweepLocked goes by name alone.
func TestWhatIsNoObjectIsNotListed(t *testing.T) {
	folder := t.TempDir()
	digits := strings.Repeat("0123456789abcdef", 2)
	names := map[string]bool{ // and whether it stays
		durable.TemporaryPrefix + digits:            false,
		durable.TemporaryPrefix + digits[:31] + "a": true, // locked
		".DS_Store":    true,
		"roster.json~": true,
		"a name":       true,
	}
	for name := range names {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d, err := durable.OpenDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	lock, err := d.LockFile(durable.TemporaryPrefix + digits[:31] + "a")
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	s := open(t, folder)
	if got, err := s.List(t.Context(), ""); err != nil || len(got) > 0 {
		t.Errorf("it lists %v, %v", got, err)
	}
	s.Put(t.Context(), buckettest.Key(t, "k"), []byte("x"), bucket.Absent{})
	for name, stays := range names {
		if _, err := os.Lstat(filepath.Join(folder, name)); (err == nil) != stays {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A full disk is told as such and loses nothing: here a real one, where one can be
// mounted, and a planned one everywhere.
//
// Red when: ending takes a write without room for unknown.
func TestAFullDiskLosesNothing(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "small")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	full := "planned"
	var faults durable.Faults
	if mountSmall(t, folder) {
		full = "real"
	} else {
		faults = func(m durable.Moment) error {
			if m == (durable.Moment{Step: durable.StepSync}) {
				return unix.ENOSPC
			}
			return nil
		}
	}
	if e, ok := put(t.Context(), t, open(t, folder), "old").(bucket.Done); !ok {
		t.Fatalf("%s: %T %+v", full, e, e)
	}
	k := buckettest.Key(t, object)
	s := faulted(t, folder, faults)
	reading, err := s.Get(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	e, ok := s.Put(t.Context(), k, bytes.Repeat([]byte("x"), 1<<20), reading.Unmoved()).(bucket.Failed)
	var public *problem.Error
	if !ok || !errors.As(e.Cause, &public) || public.Step != problem.StepNoSpace {
		t.Errorf("%s: %T %+v", full, e, e)
	}
	if got := now(t, folder); got != "old" {
		t.Errorf("%s: it holds %.20q", full, got)
	}
}
