package shim_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/internal/durable"
	"holdfast/internal/fleet/box/shim"
	"holdfast/internal/fleet/box/shim/embedded"
	"holdfast/internal/fleet/receipt"
)

// childEnv makes this binary another program: what it says is its part.
const childEnv = "HOLDFAST_SHIM_TEST_PART"

// parts are the programs that this binary can be besides the tests.
var parts = map[string]func(){
	"hydra": hydra, "head": head, "launcher": launcher,
}

func TestMain(m *testing.M) {
	if part, is := parts[os.Getenv(childEnv)]; is {
		part()
		os.Exit(0)
	}
	if embedded.Program() == nil {
		fmt.Println("FAIL: there is no shim to test: make shim")
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// site is a home with a box folder, an instance's directory and a launch's folder.
type site struct {
	home, work, launch string
	mark               string // stands in the environment of all its work
	host               *shim.Host
	dir                *durable.Dir
}

func newSite(t *testing.T) *site {
	t.Helper()
	home := filepath.Join(t.TempDir(), strings.Repeat("far-", 27)) // no socket's path leads here
	s := &site{
		home: home, work: filepath.Join(home, "work"), launch: filepath.Join(home, "box", "launch"),
		mark: "HOLDFAST_SHIM_TEST_MARK=" + home,
	}
	for _, d := range []string{s.work, s.launch} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s.host, s.dir = shim.NewHost(openDir(t, filepath.Join(home, "box"))), openDir(t, s.launch)
	return s
}

func openDir(t *testing.T, path string) *durable.Dir {
	t.Helper()
	d, err := durable.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// script is a launch of a shell script in the instance's directory.
func (s *site) script(text string) shim.Launch { return s.command("sh", "-c", text) }

func (s *site) command(argv ...string) shim.Launch {
	return shim.Launch{
		Argv: argv, Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", s.mark},
		Dir: s.work, Home: s.home, Keep: []string{s.work}, Grace: time.Minute,
	}
}

// part is a launch of a part of this binary.
func (s *site) part(t *testing.T, name string) shim.Launch {
	t.Helper()
	l := s.command(self(t))
	l.Env = append(l.Env, childEnv+"="+name)
	return l
}

func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// run starts l and lets it go. What of it is alive when the test ends is killed.
func (s *site) run(t *testing.T, l shim.Launch) *shim.Handle {
	t.Helper()
	h, err := s.gate(t, l).Go(limited(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = h.Kill()
		h.Close()
	})
	return h
}

func (s *site) gate(t *testing.T, l shim.Launch) *shim.Waiting {
	t.Helper()
	w, err := s.host.Start(limited(t), s.dir, l)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// limited bounds what would otherwise hang a test that fails.
func limited(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// until waits until what reports true, which no event tells of.
func until(t *testing.T, what string, ready func() bool) {
	t.Helper()
	for ctx := limited(t); !ready(); {
		select {
		case <-ctx.Done():
			t.Fatalf("it never came that %s", what)
		case <-time.After(time.Millisecond):
		}
	}
}

func (s *site) lines() []string {
	data, _ := os.ReadFile(filepath.Join(s.launch, "log.1"))
	return strings.Split(string(data), "\n")
}

// said waits until the log of the work has a line.
func (s *site) said(t *testing.T, line string) {
	t.Helper()
	until(t, "the work says "+line, func() bool { return slices.Contains(s.lines(), line) })
}

func (s *site) wantEnd(t *testing.T, h *shim.Handle, want receipt.Exit) {
	t.Helper()
	if err := h.Ended(limited(t)); err != nil {
		t.Fatal(err)
	}
	s.wantExit(t, want)
	s.wantNothingAlive(t)
}

func (s *site) wantExit(t *testing.T, want receipt.Exit) {
	t.Helper()
	got, err := shim.Exit(s.dir)
	if err != nil || got != want {
		t.Errorf("the exit is %#v, %v, want %#v", got, err, want)
	}
}

// wantNothingAlive looks at every process that there is.
func (s *site) wantNothingAlive(t *testing.T) {
	t.Helper()
	if pids := s.alive(t); len(pids) > 0 {
		t.Errorf("alive: %v", pids)
	}
}

func (s *site) alive(t *testing.T) (pids []int) {
	t.Helper()
	list, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		environ, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if bytes.Contains(environ, []byte(s.mark)) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func (s *site) wantFound(t *testing.T, id shim.Identity, want shim.Found) {
	t.Helper()
	if got := s.host.Attach(s.dir, id); got != want {
		t.Errorf("it is found as %#v, want %#v", got, want)
	}
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func write(t *testing.T, text string, path ...string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(path...), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func exists(path ...string) bool {
	_, err := os.Lstat(filepath.Join(path...))
	return err == nil
}

const ownEnv = "HOLDFAST_SHIM_TEST_OWN"

// own runs the rest of the test in namespaces of its own, in which it may mount, be refused
// things, and choose pids; and reports whether this is that rest. The user stays the same.
func own(t *testing.T, more uintptr) bool {
	t.Helper()
	if os.Getenv(ownEnv) == t.Name() {
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			t.Fatal(err)
		}
		return true
	}
	c := exec.CommandContext(limited(t), self(t), "-test.v", "-test.run=^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$")
	c.Env = append(os.Environ(), ownEnv+"="+t.Name())
	uid, gid := os.Getuid(), os.Getgid()
	c.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | more,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SYS_RESOURCE},
	}
	out, err := c.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
		t.Errorf("in its own namespaces: %v\n%s", err, out)
	}
	return false
}

func mountProc(t *testing.T) {
	t.Helper()
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		t.Fatal(err)
	}
}

func say(format string, args ...any) { fmt.Printf(format+"\n", args...) }

// must ends a part that cannot play it.
func must(err error) {
	if err != nil {
		fmt.Println("FAILED", err)
		os.Exit(3)
	}
}
