//go:build linux

package sweep

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/internal/problem"
)

func tmpfs(t *testing.T, path string) (unmount func()) {
	t.Helper()
	check(t, os.MkdirAll(path, 0o755))
	if err := unix.Mount("none", path, "tmpfs", 0, "size=64k"); err != nil {
		t.Fatalf("these tests need to mount (root): %v", err)
	}
	done := false
	unmount = func() {
		if !done {
			done = true
			check(t, unix.Unmount(path, unix.MNT_DETACH))
		}
	}
	t.Cleanup(unmount)
	return unmount
}

// A mount is the one thing that holds the operator too. Red when removeLocked
// does not ask for it, or spared lets the hold pass.
func TestAMountInsideHoldsTheTimerAndTheOperator(t *testing.T) {
	h := newHome(t)
	dir := h.booth("x")
	check(t, os.Mkdir(dir+"/m", 0o755))
	h.booth("doomed")
	h.tick()
	unmount := tmpfs(t, dir+"/m")
	h.clock.pass(10 * day)
	h.tick()
	h.clock.pass(tick)
	h.swept(h.tick(), "doomed")
	_, err := h.remove("x")
	publicly(t, err, problem.Refused, "mount", "m")
	h.there("x")
	unmount()
	_, err = h.remove("x")
	check(t, err)
}

// A mount that comes to what is in the trash brings it back, the operator's too.
// Red when changed does not ask for it. That Delete crosses no mount is tested in
// package folder.
func TestAMountInTheTrashBringsTheBoothBack(t *testing.T) {
	h := newHome(t)
	dir := h.booth("x")
	check(t, os.Mkdir(dir+"/m", 0o755))
	_, err := h.remove("x")
	check(t, err)
	place := h.path + "/.trash-" + h.only().ID
	h.s.book.entries[h.only().ID].seal = h.sealWith(func(string) { // as if it could not see mounts
		check(t, unix.Mount("none", place+"/m", "tmpfs", 0, "size=64k"))
	})
	t.Cleanup(func() { _ = unix.Unmount(dir+"/m", unix.MNT_DETACH) })
	t.Cleanup(func() { _ = unix.Unmount(place+"/m", unix.MNT_DETACH) }) // where it did not come back
	h.clock.pass(100 * time.Hour)
	h.tick()
	if !h.is("x/f") {
		t.Error("it is not back")
	}
}

// A full disk moves nothing. Red when discardLocked moves before its line.
func TestAFullDiskMovesNothing(t *testing.T) {
	h := prepare(t)
	h.desk = t.TempDir()
	tmpfs(t, h.desk)
	h.hold()
	h.open()
	t.Cleanup(h.close)
	h.booth("a")
	h.expire()
	fill, err := os.Create(h.desk + "/fill")
	check(t, err)
	for err == nil {
		_, err = fill.Write(make([]byte, 512))
	}
	check(t, fill.Close())
	_, err = h.s.Tick(t.Context())
	publicly(t, err, problem.Failed, problem.StepNoSpace, "no room")
	_, err = h.remove("a")
	if err == nil {
		t.Error("removed")
	}
	h.there("a")
	check(t, os.Remove(h.desk+"/fill"))
	h.clock.pass(tick)
	h.tick()
	h.clock.pass(tick)
	h.tick()
	h.there()
}
