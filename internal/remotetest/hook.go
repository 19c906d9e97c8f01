package remotetest

import (
	"bufio"
	"os"
	"path/filepath"
	"syscall"
)

// Reject has every push refused by a hook that says words.
func (r *Repository) Reject(words string) {
	r.t.Helper()
	r.write("hooks/words", words+"\n", 0o644)
	r.hook("cat hooks/words >&2\nexit 1\n")
}

// Accept takes the hook away.
func (r *Repository) Accept() {
	r.t.Helper()
	if err := os.Remove(filepath.Join(r.Dir, "hooks", "pre-receive")); err != nil {
		r.t.Fatal(err)
	}
}

// Gate is where pushes hang in a hook.
type Gate struct {
	r       *Repository
	arrived *bufio.Reader
	release *os.File
}

// Hang has every push wait in a hook until it is let go. Pushes that still wait
// when the test ends are refused.
func (r *Repository) Hang() *Gate {
	r.t.Helper()
	arrived, release := r.pipe("hooks/arrived"), r.pipe("hooks/release")
	// The pipe is open before the word is out: from then on the hook ends with it.
	r.hook("exec 3<hooks/release && echo here >hooks/arrived && read -r word <&3 && test \"$word\" = go\n")
	return &Gate{r, bufio.NewReader(arrived), release}
}

// Await returns when a push, one for each call, has come to the gate.
func (g *Gate) Await() {
	g.r.t.Helper()
	if _, err := g.arrived.ReadString('\n'); err != nil {
		g.r.t.Fatal(err)
	}
}

// Release lets one push go on.
func (g *Gate) Release() {
	g.r.t.Helper()
	if _, err := g.release.WriteString("go\n"); err != nil {
		g.r.t.Fatal(err)
	}
}

// pipe makes a named pipe and opens both of its ends, so that neither side waits
// for the other at the opening, and a reader sees the end when the test is over.
func (r *Repository) pipe(name string) *os.File {
	r.t.Helper()
	at := filepath.Join(r.Dir, name)
	if err := syscall.Mkfifo(at, 0o600); err != nil {
		r.t.Fatal(err)
	}
	f, err := os.OpenFile(at, os.O_RDWR, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		_ = os.Remove(at) // first: who opens a pipe that nobody holds waits for ever
		f.Close()
	})
	return f
}

// hook sets the hook that each push has to pass. It runs in the repository.
func (r *Repository) hook(script string) {
	r.t.Helper()
	// Written aside and renamed: a file open for writing cannot be run, and
	// another goroutine's new process may have it open for a moment.
	r.write("hooks/new", "#!/bin/sh\ncd \"$(dirname \"$0\")/..\" || exit 1\n"+script, 0o755)
	if err := os.Rename(filepath.Join(r.Dir, "hooks/new"), filepath.Join(r.Dir, "hooks/pre-receive")); err != nil {
		r.t.Fatal(err)
	}
}

func (r *Repository) write(name, text string, mode os.FileMode) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.Dir, name), []byte(text), mode); err != nil {
		r.t.Fatal(err)
	}
}
