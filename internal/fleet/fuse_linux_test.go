package fleet

import (
	"encoding/binary"
	"fmt"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// silent is a file system (FUSE) whose server reads every question and answers none but the
// first. Whoever asks sleeps uninterruptibly until the server is gone.
type silent struct {
	place string
	fd    int
	heard chan struct{}
}

// serveNothing mounts a silent file system at place, in the test's own mount namespace.
func serveNothing(t *testing.T, place string) *silent {
	t.Helper()
	if err := os.Mkdir(place, 0o700); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatalf("the test needs /dev/fuse: %v", err)
	}
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=%d,group_id=%d", fd, os.Getuid(), os.Getgid())
	if err := unix.Mount("silent", place, "fuse", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		t.Fatal(err)
	}
	s := &silent{place: place, fd: fd, heard: make(chan struct{}, 64)}
	t.Cleanup(s.close)
	go s.serve()
	return s
}

// What a question begins with: its length, what it asks, its number.
const (
	fuseHeader = 40
	fuseInit   = 26
	fuseLookup = 1
)

func (s *silent) serve() {
	question := make([]byte, 1<<20)
	for {
		n, err := unix.Read(s.fd, question)
		if err != nil || n < fuseHeader {
			return
		}
		switch binary.NativeEndian.Uint32(question[4:]) {
		case fuseInit:
			// Header (length, error, number), then version 7.31 and its defaults.
			answer := make([]byte, 16+64)
			binary.NativeEndian.PutUint32(answer, uint32(len(answer)))
			copy(answer[8:16], question[8:16])
			binary.NativeEndian.PutUint32(answer[16:], 7)
			binary.NativeEndian.PutUint32(answer[20:], 31)
			binary.NativeEndian.PutUint32(answer[16+20:], 1<<16) // the longest write
			_, _ = unix.Write(s.fd, answer)
		case fuseLookup:
			s.heard <- struct{}{}
		}
	}
}

// asked waits until somebody waits for an answer.
func (s *silent) asked(t *testing.T) {
	t.Helper()
	select {
	case <-s.heard:
	case <-time.After(time.Minute):
		t.Fatal("nobody asked")
	}
}

// close ends the file system, which lets go whoever waits.
func (s *silent) close() { _ = unix.Unmount(s.place, unix.MNT_FORCE|unix.MNT_DETACH) }
