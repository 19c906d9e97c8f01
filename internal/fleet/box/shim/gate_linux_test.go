package shim_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/internal/durable"
	"holdfast/internal/fleet/box/shim"
	"holdfast/internal/fleet/receipt"
)

// launcher starts work in the home that its argument names, up to the moment that the other
// says, and waits there to be killed.
func launcher() {
	home, moment := os.Args[1], os.Args[2]
	box, err := durable.OpenDir(filepath.Join(home, "box"))
	must(err)
	dir, err := box.Sub("launch")
	must(err)
	s := &site{home: home, work: filepath.Join(home, "work"), mark: "MARK=1"}
	l := s.script("echo ran > ran; sleep 1000")
	if moment == "identity" {
		must(shim.SpawnOnly(shim.NewHost(box), dir))
		say("spawned")
		select {}
	}
	w, err := shim.NewHost(box).Start(context.Background(), dir, l)
	must(err)
	say("at the gate")
	if moment == "gate" {
		select {}
	}
	_, err = w.Go(context.Background())
	must(err)
	say("went")
	select {}
}

// launch starts a launcher and gives its lines.
func (s *site) launcher(t *testing.T, moment string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	c := exec.Command(self(t), s.home, moment)
	c.Env = append(os.Environ(), childEnv+"=launcher")
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	return c, bufio.NewReader(out)
}

func wantLine(t *testing.T, in *bufio.Reader, want string) {
	t.Helper()
	if line, err := in.ReadString('\n'); line != want+"\n" {
		t.Fatalf("the launcher said %q, %v, want %q", line, err, want)
	}
}

func kill(t *testing.T, c *exec.Cmd) {
	t.Helper()
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
}

// wantNeverRan waits for the end of the shim whose launcher was killed.
func (s *site) wantNeverRan(t *testing.T) {
	t.Helper()
	until(t, "the shim leaves word", func() bool { return exists(s.launch, "exit") })
	id, err := shim.ReadIdentity(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	if alive, is := s.host.Attach(s.dir, id).(shim.Alive); is {
		if err := alive.Handle.Ended(limited(t)); err != nil {
			t.Fatal(err)
		}
		alive.Handle.Close()
	}
	s.wantExit(t, receipt.Unknown{Why: "the gate was closed"})
	s.wantFound(t, id, shim.Gone{Went: false})
	if exists(s.work, "ran") || exists(s.launch, "went") {
		t.Error("the work ran")
	}
}

// The launcher is killed when the shim has written its identity. Red when: hearGo takes an
// end of file for go.
func TestALauncherKilledAtTheGateStartsNothing(t *testing.T) {
	s := newSite(t)
	c, out := s.launcher(t, "gate")
	wantLine(t, out, "at the gate")
	kill(t, c)
	s.wantNeverRan(t)
}

// The launcher is killed before its shim has written its identity: it waits for what it is to
// do, which is a pipe here, and goes on later. Red when: prepare starts the work, or hearGo
// takes an end of file for go.
func TestALauncherKilledBeforeTheIdentityStartsNothing(t *testing.T) {
	s := newSite(t)
	pipe := filepath.Join(s.launch, "launch")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	c, out := s.launcher(t, "identity")
	wantLine(t, out, "spawned")
	kill(t, c)
	at, err := s.host.Machine()
	if err != nil {
		t.Fatal(err)
	}
	if exists(s.launch, "identity") {
		t.Fatal("it has written its identity already")
	}
	if err := os.WriteFile(pipe, shim.Encoded(s.script("echo ran > ran"), at), 0o600); err != nil {
		t.Fatal(err)
	}
	until(t, "the shim leaves word", func() bool { return exists(s.launch, "exit") })
	s.wantExit(t, receipt.Unknown{Why: "the gate was closed"})
	if exists(s.work, "ran") || exists(s.launch, "went") || !exists(s.launch, "identity") {
		t.Error("the work ran, or the shim has no identity")
	}
}

func TestWorkOutlivesItsLauncher(t *testing.T) {
	s := newSite(t)
	c, out := s.launcher(t, "never")
	wantLine(t, out, "at the gate")
	wantLine(t, out, "went")
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	// Nothing of the shim's is the launcher's: its output has ended.
	if rest, err := io.ReadAll(out); err != nil || len(rest) > 0 {
		t.Errorf("the launcher's output went on with %q, %v", rest, err)
	}
	id, err := shim.ReadIdentity(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	alive, is := s.host.Attach(s.dir, id).(shim.Alive)
	if !is {
		t.Fatalf("it is found as %#v", s.host.Attach(s.dir, id))
	}
	defer alive.Handle.Close()
	until(t, "the work runs", func() bool { return exists(s.work, "ran") })
	if err := alive.Handle.Stop(limited(t), time.Minute); err != nil {
		t.Fatal(err)
	}
	s.wantExit(t, receipt.Signalled{Signal: 15})
	s.wantFound(t, id, shim.Gone{Went: true})
}

// Red when: Cancel leaves the gate open, or begin runs the work without having heard go.
func TestACancelledStartStartsNothing(t *testing.T) {
	s := newSite(t)
	w := s.gate(t, s.script("echo ran > ran"))
	id := w.Identity()
	if err := w.Cancel(limited(t)); err != nil {
		t.Fatal(err)
	}
	s.wantExit(t, receipt.Unknown{Why: "the gate was closed"})
	s.wantFound(t, id, shim.Gone{Went: false})
	if exists(s.work, "ran") {
		t.Error("the work ran")
	}
}

// Red when: awaitGo does not look for the signals of a stop.
func TestAStopAtTheGateStartsNothing(t *testing.T) {
	s := newSite(t)
	w := s.gate(t, s.script("echo ran > ran"))
	if err := syscall.Kill(w.Identity().PID, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	until(t, "it leaves word", func() bool { return exists(s.launch, "exit") })
	s.wantExit(t, receipt.Unknown{Why: "it was told to stop before it was told to go"})
	if _, err := w.Go(limited(t)); err == nil || !strings.Contains(err.Error(), "ended at the gate") && !strings.Contains(err.Error(), "no answer came") {
		t.Errorf("Go: %v", err)
	}
	if exists(s.work, "ran") || exists(s.launch, "went") {
		t.Error("the work ran")
	}
}

// The order of the files is the promise: an identity before the gate, went only behind it.
func TestTheIdentityIsThereAtTheGateAndIsTheProcess(t *testing.T) {
	s := newSite(t)
	w := s.gate(t, s.script("exit 0"))
	read, err := shim.ReadIdentity(s.dir)
	if err != nil || read != w.Identity() {
		t.Errorf("read %+v, %v, got %+v", read, err, w.Identity())
	}
	if exists(s.launch, "went") {
		t.Error("it went already")
	}
	data, err := read.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := shim.DecodeIdentity(data); err != nil || again != read {
		t.Errorf("it comes back as %+v, %v", again, err)
	}
	h, err := w.Go(limited(t))
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	s.wantEnd(t, h, receipt.Exited{Status: 0})
	if !exists(s.launch, "went") {
		t.Error("it does not say that it went")
	}
}

// Red when: work writes nothing to its words, or the exit is that of the second stage.
func TestACommandThatCannotBeStartedSaysWhy(t *testing.T) {
	for name, c := range map[string]struct {
		change func(l *shim.Launch)
		want   string
	}{
		"no program":   {func(l *shim.Launch) { l.Argv = []string{"no-such-program"} }, "no such program in the PATH of the work"},
		"no file":      {func(l *shim.Launch) { l.Argv = []string{"/no/such/file"} }, "/no/such/file: no such file or directory"},
		"no directory": {func(l *shim.Launch) { l.Dir = "/no/such/dir" }, "the directory /no/such/dir: no such file or directory"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			l := s.script("")
			c.change(&l)
			w := s.gate(t, l)
			if _, err := w.Go(limited(t)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Go: %v", err)
			}
			until(t, "it leaves word", func() bool { return exists(s.launch, "exit") })
			exit, err := shim.Exit(s.dir)
			if u, is := exit.(receipt.Unknown); err != nil || !is || !strings.Contains(u.Why, c.want) {
				t.Errorf("the exit is %#v, %v", exit, err)
			}
		})
	}
}
