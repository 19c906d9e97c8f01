package durable_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/internal/durable"
)

// lockAndWait takes what arg says, tells so, and holds it until its input ends.
func lockAndWait(d *durable.Dir, arg string) error {
	var err error
	switch arg {
	case "file":
		_, err = d.TryLock("lock", "a child")
	case "folder":
		_, err = d.LockDir()
	case "journal":
		_, err = d.OpenJournal("lock", limit, func(durable.Record) error { return nil })
	}
	if err != nil {
		return err
	}
	fmt.Println("locked")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// startHolder starts a child that holds what arg says, and waits until it does.
func startHolder(t *testing.T, folder, arg string) *exec.Cmd {
	t.Helper()
	c := child(t, "lock", folder, arg)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = c.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "locked\n" {
		t.Fatalf("the child said %q, %v", line, err)
	}
	return c
}

func TestALockIsHeldByOneProcessAndEndsWithIt(t *testing.T) {
	for arg, try := range map[string]func(d *durable.Dir) (io.Closer, error){
		"file": func(d *durable.Dir) (io.Closer, error) {
			l, err := d.TryLock("lock", "the test")
			return releaser{l}, err
		},
		"folder": func(d *durable.Dir) (io.Closer, error) {
			l, err := d.LockDir()
			return releaser{l}, err
		},
		"journal": func(d *durable.Dir) (io.Closer, error) {
			return d.OpenJournal("lock", limit, func(durable.Record) error { return nil })
		},
	} {
		t.Run(arg, func(t *testing.T) {
			folder := t.TempDir()
			d := open(t, folder)
			holder := startHolder(t, folder, arg)
			_, err := try(d)
			var held *durable.Held
			if !errors.As(err, &held) {
				t.Fatalf("while another process has it: %v", err)
			}
			if arg == "file" {
				checkHolder(t, held, holder.Process.Pid)
			}
			if err := holder.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = holder.Wait()
			l, err := try(d)
			if err != nil {
				t.Fatalf("after its holder was killed: %v", err)
			}
			if _, err := try(d); !errors.As(err, &held) {
				t.Errorf("a second time in one process: %v", err)
			}
			l.Close()
			if l, err = try(d); err != nil {
				t.Fatalf("after its release: %v", err)
			}
			l.Close()
		})
	}
}

type releaser struct{ *durable.Lock }

func (r releaser) Close() error { return r.Release() }

func checkHolder(t *testing.T, held *durable.Held, pid int) {
	t.Helper()
	h := held.Holder
	if h == nil || h.PID != pid || h.Command != "a child" || time.Since(h.Since) > time.Hour {
		t.Errorf("the holder is told as %+v, want process %d", h, pid)
	}
	if want := fmt.Sprintf("lock is locked by process %d (a child) since ", pid); !strings.HasPrefix(held.Error(), want) {
		t.Errorf("it says %q, want %q", held, want)
	}
}

// The file of a lock that is released is there, and names nobody.
func TestAReleasedLockKeepsItsFile(t *testing.T) {
	folder := t.TempDir()
	l, err := open(t, folder).TryLock("lock", "x")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(folder, "lock")); err != nil || len(data) > 0 {
		t.Errorf("%q, %v", data, err)
	}
}

func TestAHolderThatCannotBeReadIsNotMadeUp(t *testing.T) {
	for _, words := range []string{"", "\n", "pid 7", `{"pid":7}`, strings.Repeat(" ", 1<<16)} {
		folder := t.TempDir()
		d := open(t, folder)
		l, err := d.TryLock("lock", "x")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "lock"), []byte(words), 0o600); err != nil {
			t.Fatal(err)
		}
		var held *durable.Held
		if _, err := d.TryLock("lock", "y"); !errors.As(err, &held) || held.Holder != nil {
			t.Errorf("from %.20q: %v", words, err)
		}
		l.Release()
	}
}

func TestALockFollowsNoLink(t *testing.T) {
	folder := t.TempDir()
	if err := os.Symlink("elsewhere", filepath.Join(folder, "lock")); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, folder).TryLock("lock", "x"); !errors.Is(err, durable.ErrNotRegular) {
		t.Errorf("got %v", err)
	}
}

// Without the comparison in takeFile the lock is given, on a file that nobody
// else can find.
func TestALockOnAFileThatWasReplacedIsNotGiven(t *testing.T) {
	folder := t.TempDir()
	d := open(t, folder)
	d.Faults = func(m durable.Moment) error {
		if m == (durable.Moment{Step: durable.StepLock}) {
			return os.Remove(filepath.Join(folder, "lock"))
		}
		return nil
	}
	if _, err := d.TryLock("lock", "x"); err == nil || !strings.Contains(err.Error(), "replaced") {
		t.Errorf("got %v", err)
	}
}

func TestAwaitGivesTheLockToOneAfterTheOther(t *testing.T) {
	d := open(t, t.TempDir())
	inside, most := 0, 0
	var mu sync.Mutex
	count := func(by int) {
		mu.Lock()
		defer mu.Unlock()
		inside += by
		most = max(most, inside)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			l, err := durable.Await(t.Context(), func() (*durable.Lock, error) { return d.TryLock("lock", "x") })
			if err != nil {
				t.Error(err)
				return
			}
			count(1)
			count(-1)
			l.Release()
		})
	}
	all.Wait()
	if most != 1 {
		t.Errorf("%d had the lock at once", most)
	}
}

func TestAwaitEndsWithItsContextAndNamesTheHolder(t *testing.T) {
	d := open(t, t.TempDir())
	l, err := d.LockDir()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = durable.Await(ctx, d.LockDir)
	var held *durable.Held
	if !errors.Is(err, context.Canceled) || !errors.As(err, &held) {
		t.Errorf("got %v", err)
	}
}
