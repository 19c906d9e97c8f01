package cli

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"holdfast/internal/remotetest"
	"holdfast/internal/roadmap/event"
)

// remotes are the git remotes of scripts: remote VAR and http VAR make one and set
// a variable to its URL, VAR_DIR to its folder. hook DIR WORDS has it refuse pushes,
// without words take them; ! pushes DIR has its server take
// none. plant DIR fork|broken|rewrite [NODE] is what somebody does
// to it with git alone. until FILE TEXT waits for a text in a file.
type remotes struct {
	t     *testing.T
	mu    sync.Mutex
	known map[string]*remotetest.Repository // guarded by mu
}

func (r *remotes) add(ts *testscript.TestScript, name, url string, repo *remotetest.Repository) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known[repo.Dir] = repo
	ts.Setenv(name, url)
	ts.Setenv(name+"_DIR", repo.Dir)
}

func (r *remotes) at(dir string) *remotetest.Repository {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known[dir]
}

func (r *remotes) path(ts *testscript.TestScript, _ bool, args []string) {
	repo := remotetest.Path(r.t)
	r.add(ts, args[0], repo.Dir, repo)
}

func (r *remotes) http(ts *testscript.TestScript, _ bool, args []string) {
	s := remotetest.HTTP(r.t)
	r.add(ts, args[0], s.URL, s.Repository)
	ts.Setenv(args[0]+"_LOCKED", s.Locked)
}

func (r *remotes) hook(_ *testscript.TestScript, _ bool, args []string) {
	if len(args) == 1 {
		r.at(args[0]).Accept()
		return
	}
	r.at(args[0]).Reject(args[1])
}

func (r *remotes) pushes(_ *testscript.TestScript, neg bool, args []string) {
	r.at(args[0]).ReadOnly(neg)
}

const branch = "roadmap-events"

func (r *remotes) plant(ts *testscript.TestScript, _ bool, args []string) {
	repo := r.at(args[0])
	switch args[1] {
	case "rewrite":
		ts.Setenv("TIP", repo.Rewrite(branch))
	case "gone":
		repo.Delete(branch)
	case "fork":
		repo.Commit(branch, tailFile(besideTheNewest(ts, log(ts, repo), event.Node(args[2]))))
	case "broken":
		events := log(ts, repo)
		e := besideTheNewest(ts, events, event.Node(args[2]))
		whole := string(e.Bytes())
		broken := strings.Replace(whole, `"body":"beside`, `"body":"inside`, 1)
		repo.Commit(branch, remotetest.Put(tailPath(e), broken))
	}
}

// log is the events of a remote, which are all in its tail.
func log(ts *testscript.TestScript, repo *remotetest.Repository) []event.Envelope {
	var out []event.Envelope
	for path := range strings.Lines(repo.Git("ls-tree", "-r", "--name-only", branch, "tail/")) {
		e, err := event.DecodeEnvelope([]byte(repo.Git("cat-file", "blob", branch+":"+strings.TrimSpace(path))))
		ts.Check(err)
		out = append(out, e)
	}
	return out
}

// besideTheNewest is an event that builds on what a node's newest one builds on.
func besideTheNewest(ts *testscript.TestScript, log []event.Envelope, n event.Node) event.Envelope {
	var newest event.Envelope
	for _, e := range log {
		if e.Event.Node() == n && len(e.Event.Parents()) < 2 {
			newest = e
		}
	}
	seq := log[len(log)-1].Seq + 1
	made, err := event.Draft{
		Node: n, Author: "principal:local/elsewhere/eve", Parents: newest.Event.Parents(), At: time.Unix(1e9, 0),
		Body: event.CommentCreated{Comment: event.Comment(fmt.Sprintf("beside-%d", seq)), Body: "beside \x1b[31mit"},
	}.Seal()
	ts.Check(err)
	return event.Envelope{Seq: seq, Key: event.Key(fmt.Sprintf("beside-%s-%d", n, seq)), Event: made}
}

func tailPath(e event.Envelope) string {
	return fmt.Sprintf("tail/%010d-%s.json", e.Seq, e.Event.ID().Short())
}

func tailFile(e event.Envelope) remotetest.Change {
	return remotetest.Put(tailPath(e), string(e.Bytes()))
}

// until waits until a program that runs in the background has written a text.
func until(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	if awaited(func() bool {
		data, err := os.ReadFile(path)
		return err == nil && strings.Contains(string(data), args[1])
	}) {
		return
	}
	data, _ := os.ReadFile(path)
	ts.Fatalf("%s never said %s: %s", args[0], args[1], data)
}
