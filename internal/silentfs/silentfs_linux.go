// Package silentfs is a file system for tests that never answers: whoever asks it something
// sleeps uninterruptibly, as on a dead network disk. It needs /dev/fuse, and the right to
// mount.
package silentfs

import (
	"encoding/binary"
	"fmt"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Server reads every question and answers none but the first. Whoever asks sleeps until it is
// gone.
type Server struct {
	place string
	fd    int
	heard chan struct{}
}

// Mount makes the folder place and mounts a silent file system there, in the mount namespace
// of the caller, until the test has ended.
func Mount(t testing.TB, place string) *Server {
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
	s := &Server{place: place, fd: fd, heard: make(chan struct{}, 64)}
	t.Cleanup(s.Close)
	go s.serve()
	return s
}

// What a question begins with: its length, what it asks, its number.
const (
	fuseHeader = 40
	fuseInit   = 26
	fuseLookup = 1
)

func (s *Server) serve() {
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

// Asked waits until somebody waits for an answer.
func (s *Server) Asked(t testing.TB) {
	t.Helper()
	select {
	case <-s.heard:
	case <-time.After(time.Minute):
		t.Fatal("nobody asked")
	}
}

// Close ends the file system, which lets go whoever waits.
func (s *Server) Close() { _ = unix.Unmount(s.place, unix.MNT_FORCE|unix.MNT_DETACH) }
