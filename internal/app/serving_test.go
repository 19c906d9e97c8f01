package app

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"holdfast/internal/durable"
	"holdfast/internal/problem"
)

// TestALockOfAStrangerIsNotWaitedForForEver: red when contend has no end.
func TestALockOfAStrangerIsNotWaitedForForEver(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, lockFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	d, err := durable.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	held, err := probe(t.Context(), d)
	if held != nil || problem.KindOf(err) != problem.Refused {
		t.Errorf("got %v, %v", held, err)
	}
}
