package roadmap

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"holdfast/internal/problem"
	"holdfast/internal/remotetest"
	"holdfast/internal/roadmap/event"
	"holdfast/internal/roadmap/git"
)

// spoiler is what runs in the place of git here: where a script called spoil stands
// beside the repository, it is asked first, with git's arguments, and knows the real
// git as $GIT.
const spoiler = `#!/bin/sh
GIT='%s'
case $1 in --git-dir=*) spoil=${1#--git-dir=} spoil=${spoil%%/*}/spoil; test -e "$spoil" && . "$spoil" ;; esac
exec "$GIT" "$@"
`

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "holdfast-spoiler-")
	if err == nil {
		err = putSpoiler(dir)
	}
	if err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(dir)
		os.Exit(code)
	}))
}

// putSpoiler puts the spoiler before git.
func putSpoiler(dir string) error {
	real, err := exec.LookPath("git")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "git"), fmt.Appendf(nil, spoiler, real), 0o755); err != nil {
		return err
	}
	return os.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// spoil spoils what git does for the plan from now on; nothing, with no script.
func (s *shared) spoil(script string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.folder, "spoil"), []byte(script), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// Scripts for a spoiler. The snapshot's path is the one with its name in it.
const (
	atRemoval = `case " $* " in *" worktree remove "*) `
	afterOpen = `case " $* " in *" worktree add "*) "$GIT" "$@" || exit $?
for at; do case $at in */holdfast-roadmap-snapshot.*) break;; esac; done
`
	ofEachEnd = ";; esac\n"
)

// shared is a plan whose index is behind the remote, which another home has moved.
type shared struct {
	*Plan
	folder string // of the plan
	other  *Plan
	n      int
	t      *testing.T
}

func newShared(t *testing.T, limits git.Limits) *shared {
	t.Helper()
	url := remotetest.Path(t).Dir
	s := &shared{t: t}
	s.folder, s.Plan = newPlanAt(t, url, limits)
	_, s.other = newPlanAt(t, url, git.Limits{})
	s.move()
	return s
}

// newPlanAt is a home whose plan is kept at url.
func newPlanAt(t *testing.T, url string, limits git.Limits) (string, *Plan) {
	t.Helper()
	home := homeIn(t.TempDir())
	home.Limits = limits
	if err := os.Mkdir(home.Plan, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Begin(t.Context(), home, url); err != nil {
		t.Fatal(err)
	}
	p, err := Open(t.Context(), home)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return home.Plan, p
}

// move lets the other home add a node that ada holds.
func (s *shared) move() event.Node {
	s.t.Helper()
	s.n++
	n := event.Node("held-" + strings.Repeat("x", s.n))
	say := func(b event.Body) event.Command {
		return event.Command{Key: NewKey(), Node: n, Author: ada, At: time.Now(), Body: b}
	}
	done, _, err := s.other.AppendAll(s.t.Context(), []event.Command{say(event.Opened{Card: event.Card{Title: "A node"}}), say(event.Claimed{Assignee: ada, ReturnTo: ada})})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, d := range done {
		if d.Err != nil {
			s.t.Fatal(d.Err)
		}
	}
	return n
}

// The ways in which a snapshot closes.
var closings = map[string]struct {
	script string
	kind   string
	detail string // in the answer
}{
	"removed":          {"", "removed", ""},
	"git refuses":      {atRemoval + "echo 'fatal: not today' >&2; exit 128" + ofEachEnd, "failed", "not today"},
	"an entry is gone": {afterOpen + `rm -r "$(dirname "$at")/../carrier.git/worktrees/$(basename "$at")"; exit 0` + ofEachEnd, "failed", "not a working tree"},
	"git hangs":        {atRemoval + "exec sleep 1000" + ofEachEnd, "failed", "took more than"},
	"a mount":          {afterOpen + `mkdir "$at/mounted" && mount -t tmpfs none "$at/mounted"; exit 0` + ofEachEnd, "failed", "could not be emptied"},
}

// The table of the standing of a close: whatever becomes of the removal, the answer
// is what it would have been, and says so beside it. Red when: With does not answer
// the close of a removal; withClose or answer leave it out; Publish drops it; once lets a failed
// removal end the run; noted does not write the journal.
func TestAFailedRemovalIsSaidBesideTheAnswerAndChangesNothingOfIt(t *testing.T) {
	t.Parallel()
	for name, c := range closings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limits := git.Limits{}
			switch name {
			case "git hangs":
				limits.Local = 4 * time.Second
			case "a mount":
				if !canMount(t) {
					return // the others hold the claim
				}
			}
			s := newShared(t, limits)
			t.Cleanup(s.unmountAll)
			held := s.move()
			s.spoil(c.script)
			s.wantClosings(held, c.kind, c.detail)
			s.spoil("")
			s.wantJournal(c.kind, c.detail)
		})
	}
}

// wantClosings reads and appends, with a result and with a refusal.
func (s *shared) wantClosings(held event.Node, kind, detail string) {
	t := s.t
	t.Helper()
	check := func(what string, got Closing) {
		t.Helper()
		if got.Kind != kind || !strings.Contains(got.Detail, detail) {
			t.Errorf("%s: it closed as %+v, want %s with %q", what, got, kind, detail)
		}
	}
	refusal := func(what string, err error, step, reason string) {
		t.Helper()
		p := problem.From(err, "")
		before, after, said := strings.Cut(p.Reason, " Besides, the snapshot ")
		if err == nil || p.Step != step || !strings.Contains(before, reason) {
			t.Errorf("%s: it was refused with %v", what, err)
		}
		if said != (kind == "failed") || said && !strings.Contains(after, detail) {
			t.Errorf("%s: after its reason the refusal says %q", what, after)
		}
	}
	node, err := s.Show(t.Context(), Now, held)
	if err != nil || node.Holder != ada {
		t.Errorf("read was %+v, %v", node.Row, err)
	}
	check("a read", node.Close)
	s.move()
	_, err = s.Show(t.Context(), Now, "nobody")
	refusal("a read that is refused", err, "node", "no node nobody")
	s.move()
	doc, err := s.Open(t.Context(), "mine", Opening{Card: event.Card{Title: "Mine"}}, Act{Author: ada})
	if err != nil || doc.Outcome != "appended" || doc.Attempts != 2 {
		t.Errorf("appended was %+v, %v", doc, err)
	}
	check("an append", doc.Close)
	waits := event.Command{Key: NewKey(), Node: "waited", Author: ada, At: time.Now(), Body: event.Opened{Card: event.Card{Title: "Waited"}}}
	if _, err := s.carrier.Queue().Put(waits); err != nil {
		t.Fatal(err)
	}
	s.move()
	n, closed, err := s.Publish(t.Context())
	if n != 1 || err != nil {
		t.Errorf("published were %d, %v", n, err)
	}
	check("a publication", closed)
	late := s.move()
	_, err = s.Append(t.Context(), late, event.Claimed{Assignee: ada, ReturnTo: ada}, Act{Author: ada})
	refusal("an append that is refused", err, "claim-held", "ada")
}

// wantJournal reads what the next census says of the five snapshots.
func (s *shared) wantJournal(kind, detail string) {
	t := s.t
	t.Helper()
	want := 0
	if kind == "failed" {
		want = 5
	}
	census, err := s.Census(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(census.CloseFailures) != want {
		t.Errorf("the journal has %d failures, want %d", len(census.CloseFailures), want)
	}
	for _, f := range census.CloseFailures {
		if !strings.Contains(f.Stderr, detail) {
			t.Errorf("the journal says %q, want %q", f.Stderr, detail)
		}
	}
}

func canMount(t *testing.T) bool {
	t.Helper()
	dir := t.TempDir()
	if exec.Command("mount", "-t", "tmpfs", "none", dir).Run() != nil {
		return false
	}
	unmount(t, dir)
	return true
}

func unmount(t *testing.T, dir string) {
	t.Helper()
	if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// unmountAll takes away what was mounted in snapshots.
func (s *shared) unmountAll() {
	s.t.Helper()
	s.spoil("")
	list, err := filepath.Glob(filepath.Join(s.folder, "snapshots", "*", "mounted"))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, dir := range list {
		unmount(s.t, dir)
	}
}
