package shim_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"holdfast/internal/fleet/box/shim"
	"holdfast/internal/fleet/receipt"
)

// stranger is a process that has nothing to do with holdfast.
func stranger(t *testing.T) *exec.Cmd {
	t.Helper()
	c := exec.Command("sleep", "1000")
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	return c
}

func wantUntouched(t *testing.T, c *exec.Cmd) {
	t.Helper()
	stat := read(t, "/proc", strconv.Itoa(c.Process.Pid), "stat")
	if state := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])[0]; state != "S" && state != "R" {
		t.Errorf("the stranger is in state %s", state)
	}
}

// ended runs work to its end and gives its identity.
func (s *site) ended(t *testing.T) shim.Identity {
	t.Helper()
	h := s.run(t, s.script("exit 5"))
	s.wantEnd(t, h, receipt.Exited{Status: 5})
	return h.Identity()
}

// case F10. The number of the shim is a stranger's. Red when: Attach compares neither start
// nor namespace (it is Alive, and a stop would end the stranger).
func TestAStrangerWithTheNumberOfAShimIsNotTouched(t *testing.T) {
	s := newSite(t)
	id := s.ended(t)
	c := stranger(t)
	id.PID = c.Process.Pid
	s.wantFound(t, id, shim.Gone{Went: true})
	wantUntouched(t, c)
}

// case F10, with a number that the kernel gives again, as fast as it can: the start may be
// the same. Red when: Attach compares the pid alone.
func TestANumberThatTheKernelGivesAgainIsAnotherProcess(t *testing.T) {
	if !own(t, syscall.CLONE_NEWPID) {
		return
	}
	mountProc(t)
	s := newSite(t)
	h := s.run(t, s.script("exec sleep 1000"))
	id := h.Identity()
	if err := h.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := h.Ended(limited(t)); err != nil {
		t.Fatal(err)
	}
	var c *exec.Cmd
	until(t, "a stranger gets the number, and no thread", func() bool {
		write(t, strconv.Itoa(id.PID-1), "/proc/sys/kernel/ns_last_pid")
		c = stranger(t)
		return c.Process.Pid == id.PID
	})
	s.wantFound(t, id, shim.Gone{Went: true})
	wantUntouched(t, c)
}

// The stranger has the number and the start: then it is in another namespace. Red when: same
// does not compare the namespace.
func TestAStrangerOfTheSameInstantIsToldByItsNamespace(t *testing.T) {
	s := newSite(t)
	id := s.ended(t)
	c := stranger(t)
	id.PID = c.Process.Pid
	stat := read(t, "/proc", strconv.Itoa(id.PID), "stat")
	start, err := strconv.ParseUint(strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])[19], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	id.Start = start
	s.wantFound(t, id, shim.Gone{Went: true})
	wantUntouched(t, c)
}

// A zombie has its number and its start still. Red when: Attach does not poll the descriptor.
func TestAShimThatNobodyReapedIsGone(t *testing.T) {
	s := newSite(t)
	h := s.run(t, s.script("exec sleep 1000"))
	id := h.Identity()
	fd, err := unix.PidfdOpen(id.PID, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := h.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 60_000); err != nil {
		t.Fatal(err)
	}
	if stat := read(t, "/proc", strconv.Itoa(id.PID), "stat"); !strings.Contains(stat, ") Z ") {
		t.Fatalf("it is no zombie: %s", stat)
	}
	s.wantFound(t, id, shim.Gone{Went: true})
}

// Red when: one of them is not compared, or is looked at after the process.
func TestAnotherBootAndAnotherMachineAreToldApart(t *testing.T) {
	s := newSite(t)
	h := s.run(t, s.script("exec sleep 1000"))
	id := h.Identity()
	here, err := s.host.Machine()
	if err != nil {
		t.Fatal(err)
	}
	boot := id
	boot.BootID = "00000000-0000-0000-0000-000000000000"
	s.wantFound(t, boot, shim.OtherBoot{Was: boot.BootID, Is: here.Boot})
	machine := boot
	machine.MachineID = strings.Repeat("0", 32)
	s.wantFound(t, machine, shim.OtherMachine{Was: machine.MachineID, Is: here.ID})
	outer := id
	outer.OuterNamespace++
	if found, is := s.host.Attach(s.dir, outer).(shim.Unclear); !is || !strings.Contains(found.Why, "another PID namespace") {
		t.Errorf("from another namespace it is found as %#v", found)
	}
}

// Red when: gone does not ask for the lock.
func TestAHeldLockSpeaksAgainstAnEnd(t *testing.T) {
	s := newSite(t)
	id := s.ended(t)
	l, err := s.dir.LockFile("lock")
	if err != nil {
		t.Fatal(err)
	}
	if found, is := s.host.Attach(s.dir, id).(shim.Unclear); !is || !strings.Contains(found.Why, "lock is held") {
		t.Errorf("it is found as %#v", found)
	}
	l.Release()
	s.wantFound(t, id, shim.Gone{Went: true})
}

// Red when: machineID makes one up each time.
func TestAMachineWithoutAnIDGetsOneThatStays(t *testing.T) {
	s := newSite(t)
	for name, text := range map[string]string{"absent": "", "uninitialized": "uninitialized\n"} {
		s.host.MachineID = filepath.Join(s.home, name)
		if text != "" {
			write(t, text, s.host.MachineID)
		}
		first, err := s.host.Machine()
		if err != nil {
			t.Fatal(err)
		}
		if again, err := s.host.Machine(); err != nil || again != first || len(first.ID) != 32 {
			t.Errorf("%s: %+v, then %+v, %v", name, first, again, err)
		}
	}
	write(t, "short\n", s.home, "box", "machine-id")
	if m, err := s.host.Machine(); err == nil {
		t.Errorf("from a damaged one it makes %+v", m)
	}
}

// Red when: DecodeIdentity looks at the members before the protocol.
func TestANewersIdentityIsRefusedInWords(t *testing.T) {
	_, err := shim.DecodeIdentity([]byte(`{"protocol":2,"what":"nobody knows"}`))
	if err == nil || !strings.Contains(err.Error(), "shim-version: A running process was started by a newer holdfast") {
		t.Errorf("got %v", err)
	}
	for _, text := range []string{"", "{}", `{"protocol":1}`, `{"protocol":1,"pid":7}`} {
		if id, err := shim.DecodeIdentity([]byte(text)); err == nil {
			t.Errorf("%q is %+v", text, id)
		}
	}
}

// Red when: Exit gives a damaged file an exit of 0.
func TestADamagedExitIsUnknown(t *testing.T) {
	s := newSite(t)
	for _, text := range []string{"", "{}", `{"kind":"exited"}`, `{"kind":"exited","status":0,"why":""}`, `{"kind":"gone"}`, "     "} {
		write(t, text, s.launch, "exit")
		s.wantExit(t, receipt.Unknown{Why: "the word that it left of its exit is damaged"})
	}
	if err := os.Remove(filepath.Join(s.launch, "exit")); err != nil {
		t.Fatal(err)
	}
}

// Red when: program trusts a file for its name.
func TestAProgramWithOtherBytesIsWrittenAnew(t *testing.T) {
	s := newSite(t)
	if _, err := s.host.Probe(limited(t)); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(s.home, "box", "shim-*"))
	if err != nil || len(names) != 1 {
		t.Fatalf("%v, %v", names, err)
	}
	good := read(t, names[0])
	if err := os.WriteFile(names[0], []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.ended(t)
	if read(t, names[0]) != good {
		t.Error("the other bytes are there still")
	}
}
