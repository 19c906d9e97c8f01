//go:build linux

package main

import (
	"errors"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/internal/fleet/box/shim/wire"
)

// How a shim that kills goes on.
const (
	// tellNewborn is how often it is looked for processes that have not heard TERM.
	tellNewborn = 100 * time.Millisecond
	killAgain   = 100 * time.Millisecond
	killRounds  = 20 // then an init whose work's exit is known leaves the rest to the kernel
)

// run lets the work go, and stays until nothing of it is left.
func (s *shim) run() {
	// From here on somebody may find that it went; without this file it never did.
	here("shim.went:before")
	if err := s.went(); err != nil {
		say(wire.Failed + "it could not be written down that it goes: " + err.Error())
		s.leave(unknown("it was not started: it could not be written down that it goes: " + err.Error()))
	}
	here("shim.went:after")
	out, err := s.output()
	if err != nil {
		s.notStarted(err)
	}
	here("shim.start:before")
	words, err := s.start(out.inner)
	if err != nil {
		s.notStarted(err)
	}
	here("shim.start:after")
	go out.copy()
	s.stay(words, out)
}

func (s *shim) notStarted(err error) {
	say(wire.Failed + err.Error())
	s.leave(unknown("it could not be started: " + err.Error()))
}

func (s *shim) went() error {
	fd, err := s.folder.open(wire.WentFile, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err = writeAll(fd, []byte(wire.Go+"\n")); err == nil {
		err = unix.Fsync(fd)
	}
	if err == nil {
		err = unix.Fsync(int(s.folder))
	}
	if err != nil {
		_ = unix.Unlinkat(int(s.folder), wire.WentFile, 0)
	}
	return err
}

// start starts the second stage, which becomes the work. What it has to say against that
// comes through words, nothing if it is done.
func (s *shim) start(stdout int) (words <-chan string, err error) {
	launch, err := s.folder.open(wire.LaunchFile, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(launch)
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return nil, err
	}
	defer unix.Close(pipe[1])
	stdin := 0
	if s.launch.Terminal {
		stdin = stdout
	}
	attr := &syscall.ProcAttr{
		Env:   []string{"GOMAXPROCS=1"},
		Files: []uintptr{uintptr(stdin), uintptr(stdout), uintptr(stdout), uintptr(launch), uintptr(pipe[1])},
		Sys:   &syscall.SysProcAttr{Setsid: true, Setctty: s.launch.Terminal},
	}
	s.first, err = syscall.ForkExec("/proc/self/exe", []string{"holdfast-work", wire.AsWork}, attr)
	unix.Close(stdout)
	if err != nil {
		return nil, err
	}
	c := make(chan string, 1)
	go func() {
		text, _ := readAll(pipe[0])
		unix.Close(pipe[0])
		c <- string(text)
	}()
	return c, nil
}

// stay reaps, and stops when it is told to, until there is nobody left.
func (s *shim) stay(words <-chan string, out *output) {
	var (
		firstEnded, allEnded = s.reap()
		exit                 = unknown("it ended before its first process did") // replaced below
		known                bool
		failed               string
		grace, again         <-chan time.Time
		newborn              <-chan time.Time // while the grace lasts
		told                 map[int]bool     // who has heard TERM
		rounds               int
	)
	cut := func() {
		s.everyone(unix.SIGKILL)
		grace, newborn, again = nil, nil, time.After(killAgain)
	}
	for {
		select {
		case failed = <-words:
			words = nil
			answer(failed)
		case status := <-firstEnded:
			exit, known = ended(status), true
		case <-allEnded:
			select {
			case status := <-firstEnded:
				exit = ended(status)
			default:
			}
			out.finish()
			if words != nil {
				failed = <-words
				answer(failed)
			}
			if failed != "" {
				exit = unknown("it could not be started: " + failed)
			}
			s.leave(exit)
		case sig := <-s.signals:
			switch {
			case sig == unix.SIGUSR1:
				cut()
			case sig == unix.SIGTERM && grace == nil && again == nil:
				told = s.members() // before: who is born meanwhile is told once more, and not never
				s.everyone(unix.SIGTERM)
				s.everyone(unix.SIGCONT) // who is stopped would not hear it
				newborn = time.After(tellNewborn)
				grace = time.After(time.Duration(s.launch.Grace) * time.Millisecond)
			}
		case <-newborn:
			// A process that held its signals back while it started another left one that
			// has heard nothing.
			for pid := range s.members() {
				if !told[pid] {
					told[pid] = true
					_ = unix.Kill(pid, unix.SIGTERM)
				}
			}
			newborn = time.After(tellNewborn)
		case <-grace:
			cut()
		case <-again:
			if rounds++; known && !s.weak && rounds > killRounds {
				out.finish()
				s.leave(exit)
			}
			cut()
		}
	}
}

// answer tells the launcher what became of its go, and lets it go.
func answer(failed string) {
	if failed == "" {
		say(wire.Started)
	} else {
		say(wire.Failed + failed)
	}
	unix.Close(wire.GateFD)
}

// reap takes the exits of all children, which all orphans become, until there are none.
func (s *shim) reap() (firstEnded <-chan unix.WaitStatus, allEnded <-chan struct{}) {
	first, all := make(chan unix.WaitStatus, 1), make(chan struct{})
	go func() {
		for {
			var status unix.WaitStatus
			pid, err := unix.Wait4(-1, &status, unix.WALL, nil)
			switch {
			case pid == s.first && err == nil:
				first <- status
			case errors.Is(err, unix.ECHILD):
				close(all)
				return
			}
		}
	}()
	return first, all
}

// members are the processes of the work, as far as /proc shows them by the numbers that they
// have here.
func (s *shim) members() map[int]bool {
	all := map[int]bool{}
	if self, err := os.Readlink("/proc/self"); err != nil || self != strconv.Itoa(os.Getpid()) {
		return all
	}
	for _, pid := range descendants(os.Getpid()) {
		all[pid] = true
	}
	return all
}

// everyone sends a signal to all that is left of the work.
func (s *shim) everyone(sig unix.Signal) {
	if !s.weak && os.Getpid() == 1 {
		_ = unix.Kill(-1, sig) // all of the namespace but its init
		return
	}
	for _, pid := range descendants(os.Getpid()) {
		_ = unix.Kill(pid, sig)
	}
}
