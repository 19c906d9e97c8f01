package remotetest

import (
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// remote is one of the ways to a repository.
type remote struct {
	name string
	repo *Repository
	url  string
}

// remotes are all ways, each to a repository of its own.
func remotes(t *testing.T, init ...string) []remote {
	local, server, behind := Path(t, init...), HTTP(t, init...), NewProxy(t, HTTP(t, init...))
	daemon, at := Daemon(t, init...)
	return []remote{
		{"path", local, local.Dir},
		{"http", server.Repository, server.URL},
		{"daemon", daemon, at},
		{"proxy", behind.Repository, behind.URL},
	}
}

// caller is somebody's own repository, from which they push.
type caller struct {
	*Repository
	home string
}

func newCaller(t *testing.T, init ...string) *caller {
	r := Path(t, init...)
	r.Commit("work", Put("note", "hello\n"))
	return &caller{r, filepath.Dir(r.Dir)}
}

// push pushes branch work to branch plan of url. A failure is git's words.
func (c *caller) push(url string, more ...string) error {
	return c.try(c.t.Context(), append(append([]string{"push", "--porcelain"}, more...), url, "work:refs/heads/plan")...)
}

// failure is a git that did not exit with 0.
type failure struct {
	code  int
	words string
}

func (f failure) Error() string { return f.words }

func (c *caller) try(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env = c.Dir, environment(c.home)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	var words bytes.Buffer
	cmd.Stdout, cmd.Stderr = &words, &words
	if err := cmd.Run(); err != nil {
		return failure{cmd.ProcessState.ExitCode(), words.String()}
	}
	return nil
}

// begin runs a push that is ended by the function it gives, or by itself.
func (c *caller) begin(url string) (done <-chan error, end func()) {
	ctx, cancel := context.WithCancel(c.t.Context())
	result := make(chan error, 1)
	go func() { result <- c.try(ctx, "push", "--porcelain", url, "work:refs/heads/plan") }()
	c.t.Cleanup(cancel)
	return result, cancel
}

func wantFailure(t *testing.T, err error, words string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), words) {
		t.Errorf("git said %v, want a failure with %q", err, words)
	}
}

func wantTip(t *testing.T, r *Repository, want string) {
	t.Helper()
	if got := r.Tip("plan"); got != want {
		t.Errorf("plan stands at %q, want %q", got, want)
	}
}
