package git

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Deadline is how long a command may take. There is none without: the zero
// Deadline is the limit for local commands.
type Deadline struct {
	network bool
	within  time.Duration
}

// ForNetwork is the limit for commands that ask a remote.
func ForNetwork() Deadline { return Deadline{network: true} }

// Within is a limit of its own, at least a millisecond.
func Within(d time.Duration) Deadline { return Deadline{within: max(d, time.Millisecond)} }

// of is the deadline's length under l.
func (d Deadline) of(l Limits) time.Duration {
	switch {
	case d.within > 0:
		return d.within
	case d.network && l.Network > 0:
		return l.Network
	case d.network:
		return DefaultNetwork
	case l.Local > 0:
		return l.Local
	}
	return DefaultLocal
}

// Command is one run of git.
type Command struct {
	Args     []string // after the program's name and the repository
	Stdin    io.Reader
	Inherit  []*os.File // held open by git and what it starts, beside those of Holding
	Deadline Deadline

	outside bool     // it does not work on the repository yet
	env     []string // beside the environment of every command
}

// Output is what a command said, and how it ended.
type Output struct {
	Stdout []byte
	Stderr []byte // its first bytes, as they came: Words makes them fit to show
	Exit   int    // -1 where there is none

	pid int
}

// How much of what a command says is kept. One that says more on its standard
// output is an [*Unclear].
const (
	maxStdout = 64 << 20
	maxStderr = 64 << 10
)

// lingering is how long what git left behind (a keeper of ssh connections) may keep
// its output open after git itself has ended.
const lingering = 2 * time.Second

// Run runs git on the repository. It returns when git and all of its group are
// gone, or let go of its output. An exit status other than 0 is an [*Exited], with
// the output all the same.
func (r *Repo) Run(ctx context.Context, c Command) (Output, error) { return r.run(ctx, c) }

func (r *Repo) run(ctx context.Context, c Command) (Output, error) {
	limit := c.Deadline.of(r.limits)
	timed, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	stdout, stderr := &capped{limit: maxStdout}, &capped{limit: maxStderr}
	cmd := r.command(timed, c)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, stdout, stderr
	err := cmd.Start()
	if err == nil {
		err = cmd.Wait()
	} else {
		err = &NotStarted{Err: err}
	}
	out := Output{Stdout: stdout.kept.Bytes(), Stderr: stderr.kept.Bytes(), Exit: -1}
	if cmd.ProcessState != nil {
		out.Exit, out.pid = cmd.ProcessState.ExitCode(), cmd.ProcessState.Pid()
	}
	return out, r.judge(ctx, timed, c, limit, out, stdout.over, err)
}

// judge makes of how a process ended the error of its command.
func (r *Repo) judge(ctx, timed context.Context, c Command, limit time.Duration, out Output, over bool, err error) error {
	var notStarted *NotStarted
	switch {
	case errors.As(err, &notStarted) && timed.Err() == nil:
		return err
	case out.Exit == 0 && over:
		return &Unclear{Command: c.name(), Reason: "it said more than is kept"}
	case out.Exit == 0: // also where something else still has its output, or it ended as its time did
		return nil
	case ctx.Err() != nil:
		return &cut{command: c.name(), cause: ctx.Err()}
	case timed.Err() != nil:
		return &PastDeadline{Command: c.name(), Limit: limit, Words: Words(out.Stderr)}
	case out.Exit > 0:
		return &Exited{Command: c.name(), Code: out.Exit, Words: Words(out.Stderr)}
	default:
		return &Unclear{Command: c.name(), Reason: "a signal ended it" + after(Words(out.Stderr)), Err: err}
	}
}

// command is git as a process that is not started yet.
func (r *Repo) command(ctx context.Context, c Command) *exec.Cmd {
	args := c.Args
	if !c.outside {
		args = append([]string{"--git-dir=" + r.dir}, args...)
	}
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Env = append(environment(os.LookupEnv), c.env...)
	cmd.Dir = "/"
	cmd.ExtraFiles = append(append([]*os.File(nil), r.inherit...), c.Inherit...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return stop(cmd.Process.Pid) }
	cmd.WaitDelay = lingering
	return cmd
}

// grace is how long git, and what it started, may take to end when it is asked to.
const grace = time.Second

// stop ends the group of a process. It is asked first: git takes away the locks that
// it has on refs, which nobody else would ever take away in a remote at a path. What
// is there still after that is killed.
func stop(leader int) error {
	if err := syscall.Kill(-leader, syscall.SIGTERM); err != nil {
		return os.ErrProcessDone
	}
	for end := time.Now().Add(grace); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if syscall.Kill(-leader, 0) != nil {
			return nil
		}
	}
	_ = syscall.Kill(-leader, syscall.SIGKILL)
	return nil
}

// name is the command's first word, for messages.
func (c Command) name() string {
	if len(c.Args) == 0 {
		return "git"
	}
	return "git " + c.Args[0]
}

// capped keeps the first bytes that are written to it.
type capped struct {
	kept  bytes.Buffer
	limit int
	over  bool
}

func (w *capped) Write(p []byte) (int, error) {
	room := w.limit - w.kept.Len()
	if len(p) > room {
		w.over = true
		w.kept.Write(p[:room])
		return len(p), nil
	}
	return w.kept.Write(p)
}
