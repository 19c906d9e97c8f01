package shim_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/internal/fleet/box/shim"
	"holdfast/internal/fleet/receipt"
	"holdfast/internal/silentfs"
)

// hydra ignores TERM, calls setsid, forks twice, and leaves a grandchild that holds a port.
func hydra() {
	signal.Ignore(syscall.SIGTERM)
	if len(os.Args) == 1 { // the first: its child outlives it
		c := exec.Command("/proc/self/exe", "second")
		c.Stdout, c.SysProcAttr = os.Stdout, &syscall.SysProcAttr{Setsid: true}
		must(c.Run())
		select {}
	}
	c := exec.Command("/proc/self/exe")
	c.Env = append(os.Environ(), childEnv+"=head")
	c.Stdout, c.SysProcAttr = os.Stdout, &syscall.SysProcAttr{Setsid: true}
	must(c.Start())
}

func head() {
	signal.Ignore(syscall.SIGTERM)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	say("port %s", l.Addr())
	for {
		c, err := l.Accept()
		must(err)
		_, _ = io.WriteString(c, "alive\n")
		c.Close()
	}
}

// case F09. Red when: the clone flags lack NEWPID. That a stop may forget somebody of a
// namespace is not seen here: the kernel ends whoever is left. Try nothing of this without
// the guard in everyone, or outside of a PID namespace: it signals the whole machine.
func TestNothingOfAHydraOutlivesItsStop(t *testing.T) {
	s := newSite(t)
	h := s.run(t, s.part(t, "hydra"))
	var port string
	until(t, "the head says its port", func() bool {
		for _, line := range s.lines() {
			port = strings.TrimPrefix(line, "port ")
			if port != line {
				return true
			}
		}
		return false
	})
	if c, err := net.Dial("tcp", port); err != nil {
		t.Errorf("before its stop: %v", err)
	} else {
		c.Close()
	}
	if len(s.alive(t)) < 2 {
		t.Errorf("before its stop only %v is alive", s.alive(t))
	}
	if err := h.Stop(limited(t), 100*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	s.wantEnd(t, h, receipt.Signalled{Signal: 9})
	if c, err := net.Dial("tcp", port); err == nil {
		c.Close()
		t.Error("somebody still answers at its port")
	}
	s.wantFound(t, h.Identity(), shim.Gone{Went: true})
}

// Red when: stay ends at firstEnded.
func TestWorkThatHandsOverToAGrandchildIsStillRunning(t *testing.T) {
	s := newSite(t)
	h := s.run(t, s.script("sh -c 'echo early; while [ ! -e end ]; do sleep 0.01; done; echo late' & exit 4"))
	s.said(t, "early")
	until(t, "the first process has ended", func() bool {
		return !slices.ContainsFunc(s.alive(t), func(pid int) bool {
			words, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			return strings.Contains(string(words), "exit 4")
		})
	})
	if _, is := s.host.Attach(s.dir, h.Identity()).(shim.Alive); !is || exists(s.launch, "exit") {
		t.Error("it counts as ended")
	}
	write(t, "", s.work, "end")
	s.wantEnd(t, h, receipt.Exited{Status: 4})
	s.said(t, "late")
}

// Red when: the signal at the start of a stop is KILL, or goes to the first process's group
// alone, or nobody is told to continue.
func TestWorkThatHeedsTermEndsByItself(t *testing.T) {
	s := newSite(t)
	const far = `setsid sh -c "trap 'echo far; exit' TERM; echo up; while :; do sleep 0.01; done" & `
	h := s.run(t, s.script(far+"trap 'echo bye; exit 6' TERM; kill -STOP $$; while :; do sleep 0.01; done"))
	until(t, "the work is stopped", func() bool {
		return slices.ContainsFunc(s.alive(t), func(pid int) bool {
			stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			return strings.Contains(string(stat), ") T ")
		})
	})
	s.said(t, "up")
	if err := h.Stop(limited(t), time.Minute); err != nil {
		t.Fatal(err)
	}
	s.wantEnd(t, h, receipt.Exited{Status: 6})
	wantLines(t, s.lines(), "bye", "far")
}

// Red when: nobody is told TERM after the first time: the new one lives until the grace is over.
func TestWhoIsBornDuringAStopIsToldToEndToo(t *testing.T) {
	s := newSite(t)
	h := s.run(t, s.script("trap 'sleep 1000 & exit 7' TERM; echo ran > ran; while :; do sleep 0.05; done"))
	until(t, "the work runs", func() bool { return exists(s.work, "ran") })
	if err := h.Stop(limited(t), time.Hour); err != nil {
		t.Fatal(err)
	}
	s.wantExit(t, receipt.Exited{Status: 7})
}

// Red when: the program does not listen for one of them; a Go program dies of it.
func TestOtherSignalsDoNotEndAShim(t *testing.T) {
	s := newSite(t)
	h := s.run(t, s.script("while [ ! -e end ]; do sleep 0.01; done"))
	for _, sig := range []unix.Signal{unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR2, unix.SIGPIPE, unix.SIGALRM, unix.SIGXCPU, unix.SIGXFSZ} {
		if err := unix.Kill(h.Identity().PID, sig); err != nil {
			t.Fatal(err)
		}
	}
	write(t, "", s.work, "end")
	s.wantEnd(t, h, receipt.Exited{Status: 0})
}

// The launch's own grace holds where nobody waits. Red when: stay has no timer for it.
func TestAShimEndsWhatIgnoresItsGrace(t *testing.T) {
	s := newSite(t)
	l := s.script("trap '' TERM; echo up; while :; do sleep 0.01; done")
	l.Grace = 50 * time.Millisecond
	h := s.run(t, l)
	s.said(t, "up")
	if err := h.Term(); err != nil {
		t.Fatal(err)
	}
	s.wantEnd(t, h, receipt.Signalled{Signal: 9})
}

// Red when: NEWPID is left out; or when Exit makes something up where there is no file.
func TestAShimThatIsKilledTakesAllWithIt(t *testing.T) {
	s := newSite(t)
	h := s.run(t, s.script("setsid sleep 1000 & setsid sleep 1000 & echo up; wait"))
	s.said(t, "up")
	if err := h.Kill(); err != nil {
		t.Fatal(err)
	}
	s.wantEnd(t, h, receipt.Unknown{Why: "it ended without leaving word of its exit"})
	s.wantFound(t, h.Identity(), shim.Gone{Went: true})
}

// case F11: a member in uninterruptible sleep. It waits for an answer of a file system whose
// server, outside of its namespace, has read the question. Red when: over takes a
// descriptor that has nothing to say for an end.
func TestWhoCannotDieHasNotEnded(t *testing.T) {
	if !own(t, 0) {
		return
	}
	s := newSite(t)
	stuck := filepath.Join(s.work, "stuck")
	server := silentfs.Mount(t, stuck)
	h := s.run(t, s.script("echo up; (cat stuck/file) & exec sleep 1000"))
	s.said(t, "up")
	server.Asked(t)

	short, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	if err := h.Stop(short, 0); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Stop: %v", err)
	}
	if err := h.Kill(); err != nil {
		t.Fatal(err)
	}
	short, cancel = context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	if err := h.Ended(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Ended after KILL: %v", err)
	}
	if found, is := s.host.Attach(s.dir, h.Identity()).(shim.Alive); !is {
		t.Errorf("it is found as %#v", found)
	}
	server.Close()
	if err := h.Ended(limited(t)); err != nil {
		t.Fatal(err)
	}
	s.wantFound(t, h.Identity(), shim.Gone{Went: true})
}

// A shim that is told that it is init, and is not, would end the whole machine at a stop. It
// refuses to begin. Red when: prepare does not look at its own number.
func TestAShimThatIsNoInitDoesNotPlayOne(t *testing.T) {
	if !own(t, syscall.CLONE_NEWPID) { // where ending all is no harm
		return
	}
	mountProc(t)
	s := newSite(t)
	if err := shim.WithoutNamespace(limited(t), s.host, s.dir, s.script("echo ran > ran")); err == nil || !strings.Contains(err.Error(), "being the init of a namespace") {
		t.Errorf("got %v", err)
	}
	if exists(s.work, "ran") || exists(s.launch, "identity") {
		t.Error("it began")
	}
}
