package durable_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"holdfast/internal/durable"
	"holdfast/internal/problem"
)

// checkNoRoom wants err to be Refused for lack of room.
func checkNoRoom(err error) error {
	var public *problem.Error
	if durable.OutcomeOf(err) != durable.Refused || !errors.As(err, &public) || public.Step != problem.StepNoSpace {
		return fmt.Errorf("want a refusal for lack of room, got: %w", err)
	}
	return nil
}

// checkOverfilled checks a folder where overfill has been.
func checkOverfilled(t *testing.T, folder string) {
	t.Helper()
	d := open(t, folder)
	if got := content(d); got != "old" {
		t.Errorf("the file is now %.20q…", got)
	}
	if got := records(d); got != `{"n":1} "fits"` {
		t.Errorf("the journal is now %.40q…", got)
	}
	if left := temporaries(t, folder); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func prepareOverfill(t *testing.T, folder string) {
	t.Helper()
	if err := errors.Join(write("f", "old")(folder), write("j", `{"n":1}`+"\n")(folder)); err != nil {
		t.Fatal(err)
	}
}

// A write that runs out of room half way is taken back. Red without the Truncate
// in undoLocked, or if stage leaves its file.
func TestWritingBeyondALimitChangesNothing(t *testing.T) {
	folder := t.TempDir()
	prepareOverfill(t, folder)
	if out, err := child(t, "fill", folder, "").Output(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	checkOverfilled(t, folder)
}

func TestAFullDiskIsToldAsSuch(t *testing.T) {
	for _, full := range []error{unix.ENOSPC, unix.EDQUOT} {
		d := open(t, t.TempDir())
		d.Faults = func(m durable.Moment) error {
			if m == (durable.Moment{Step: durable.StepWrite}) {
				return &os.PathError{Op: "write", Err: full}
			}
			return nil
		}
		if err := checkNoRoom(writeFile(d)); err != nil {
			t.Error(err)
		}
	}
}

// The same on a real full disk, where one can be made; the two tests above hold
// the claim everywhere.
func TestAFullFileSystemChangesNothing(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "small")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := mountSmall(folder); err != nil {
		if os.Getuid() == 0 {
			t.Logf("root cannot mount here: %v", err)
		}
		if err := writeFull(t); err != nil {
			t.Error(err)
		}
		return
	}
	t.Cleanup(func() {
		if err := unmount(folder); err != nil {
			t.Error(err)
		}
	})
	prepareOverfill(t, folder)
	d, err := durable.OpenDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := overfill(d); err != nil {
		t.Error(err)
	}
	sub, err := durable.OpenDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	if got := content(sub) + " / " + records(sub); got != `old / {"n":1} "fits"` || strings.Contains(got, "small") {
		t.Errorf("left %.60q", got)
	}
}

// writeFull stands in for the mount: no room at the sync, which is when some
// file systems say so.
func writeFull(t *testing.T) error {
	t.Helper()
	d := open(t, t.TempDir())
	d.Faults = func(m durable.Moment) error {
		if m == (durable.Moment{Step: durable.StepSync}) {
			return unix.ENOSPC
		}
		return nil
	}
	return checkNoRoom(writeFile(d))
}
