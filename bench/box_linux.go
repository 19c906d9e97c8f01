package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"holdfast/internal/fleet"
	"holdfast/internal/fleet/box/root"
	"holdfast/internal/fleet/console"
	"holdfast/internal/fleet/enrollment"
	"holdfast/internal/fleet/order"
)

// idle is how many instances do nothing, and how long they are looked at.
const (
	idle      = 200
	idleWatch = 20 * time.Second
)

// boxes measures a run and a stop on one box with a store in a folder: how many syncs each
// is made of, how long it takes beside as many syncs and a bare process in a namespace of
// its own, and beside podman where that is; and what idle instances cost.
func boxes(l *lab) error {
	b, err := l.box()
	if err != nil {
		return err
	}
	defer b.close()
	runs, stops, err := b.durable()
	if err != nil {
		return err
	}
	l.row("durable steps of a run", fmt.Sprint(runs.files), "", "", "<= 24: console, root, shim")
	l.row("durable steps of a stop", fmt.Sprint(stops.files), "", "", "<= 16")
	l.row("syncs of a run, with those of folders", fmt.Sprint(runs.all()), "", "", "")
	l.row("syncs of a stop, with those of folders", fmt.Sprint(stops.all()), "", "", "")
	var starts, ends, bareStarts, bareEnds []float64
	for range 20 {
		took, name, err := b.run()
		if err != nil {
			return err
		}
		starts = append(starts, took)
		if took, err = b.stop(name); err != nil {
			return err
		}
		ends = append(ends, took)
		up, down, err := l.bareRun(runs.all(), stops.all())
		if err != nil {
			return err
		}
		bareStarts, bareEnds = append(bareStarts, up), append(bareEnds, down)
	}
	l.compare("run to started, beside as many syncs, clone", starts, bareStarts, "ms", "150 ms")
	l.compare("stop to verified receipt, beside syncs, kill", ends, bareEnds, "ms", "200 ms")
	if err := l.podman(starts, ends); err != nil {
		l.row("the same beside podman", "", "", "", "not measured: "+err.Error())
	}
	return b.idle()
}

// benchBox is a home that is console and box.
type benchBox struct {
	lab     *lab
	home    string
	agent   *exec.Cmd
	console *fleet.Console
	ops     *console.Ops
	count   int
}

func (l *lab) box() (*benchBox, error) {
	ctx := context.Background()
	b := &benchBox{lab: l, home: filepath.Join(l.dir, "box-home")}
	if err := os.Mkdir(b.home, 0o700); err != nil {
		return nil, err
	}
	at := fleet.Home{Console: filepath.Join(b.home, "console"), Box: filepath.Join(b.home, "box"), Bucket: filepath.Join(b.home, "bucket")}
	if _, err := fleet.Init(ctx, at, fleet.Embedded); err != nil {
		return nil, err
	}
	c, err := fleet.OpenConsole(at)
	if err != nil {
		return nil, err
	}
	b.console, b.ops = c, c.Work(nil)
	word, err := c.Invite(ctx, enrollment.Invitation{Box: "one", Uses: 1}, time.Hour)
	if err == nil {
		_, err = fleet.Join(ctx, at, word.Token, nil)
	}
	if err == nil {
		_, err = c.Admit(ctx)
	}
	if err != nil {
		return nil, err
	}
	b.agent = b.command("box", "agent")
	b.agent.Stdout, b.agent.Stderr = nil, nil
	if err := b.agent.Start(); err != nil {
		return nil, err
	}
	for until := time.Now().Add(30 * time.Second); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		if s, err := b.status(); err == nil && s.Mode == root.Ready {
			return b, nil
		}
	}
	b.close()
	return nil, errors.New("the box does not come up")
}

func (b *benchBox) command(args ...string) *exec.Cmd {
	cmd := exec.Command(b.lab.holdfast, append([]string{"--home", b.home}, args...)...)
	cmd.Env = append(os.Environ(), "HOLDFAST_BOX_ALLOW_ROOT=true")
	return cmd
}

func (b *benchBox) status() (root.Status, error) {
	c, err := root.Dial(filepath.Join(b.home, "box"))
	if err != nil {
		return root.Status{}, err
	}
	defer c.Close()
	return c.Status(context.Background(), 0)
}

func (b *benchBox) close() {
	b.agent.Process.Kill()
	b.agent.Wait()
	if out, err := b.command("down", "--grace", "0s", "--wait", "2m").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "bench: down: %v %s\n", err, out)
	}
	b.console.Close()
}

func (b *benchBox) run() (ms float64, name string, err error) {
	b.count++
	name = fmt.Sprintf("idle-%d", b.count)
	begun := time.Now()
	_, err = b.ops.Run(context.Background(), console.RunRequest{Instance: name, Work: order.Work{Command: []string{"sleep", "100000"}, Env: map[string]string{}}})
	return float64(time.Since(begun).Microseconds()) / 1000, name, err
}

func (b *benchBox) stop(name string) (ms float64, err error) {
	begun := time.Now()
	_, err = b.ops.Stop(context.Background(), console.StopRequest{Instance: name, Grace: time.Second})
	return float64(time.Since(begun).Microseconds()) / 1000, err
}

// synced is what was made durable: files, each a step of its own, and folders, each a part
// of a step.
type synced struct{ files, folders int }

func (s synced) all() int { return s.files + s.folders }

// durable counts what a run and a stop make durable, in the console's command, root and the
// shim.
func (b *benchBox) durable() (runs, stops synced, err error) {
	if _, err := exec.LookPath("strace"); err != nil {
		return runs, stops, err
	}
	if runs, err = b.traced("run", "traced", "--", "sleep", "100000"); err == nil {
		stops, err = b.traced("stop", "traced")
	}
	return runs, stops, err
}

func (b *benchBox) traced(args ...string) (n synced, err error) {
	s, err := b.status()
	if err != nil {
		return n, err
	}
	of := filepath.Join(b.lab.dir, "strace-"+args[0])
	onRoot := exec.Command("strace", "-f", "-y", "-e", "trace=fsync,fdatasync", "-o", of+"-root", "-p", strconv.Itoa(s.PID))
	attached := &waiter{}
	onRoot.Stderr = attached
	if err := onRoot.Start(); err != nil {
		return n, err
	}
	for until := time.Now().Add(10 * time.Second); !attached.said("attached") && time.Now().Before(until); {
		time.Sleep(10 * time.Millisecond)
	}
	command := b.command(args...)
	out, err := exec.Command("strace", append([]string{"-f", "-y", "-e", "trace=fsync,fdatasync", "-o", of + "-console", b.lab.holdfast}, command.Args[1:]...)...).CombinedOutput()
	time.Sleep(500 * time.Millisecond) // what root does after it has answered
	onRoot.Process.Signal(syscall.SIGINT)
	onRoot.Wait()
	if err != nil {
		return n, fmt.Errorf("%w: %s", err, out)
	}
	for _, part := range []string{"-root", "-console"} {
		data, err := os.ReadFile(of + part)
		if err != nil {
			return n, err
		}
		for _, line := range syncLine.FindAllSubmatch(data, -1) {
			if is, err := os.Stat(string(line[1])); err == nil && is.IsDir() {
				n.folders++
			} else {
				n.files++ // one that has another name by now, as a rule
			}
		}
	}
	return n, nil
}

// syncLine is a sync, and the path of what was synced.
var syncLine = regexp.MustCompile(`(?m)^\d+ +f(?:data)?sync\(\d+<([^>]*)>`)

// waiter is what a program says, to be looked at meanwhile.
type waiter struct {
	lock sync.Mutex
	text bytes.Buffer
}

func (w *waiter) Write(p []byte) (int, error) {
	w.lock.Lock()
	defer w.lock.Unlock()
	return w.text.Write(p)
}

func (w *waiter) said(word string) bool {
	w.lock.Lock()
	defer w.lock.Unlock()
	return strings.Contains(w.text.String(), word)
}

// bareRun is as many syncs and a process in a namespace of its own, and its end.
func (l *lab) bareRun(runs, stops int) (up, down float64, err error) {
	f, err := os.Create(filepath.Join(l.dir, "bare"))
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	syncs := func(n int) error {
		for range n {
			if _, err := f.Write(make([]byte, 1024)); err != nil {
				return err
			}
			if err := f.Sync(); err != nil {
				return err
			}
		}
		return nil
	}
	begun := time.Now()
	if err := syncs(runs); err != nil {
		return 0, 0, err
	}
	cmd := exec.Command("sleep", "100000")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS}
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	up = float64(time.Since(begun).Microseconds()) / 1000
	begun = time.Now()
	err = syncs(stops)
	cmd.Process.Kill()
	cmd.Wait()
	return up, float64(time.Since(begun).Microseconds()) / 1000, err
}

// podman is the same by a container.
func (l *lab) podman(starts, ends []float64) error {
	if _, err := exec.LookPath("podman"); err != nil {
		return err
	}
	dir := filepath.Join(l.dir, "rootfs")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	source := filepath.Join(l.dir, "sleeper.go")
	text := "package main\n\nimport \"time\"\n\nfunc main() { time.Sleep(24 * time.Hour) }\n"
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		return err
	}
	if err := l.build(filepath.Join(dir, "sleeper"), source); err != nil {
		return err
	}
	podman := func(args ...string) (string, error) {
		ctx, done := context.WithTimeout(context.Background(), 30*time.Second)
		defer done()
		out, err := exec.CommandContext(ctx, "podman", append([]string{"--runtime", "runc", "--cgroup-manager=cgroupfs"}, args...)...).CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("%w: %.200s", err, out)
		}
		lines := strings.Fields(string(out))
		return lines[len(lines)-1], nil
	}
	var ups, downs []float64
	for range 10 {
		begun := time.Now()
		id, err := podman("run", "-d", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1000:1000", "--network", "none", "--rootfs", dir, "/sleeper")
		if err != nil {
			return err
		}
		ups = append(ups, float64(time.Since(begun).Microseconds())/1000)
		begun = time.Now()
		_, err = podman("stop", "-t", "0", id)
		downs = append(downs, float64(time.Since(begun).Microseconds())/1000)
		_, gone := podman("rm", "-f", id)
		if err := errors.Join(err, gone); err != nil {
			return err
		}
	}
	l.compare("run to started, beside podman run -d", starts, ups, "ms", "(a peer)")
	l.compare("stop to verified receipt, beside podman stop", ends, downs, "ms", "(a peer)")
	return nil
}

// idle looks at what many instances cost that do nothing.
func (b *benchBox) idle() error {
	for range idle {
		if _, _, err := b.run(); err != nil {
			return err
		}
	}
	s, err := b.status()
	if err != nil {
		return err
	}
	shims, err := b.shims()
	if err != nil {
		return err
	}
	all := append([]int{s.PID, b.agent.Process.Pid}, shims...)
	before := ticks(all)
	time.Sleep(idleWatch)
	used := float64(ticks(all)-before) / 100 / idleWatch.Seconds() * 100
	var private []float64
	for _, pid := range shims {
		private = append(private, private1(pid))
	}
	b.lab.row(fmt.Sprintf("%d idle instances: share of a core", len(shims)), fmt.Sprintf("%.2f %%", used), "", "", "<= 1 %")
	b.lab.row("private memory of a shim", fmt.Sprintf("%.2f MiB", median(private)), "", "", "<= 3 MB")
	b.lab.row("private memory of root, of the agent", fmt.Sprintf("%.0f MiB", private1(s.PID)), fmt.Sprintf("%.0f MiB", private1(b.agent.Process.Pid)), "", "")
	return nil
}

// shims are the children that root has, each of which watches over one instance.
func (b *benchBox) shims() (pids []int, err error) {
	found, err := filepath.Glob(filepath.Join(b.home, "box", "instances", "*", "1", "shim-*", "identity"))
	for _, path := range found {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		m := pidMember.FindSubmatch(data)
		pid, _ := strconv.Atoi(string(m[1]))
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, err
}

var pidMember = regexp.MustCompile(`"pid":(\d+)`)

// ticks are the hundredths of a second that processes have used.
func ticks(pids []int) (sum int) {
	for _, pid := range pids {
		data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
		if len(fields) > 12 {
			user, _ := strconv.Atoi(fields[11])
			system, _ := strconv.Atoi(fields[12])
			sum += user + system
		}
	}
	return sum
}

// private1 is the private memory of a process, in MiB.
func private1(pid int) (mib float64) {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	for _, m := range privateLine.FindAllSubmatch(data, -1) {
		kib, _ := strconv.ParseFloat(string(m[1]), 64)
		mib += kib / 1024
	}
	return mib
}

var privateLine = regexp.MustCompile(`(?m)^Private_(?:Clean|Dirty): +(\d+) kB`)
