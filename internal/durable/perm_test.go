//go:build perm

package durable_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"holdfast/internal/durable"
	"holdfast/internal/permtest"
	"holdfast/internal/problem"
)

// locked is a folder with a file and a journal, which cannot be written.
func locked(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if err := errors.Join(write("f", "old")(folder), write("j", "1\n")(folder), os.Chmod(folder, 0o555)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(folder, 0o700) })
	return folder
}

func TestPermAFolderThatCannotBeWrittenRefusesAndStays(t *testing.T) {
	permtest.Ordinary(t)
	folder := locked(t)
	d := open(t, folder)
	for name, run := range map[string]func(*durable.Dir) error{"WriteFile": writeFile, "Create": create, "MakeSub": makeSub} {
		err := run(d)
		if durable.OutcomeOf(err) != durable.Refused || !errors.Is(err, fs.ErrPermission) || problem.KindOf(err) != problem.Refused {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := content(d); got != "old" {
		t.Errorf("the file is now %q", got)
	}
	if left := temporaries(t, folder); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestPermALockThatCannotBeMadeIsNotHeld(t *testing.T) {
	permtest.Ordinary(t)
	_, err := open(t, locked(t)).TryLock("lock", "x")
	var held *durable.Held
	if !errors.Is(err, fs.ErrPermission) || errors.As(err, &held) {
		t.Errorf("got %v", err)
	}
}

// A torn line is not cut off where its copy cannot be kept.
func TestPermATornLineThatCannotBeKeptStays(t *testing.T) {
	permtest.Ordinary(t)
	folder := locked(t)
	path := filepath.Join(folder, "j")
	if err := os.WriteFile(path, []byte("1\n{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, folder).OpenJournal("j", limit, func(durable.Record) error { return nil }); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %v", err)
	}
	if left, _ := os.ReadFile(path); string(left) != "1\n{" {
		t.Errorf("left %q", left)
	}
}

func TestPermAFileThatCannotBeReadIsNotAbsent(t *testing.T) {
	permtest.Ordinary(t)
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "f"), []byte("x"), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, folder).ReadFile("f", limit); !errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
