package remotetest

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// Daemon serves an empty repository with git daemon, which asks nobody for a
// password and takes pushes. It gives the repository and the URL. The arguments
// are those of [Path].
//
// The port is held here and a daemon started for each caller, as inetd would, so
// that there is no moment at which the port is free or nobody listens.
func Daemon(t testing.TB, init ...string) (r *Repository, url string) {
	t.Helper()
	r = Path(t, init...)
	port, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &daemons{home: filepath.Dir(r.Dir), running: map[*os.Process]bool{}}
	d.all.Go(func() { d.serve(port) })
	t.Cleanup(func() {
		port.Close()
		d.end()
	})
	return r, "git://" + port.Addr().String() + "/" + filepath.Base(r.Dir)
}

// daemons are the running daemons of one port.
type daemons struct {
	home string
	all  sync.WaitGroup

	mu      sync.Mutex
	ended   bool
	running map[*os.Process]bool
}

func (d *daemons) serve(port net.Listener) {
	for {
		caller, err := port.Accept()
		if err != nil {
			return // closed: the test has ended
		}
		d.all.Go(func() { d.answer(caller) })
	}
}

// answer has a daemon of its own for one caller.
func (d *daemons) answer(caller net.Conn) {
	f, err := caller.(*net.TCPConn).File()
	caller.Close() // f is another descriptor of it
	if err != nil {
		return
	}
	cmd := exec.Command("git", "daemon", "--inetd", "--base-path="+d.home, "--export-all", "--enable=receive-pack")
	cmd.Env, cmd.Stdin, cmd.Stdout = environment(d.home), f, f
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // its children end with it
	started := d.start(cmd)
	f.Close()
	if !started {
		return
	}
	_ = cmd.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.running, cmd.Process)
}

// start reports whether cmd runs, and then end knows of it.
func (d *daemons) start(cmd *exec.Cmd) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended || cmd.Start() != nil {
		return false
	}
	d.running[cmd.Process] = true
	return true
}

// end kills what still runs and waits for everything.
func (d *daemons) end() {
	d.mu.Lock()
	d.ended = true
	for p := range d.running {
		_ = syscall.Kill(-p.Pid, syscall.SIGKILL)
	}
	d.mu.Unlock()
	d.all.Wait()
}
