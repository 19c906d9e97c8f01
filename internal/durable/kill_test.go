package durable_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"holdfast/internal/durable"
)

// A test that needs another process starts this binary again, with the child's
// part in the environment.
const (
	childPart   = "HOLDFAST_TEST_CHILD"
	childFolder = "HOLDFAST_TEST_FOLDER"
	childArg    = "HOLDFAST_TEST_ARG"
)

var childParts = map[string]func(d *durable.Dir, arg string) error{
	"die":  dieAt,
	"lock": lockAndWait,
	"fill": fillDisk,
}

func TestMain(m *testing.M) {
	part, ok := childParts[os.Getenv(childPart)]
	if !ok {
		os.Exit(m.Run())
	}
	d, err := durable.OpenDir(os.Getenv(childFolder))
	if err == nil {
		err = part(d, os.Getenv(childArg))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// child is this binary, about to play part in folder.
func child(t *testing.T, part, folder, arg string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), self)
	c.Env = append(os.Environ(), childPart+"="+part, childFolder+"="+folder, childArg+"="+arg)
	c.Stderr = os.Stderr
	return c
}

// dieAt runs an operation and kills this process at one of its moments.
func dieAt(d *durable.Dir, arg string) error {
	name, number, _ := strings.Cut(arg, "#")
	at, err := strconv.Atoi(number)
	if err != nil {
		return err
	}
	n := 0
	d.Faults = func(durable.Moment) error {
		if n++; n-1 == at {
			_ = unix.Kill(os.Getpid(), unix.SIGKILL)
			select {} // until it arrives
		}
		return nil
	}
	return operations[name].run(d)
}

// Nothing of the program runs after a SIGKILL: no defer, no clean-up.
func TestAKilledWriterLeavesOldOrNew(t *testing.T) {
	for name, op := range operations {
		for i, m := range moments(t, op) {
			t.Run(fmt.Sprintf("%s/%d %s done=%v", name, i, m.Step, m.Done), func(t *testing.T) {
				folder := t.TempDir()
				if err := op.prepare(folder); err != nil {
					t.Fatal(err)
				}
				var exit *exec.ExitError
				err := child(t, "die", folder, fmt.Sprintf("%s#%d", name, i)).Run()
				if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
					t.Fatalf("the child was not killed: %v", err)
				}
				checkAfterCrash(t, op, folder)
			})
		}
	}
}

// fillDisk writes under a limit on the size of files, which fails a write half
// way as a full disk does.
func fillDisk(d *durable.Dir, _ string) error {
	signal.Ignore(syscall.SIGXFSZ)
	most := unix.Rlimit{Cur: 100, Max: 100}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &most); err != nil {
		return err
	}
	return overfill(d)
}

// overfill writes more than there is room for, and then what there is room for.
func overfill(d *durable.Dir) error {
	big := strings.Repeat("x", 1<<20)
	if err := checkNoRoom(d.WriteFile("f", []byte(big), 0o600)); err != nil {
		return err
	}
	j, err := d.OpenJournal("j", len(big)+10, func(durable.Record) error { return nil })
	if err != nil {
		return err
	}
	defer j.Close()
	if err := checkNoRoom(j.Append("small", big)); err != nil {
		return err
	}
	return j.Append("fits")
}
