//go:build linux

// Command program is the shim: the first process of an incarnation, which starts its work,
// outlives whoever started it, and ends only when nothing of the work is left.
//
// As init of a PID namespace it cannot end before all that is in the namespace has ended;
// the kernel sees to that. In weak mode it is the parent of all that loses its own parent,
// and ends when it has no child any more.
//
// It is told what to do by the file launch in the folder that it is given as descriptor 3,
// and when by the socket that is descriptor 4: it prepares everything, writes down who it
// is, says ready, and starts nothing before it hears go. An end of file there means that
// nobody will ever say it.
//
// Two hundred of them run on a box, so it imports little and keeps little.
package main

import (
	"errors"
	"os"
	"os/signal"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"

	"holdfast/internal/fleet/box/shim/wire"
)

// The main goroutine stays on the main thread: limits, capabilities and the signal at a
// parent's death belong to threads.
func init() { runtime.LockOSThread() }

func main() {
	if len(os.Args) < 2 {
		os.Exit(2)
	}
	switch mode := os.Args[1]; mode {
	case wire.AsWork:
		work()
	case wire.AsInit, wire.AsWeak, wire.AsProbe:
		begin(mode)
	}
	os.Exit(2)
}

// begin is the shim's life up to the gate.
func begin(mode string) {
	unix.CloseOnExec(wire.FolderFD)
	unix.CloseOnExec(wire.GateFD)
	signals := listen()
	closeOthers()
	_ = unix.Prctl(unix.PR_SET_NAME, nameOfShim(), 0, 0, 0)
	if mode == wire.AsProbe {
		probe()
		os.Exit(0)
	}
	s := &shim{folder: folder(wire.FolderFD), weak: mode == wire.AsWeak, signals: signals}
	if err := s.prepare(); err != nil {
		say(wire.Failed + err.Error())
		os.Exit(1)
	}
	say(wire.Ready)
	if why := s.awaitGo(); why != "" {
		s.leave(unknown(why))
	}
	s.run()
}

// listen takes the signals that must not end an init. Those that it does nothing on are
// taken too, and not ignored, which the work would inherit.
func listen() <-chan os.Signal {
	c := make(chan os.Signal, 16)
	signal.Notify(c, unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2,
		unix.SIGPIPE, unix.SIGXFSZ, unix.SIGXCPU, unix.SIGALRM, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU)
	return c
}

// closeOthers closes what was left open by a parent's parent. What the runtime opened for
// itself is no file.
func closeOthers() {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return
	}
	for _, e := range list {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd <= wire.GateFD {
			continue
		}
		to, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err == nil && (len(to) < 11 || to[:11] != "anon_inode:") {
			unix.Close(fd)
		}
	}
}

// say tells the launcher a line. Whether it is still there is not the shim's concern.
func say(line string) { _ = writeAll(wire.GateFD, []byte(line+"\n")) }

// awaitGo waits for the word, and says why it will never come, if so.
func (s *shim) awaitGo() (closed string) {
	heard := make(chan bool, 1)
	go func() { heard <- hearGo() }()
	for {
		select {
		case ok := <-heard:
			if !ok {
				return "the gate was closed"
			}
			return ""
		case sig := <-s.signals:
			if sig == unix.SIGTERM || sig == unix.SIGUSR1 {
				return "it was told to stop before it was told to go"
			}
		}
	}
}

// hearGo reads the gate to the end of its line, and reports whether that was go.
func hearGo() bool {
	const want = wire.Go + "\n"
	var got [len(want)]byte
	for n := 0; n < len(want); {
		k, err := unix.Read(wire.GateFD, got[n:])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || k == 0 {
			return false
		}
		n += k
	}
	return string(got[:]) == want
}
