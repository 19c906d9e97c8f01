package durable_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"holdfast/internal/durable"
)

func makeFiles(t *testing.T, paths ...string) {
	t.Helper()
	for _, p := range paths {
		if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o755), os.WriteFile(p, []byte("x"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

// Red when remove follows a link, or keep is asked below.
func TestAFolderIsEmptiedAndNoLinkFollowed(t *testing.T) {
	folder, other := t.TempDir(), t.TempDir()
	makeFiles(t, other+"/kept", folder+"/a/b/c", folder+"/a/.git", folder+"/.git", folder+"/f")
	if err := errors.Join(os.Symlink(other, folder+"/link"), os.Symlink(other, folder+"/a/link"), unix.Mkfifo(folder+"/pipe", 0o600)); err != nil {
		t.Fatal(err)
	}
	d := open(t, folder)
	err := d.Empty(t.Context(), func(name string, mode fs.FileMode) bool { return name == ".git" && mode.IsRegular() })
	names, _ := d.Names()
	if err != nil || len(names) != 1 || names[0] != ".git" {
		t.Errorf("left are %v, %v", names, err)
	}
	if _, err := os.Stat(other + "/kept"); err != nil {
		t.Error(err)
	}
	if err := d.Empty(t.Context(), nil); err != nil {
		t.Error(err)
	}
	if err := open(t, filepath.Dir(folder)).RemoveDir(filepath.Base(folder)); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestAStoppedContextEndsTheEmptying(t *testing.T) {
	folder := t.TempDir()
	makeFiles(t, folder+"/a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := open(t, folder).Empty(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Red when enter opens mounts too: a bind mount is of the same device.
func TestNoMountIsEntered(t *testing.T) {
	folder, other := t.TempDir(), t.TempDir()
	makeFiles(t, other+"/kept", folder+"/sub/mount/x")
	if err := mountSmall(folder + "/sub/mount"); err != nil {
		t.Fatal(err)
	}
	defer unmount(folder + "/sub/mount")
	makeFiles(t, folder+"/sub/mount/kept")
	d := open(t, folder)
	if err := d.Empty(t.Context(), nil); !errors.Is(err, durable.ErrMount) {
		t.Errorf("emptied with %v", err)
	}
	if _, err := os.Stat(folder + "/sub/mount/kept"); err != nil {
		t.Error(err)
	}
	if err := unmount(folder + "/sub/mount"); err != nil {
		t.Fatal(err)
	}
	if err := bind(other, folder+"/sub/mount"); err != nil {
		t.Fatal(err)
	}
	if err := d.Empty(t.Context(), nil); !errors.Is(err, durable.ErrMount) {
		t.Errorf("emptied with %v", err)
	}
	if _, err := os.Stat(other + "/kept"); err != nil {
		t.Error(err)
	}
}

// Red when CreateLocked gives the name before the lock, or its file is closed.
func TestAnOwnedFileIsLockedFromTheFirst(t *testing.T) {
	d := open(t, t.TempDir())
	l, err := d.CreateLocked("o", []byte("mine"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	var held *durable.Held
	if _, err := d.LockFile("o"); !errors.As(err, &held) {
		t.Errorf("locked twice: %v", err)
	}
	if _, err := d.CreateLocked("o", nil, 0o600); !errors.Is(err, fs.ErrExist) || durable.OutcomeOf(err) != durable.Refused {
		t.Errorf("made twice: %v", err)
	}
	if names, _ := d.Names(); len(names) != 1 {
		t.Errorf("it left %v", names)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	if data, err := d.ReadFile("o", 10); string(data) != "mine" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
	if l, err = d.LockFile("o"); err != nil {
		t.Fatal(err)
	}
	if err := l.Release(); err != nil {
		t.Error(err)
	}
	if _, err := d.LockFile("none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("none: %v", err)
	}
}

// A fault at any moment leaves no lock behind, and says how it ended.
func TestAnOwnedFileIsThereOrNot(t *testing.T) {
	for _, step := range []durable.Step{durable.StepCreateTemporary, durable.StepWrite, durable.StepSync, durable.StepLock, durable.StepLink, durable.StepSyncDir} {
		for _, done := range []bool{false, true} {
			d := open(t, t.TempDir())
			d.Faults = func(m durable.Moment) error {
				if m == (durable.Moment{Step: step, Done: done}) {
					return errors.New("fault")
				}
				return nil
			}
			_, err := d.CreateLocked("o", []byte("x"), 0o600)
			d.Faults = nil
			there, unread := d.IsDir("o")
			l, lock := d.LockFile("o")
			switch durable.OutcomeOf(err) {
			case durable.Refused:
				if !errors.Is(lock, fs.ErrNotExist) {
					t.Errorf("%s %t: refused, and then %v", step, done, lock)
				}
			case durable.Unknown:
				if lock != nil {
					t.Errorf("%s %t: unknown, and still locked: %v", step, done, lock)
				} else if err := l.Release(); err != nil {
					t.Error(err)
				}
			case durable.Done:
				t.Errorf("%s %t: done", step, done)
			}
			if there || unread != nil {
				t.Errorf("a folder: %t, %v", there, unread)
			}
		}
	}
}
