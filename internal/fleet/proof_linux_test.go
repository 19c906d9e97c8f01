package fleet

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/internal/fleet/box/root"
	"holdfast/internal/fleet/box/shim"
	"holdfast/internal/fleet/claim"
	"holdfast/internal/fleet/order"
	"holdfast/internal/fleet/receipt"
	"holdfast/internal/silentfs"
)

// partEnv makes this binary another program.
const partEnv = "HOLDFAST_FLEET_TEST_PART"

func TestMain(m *testing.M) {
	switch os.Getenv(partEnv) {
	case "hydra":
		hydra(false)
	case "handover":
		hydra(true)
	}
	os.Exit(m.Run())
}

// hydra ignores every wish that it end, and has a child in a session of its own, which has
// one too, which holds a port. Of those that hand over only the last stays.
func hydra(handover bool) {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	depth, _ := strconv.Atoi(os.Getenv("DEPTH"))
	if depth == 2 {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err == nil {
			err = os.WriteFile("port.new", []byte(ln.Addr().String()), 0o600)
		}
		if err != nil || os.Rename("port.new", "port") != nil {
			os.Exit(3)
		}
		for {
			time.Sleep(time.Hour)
		}
	}
	self, err := os.Executable()
	if err != nil {
		os.Exit(3)
	}
	c := exec.Command(self)
	c.Env = append(os.Environ(), fmt.Sprintf("DEPTH=%d", depth+1))
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if c.Start() != nil {
		os.Exit(3)
	}
	if handover {
		os.Exit(0)
	}
	c.Wait()
}

// alive are the processes that have the mark of the instance.
func (g *rig) alive() (pids []int) {
	g.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/environ")
	g.must(err)
	for _, path := range all {
		env, err := os.ReadFile(path)
		if err == nil && bytes.Contains(env, []byte("HOLDFAST_INSTANCE="+g.name+"\x00")) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// sweep ends what is left of the work of all instances of the rig.
func (g *rig) sweep() {
	all, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range all {
		env, err := os.ReadFile(path)
		if pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil && bytes.Contains(env, []byte("\x00HOME="+g.home.Box+"/instances/")) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

func (g *rig) wantAlive(n int) {
	g.Helper()
	got := g.alive()
	for begun := time.Now(); len(got) < n && time.Since(begun) < time.Minute; got = g.alive() {
		time.Sleep(5 * time.Millisecond) // what is in the middle of an exec has no environment
	}
	if len(got) != n {
		g.Errorf("alive: %v, want %d", got, n)
	}
}

// awaits waits for what a file in the folder of the work says.
func (g *rig) awaits(name string) string {
	g.Helper()
	for begun := time.Now(); time.Since(begun) < time.Minute; time.Sleep(5 * time.Millisecond) {
		if data, err := os.ReadFile(filepath.Join(g.home.Box, "instances", g.name, "1", "work", name)); err == nil {
			return string(data)
		}
	}
	g.Fatalf("there is never a file %s", name)
	return ""
}

// stop orders a stop, and returns its receipt, of which every check holds.
func (g *rig) stop(c claim.Claim, operation string, grace time.Duration) receipt.Receipt {
	g.Helper()
	g.order(order.Order{Kind: order.Stop, Operation: operation, GraceNS: int64(grace)}, c)
	return g.proved(c, operation)
}

func (g *rig) proved(c claim.Claim, operation string) receipt.Receipt {
	g.Helper()
	said := g.answer(operation, "stopped").(order.Stopped)
	data, err := os.ReadFile(filepath.Join(g.home.Bucket, said.Receipt.Key))
	g.must(err)
	v, err := g.console.roster.Read(g.Context())
	g.must(err)
	for _, check := range receipt.Verify(data, c.Want(operation), v.Roster, g.evidence(v.Roster)) {
		if !check.OK {
			g.Errorf("%+v", check)
		}
	}
	r, err := receipt.Read(data, g.evidence(v.Roster))
	g.must(err)
	return r
}

// identity is the shim of the instance, as it wrote it.
func (g *rig) identity() (shim.Identity, string) {
	g.Helper()
	found, err := filepath.Glob(filepath.Join(g.home.Box, "instances", g.name, "1", "shim-*", "identity"))
	if err != nil || len(found) != 1 {
		g.Fatal(found, err)
	}
	data, err := os.ReadFile(found[0])
	g.must(err)
	id, err := shim.DecodeIdentity(data)
	g.must(err)
	return id, filepath.Dir(found[0])
}

// wantNoReceipt is for what is not proved.
func (g *rig) wantNoReceipt() {
	g.Helper()
	if found, err := filepath.Glob(filepath.Join(g.home.Bucket, "evidence", "*", g.name, "*")); err != nil || len(found) > 0 {
		g.Errorf("there is a receipt: %v %v", found, err)
	}
	list, err := g.client.Receipts(g.Context())
	g.must(err)
	if len(list) > 0 {
		g.Errorf("there is a receipt: %+v", list)
	}
}

// own runs the rest of the test in namespaces of its own, in which it may mount, be refused
// things and choose pids, and reports whether this is that rest.
func own(t *testing.T, more uintptr) bool {
	t.Helper()
	const env = "HOLDFAST_FLEET_TEST_OWN"
	if os.Getenv(env) == t.Name() {
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			t.Fatal(err)
		}
		return true
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, done := context.WithTimeout(t.Context(), 2*time.Minute)
	defer done()
	c := exec.CommandContext(ctx, self, "-test.v", "-test.run=^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$")
	c.Env = append(os.Environ(), env+"="+t.Name())
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

// case F09, through the root: what ignores TERM, leaves its session, forks twice, holds a
// port, or hands over to a grandchild is gone when the receipt exists. Red when: the work is
// not in a namespace of its own, or the receipt is made before End has come to Gone.
func TestNothingOfAHydraIsAliveWhenTheReceiptExists(t *testing.T) {
	for part, heads := range map[string]int{"hydra": 3, "handover": 1} {
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			g := newRig(t)
			self, err := os.Executable()
			g.must(err)
			c := g.run(g.name, "run-1", "/usr/bin/env", partEnv+"="+part, self)
			g.answer("run-1", "running")
			port := g.awaits("port")
			for begun := time.Now(); len(g.alive()) != heads && time.Since(begun) < time.Minute; {
				time.Sleep(5 * time.Millisecond)
			}
			g.wantAlive(heads)
			// For as long as one lives there is no receipt, and then at once nobody lives.
			seen := make(chan []int, 1)
			go func() {
				for {
					if found, _ := filepath.Glob(filepath.Join(g.home.Bucket, "evidence", "*", g.name, "*")); len(found) > 0 {
						seen <- g.alive()
						return
					}
					time.Sleep(time.Millisecond)
				}
			}()
			r := g.stop(c, "stop-1", 100*time.Millisecond)
			if left := <-seen; len(left) > 0 {
				t.Errorf("a receipt, and alive: %v", left)
			}
			if _, is := r.Proof.(receipt.Namespace); !is || r.Made != receipt.Normal {
				t.Errorf("it is %s, proved by %T", r.Made, r.Proof)
			}
			ln, err := net.Listen("tcp", port)
			g.must(err)
			ln.Close()
		})
	}
}

// Red when: asked of the authority is not whether a stop could be proved, or a weak receipt
// is made as one of a namespace.
func TestWhereNamespacesAreRefusedWorkIsRefusedOrWeaklyProved(t *testing.T) {
	if !own(t, 0) {
		return
	}
	for _, knob := range []string{"user", "pid"} {
		if err := os.WriteFile("/proc/sys/user/max_"+knob+"_namespaces", []byte("0"), 0); err != nil {
			t.Fatal(err)
		}
	}
	weak := false
	g := newRig(t, func(c *Running) { c.AllowWeak = weak })
	g.run(g.name, "run-1", "sleep", "1000")
	no := g.answer("run-1", "refused").(order.Refused)
	if no.Step != "proof-weak" || !strings.Contains(no.Reason, "user.max_user_namespaces is 0") {
		t.Errorf("refused: %+v", no)
	}
	g.wantAlive(0)
	g.end()
	weak = true
	g.start()
	g.name += "-weak"
	c := g.run(g.name, "run-2", "sleep", "1000")
	g.answer("run-2", "running")
	g.wantAlive(1)
	r := g.stop(c, "stop-2", time.Second)
	g.wantAlive(0)
	if _, is := r.Proof.(receipt.Weak); !is {
		t.Errorf("proved by %T", r.Proof)
	}
}

func stranger(t *testing.T) *exec.Cmd {
	t.Helper()
	c := exec.Command("sleep", "1000")
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	return c
}

// case F10. Red when: Attach goes by the number alone.
func TestAStrangerWithTheNumberIsNotStopped(t *testing.T) {
	if !own(t, syscall.CLONE_NEWPID) {
		return
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		t.Fatal(err)
	}
	g := newRig(t)
	c := g.run(g.name, "run-1", "sleep", "1000")
	g.answer("run-1", "running")
	id, _ := g.identity()
	g.end()
	g.must(syscall.Kill(id.PID, syscall.SIGKILL))
	_, err := syscall.Wait4(id.PID, nil, 0, nil) // of this process, which was its root
	g.must(err)
	var other *exec.Cmd
	for other == nil || other.Process.Pid != id.PID {
		g.must(os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte(strconv.Itoa(id.PID-1)), 0))
		other = stranger(t)
	}
	g.start()
	r := g.stop(c, "stop-1", 0)
	if r.Made != receipt.NamespaceGone {
		t.Errorf("it is %s", r.Made)
	}
	if err := syscall.Kill(id.PID, 0); err != nil || other.ProcessState != nil {
		t.Errorf("the stranger: %v", err)
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id.PID))
	if err != nil || !strings.Contains(string(stat), "(sleep) S") {
		t.Errorf("the stranger is %s, %v", stat, err)
	}
}

// A shim that has ended, and whose parent does not take its exit, has its number still. Red
// when: Attach does not ask the descriptor whether it has ended.
func TestAShimThatNobodyReapedIsProvedToHaveEnded(t *testing.T) {
	g := newRig(t)
	c := g.run(g.name, "run-1", "sleep", "1000")
	g.answer("run-1", "running")
	id, _ := g.identity()
	g.end()
	g.must(syscall.Kill(id.PID, syscall.SIGKILL))
	for begun := time.Now(); time.Since(begun) < time.Minute; {
		if stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id.PID)); strings.Contains(string(stat), ") Z ") {
			break
		}
	}
	g.start()
	if r := g.stop(c, "stop-1", 0); r.Made != receipt.NamespaceGone {
		t.Errorf("it is %s", r.Made)
	}
	g.wantAlive(0)
}

// case F11. Red when: End's Undecided comes to a receipt, or is not tried again.
func TestWhatCannotDieHasNoReceiptAndIsTriedAgain(t *testing.T) {
	if !own(t, 0) {
		return
	}
	place := filepath.Join(t.TempDir(), "stuck")
	server := silentfs.Mount(t, place)
	g := newRig(t)
	c := g.run(g.name, "run-1", "sh", "-c", "cat "+place+"/file")
	g.answer("run-1", "running")
	server.Asked(t)
	g.order(order.Order{Kind: order.Stop, Operation: "stop-1"}, c)
	no := g.answer("stop-1", "stopping").(order.Stopping)
	if !strings.Contains(no.Why, "does not end, though it was killed") {
		t.Errorf("it says %q", no.Why)
	}
	g.wantNoReceipt()
	// A root that comes after finds it as it is.
	g.end()
	g.start()
	g.until(func(s root.Status) bool { return len(s.Intents) == 1 && s.Instances[0].State == "stopping" })
	g.wantNoReceipt()
	server.Close()
	g.proved(c, "stop-1")
	g.wantAlive(0)
}

// another is this machine with another boot or another name.
func another(t *testing.T, boot, machine string) func(*Running) {
	t.Helper()
	dir := t.TempDir()
	return func(c *Running) {
		c.Host = func(h *shim.Host) {
			if boot != "" {
				_ = os.MkdirAll(filepath.Join(dir, "sys/kernel/random"), 0o700)
				_ = os.WriteFile(filepath.Join(dir, "sys/kernel/random/boot_id"), []byte(boot+"\n"), 0o600)
				_ = os.Symlink("/proc/self", filepath.Join(dir, "self"))
				h.Proc = dir
			}
			if machine != "" {
				h.MachineID = filepath.Join(dir, "machine-id")
				_ = os.WriteFile(h.MachineID, []byte(machine+"\n"), 0o600)
			}
		}
	}
}

const otherBoot, otherMachine = "11111111-2222-3333-4444-555555555555", "0123456789abcdef0123456789abcdef"

// A new boot ends all, if the machine is the same and this root has the box's session. Red
// when: look does not ask whether it holds the session.
func TestAnotherBootProvesAnEndOnlyUnderTheSession(t *testing.T) {
	g := newRig(t)
	c := g.run(g.name, "run-1", "sleep", "1000")
	g.answer("run-1", "running")
	id, _ := g.identity()
	g.end()
	g.must(syscall.Kill(id.PID, syscall.SIGKILL))
	g.options = append(g.options, another(t, otherBoot, ""))
	// Without the store there is no session.
	away := g.home.Bucket + "-away"
	g.must(os.Rename(g.home.Bucket, away))
	g.must(os.Mkdir(g.home.Bucket, 0o700))
	g.startAs(root.Starting)
	list, err := g.client.Down(t.Context(), 0, 300*time.Millisecond)
	if err != nil || len(list) != 1 || list[0].Receipt != "" || list[0].Why == "" {
		t.Errorf("without a session: %+v %v", list, err)
	}
	g.wantNoReceipt()
	g.end()
	g.must(os.Remove(g.home.Bucket))
	g.must(os.Rename(away, g.home.Bucket))
	s := g.startAs(root.Ready)
	// The stop that the box began itself goes on, and answers that of the console.
	said := func() receipt.Receipt {
		g.order(order.Order{Kind: order.Stop, Operation: "stop-1"}, c)
		ref := g.answer("stop-1", "stopped").(order.Stopped)
		data, err := os.ReadFile(filepath.Join(g.home.Bucket, ref.Receipt.Key))
		g.must(err)
		v, err := g.console.roster.Read(t.Context())
		g.must(err)
		r, err := receipt.Read(data, g.evidence(v.Roster))
		g.must(err)
		return r
	}()
	proof, is := said.Proof.(receipt.Reboot)
	if !is || said.Made != receipt.NoProcess || proof.Was != id.BootID || proof.Boot != otherBoot || proof.Session != s.Session {
		t.Errorf("it is %s, proved by %+v", said.Made, said.Proof)
	}
}

// case F06: a folder that was carried to another machine. Red when: takeSession does not
// compare the machine's name; when an OtherMachine comes to Gone.
func TestAnotherMachineStartsAndProvesNothing(t *testing.T) {
	g := newRig(t)
	c := g.run(g.name, "run-1", "sleep", "1000")
	g.answer("run-1", "running")
	g.end()
	at := len(g.options)
	g.options = append(g.options, another(t, "", otherMachine))
	s := g.startAs(root.Copied)
	if !strings.Contains(s.Why, "copied from another machine") || !strings.Contains(s.Why, "move the folder box away and join by a new invitation") {
		t.Errorf("it says %q", s.Why)
	}
	g.wantRefused(order.Order{Kind: order.Stop, Operation: "stop-1"}, c, strings.Repeat("0", 32), "box-copied")
	list, err := g.client.Down(t.Context(), 0, 300*time.Millisecond)
	if err != nil || len(list) != 1 || list[0].Receipt != "" || list[0].Why == "" {
		t.Errorf("down: %+v %v", list, err)
	}
	g.wantNoReceipt()
	g.wantAlive(1)
	g.end()
	g.options = g.options[:at]
	g.start() // at home again
	g.order(order.Order{Kind: order.Stop, Operation: "stop-2"}, c)
	g.answer("stop-2", "stopped")
	g.wantAlive(0)
}

// wantRefused hands root an order for a session, which it refuses at a step.
func (g *rig) wantRefused(o order.Order, c claim.Claim, session, step string) {
	g.Helper()
	data, err := about(o, c, g.id, session).Seal(g.console.key)
	g.must(err)
	g.wantRefusedBytes(data, c, step)
}

func (g *rig) wantRefusedBytes(data []byte, c claim.Claim, steps ...string) {
	g.Helper()
	_, err := g.client.Order(g.Context(), bytes.NewReader(data), c.Binding)
	for _, step := range steps {
		if err != nil && strings.Contains(err.Error(), step+":") {
			return
		}
	}
	g.Errorf("refused: %v, want %v", err, steps)
}
