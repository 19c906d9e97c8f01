package shim_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"holdfast/internal/fleet/box/shim"
	"holdfast/internal/fleet/receipt"
)

// output runs l to its end and gives what it said.
func (s *site) output(t *testing.T, l shim.Launch) []string {
	t.Helper()
	h := s.run(t, l)
	if err := h.Ended(limited(t)); err != nil {
		t.Fatal(err)
	}
	return s.lines()
}

func wantLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !slices.Contains(got, w) {
			t.Errorf("it says %q, and not %q", got, w)
		}
	}
}

// Red when: cover is not called, or does not bind what is kept.
func TestTheHomeIsHiddenAndTheOwnDirectoryIsNot(t *testing.T) {
	s := newSite(t)
	booth := filepath.Join(s.home, "desk", "booths", "mine")
	for _, d := range []string{booth, filepath.Join(s.home, "desk", "booths", "yours")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(t, "secret", s.home, "key")
	write(t, "mine", s.work, "file")
	outside := t.TempDir()
	write(t, "outside", outside, "file")
	l := s.script(fmt.Sprintf("echo home: $(ls -A %[1]s); echo booths: $(ls -A %[1]s/desk/booths); cat file; echo; cat %[2]s/file; echo; "+
		"echo to-booth > %[3]s/out; echo x 2>&1 > %[1]s/new || echo no-new", s.home, outside, booth))
	l.Keep = append(l.Keep, booth, outside)
	w := s.gate(t, l)
	if id := w.Identity(); id.Isolation != "namespace" || id.IsolationWhy != "" || !id.FreshProc {
		t.Errorf("it is %+v", id)
	}
	h, err := w.Go(limited(t))
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	s.wantEnd(t, h, receipt.Exited{Status: 0})
	wantLines(t, s.lines(), "home: desk work", "booths: mine", "mine", "outside", "no-new")
	if read(t, booth, "out") != "to-booth\n" {
		t.Error("nothing came to the booth")
	}
	if exists(s.home, "new") {
		t.Error("it wrote into the home")
	}
}

// Red when: isolate calls what it could not do "namespace".
func TestAHomeThatCannotBeHiddenIsSaid(t *testing.T) {
	s := newSite(t)
	l := s.script("exit 0")
	l.Keep = []string{s.home}
	w := s.gate(t, l)
	if id := w.Identity(); id.Isolation != "none" || !strings.Contains(id.IsolationWhy, "the home cannot be hidden") || id.Proof != shim.Namespace {
		t.Errorf("it is %+v", id)
	}
	if err := w.Cancel(limited(t)); err != nil {
		t.Fatal(err)
	}
}

// Only a user's own: root's work is root's. Red when: disarm is not called.
func TestWorkHasNoCapabilitiesAndSeesNothingOfTheShim(t *testing.T) {
	s := newSite(t)
	l := s.script("grep CapEff /proc/self/status; ls /proc/1/fd /proc/1/root || echo closed; ls /proc/self/fd | wc -l; echo pid $$; tty || :")
	if os.Getuid() == 0 {
		l.User = &shim.User{UID: 65534, GID: 65534}
		l.Home, l.Keep, l.Dir = "", nil, "/"
	}
	// Its own three, and the folder that ls reads.
	wantLines(t, s.output(t, l), "CapEff:\t0000000000000000", "closed", "4", "not a tty")
}

// Red when: the work is started with the caller's environment, or limit is not called.
func TestTheEnvironmentIsExactAndLimitsAreLowered(t *testing.T) {
	t.Setenv("HOLDFAST_SHIM_TEST_SECRET", "1")
	s := newSite(t)
	l := s.command("sh", "-c", "env | cut -d= -f1 | sort | tr '\\n' ' '; echo; ulimit -n; ulimit -f; ulimit -t; ulimit -v; nice; pwd")
	l.Limits = shim.Limits{Files: 77, FileSize: 1 << 20, CPUSeconds: 55, AddressSpace: 1 << 31, Nice: 7}
	wantLines(t, s.output(t, l), "HOLDFAST_SHIM_TEST_MARK PATH PWD ", "77", "2048", "55", "2097152", "7", s.work)
}

// Red when: limits are set for the shim as well: its log ends at the work's file size.
func TestALimitOfTheWorkIsNoLimitOfItsLog(t *testing.T) {
	s := newSite(t)
	l := s.script("head -c 100000 /dev/zero; head -c 100000 /dev/zero > file; echo; echo $?")
	l.Limits.FileSize = 4096
	s.output(t, l)
	if n := len(read(t, s.launch, "log.1")); n < 100000 {
		t.Errorf("its log has %d bytes", n)
	}
	if n := len(read(t, s.work, "file")); n != 4096 {
		t.Errorf("its file has %d bytes", n)
	}
}

func TestALaunchThatCannotBeIsRefusedBeforeAnything(t *testing.T) {
	for name, c := range map[string]struct {
		change func(l *shim.Launch)
		want   string
	}{
		"no command":     {func(l *shim.Launch) { l.Argv = nil }, "launch: There is no command"},
		"a NUL":          {func(l *shim.Launch) { l.Argv = []string{"a\x00b"} }, "launch: A NUL"},
		"no name":        {func(l *shim.Launch) { l.Env = []string{"=x"} }, "launch: The environment"},
		"relative":       {func(l *shim.Launch) { l.Dir = "work" }, "launch: A folder"},
		"nice":           {func(l *shim.Launch) { l.Limits.Nice = -1 }, "launch: A number"},
		"limit too high": {func(l *shim.Launch) { l.Limits.Files = 1 << 40 }, "limit-too-high: The limit files is to be"},
	} {
		s := newSite(t)
		l := s.script("echo ran > ran")
		c.change(&l)
		if _, err := s.host.Start(limited(t), s.dir, l); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if names, err := s.dir.Names(); err != nil || len(names) > 0 {
			t.Errorf("%s: it left %v, %v", name, names, err)
		}
	}
}

// Red when: Start as an ordinary user ignores User; as root, when disarm does.
func TestOnlyRootStartsWorkAsSomebodyElse(t *testing.T) {
	s := newSite(t)
	l := s.script("id -u; id -g; id -G")
	l.Home, l.Keep, l.Dir = "", nil, "/"
	l.User = &shim.User{UID: 12345, GID: 23456}
	if os.Getuid() != 0 {
		if _, err := s.host.Start(limited(t), s.dir, l); err == nil || !strings.Contains(err.Error(), "other-user: Only root") {
			t.Errorf("got %v", err)
		}
		return
	}
	wantLines(t, s.output(t, l), "12345", "23456")
}

// refuse makes the rest of the test run where no namespace can be made.
func refuse(t *testing.T) bool {
	if !own(t, 0) {
		return false
	}
	write(t, "0", "/proc/sys/user/max_user_namespaces")
	write(t, "0", "/proc/sys/user/max_pid_namespaces")
	return true
}

// Red when: Start takes the weak way without being allowed to, or Probe guesses.
func TestWhereNamespacesAreRefusedNothingStartsUnlessWeakIsAllowed(t *testing.T) {
	if !refuse(t) {
		return
	}
	s := newSite(t)
	const why = "user.max_user_namespaces is 0"
	m, err := s.host.Probe(limited(t))
	if err != nil || m.Proof != shim.Weak || !strings.Contains(m.ProofWhy, why) || m.Isolation != "none" {
		t.Errorf("the probe says %+v, %v", m, err)
	}
	_, err = s.host.Start(limited(t), s.dir, s.script("echo ran > ran"))
	if err == nil || !strings.Contains(err.Error(), "proof-weak") || !strings.Contains(err.Error(), why) {
		t.Errorf("Start: %v", err)
	}
	if exists(s.work, "ran") {
		t.Error("it ran")
	}
}

// Red when: the shim is no subreaper (orphans are lost).
func TestWeakWorkIsSweptToTheLast(t *testing.T) {
	if !refuse(t) {
		return
	}
	s := newSite(t)
	l := s.part(t, "hydra")
	l.AllowWeak = true
	h := s.run(t, l)
	id := h.Identity()
	if id.Proof != shim.Weak || id.Isolation != "none" || !strings.Contains(id.IsolationWhy, "user.max_user_namespaces is 0") {
		t.Errorf("it is %+v", id)
	}
	until(t, "the head is there", func() bool { return strings.HasPrefix(s.lines()[0], "port ") })
	if err := h.Stop(limited(t), 0); err != nil {
		t.Fatal(err)
	}
	s.wantEnd(t, h, receipt.Signalled{Signal: 9})
	s.wantFound(t, id, shim.Gone{Went: true})
}

// Red when: Ended or Attach take the end of a weak shim for the end of its work.
func TestAWeakShimThatWasKilledProvesNothing(t *testing.T) {
	if !refuse(t) {
		return
	}
	s := newSite(t)
	l := s.script("exec sleep 1000")
	l.AllowWeak = true
	h := s.run(t, l)
	if err := h.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := h.Ended(limited(t)); err == nil || !strings.Contains(err.Error(), "shim-killed") {
		t.Errorf("Ended: %v", err)
	}
	if found, is := s.host.Attach(s.dir, h.Identity()).(shim.Unclear); !is {
		t.Errorf("it is found as %#v", found)
	}
	for _, pid := range s.alive(t) {
		p, err := os.FindProcess(pid)
		if err == nil {
			_ = p.Kill()
		}
	}
}
