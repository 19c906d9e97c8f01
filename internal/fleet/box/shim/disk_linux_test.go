package shim_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"holdfast/internal/fleet/box/shim"
	"holdfast/internal/fleet/receipt"
)

// small puts the launch's folder on a file system of its own.
func (s *site) small(t *testing.T, options string) {
	t.Helper()
	if err := unix.Mount("tmpfs", s.launch, "tmpfs", 0, options+",mode=0700"); err != nil {
		t.Fatal(err)
	}
	s.dir = openDir(t, s.launch)
	t.Cleanup(func() { _ = unix.Unmount(s.launch, unix.MNT_DETACH) })
}

// fill leaves no room in the launch's folder.
func (s *site) fill(t *testing.T) string {
	t.Helper()
	path := filepath.Join(s.launch, "filler")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := make([]byte, 4096); ; {
		if _, err := f.Write(block); errors.Is(err, unix.ENOSPC) {
			return path
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// Red when: the oldest segment is not removed.
func TestAFloodKeepsTheLastSegments(t *testing.T) {
	s := newSite(t)
	l := s.script("i=0; head -c 5300000 /dev/zero | tr '\\0' x; echo; echo last")
	l.Segments = 3
	h := s.run(t, l)
	s.wantEnd(t, h, receipt.Exited{Status: 0})
	names, err := filepath.Glob(filepath.Join(s.launch, "log.*"))
	if err != nil || len(names) != 3 {
		t.Fatalf("kept: %v, %v", names, err)
	}
	for n, size := range map[int]int{4: 1 << 20, 5: 1 << 20, 6: 5300000 + len("\nlast\n") - 5<<20} {
		if got := len(read(t, s.launch, fmt.Sprintf("log.%d", n))); got != size {
			t.Errorf("log.%d has %d bytes, want %d", n, got, size)
		}
	}
	if !strings.HasSuffix(read(t, s.launch, "log.6"), "x\nlast\n") {
		t.Error("its end is not there")
	}
}

// Red when: copy stops reading after an error (the work hangs on its pipe); when the exit has
// no room of its own; when note is not written.
func TestAFullDiskLosesOutputButNeitherWorkNorExit(t *testing.T) {
	if !own(t, 0) {
		return
	}
	s := newSite(t)
	s.small(t, "size=64k")
	h := s.run(t, s.script("while [ ! -e full ]; do sleep 0.01; done; head -c 3000000 /dev/zero; touch written; "+
		"while [ ! -e room ]; do sleep 0.01; done; echo again; while [ ! -e end ]; do sleep 0.01; done; head -c 100000 /dev/zero; exit 9"))
	filler := s.fill(t)
	write(t, "", s.work, "full")
	until(t, "the work has written all", func() bool { return exists(s.work, "written") })
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	write(t, "", s.work, "room")
	s.said(t, "again")
	if text := read(t, s.launch, "log.1"); !strings.Contains(text, "\n[holdfast: 3000000 bytes of output were lost here, for lack of room]\nagain\n") {
		t.Errorf("the log says %q", text)
	}
	s.fill(t)
	write(t, "", s.work, "end")
	s.wantEnd(t, h, receipt.Exited{Status: 9})
}

// Whatever does not fit, on disks of every size: nothing runs without an identity and a went,
// and what ran left its exit. Red when: the exit has no room kept; when prepare goes on
// without an identity, or run without went.
func TestWhereverTheDiskEndsTheAnswerIsTrue(t *testing.T) {
	if !own(t, 0) {
		return
	}
	var met []string
	for pages := 1; pages <= 8; pages++ {
		met = append(met, fullAt(t, fmt.Sprintf("size=%d", pages*4096)))
	}
	for inodes := 2; inodes <= 10; inodes++ {
		met = append(met, fullAt(t, fmt.Sprintf("size=1m,nr_inodes=%d", inodes)))
	}
	all := strings.Join(met, "\n")
	t.Log(all)
	for _, want := range []string{"identity file", "exit file", "it goes", "ran"} {
		if !strings.Contains(all, want) {
			t.Errorf("no disk ended at %q", want)
		}
	}
}

func fullAt(t *testing.T, options string) (outcome string) {
	t.Helper()
	s := newSite(t)
	s.small(t, options)
	ran := filepath.Join(s.work, "ran")
	w, err := s.host.Start(limited(t), s.dir, s.script("echo > ran; exit 7"))
	if err == nil {
		var h *shim.Handle
		if h, err = w.Go(limited(t)); err == nil {
			defer h.Close()
			s.wantEnd(t, h, receipt.Exited{Status: 7})
			if !exists(ran) || !exists(s.launch, "identity") || !exists(s.launch, "went") {
				t.Errorf("%s: it did not run", options)
			}
			return options + ": ran"
		}
	}
	if exists(ran) || exists(s.launch, "went") {
		t.Errorf("%s: it ran, in spite of %v", options, err)
	}
	return fmt.Sprintf("%s: %v", options, err)
}
