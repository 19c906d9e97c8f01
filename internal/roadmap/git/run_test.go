package git_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/internal/roadmap/git"
)

// lockFile makes a file and locks it.
func lockFile(t *testing.T) *os.File {
	t.Helper()
	f := must(os.Create(filepath.Join(t.TempDir(), "lock")))(t)
	t.Cleanup(func() { f.Close() })
	check(t, unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB))
	return f
}

// A command that is stopped is gone with all that it started. Red when Cancel stops
// the process alone, or kills nothing: its child goes on and has the lock.
func TestNothingOfACommandIsLeftWhenItIsStopped(t *testing.T) {
	r := repo(t, git.Options{})
	fifo := filepath.Join(t.TempDir(), "up")
	check(t, unix.Mkfifo(fifo, 0o600))
	lock := lockFile(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		// The child keeps none of git's output open, only what it inherited.
		_, err := r.Holding(lock).Run(ctx, git.Command{Args: []string{"-c", "alias.s=!(trap '' TERM; [ /proc/self/fd/3 -ef " + lock.Name() + " ] && echo up >" + fifo + "; sleep 1000) >/dev/null 2>&1", "s"}, Deadline: git.Within(time.Hour)})
		ended <- err
	}()
	if up := must(os.ReadFile(fifo))(t); string(up) != "up\n" { // it hangs where Holding is not handed on
		t.Fatalf("%q", up)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	check(t, lock.Close())
	other := must(os.Open(lock.Name()))(t)
	defer other.Close()
	check(t, unix.Flock(int(other.Fd()), unix.LOCK_EX)) // it waits for as long as someone has it
}

// Nobody can push to a remote at a path while a ref of it is locked. Red when Cancel
// kills without asking first.
func TestAGitThatIsStoppedLeavesNoRefLocked(t *testing.T) {
	r := repo(t, git.Options{})
	id := commit(t, r, git.ID{}, "a", "1")
	fifo := filepath.Join(t.TempDir(), "said")
	check(t, unix.Mkfifo(fifo, 0o600))
	in, say, err := os.Pipe()
	check(t, err)
	t.Cleanup(func() { check(t, errors.Join(in.Close(), say.Close())) })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := r.Run(ctx, git.Command{Args: []string{"-c", "alias.s=!exec git update-ref --stdin >" + fifo, "s"}, Stdin: in, Deadline: git.Within(time.Hour)})
		ended <- err
	}()
	must(fmt.Fprintf(say, "start\ncreate refs/holdfast/x %s\nprepare\n", id))(t)
	said := must(os.Open(fifo))(t)
	defer said.Close()
	for lines := bufio.NewScanner(said); lines.Scan() && lines.Text() != "prepare: ok"; {
	}
	lock := filepath.Join(r.Dir(), "refs", "holdfast", "x.lock")
	must(os.Lstat(lock))(t)
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := os.Lstat(lock); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the ref is locked still: %v", err)
	}
}

func TestHowACommandEndedIsTold(t *testing.T) {
	r := repo(t, git.Options{})
	ctx := t.Context()
	var exited *git.Exited
	if out, err := r.Run(ctx, git.Command{Args: []string{"-c", "alias.s=!echo out; echo words >&2; exit 3", "s"}}); !errors.As(err, &exited) ||
		exited.Code != 3 || exited.Words != "words" || string(out.Stdout) != "out\n" || out.Exit != 3 {
		t.Errorf("%+v, %v", out, err)
	}
	var late *git.PastDeadline
	if _, err := r.Run(ctx, git.Command{Args: []string{"-c", "alias.s=!sleep 1000", "s"}, Deadline: git.Within(time.Millisecond)}); !errors.As(err, &late) {
		t.Errorf("late: %v", err)
	}
	if out, err := r.Run(ctx, git.Command{Args: []string{"hash-object", "--stdin"}, Stdin: strings.NewReader("0")}); err != nil || len(out.Stdout) != 41 {
		t.Errorf("%q, %v", out.Stdout, err)
	}
	t.Setenv("PATH", t.TempDir())
	var none *git.NotStarted
	if _, err := r.Run(ctx, git.Command{Args: []string{"version"}}); !errors.As(err, &none) {
		t.Errorf("no git: %v", err)
	}
	if _, err := r.Objects(ctx); !errors.As(err, &none) {
		t.Errorf("no git: %v", err)
	}
}

// Nothing can be asked at a terminal: git has none. Red when it has a group of its own
// only (Setpgid).
func TestGitHasASessionOfItsOwn(t *testing.T) {
	r := repo(t, git.Options{})
	out, err := r.Run(t.Context(), git.Command{Args: []string{"-c", "alias.s=!cut -d' ' -f6,7 /proc/self/stat; : </dev/tty", "s"}})
	var exited *git.Exited
	if !errors.As(err, &exited) {
		t.Errorf("it opened a terminal: %v", err)
	}
	ours := must(unix.Getsid(0))(t)
	session, terminal, _ := strings.Cut(strings.TrimSpace(string(out.Stdout)), " ")
	if session == strconv.Itoa(ours) || terminal != "0" {
		t.Errorf("its session is %s and its terminal %s; ours is %d", session, terminal, ours)
	}
}
