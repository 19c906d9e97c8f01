package journal_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/fleet/box/journal"
	"holdfast/internal/problem"
)

// small is a disk of so many bytes. It must be mounted, and only root can.
func small(t *testing.T, size string) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "small")
	must(t, os.Mkdir(folder, 0o700))
	if err := mount(folder, size); err != nil {
		t.Logf("no disk can be mounted here (%v); the claim of what no room means is held by the limits", err)
		return ""
	}
	t.Cleanup(func() { must(t, unmount(folder)) })
	return folder
}

// fill leaves no byte on the disk of folder.
func fill(t *testing.T, folder string) {
	t.Helper()
	f, err := os.Create(filepath.Join(folder, "filler"))
	must(t, err)
	defer f.Close()
	for _, size := range []int{1 << 20, 4096, 1} {
		for err == nil {
			_, err = f.Write(make([]byte, size))
		}
		err = nil
	}
}

// large is an intent of so many bytes.
func large(operation string, size int) func(*journal.Tx) error {
	i := intent(operation)
	i.Payload = make([]byte, size)
	return func(tx *journal.Tx) error { return tx.PutIntent(i) }
}

// fillLog commits until there is no room in the log either.
func fillLog(t *testing.T, j *journal.Journal) {
	t.Helper()
	for i := range 1000 {
		if err := j.Commit(bg, large(fmt.Sprintf("fill-%d", i), 2000)); err != nil {
			full(t, err)
			return
		}
	}
	t.Fatal("the disk is never full")
}

func full(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, journal.ErrFull) || step(err) != problem.StepNoSpace || problem.KindOf(err) != problem.Failed {
		t.Fatalf("want a full disk, have %v", err)
	}
}

// case F15. Red when: the reserve keeps no bytes, is not given up, or a commit that found
// no room has changed something or spoils the next.
func TestAFullDiskCanStillStop(t *testing.T) {
	folder := small(t, "16m")
	if folder == "" {
		return
	}
	j := open(t, folder)
	must(t, j.TakeReserve())
	put(t, j, func(tx *journal.Tx) error { return tx.PutInstallation(installation("a", 1)) })
	fill(t, folder)
	fillLog(t, j)
	before := look(t, j)
	stop := func(n uint64) func(*journal.Tx) error {
		return func(tx *journal.Tx) error {
			f := fence("a", n)
			f.Receipt = make([]byte, 4096)
			f.Receipt[0] = 1
			_, err := tx.Raise()
			return errors.Join(err, tx.PutFence(f), tx.PutIntent(intent(fmt.Sprintf("stop-%d", n))))
		}
	}
	for range 3 {
		full(t, j.Commit(bg, stop(1)))
	}
	if diff := cmp.Diff(before, look(t, j), same); diff != "" {
		t.Errorf("what found no room has changed something:\n%.500s", diff)
	}
	if !j.Reserve() {
		t.Error("there is no reserve")
	}
	must(t, j.GiveUpReserve())
	if j.Reserve() {
		t.Error("the reserve was given up, and is there")
	}
	for n := range uint64(100) {
		must(t, j.Commit(bg, stop(n+1)))
	}
	full(t, j.TakeReserve())
	after := look(t, j)
	must(t, j.Close())

	// On the full disk it is opened again, and has all of it.
	j = open(t, folder)
	if diff := cmp.Diff(after, look(t, j), same); diff != "" || len(after.Fences) != 100 {
		t.Errorf("%d fences\n%.500s", len(after.Fences), diff)
	}
	full(t, j.TakeReserve())
	must(t, os.Remove(filepath.Join(folder, "filler")), j.TakeReserve())
	if !j.Reserve() {
		t.Error("there is room, and no reserve")
	}
}

// The same without a disk of its own: SQLite says that there is no room. Red when: such a
// commit is called unknown, or the next one fails.
func TestNoRoomChangesNothing(t *testing.T) {
	j := open(t, t.TempDir())
	put(t, j, func(tx *journal.Tx) error { return tx.PutIntent(intent("a")) })
	must(t, j.Exec("PRAGMA max_page_count = 1"))
	before := look(t, j)
	full(t, j.Commit(bg, large("b", 1<<20)))
	if diff := cmp.Diff(before, look(t, j), same); diff != "" {
		t.Error(diff)
	}
	must(t, j.Exec("PRAGMA max_page_count = 100000"))
	put(t, j, large("b", 1<<20))
}

// Red when: a file that only says how long it is counts as the reserve.
func TestTheReserveHasItsBytes(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, journal.Reserve)
	j := open(t, folder)
	for name, meddle := range map[string]func() error{
		"nothing": func() error { return nil },
		"a hole": func() error {
			return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, journal.ReserveSize))
		},
		"too short": func() error { return os.WriteFile(path, make([]byte, 4096), 0o600) },
		"a link":    func() error { return os.Symlink(journal.File, path) },
	} {
		must(t, meddle())
		if j.Reserve() {
			t.Errorf("%s counts", name)
		}
		must(t, j.TakeReserve())
		info, err := os.Lstat(path)
		if !j.Reserve() || err != nil || info.Size() != journal.ReserveSize || info.Mode() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
		must(t, j.TakeReserve(), j.GiveUpReserve(), j.GiveUpReserve())
		if j.Reserve() {
			t.Errorf("%s: it was given up", name)
		}
	}
	must(t, j.Close())
	if err := j.TakeReserve(); err == nil {
		t.Error("it is closed, and takes a reserve")
	}
}
