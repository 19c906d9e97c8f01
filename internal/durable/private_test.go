package durable_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"holdfast/internal/durable"
)

// Red when: ReadPrivate does not compare the owner.
func TestASecretOfAnotherUserIsNotRead(t *testing.T) {
	path := "/etc/passwd"
	if os.Geteuid() == 0 { // all of the system's files are ours: give one away
		path = filepath.Join(t.TempDir(), "secret")
		if err := errors.Join(os.WriteFile(path, []byte("x"), 0o600), os.Chown(path, 12345, -1)); err != nil {
			t.Fatal(err)
		}
	}
	d, err := durable.OpenDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if data, err := d.ReadPrivate(filepath.Base(path), 1<<20); !errors.Is(err, durable.ErrNotOwner) || data != nil {
		t.Errorf("%q, %v", data, err)
	}
}

// Red when: the mask leaves out a bit, or the mode of the name is asked and not
// that of what was opened.
func TestASecretThatOthersReachIsNotRead(t *testing.T) {
	dir := t.TempDir()
	d, err := durable.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, bit := range []fs.FileMode{0o040, 0o020, 0o010, 0o004, 0o002, 0o001} {
		path := filepath.Join(dir, "secret")
		if err := errors.Join(os.WriteFile(path, []byte("x"), 0o600), os.Chmod(path, 0o600|bit)); err != nil {
			t.Fatal(err)
		}
		var exposed *durable.Exposed
		if _, err := d.ReadPrivate("secret", 8); !errors.As(err, &exposed) || exposed.Mode != 0o600|bit {
			t.Errorf("%#o: %v", bit, err)
		}
	}
	if err := os.Chmod(filepath.Join(dir, "secret"), 0o400); err != nil {
		t.Fatal(err)
	}
	if data, err := d.ReadPrivate("secret", 8); string(data) != "x" || err != nil {
		t.Errorf("ours alone: %q, %v", data, err)
	}
}
