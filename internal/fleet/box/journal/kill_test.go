package journal_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"holdfast/internal/durable"
	"holdfast/internal/fleet/box/journal"
	"holdfast/internal/problem"
)

// A test that needs another process starts this binary again, with the child's part in
// the environment.
const (
	childPart   = "HOLDFAST_TEST_CHILD"
	childFolder = "HOLDFAST_TEST_FOLDER"
)

var childParts = map[string]func(d *durable.Dir) error{"commit": commitForEver, "limit": commitAtLimit}

func TestMain(m *testing.M) {
	part, ok := childParts[os.Getenv(childPart)]
	if !ok {
		os.Exit(m.Run())
	}
	d, err := durable.OpenDir(os.Getenv(childFolder))
	if err == nil {
		err = part(d)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func child(t *testing.T, part, folder string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0])
	c.Env = append(os.Environ(), childPart+"="+part, childFolder+"="+folder)
	return c
}

// commitForEver raises the generation with an intent of that number, and says each that was
// acknowledged.
func commitForEver(d *durable.Dir) error {
	j, err := journal.Open(d)
	for err == nil {
		var n uint64
		err = j.Commit(bg, func(tx *journal.Tx) (err error) {
			if n, err = tx.Raise(); err != nil {
				return err
			}
			i := intent(fmt.Sprintf("op-%d", n))
			i.Payload = make([]byte, n*977%20000)
			return tx.PutIntent(i)
		})
		if err == nil {
			_, err = fmt.Println(n)
		}
	}
	return err
}

// Red when: a commit is acknowledged before it is one (the COMMIT is left out, or the
// whole is not in one transaction).
func TestWhatWasAcknowledgedOutlastsAKill(t *testing.T) {
	folder := t.TempDir()
	var last uint64
	for round := range 12 {
		c := child(t, "commit", folder)
		out, err := c.StdoutPipe()
		must(t, err, c.Start())
		lines := bufio.NewScanner(out)
		for range 1 + round*7 { // until so many are acknowledged
			if !lines.Scan() {
				t.Fatal("the child has ended by itself")
			}
			last = number(t, lines.Text(), last)
		}
		must(t, c.Process.Kill())
		for lines.Scan() { // what it still acknowledged; a line is written whole
			last = number(t, lines.Text(), last)
		}
		var exit *exec.ExitError
		if err := c.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("the child was not killed: %v", err)
		}
		last = checkKilled(t, folder, last)
	}
}

func number(t *testing.T, text string, last uint64) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n != last+1 {
		t.Fatalf("%q is acknowledged after %d", text, last)
	}
	return n
}

// checkKilled looks whether all that was acknowledged is there, and at most the one commit
// more that was under way, whole.
func checkKilled(t *testing.T, folder string, acknowledged uint64) uint64 {
	t.Helper()
	j, err := journal.Open(openDir(t, folder))
	must(t, err)
	c := look(t, j)
	if c.Generation != acknowledged && c.Generation != acknowledged+1 || uint64(len(c.Pending)) != c.Generation {
		t.Fatalf("acknowledged %d, there are %d and %d intents", acknowledged, c.Generation, len(c.Pending))
	}
	for n, i := range c.Pending {
		if i.Operation != fmt.Sprintf("op-%d", n+1) || uint64(len(i.Payload)) != uint64(n+1)*977%20000 {
			t.Fatalf("intent %d is %s of %d bytes", n+1, i.Operation, len(i.Payload))
		}
	}
	must(t, j.Close())
	return c.Generation
}

// commitAtLimit commits what the system will not write for another reason than that the disk
// is full.
func commitAtLimit(d *durable.Dir) error {
	j, err := journal.Open(d)
	if err != nil {
		return err
	}
	if err := j.Commit(bg, func(tx *journal.Tx) error { return tx.PutIntent(intent("first")) }); err != nil {
		return err
	}
	path, err := d.Path()
	if err != nil {
		return err
	}
	info, err := os.Stat(filepath.Join(path, journal.File+"-wal"))
	if err != nil {
		return err
	}
	signal.Ignore(syscall.SIGXFSZ)
	most := unix.Rlimit{Cur: uint64(info.Size()) + 100, Max: uint64(info.Size()) + 100}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &most); err != nil {
		return err
	}
	for _, operation := range []string{"second", "third"} {
		err := j.Commit(bg, func(tx *journal.Tx) error { return tx.PutIntent(intent(operation)) })
		if problem.KindOf(err) != problem.Unknown || errors.Is(err, journal.ErrFull) {
			return fmt.Errorf("%s ended with %w", operation, err)
		}
	}
	if _, err := j.Generation(); problem.KindOf(err) != problem.Unknown {
		return fmt.Errorf("it is read: %w", err)
	}
	return nil
}

// Red when: a commit that failed for an unknown reason is called a failure, or the journal
// is used on after it.
func TestAfterAnUnknownCommitItMustBeOpenedAgain(t *testing.T) {
	folder := t.TempDir()
	if out, err := child(t, "limit", folder).Output(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c := look(t, open(t, folder))
	if n := len(c.Pending); n < 1 || n > 2 || c.Pending[0].Operation != "first" {
		t.Errorf("%+v", c.Pending)
	}
}
