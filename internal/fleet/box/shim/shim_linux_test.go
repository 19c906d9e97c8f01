package shim_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/internal/durable"
	"holdfast/internal/fleet/box/shim"
	"holdfast/internal/fleet/receipt"
)

// site is a home with a box folder, an instance's directory and a launch folder.
type site struct {
	home, work, launch string
	host               *shim.Host
	dir                *durable.Dir
}

func newSite(t *testing.T) *site {
	t.Helper()
	home := t.TempDir()
	s := &site{home: home, work: filepath.Join(home, "work"), launch: filepath.Join(home, "box", "launch")}
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
func (s *site) script(text string) shim.Launch {
	return shim.Launch{
		Argv: []string{"sh", "-c", text}, Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
		Dir: s.work, Home: s.home, Keep: []string{s.work}, Grace: 10 * time.Second,
	}
}

// run starts l and lets it go. What of it is alive when the test ends is killed.
func (s *site) run(t *testing.T, l shim.Launch) *shim.Handle {
	t.Helper()
	h, err := s.gate(t, l).Go(limited(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
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

func (s *site) exit(t *testing.T) receipt.Exit {
	t.Helper()
	exit, err := shim.Exit(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	return exit
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestWorkRunsAndItsExitIsKept(t *testing.T) {
	s := newSite(t)
	h := s.run(t, s.script("echo hello; cat /proc/self/status | grep Cap; ls -la /proc/self/fd; exit 3"))
	if err := h.Ended(limited(t)); err != nil {
		t.Fatal(err)
	}
	if got := s.exit(t); got != (receipt.Exited{Status: 3}) {
		t.Errorf("the exit is %#v", got)
	}
	t.Log(read(t, s.launch, "log.1"), read(t, s.launch, "identity"))
	if got := s.host.Attach(s.dir, h.Identity()); got != (shim.Gone{Went: true}) {
		t.Errorf("it is found as %#v", got)
	}
}

func TestStop(t *testing.T) {
	s := newSite(t)
	h := s.run(t, s.script("trap '' TERM; echo up; while :; do sleep 1; done"))
	s.said(t, "up")
	if _, is := s.host.Attach(s.dir, h.Identity()).(shim.Alive); !is {
		t.Errorf("it is found as %#v", s.host.Attach(s.dir, h.Identity()))
	}
	if err := h.Stop(limited(t), 100*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if got := s.exit(t); got != (receipt.Signalled{Signal: 9}) {
		t.Errorf("the exit is %#v", got)
	}
}

func TestProbe(t *testing.T) {
	s := newSite(t)
	t.Log(s.host.Probe(limited(t)))
}

// said waits until the log of the work has a line.
func (s *site) said(t *testing.T, line string) {
	t.Helper()
	ctx := limited(t)
	for {
		data, _ := os.ReadFile(filepath.Join(s.launch, "log.1"))
		if slices.Contains(strings.Split(string(data), "\n"), line) {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the work did not say %q, but %q", line, data)
		case <-time.After(time.Millisecond):
		}
	}
}
