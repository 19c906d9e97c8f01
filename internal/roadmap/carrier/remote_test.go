package carrier

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/internal/problem"
	"holdfast/internal/remotetest"
	"holdfast/internal/roadmap/event"
	"holdfast/internal/roadmap/git"
	"holdfast/internal/roadmap/history"
	"holdfast/internal/roadmap/queue"
)

const bob = event.Principal("principal:local/studio/bob")

// end is what became of a command.
func end(t testing.TB, c *Carrier, cmd event.Command) queue.Ended {
	t.Helper()
	closed, err := c.Append(context.WithoutCancel(t.Context()), cmd)
	if err != nil {
		t.Fatal(err)
	}
	return closed.Result[0].Ended
}

// refused is the refusal of a command.
func refused(t testing.TB, c *Carrier, cmd event.Command) *problem.Error {
	t.Helper()
	e := end(t, c, cmd)
	r, ok := e.(queue.Refused)
	if !ok {
		t.Fatalf("%s ended as %#v, want a refusal", cmd.Key, e)
	}
	return r.Problem
}

// refresh reads what the remote has, and wants to be able to.
func refresh(t testing.TB, c *Carrier) Trust {
	t.Helper()
	read := c.Refresh(t.Context())
	if read.Result.Err != nil {
		t.Fatal(read.Result.Err)
	}
	return read.Result.Trust
}

// keys is the keys of the log as the index has it, without a gap.
func keys(t testing.TB, c *Carrier) []event.Key {
	t.Helper()
	v, err := c.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	list := []event.Key{}
	err = v.Envelopes(1, func(e event.Envelope) error {
		list = append(list, e.Key)
		if e.Seq != int64(len(list)) {
			t.Errorf("%s is at place %d, want %d", e.Key, e.Seq, len(list))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func standing(t testing.TB, c *Carrier, n event.Node) history.State {
	t.Helper()
	v, err := c.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	s, _, err := v.State(n)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTwoHomesShareAPlan(t *testing.T) {
	t.Parallel()
	for kind, url := range map[string]string{
		"path":   remotetest.Path(t).Dir,
		"http":   remotetest.HTTP(t).URL,
		"sha256": remotetest.Path(t, "--object-format=sha256").Dir,
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			one, other := newHome(t), newHome(t)
			if kind == "sha256" { // case R12
				one.Format, other.Format = git.SHA256, git.SHA256
			}
			a, b := initial(t, one, url), initial(t, other, url)
			appended(t, a, command("a1", "fix-login", opened("Mend it")))
			appended(t, b, command("b1", "paint", opened("Paint it")))
			if p := refused(t, a, command("a2", "paint", event.Progress{Note: "by nobody"})); p.Step != history.StepStanding {
				t.Errorf("refused at %s: %s", p.Step, p.Reason)
			}
			if got := keys(t, a); len(got) != 2 {
				t.Errorf("the log has %v", got)
			}
		})
	}
}

// case R04
func TestOfTwoWhoBeginAPlanOneAdoptsTheOthers(t *testing.T) {
	t.Parallel()
	url := remotetest.HTTP(t).URL
	began := make([]Started, 4)
	var wg sync.WaitGroup
	for i := range began {
		home := newHome(t)
		wg.Go(func() {
			closed, err := Init(t.Context(), home, url)
			if err != nil {
				t.Error(err)
			}
			began[i] = closed.Result
		})
	}
	wg.Wait()
	created := 0
	for _, b := range began {
		if b.Commit != began[0].Commit || b.Commit == "" {
			t.Errorf("began at %q, others at %q", b.Commit, began[0].Commit)
		}
		if b.Created {
			created++
		}
	}
	if created != 1 {
		t.Errorf("%d of them say that they began the plan, want 1", created)
	}
}

// case R05
func TestAnAnswerThatIsLostIsFoundByItsKey(t *testing.T) {
	t.Parallel()
	proxy := remotetest.NewProxy(t, remotetest.HTTP(t))
	c := beginAt(t, newHome(t), proxy.URL, proxy.Dir)
	first := proxy.Count(remotetest.Push)
	proxy.Plan(func(r remotetest.Request) remotetest.Act {
		if r.Kind == remotetest.Push && r.Number == first+1 {
			return remotetest.Lose{}
		}
		return remotetest.Pass{}
	})
	cmd := command("once", "fix-login", opened("Mend it"))
	appended(t, c, cmd) // its answer was lost, and it was found in the log
	again, ok := end(t, c, cmd).(queue.AlreadyPresent)
	if !ok {
		t.Fatalf("asked again, it ended as %#v", again)
	}
	if got := keys(t, c); len(got) != 1 {
		t.Errorf("the log has %v, want the one event", got)
	}
}

// case R03
func TestARemoteThatRefusesIsQuotedAndNothingIsAppended(t *testing.T) {
	t.Parallel()
	server := remotetest.HTTP(t)
	c := beginAt(t, newHome(t), server.URL, server.Dir)
	server.Reject("the plan is frozen until Monday")
	p := refused(t, c, command("k", "fix-login", opened("Mend it")))
	if p.Step != "publication-refused" || !strings.Contains(p.Reason, "frozen until Monday") {
		t.Errorf("%s: %s", p.Step, p.Reason)
	}
	if waiting, _, err := c.Queue().Entries(); len(waiting) != 0 || err != nil {
		t.Errorf("the queue has %v, %v", waiting, err)
	}
	server.Accept()
	appended(t, c, command("k", "fix-login", opened("Mend it")))
}

// case R03
func TestWhatMayWaitIsQueuedWhileTheRemoteIsAwayAndClaimsAreRefused(t *testing.T) {
	t.Parallel()
	proxy := remotetest.NewProxy(t, remotetest.HTTP(t))
	c := beginAt(t, newHome(t), proxy.URL, proxy.Dir)
	appended(t, c, command("k1", "fix-login", opened("Mend it")))
	proxy.Plan(func(remotetest.Request) remotetest.Act { return remotetest.Drop{} })
	if e, ok := end(t, c, command("k2", "fix-login", event.CommentCreated{Comment: "c1", Body: "Hello"})).(queue.Queued); !ok {
		t.Fatalf("a comment ended as %#v", e)
	}
	if p := refused(t, c, command("k3", "fix-login", event.Claimed{Assignee: ada, ReturnTo: ada})); p.Step != "unreachable" {
		t.Errorf("a claim was refused at %s: %s", p.Step, p.Reason)
	}
	if read := c.Refresh(t.Context()); problem.From(read.Result.Err, "").Step != "fetch" {
		t.Errorf("a read without a remote ended as %v", read.Result)
	}
	proxy.Plan(func(remotetest.Request) remotetest.Act { return remotetest.Pass{} })
	appended(t, c, command("k4", "paint", opened("Paint it")))
	if got := keys(t, c); len(got) != 3 || got[1] != "k2" && got[2] != "k2" {
		t.Errorf("the log has %v; the queued comment should be in it", got)
	}
	s, ok, err := c.Queue().Outcome("k2")
	if _, in := s.Outcome.Ended.(queue.Appended); !in || !ok || err != nil || !s.Late {
		t.Errorf("the comment's outcome is %+v, %v, %v", s, ok, err)
	}
}

// case R06
func TestARewrittenLogIsSaidAndTakesNothing(t *testing.T) {
	t.Parallel()
	server := remotetest.HTTP(t)
	c := beginAt(t, newHome(t), server.URL, server.Dir)
	appended(t, c, command("k1", "fix-login", opened("Mend it")))
	was := server.Git("rev-parse", branch)
	is := server.Rewrite(branch)
	if got, ok := refresh(t, c).(Rewritten); !ok || got.Was != was || got.Is != is {
		t.Fatalf("read as %#v, want it rewritten from %s to %s", got, was, is)
	}
	if got, ok := c.Remembered().(Rewritten); !ok || got.Is != is {
		t.Errorf("without asking the remote, it is %#v", got) // Red when: Refresh does not remember
	}
	if p := refused(t, c, command("k2", "paint", opened("Paint it"))); p.Step != "rewritten" {
		t.Errorf("appending was refused at %s: %s", p.Step, p.Reason)
	}
	if _, err := c.AcceptRewrite(t.Context(), was); err == nil {
		t.Error("another commit than the new tip was accepted")
	}
	if _, err := c.AcceptRewrite(t.Context(), is); err != nil {
		t.Fatal(err)
	}
	if got, ok := c.Remembered().(Trusted); !ok {
		t.Errorf("once it was accepted, it is %#v", got)
	}
	appended(t, c, command("k2", "paint", opened("Paint it")))
	if got := keys(t, c); len(got) != 2 {
		t.Errorf("the log has %v", got)
	}
	server.Delete(branch)
	if got, ok := refresh(t, c).(Rewritten); !ok || got.Is != "" {
		t.Errorf("an absent branch was read as %#v", got)
	}
	if _, err := Init(t.Context(), c.home, server.URL); problem.From(err, "").Step != "rewritten" {
		t.Errorf("beginning again ended as %v", err)
	}
	if got := server.Tip(branch); got != "" {
		t.Errorf("the remote has %q: a log was begun where one had been", got)
	}
}

// case R06: a tip that descends, but lacks or changes what was read.
func TestALogThatDescendsButChangedIsRewritten(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(tail []string, text string) []remotetest.Change{
		"an event is gone": func(tail []string, _ string) []remotetest.Change {
			return []remotetest.Change{remotetest.Remove(tail[0])}
		},
		"an event is another": func(tail []string, text string) []remotetest.Change {
			return []remotetest.Change{remotetest.Put(tail[0], strings.Replace(text, "Mend", "Burn", 1))}
		},
		"an event is a link": func(tail []string, _ string) []remotetest.Change {
			return []remotetest.Change{remotetest.Link(tail[0], "format")}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := remotetest.Path(t)
			c := begin(t, newHome(t), repo.Dir)
			appended(t, c, command("k1", "fix-login", opened("Mend it")))
			appended(t, c, command("k2", "paint", opened("Paint it")))
			tail := strings.Split(repo.Git("ls-tree", "-r", "--name-only", branch, "tail/"), "\n")
			repo.Commit(branch, change(tail, repo.Git("show", branch+":"+tail[0]))...)
			if got, ok := refresh(t, c).(Rewritten); !ok {
				t.Errorf("read as %#v, want it rewritten", got)
			}
			if got := keys(t, c); len(got) != 2 {
				t.Errorf("what was read has become %v", got)
			}
		})
	}
}

// case R07
func TestOfEightClaimersOneHolds(t *testing.T) {
	t.Parallel()
	server := remotetest.HTTP(t)
	first := beginAt(t, newHome(t), server.URL, server.Dir)
	appended(t, first, command("open", "fix-login", opened("Mend it")))
	var wg sync.WaitGroup
	ends := make([]queue.Ended, 8)
	for i := range ends {
		c := beginAt(t, newHome(t), server.URL, server.Dir)
		wg.Go(func() {
			who := event.Principal(fmt.Sprintf("principal:local/studio/w%d", i))
			cmd := event.Command{Key: event.Key(fmt.Sprintf("claim%d", i)), Node: "fix-login", Author: who, At: time.Now(), Body: event.Claimed{Assignee: who, ReturnTo: ada}}
			ends[i] = end(t, c, cmd)
		})
	}
	wg.Wait()
	refresh(t, first)
	checkClaims(t, ends, standing(t, first, "fix-login").Holder)
}

// checkClaims compares what claimers were told with who holds the node. They are
// w0 and so on.
func checkClaims(t testing.TB, ends []queue.Ended, holder event.Principal) {
	t.Helper()
	won := 0
	for i, e := range ends {
		switch e := e.(type) {
		case queue.Appended:
			won++
			if holder.Subject() != fmt.Sprintf("w%d", i) {
				t.Errorf("w%d was told that it holds the node, which %s does", i, holder)
			}
		case queue.Refused:
			if e.Problem.Step != history.StepClaimHeld || !strings.Contains(e.Problem.Reason, holder.Subject()) {
				t.Errorf("w%d was told: %s: %s", i, e.Problem.Step, e.Problem.Reason)
			}
		case queue.AlreadyPresent, queue.Queued, queue.Unknown:
			t.Errorf("w%d ended as %#v", i, e)
		}
	}
	if won != 1 {
		t.Errorf("%d were told that they hold the node, want 1", won)
	}
}

func TestALogIsSealedAndReadAcross(t *testing.T) {
	t.Parallel()
	repo := remotetest.Path(t)
	writer, follower := begin(t, newHome(t), repo.Dir), begin(t, newHome(t), repo.Dir)
	add := func(from, to int) {
		var list []event.Command
		for i := from; i < to; i++ {
			list = append(list, command(fmt.Sprintf("k%d", i), event.Node(fmt.Sprintf("n%d", i)), opened("A node")))
		}
		closed, err := writer.AppendAll(t.Context(), list)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range closed.Result {
			if _, ok := o.Ended.(queue.Appended); !ok {
				t.Fatalf("%#v", o.Ended)
			}
		}
	}
	at := 0
	for _, to := range []int{256, 257, 520} {
		add(at, to)
		at = to
		if _, ok := refresh(t, follower).(Trusted); !ok {
			t.Fatalf("at %d events the follower does not trust the log", at)
		}
		fresh := begin(t, newHome(t), repo.Dir)
		for who, c := range map[string]*Carrier{"writer": writer, "follower": follower, "newcomer": fresh} {
			if got := len(keys(t, c)); got != at {
				t.Errorf("at %d events the %s has %d", at, who, got)
			}
		}
		if n := len(strings.Split(repo.Git("ls-tree", "-r", "--name-only", branch, "tail/"), "\n")); n > maxTail {
			t.Errorf("at %d events the tail has %d files", at, n)
		}
	}
	if got, want := repo.Git("ls-tree", "-r", "--name-only", branch, "segments/"), segmentPath(1); !strings.HasPrefix(got, want) {
		t.Errorf("the segments are %s", got)
	}
}

// case R17
func TestAnIndexThatIsNoUseIsMadeAnew(t *testing.T) {
	t.Parallel()
	other := begin(t, newHome(t), "")
	appended(t, other, command("x", "elsewhere", opened("Elsewhere")))
	for name, spoil := range map[string]func(t *testing.T, h Home){
		"corrupt": func(t *testing.T, h Home) { overwrite(t, h, []byte(strings.Repeat("no index at all ", 4096))) },
		"torn":    func(t *testing.T, h Home) { overwrite(t, h, readIndex(t, h)[:5000]) },
		"empty":   func(t *testing.T, h Home) { overwrite(t, h, nil) },
		"older":   func(t *testing.T, h Home) { alter(t, h, `PRAGMA user_version = 99`) },
		"another": func(t *testing.T, h Home) { other.Close(); overwrite(t, h, readIndex(t, other.home)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := remotetest.Path(t)
			h := newHome(t)
			c := begin(t, h, repo.Dir)
			appended(t, c, command("k1", "fix-login", opened("Mend it")))
			c.Close()
			spoil(t, h)
			again, err := Open(t.Context(), h)
			if err != nil {
				t.Fatal(err)
			}
			defer again.Close()
			appended(t, begin(t, newHome(t), repo.Dir), command("k2", "paint", opened("Paint it")))
			if got, ok := refresh(t, again).(Trusted); !ok {
				t.Fatalf("%#v", got)
			}
			if got := keys(t, again); len(got) != 2 {
				t.Errorf("the log has %v", got)
			}
			if s := standing(t, again, "fix-login"); s.Card.Title != "Mend it" {
				t.Errorf("the node is %+v", s)
			}
		})
	}
}

// A rewrite is noticed even where the index is lost: the ref remembers.
func TestARewriteIsNoticedWithoutTheIndex(t *testing.T) {
	t.Parallel()
	repo := remotetest.Path(t)
	h := newHome(t)
	c := begin(t, h, repo.Dir)
	appended(t, c, command("k1", "fix-login", opened("Mend it")))
	c.Close()
	overwrite(t, h, nil)
	repo.Rewrite(branch)
	again, err := Open(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if got, ok := refresh(t, again).(Rewritten); !ok {
		t.Errorf("read as %#v, want it rewritten", got)
	}
}

func TestAKeyThatStandsForAnotherCommandIsRefused(t *testing.T) {
	t.Parallel()
	c := begin(t, newHome(t), "")
	appended(t, c, command("k", "fix-login", opened("Mend it")))
	if p := refused(t, c, command("k", "fix-login", opened("Burn it"))); p.Step != "operation-conflict" {
		t.Errorf("refused at %s", p.Step)
	}
	var no *problem.Error
	_, err := c.Append(t.Context(), command("no key!", "fix-login", opened("Mend it")))
	if !errors.As(err, &no) || no.Step != event.StepOperationInvalid {
		t.Errorf("%v", err)
	}
}

func TestAnAppendOnWhatIsNoLongerTheHeadIsAConflict(t *testing.T) {
	t.Parallel()
	url := remotetest.Path(t).Dir
	a, b := begin(t, newHome(t), url), begin(t, newHome(t), url)
	first := appended(t, a, command("k1", "fix-login", opened("Mend it")))
	refresh(t, b)
	appended(t, a, command("k2", "fix-login", event.Claimed{Assignee: ada, ReturnTo: ada}))
	late := command("k3", "fix-login", event.Edited{Card: event.Card{Title: "Mend it well"}})
	late.Expect = []event.ID{first.ID}
	if p := refused(t, b, late); p.Step != history.StepRevision {
		t.Errorf("refused at %s: %s", p.Step, p.Reason)
	}
}

// Red when what waits is published only beside a command of one's own.
func TestWhatWaitsIsPublishedByItself(t *testing.T) {
	t.Parallel()
	repo := remotetest.Path(t)
	c := begin(t, newHome(t), repo.Dir)
	appended(t, c, command("k1", "paint", opened("Paint it")))
	if err := os.Rename(repo.Dir, repo.Dir+".away"); err != nil {
		t.Fatal(err)
	}
	closed, err := c.Append(t.Context(), command("k2", "paint", event.Progress{Note: "green"}), command("k3", "paint", event.CommentCreated{Comment: "c1", Body: "Green?"}))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := closed.Result[0].Ended.(queue.Queued); !ok {
		t.Fatalf("without its remote it ended as %#v", closed.Result[0].Ended)
	}
	if err := os.Rename(repo.Dir+".away", repo.Dir); err != nil {
		t.Fatal(err)
	}
	published, err := c.Publish(t.Context())
	if err != nil || published.Result != 2 {
		t.Errorf("%d were published, %v", published.Result, err)
	}
	if got := keys(t, c); !slices.Contains(got, "k3") {
		t.Errorf("the log has %v", got)
	}
	if waiting, _, err := c.Queue().Entries(); err != nil || len(waiting) != 0 {
		t.Errorf("%d wait still, %v", len(waiting), err)
	}
}

// Red when a remote that never answered is kept for good.
func TestAMisspeltRemoteCanBeNamedAgain(t *testing.T) {
	t.Parallel()
	home := newHome(t)
	if _, err := Init(t.Context(), home, home.Plan+"/misspelt"); problem.From(err, "").Step != "fetch" {
		t.Fatalf("a remote that is not there ended as %v", err)
	}
	c := begin(t, home, remotetest.Path(t).Dir)
	appended(t, c, command("k1", "paint", opened("Paint it")))
	if _, err := Init(t.Context(), home, remotetest.Path(t).Dir); problem.From(err, "").Step != "remote" {
		t.Errorf("another remote, once a log was read, ended as %v", err)
	}
}
