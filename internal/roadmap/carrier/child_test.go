package carrier

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"holdfast/internal/durable"
	"holdfast/internal/roadmap/event"
	"holdfast/internal/roadmap/git"
	"holdfast/internal/roadmap/queue"
)

// A test that needs another process starts this binary again, with the child's
// part in its environment.
const childPart = "HOLDFAST_TEST_CHILD"

// part is what a child is to do.
type part struct {
	Home Home // without a logger
	From int  // the number of its first command
	To   int  // and that after its last
	Die  int  // at which moment of the one command to be killed, from 1
}

// told is what a child was told of a command.
type told struct {
	Key     event.Key
	Outcome string
	ID      event.ID
	Commit  string
	Why     string
}

func TestMain(m *testing.M) {
	text := os.Getenv(childPart)
	if text == "" {
		goleak.VerifyTestMain(m)
		return
	}
	var p part
	err := json.Unmarshal([]byte(text), &p)
	if err == nil {
		err = p.play(context.Background(), json.NewEncoder(os.Stdout))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// nth is the command of a number: whoever plays it asks for the same.
func nth(i int) event.Command {
	return command(fmt.Sprintf("k%04d", i), event.Node(fmt.Sprintf("n%d", i)), opened("A node"))
}

// play appends, and says of each command what it was told. What is not the last word
// is asked for again.
func (p part) play(ctx context.Context, say *json.Encoder) error {
	plan, err := durable.OpenDir(p.Home.Plan)
	if err != nil {
		return err
	}
	m := &moments{at: p.Die}
	plan.Faults = func(durable.Moment) error { m.pass(); return nil }
	c, err := open(ctx, p.Home, plan)
	if err != nil {
		return err
	}
	defer c.Close()
	c.remote = dying{c.remote, m}
	if err := say.Encode(told{}); err != nil { // it is ready
		return err
	}
	m.begin()
	for i := p.From; i < p.To; i++ {
		for final := false; !final; {
			closed, err := c.Append(ctx, nth(i))
			if err != nil {
				return err
			}
			t := tell(nth(i).Key, closed.Result[0].Ended)
			final = t.Outcome != "queued" && t.Outcome != "unknown"
			if err := say.Encode(t); err != nil {
				return err
			}
		}
	}
	return nil
}

func tell(key event.Key, ended queue.Ended) told {
	t := told{Key: key}
	switch e := ended.(type) {
	case queue.Appended:
		t.Outcome, t.ID, t.Commit = "appended", e.ID, e.Commit
	case queue.AlreadyPresent:
		t.Outcome, t.ID, t.Commit = "already_present", e.ID, e.Commit
	case queue.Queued:
		t.Outcome, t.Why = "queued", e.Why
	case queue.Unknown:
		t.Outcome, t.Why = "unknown", e.Why
	case queue.Refused:
		t.Outcome, t.Why = "refused", e.Problem.Step+": "+e.Problem.Reason
	}
	return t
}

// moments kills this process at one of them.
type moments struct {
	mu   sync.Mutex
	at   int
	n    int
	live bool
}

func (m *moments) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.live = true
}

func (m *moments) pass() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.live || m.at == 0 {
		return
	}
	if m.n++; m.n == m.at {
		_ = unix.Kill(os.Getpid(), unix.SIGKILL)
		select {} // until it arrives
	}
}

// dying is a remote with a moment before and after whatever changes something.
type dying struct {
	remote
	m *moments
}

func (d dying) Write(ctx context.Context, c git.Commit) (git.ID, error) {
	d.m.pass()
	defer d.m.pass()
	return d.remote.Write(ctx, c)
}

func (d dying) Publish(ctx context.Context, commit, expected git.ID) git.Pushed {
	d.m.pass()
	defer d.m.pass()
	return d.remote.Publish(ctx, commit, expected)
}

// child is a process that plays a part.
type child struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

// start starts a child, and returns when it has opened the plan.
func start(t testing.TB, p part) *child {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	c := &child{cmd: exec.CommandContext(t.Context(), self)}
	c.cmd.Env = append(os.Environ(), childPart+"="+string(text))
	c.cmd.Stderr = os.Stderr
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c.lines = bufio.NewScanner(out)
	c.lines.Scan() // that it is ready; if it is not, end says why
	return c
}

// killAfter kills the process, this one and no other, unless it has ended.
func (c *child) killAfter(d time.Duration) (stop func() bool) {
	return time.AfterFunc(d, func() { _ = c.cmd.Process.Kill() }).Stop
}

// end is what the process was told before it ended, and whether it was killed.
func (c *child) end(t testing.TB) (said []told, killed bool) {
	t.Helper()
	for c.lines.Scan() {
		var one told
		if err := json.Unmarshal(c.lines.Bytes(), &one); err != nil {
			break // it was killed while it spoke
		}
		said = append(said, one)
	}
	err := c.cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return said, true
	}
	if err != nil {
		t.Errorf("a child ended with %v", err)
	}
	return said, false
}
