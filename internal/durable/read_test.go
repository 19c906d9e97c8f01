package durable_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"holdfast/internal/durable"
)

func TestAbsentAndEmptyAreToldApart(t *testing.T) {
	folder := t.TempDir()
	d := open(t, folder)
	if _, err := d.ReadFile("f", limit); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("absent: %v", err)
	}
	if err := d.WriteFile("f", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if data, err := d.ReadFile("f", limit); err != nil || len(data) != 0 {
		t.Errorf("empty: %q, %v", data, err)
	}
}

func TestReadFileIsCapped(t *testing.T) {
	d := open(t, t.TempDir())
	if err := d.WriteFile("f", make([]byte, 10), 0o600); err != nil {
		t.Fatal(err)
	}
	if data, err := d.ReadFile("f", 10); err != nil || len(data) != 10 {
		t.Errorf("at the cap: %d bytes, %v", len(data), err)
	}
	if data, err := d.ReadFile("f", 9); !errors.Is(err, durable.ErrTooLarge) || data != nil {
		t.Errorf("over the cap: %d bytes, %v", len(data), err)
	}
}

// Without O_NONBLOCK this test hangs on the pipe; without O_NOFOLLOW it reads
// the link's target; without the check of the mode it reads the device.
func TestReadFileTakesNothingButRegularFiles(t *testing.T) {
	folder := t.TempDir()
	d := open(t, folder)
	at := func(name string) string { return filepath.Join(folder, name) }
	socket, err := net.Listen("unix", at("socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	if err := errors.Join(
		os.WriteFile(at("target"), []byte("secret"), 0o600),
		os.Symlink("target", at("link")),
		os.Mkdir(at("folder"), 0o700),
		unix.Mkfifo(at("pipe"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"link", "folder", "pipe", "socket"} {
		if data, err := d.ReadFile(name, limit); !errors.Is(err, durable.ErrNotRegular) {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	if _, err := open(t, "/dev").ReadFile("zero", limit); !errors.Is(err, durable.ErrNotRegular) {
		t.Errorf("a device: %v", err)
	}
}

func TestANameIsOneElement(t *testing.T) {
	d := open(t, t.TempDir())
	for _, name := range []string{"", ".", "..", "a/b", "/etc/passwd", "../x", "a\x00b"} {
		if _, err := d.ReadFile(name, limit); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("ReadFile %q: %v", name, err)
		}
		if err := d.WriteFile(name, nil, 0o600); !errors.Is(err, fs.ErrInvalid) || durable.OutcomeOf(err) != durable.Refused {
			t.Errorf("WriteFile %q: %v", name, err)
		}
		if _, err := d.Sub(name); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("Sub %q: %v", name, err)
		}
		if _, err := d.MakeSub(name, 0o700); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("MakeSub %q: %v", name, err)
		}
	}
}

func TestSubFollowsNoLink(t *testing.T) {
	folder := t.TempDir()
	if err := os.Symlink(t.TempDir(), filepath.Join(folder, "link")); err != nil {
		t.Fatal(err)
	}
	if sub, err := open(t, folder).Sub("link"); err == nil {
		t.Errorf("opened %s", sub.Name())
	}
}

// A folder is its descriptor: renamed away and replaced, it is still the one
// that was opened.
func TestADirStaysTheFolderThatWasOpened(t *testing.T) {
	parent := t.TempDir()
	here, away := filepath.Join(parent, "here"), filepath.Join(parent, "away")
	if err := os.Mkdir(here, 0o700); err != nil {
		t.Fatal(err)
	}
	d := open(t, here)
	if err := errors.Join(os.Rename(here, away), os.Symlink("/nonexistent", here), writeFile(d)); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(away, "f")); string(data) != "new" {
		t.Errorf("%q, %v", data, err)
	}
}

func TestCreateRefusesWhateverIsThere(t *testing.T) {
	folder := t.TempDir()
	d := open(t, folder)
	if err := os.Symlink("nowhere", filepath.Join(folder, "f")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a link", "a file"} {
		if err := create(d); !errors.Is(err, fs.ErrExist) || durable.OutcomeOf(err) != durable.Refused {
			t.Errorf("%s: %v", name, err)
		}
		if err := writeFile(d); err != nil { // over the link
			t.Fatal(err)
		}
	}
	if left := temporaries(t, folder); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestWriteFileReplacesALinkAndNotItsTarget(t *testing.T) {
	folder := t.TempDir()
	target := filepath.Join(t.TempDir(), "target")
	if err := errors.Join(os.WriteFile(target, []byte("safe"), 0o600), os.Symlink(target, filepath.Join(folder, "f")),
		writeFile(open(t, folder))); err != nil {
		t.Fatal(err)
	}
	if data, _ := os.ReadFile(target); string(data) != "safe" {
		t.Errorf("the target is now %q", data)
	}
	if info, err := os.Lstat(filepath.Join(folder, "f")); err != nil || !info.Mode().IsRegular() {
		t.Errorf("%v, %v", info, err)
	}
}

// Without the lock in claim, the file of a living writer is removed from under
// it; without IsTemporary, a worker's file.
func TestRemoveAbandonedSparesWhatIsInUseAndWhatIsNotOurs(t *testing.T) {
	folder := t.TempDir()
	d := open(t, folder)
	dead := durable.TemporaryPrefix + strings.Repeat("0", 32)
	notOurs := []string{durable.TemporaryPrefix + "notes", durable.TemporaryPrefix + strings.Repeat("0", 31), "f0"}
	for _, name := range append(notOurs, dead) {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d.Faults = func(m durable.Moment) error {
		if m != (durable.Moment{Step: durable.StepRename}) {
			return nil
		}
		n, err := open(t, folder).RemoveAbandoned()
		if n != 1 || err != nil {
			t.Errorf("removed %d, %v; want the dead one", n, err)
		}
		return nil
	}
	if err := writeFile(d); err != nil {
		t.Errorf("its temporary file was taken away: %v", err)
	}
	for _, name := range notOurs {
		if _, err := os.Lstat(filepath.Join(folder, name)); err != nil {
			t.Error(err)
		}
	}
}

func TestOutcomesHavePublicWords(t *testing.T) {
	if got := durable.OutcomeOf(errors.New("of someone else")); got != durable.Unknown {
		t.Errorf("an error that says nothing is %s", got)
	}
}
