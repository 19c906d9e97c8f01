package crashtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"holdfast/internal/fleet"
	"holdfast/internal/fleet/box/root"
	"holdfast/internal/fleet/console"
	"holdfast/internal/fleet/enrollment"
)

// limit is how long anything may take. What reaches it has hung.
const limit = time.Minute

// program is holdfast with its failpoints, and with a shim that has its own.
var program string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "holdfast-crash-")
	if err == nil {
		program = filepath.Join(dir, "holdfast")
		err = build(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

func build(dir string) error {
	embedded, err := filepath.Abs(filepath.Join("../box/shim/embedded", runtime.GOARCH, "shim"))
	if err != nil {
		return err
	}
	shim, overlay := filepath.Join(dir, "shim"), filepath.Join(dir, "overlay.json")
	text, err := json.Marshal(map[string]map[string]string{"Replace": {embedded: shim}})
	if err == nil {
		err = os.WriteFile(overlay, text, 0o600)
	}
	if err != nil {
		return err
	}
	for _, args := range [][]string{
		{"-ldflags", "-s -w", "-o", shim, "holdfast/internal/fleet/box/shim/program"},
		{"-overlay", overlay, "-o", program, "holdfast/cmd/holdfast"},
	} {
		cmd := exec.Command("go", append([]string{"build", "-tags", "failpoints"}, args...)...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("go build %v: %w\n%s", args, err, out)
		}
	}
	return nil
}

var counter atomic.Int64 // of houses

// house is a home that is console and box, whose processes are real.
type house struct {
	*testing.T
	dir, home string
	moment    string // at which a process is killed
	once      string // is there when one was
	console   *fleet.Console
	ops       *console.Ops
	id        string // enrollment
	mark      string // the instance's name, which stands in the environment of its work
	agent     *exec.Cmd
	over      chan struct{} // closed when the agent has ended
	client    *root.Client
}

func newHouse(t *testing.T, moment string) *house {
	t.Helper()
	dir := t.TempDir()
	h := &house{
		T: t, dir: dir, home: filepath.Join(dir, "home"), moment: moment, once: filepath.Join(dir, "once"), mark: fmt.Sprintf("demo-%d-%d", os.Getpid(), counter.Add(1)),
	}
	h.must(os.Mkdir(h.home, 0o700))
	place := fleet.Home{Console: filepath.Join(h.home, "console"), Box: filepath.Join(h.home, "box"), Bucket: filepath.Join(h.home, "bucket")}
	_, err := fleet.Init(t.Context(), place, fleet.Embedded)
	h.must(err)
	h.console, err = fleet.OpenConsole(place)
	h.must(err)
	t.Cleanup(h.console.Close)
	h.ops = h.console.Work(nil)
	word, err := h.console.Invite(t.Context(), enrollment.Invitation{Box: "one", Uses: 1}, time.Hour)
	h.must(err)
	asked, err := fleet.Join(t.Context(), place, word.Token, nil)
	h.must(err)
	_, err = h.console.Admit(t.Context())
	h.must(err)
	h.id = asked.Enrollment
	t.Cleanup(h.clear)
	return h
}

func (h *house) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

func (h *house) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, append([]string{"--home", h.home}, args...)...)
	cmd.Dir = h.dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + h.dir, "HOLDFAST_BOX_ALLOW_ROOT=true",
		"HOLDFAST_FAILPOINT=" + h.moment, "HOLDFAST_FAILPOINT_ONCE=" + h.once,
	}
	return cmd
}

// killed says whether the moment has come.
func (h *house) killed() bool { return exists(h.once) }

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// serve starts the agent, which starts root, and waits until root takes orders.
func (h *house) serve() {
	h.Helper()
	h.begin()
	h.ready()
}

func (h *house) begin() {
	h.Helper()
	h.agent = h.command(context.Background(), "box", "agent")
	log, err := os.OpenFile(filepath.Join(h.dir, "agent.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	h.must(err)
	defer log.Close()
	h.agent.Stdout, h.agent.Stderr = log, log
	h.must(h.agent.Start())
	over := make(chan struct{})
	h.over = over
	go func(agent *exec.Cmd) {
		agent.Wait()
		close(over)
	}(h.agent)
}

// restart kills the agent and starts it anew. Root it starts, if that was killed.
func (h *house) restart() {
	h.Helper()
	h.agent.Process.Kill()
	<-h.over
	h.begin()
}

// ready waits until root takes orders: its start-up has ended.
func (h *house) ready() root.Status {
	h.Helper()
	var last any
	for until := time.Now().Add(limit); time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
		if s, err := h.status(); err != nil {
			last = err
		} else if last = s; s.Mode == root.Ready {
			return s
		}
		select {
		case <-h.over:
			h.begin() // it was killed
		default:
		}
	}
	h.Fatalf("the start does not end: %+v", last)
	panic("not reached")
}

func (h *house) status() (root.Status, error) {
	if h.client == nil {
		client, err := root.Dial(filepath.Join(h.home, "box"))
		if err != nil {
			return root.Status{}, err
		}
		h.client = client
	}
	ctx, done := context.WithTimeout(context.Background(), 2*time.Second)
	defer done()
	return h.client.Status(ctx, 0)
}

// says runs a command of the console's until it is not killed, and starts all anew that is
// killed meanwhile. It returns the exit status, and what was said.
func (h *house) says(args ...string) (int, string) {
	h.Helper()
	ctx, done := context.WithTimeout(context.Background(), limit)
	defer done()
	restarted := h.killed()
	for range 3 {
		cmd := h.command(ctx, args...)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		h.must(cmd.Start())
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		var err error
		for waits := true; waits; {
			select {
			case err = <-ended:
				waits = false
			case <-time.After(3 * time.Millisecond):
			}
			if !restarted && h.killed() {
				restarted = true
				h.atTheMoment()
				h.restart()
			}
		}
		var exit *exec.ExitError
		switch {
		case err == nil:
			return 0, out.String()
		case !errors.As(err, &exit):
			h.Fatal(err)
		case ctx.Err() != nil:
			h.Fatalf("%v does not end: %s\n%s", args, out.String(), h.logs())
		case exit.ProcessState.Sys().(syscall.WaitStatus).Signaled():
			continue // by its failpoint: the same again
		}
		return exit.ExitCode(), out.String()
	}
	h.Fatalf("%v was killed again and again", args)
	panic("not reached")
}

// atTheMoment looks at what must hold right after a process was killed: of what has a
// receipt in the journal nothing is alive.
func (h *house) atTheMoment() {
	for _, proved := range []string{"stop.commit-receipt:after", "stop.put", "stop.answer-stopped", "stop.commit-handed", "console.stop.read-receipt", "console.stop.release-claim"} {
		if strings.HasPrefix(h.moment, proved) && h.alive() > 0 {
			h.Errorf("a receipt is there, and %d processes are alive", h.alive())
		}
	}
}

// alive counts the processes that have the mark of the work.
func (h *house) alive() int {
	mark := []byte("HOLDFAST_INSTANCE=" + h.mark + "\x00")
	all, err := filepath.Glob("/proc/[0-9]*/environ")
	h.must(err)
	n := 0
	for _, path := range all {
		if env, err := os.ReadFile(path); err == nil && bytes.Contains(env, mark) {
			n++
		}
	}
	return n
}

func (h *house) logs() string {
	agent, _ := os.ReadFile(filepath.Join(h.dir, "agent.log"))
	root, _ := os.ReadFile(filepath.Join(h.home, "box", "root.log"))
	return fmt.Sprintf("agent:\n%s\nroot:\n%s", agent, root)
}

// clear leaves nothing behind.
func (h *house) clear() {
	ctx, done := context.WithTimeout(context.Background(), limit)
	defer done()
	h.moment = ""
	if h.Failed() {
		h.Log(h.logs())
	}
	if h.agent != nil {
		h.agent.Process.Kill()
		<-h.over
	}
	if out, err := h.command(ctx, "down", "--grace", "0s").CombinedOutput(); err != nil && !bytes.Contains(out, []byte("No root runs")) {
		h.Errorf("down: %v %s", err, out)
	}
	if h.client != nil {
		h.client.Close()
	}
	for range 400 { // until the lock of the box is free, root is there
		if h.alive() == 0 && !h.rooted() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	h.Errorf("left behind: %d of the work, root %v", h.alive(), h.rooted())
}

// rooted says whether a process has the lock of the box.
func (h *house) rooted() bool {
	f, err := os.Open(filepath.Join(h.home, "box", "root", "lock"))
	if err != nil {
		return false
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil
}
