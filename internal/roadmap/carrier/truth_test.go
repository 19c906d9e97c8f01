package carrier

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"holdfast/internal/durable"
	"holdfast/internal/problem"
	"holdfast/internal/remotetest"
	"holdfast/internal/roadmap/event"
	"holdfast/internal/roadmap/history"
	"holdfast/internal/roadmap/queue"
)

// openWith is another carrier of the home, whose writes into its folder fail as
// faults say.
func openWith(t testing.TB, h Home, faults durable.Faults) *Carrier {
	t.Helper()
	plan, err := durable.OpenDir(h.Plan)
	if err != nil {
		t.Fatal(err)
	}
	plan.Faults = faults
	c, err := open(t.Context(), h, plan)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// away hides the remote at a path, and gives what brings it back.
func away(t testing.TB, repo *remotetest.Repository) func() {
	t.Helper()
	rename(t, repo.Dir, repo.Dir+".away")
	return func() { rename(t, repo.Dir+".away", repo.Dir) }
}

func rename(t testing.TB, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// queued is a carrier with a comment in its queue, and what brings its remote back.
func queued(t testing.TB, key string) (*Carrier, event.Command, func()) {
	t.Helper()
	repo := remotetest.Path(t)
	c := begin(t, newHome(t), repo.Dir)
	appended(t, c, command("open", "fix-login", opened("Mend it")))
	back := away(t, repo)
	cmd := command(key, "fix-login", event.CommentCreated{Comment: "c1", Body: "Hello"})
	if e, ok := end(t, c, cmd).(queue.Queued); !ok {
		t.Fatalf("without a remote it ended as %#v", e)
	}
	return c, cmd, back
}

func wantKeys(t testing.TB, c *Carrier, want ...event.Key) {
	t.Helper()
	refresh(t, c)
	got := keys(t, c)
	if len(got) != len(want) {
		t.Fatalf("the log has %v, want %v", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("the log has %v, want %v", got, want)
		}
	}
}

// Red when: an outcome that was not the last word answers who asks again.
func TestAQueuedCommandThatIsRepeatedIsTriedAgain(t *testing.T) {
	t.Parallel()
	c, cmd, back := queued(t, "k")
	back()
	appended(t, c, cmd)
	wantKeys(t, c, "open", "k")
}

// Red when: Publish publishes for an entry of nobody.
func TestPublishPublishesWhatWaits(t *testing.T) {
	t.Parallel()
	c, _, back := queued(t, "k")
	if n, err := c.Publish(t.Context()); n.Result != 1 || err != nil {
		t.Errorf("without a remote: %+v, %v", n, err)
	}
	back()
	if n, err := c.Publish(t.Context()); n.Result != 1 || err != nil {
		t.Errorf("%+v, %v", n, err)
	}
	if n, err := c.Publish(t.Context()); n.Result != 0 || err != nil {
		t.Errorf("with nothing to publish: %+v, %v", n, err)
	}
	wantKeys(t, c, "open", "k")
}

// Red when: an outcome of another ticket is taken for one's own: who appended is
// told what became of another command under the key.
func TestAnAnswerToAnotherCommandUnderTheKeyIsNotOurs(t *testing.T) {
	t.Parallel()
	c := begin(t, newHome(t), "")
	mine := command("k", "fix-login", opened("Mend it"))
	entry, err := c.queue.Put(mine)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Publish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p := refused(t, c, command("k", "fix-login", opened("Burn it"))); p.Step != "operation-conflict" {
		t.Fatal(p)
	}
	if got, ok := c.see(t.Context(), entry).Result.Ended.(queue.AlreadyPresent); !ok {
		t.Errorf("whose command is in the log was told %#v", got)
	}
	wantKeys(t, c, "k")
}

// The same while the other command waits in the queue. Red when: plan makes two
// events of one key, or settle takes both for one.
func TestTwoCommandsUnderOneKeyAreDecidedOneAfterTheOther(t *testing.T) {
	t.Parallel()
	c := begin(t, newHome(t), "")
	mine := command("k", "fix-login", opened("Mend it"))
	entry, err := c.queue.Put(mine)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.queue.Remove(entry); err != nil { // as one that was answered and overwritten
		t.Fatal(err)
	}
	other, err := c.queue.Put(command("k", "paint", opened("Paint it")))
	if err != nil {
		t.Fatal(err)
	}
	no, ok := c.see(t.Context(), entry).Result.Ended.(queue.Refused)
	if !ok || no.Problem.Step != "operation-conflict" {
		t.Errorf("the second was told %#v", no)
	}
	if o, ok := c.queue.Answer(other); !ok {
		t.Errorf("the first was told %#v", o)
	}
	wantKeys(t, c, "k")
}

// Red when: Withdraw leaves no answer.
func TestWhoWaitsForAWithdrawnCommandIsToldThatItWas(t *testing.T) {
	t.Parallel()
	c, cmd, back := queued(t, "k")
	entry, err := c.queue.Put(cmd) // joins
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Withdraw(t.Context(), "k"); err != nil {
		t.Fatal(err)
	}
	back()
	if no, ok := c.see(t.Context(), entry).Result.Ended.(queue.Refused); !ok || no.Problem.Step != "withdrawn" {
		t.Errorf("it was told %#v", no)
	}
	wantKeys(t, c, "open")
}

// case R11. Red when: settleMine leaves the entry in the queue: it is appended
// later, although it was refused.
func TestARefusalThatCannotBePutDownIsOneAllTheSame(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	c := begin(t, h, "")
	appended(t, c, command("open", "fix-login", opened("Mend it")))
	appended(t, c, command("claim", "fix-login", event.Claimed{Assignee: ada, ReturnTo: ada}))
	writes := 0
	full := openWith(t, h, func(m durable.Moment) error {
		if m == (durable.Moment{Step: durable.StepWrite}) {
			if writes++; writes > 1 { // the entry has room, its outcome has not
				return errors.New("no room")
			}
		}
		return nil
	})
	late := command("k", "fix-login", event.Claimed{Assignee: bob, ReturnTo: bob})
	late.Author = bob
	refused(t, full, late)
	// The node is free before anybody looks into the queue.
	if _, err := c.AppendAll(t.Context(), []event.Command{command("free", "fix-login", event.Released{})}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Publish(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantKeys(t, c, "open", "claim", "free")
	writes = 0
	appended(t, full, command("note", "fix-login", event.CommentCreated{Comment: "c1", Body: "Hello"}))
	if _, ok := end(t, c, command("note", "fix-login", event.CommentCreated{Comment: "c1", Body: "Hello"})).(queue.AlreadyPresent); !ok {
		t.Error("what was appended on a full disk is not found again")
	}
}

// Red when: Append gives up at the second command, and says of the first, which is
// in the queue, that it was not appended.
func TestOfSeveralCommandsEachIsToldItsOwn(t *testing.T) {
	t.Parallel()
	c := begin(t, newHome(t), "")
	if _, err := c.queue.Put(command("taken", "paint", opened("Paint it"))); err != nil {
		t.Fatal(err)
	}
	closed, err := c.Append(t.Context(), command("z", "fix-login", opened("Mend it")), command("taken", "x", opened("x")),
		command("a", "fix-login", event.Claimed{Assignee: ada, ReturnTo: ada}))
	if err != nil {
		t.Fatal(err)
	}
	_, first := closed.Result[0].Ended.(queue.Appended)
	no, second := closed.Result[1].Ended.(queue.Refused)
	_, third := closed.Result[2].Ended.(queue.Appended)
	if !first || !second || no.Problem.Step != "operation-conflict" || !third {
		t.Errorf("%#v", closed.Result)
	}
	wantKeys(t, c, "taken", "z", "a")
}

// Red when: AppendAll says "queued" of what is in no queue.
func TestWhatIsAppendedWithoutTheQueueIsNeverCalledQueued(t *testing.T) {
	t.Parallel()
	repo := remotetest.Path(t)
	c := begin(t, newHome(t), repo.Dir)
	back := away(t, repo)
	closed, err := c.AppendAll(t.Context(), []event.Command{command("k", "fix-login", opened("Mend it"))})
	if err != nil {
		t.Fatal(err)
	}
	if no, ok := closed.Result[0].Ended.(queue.Refused); !ok || no.Problem.Step != "unreachable" {
		t.Errorf("it ended as %#v", closed.Result[0].Ended)
	}
	back()
	if _, err := c.Publish(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantKeys(t, c)
}

// A claim whose caller was killed before it was published is not made days later.
// Red when: plan does not look whether an entry is abandoned.
func TestAClaimThatWasLeftBehindIsNotMadeLater(t *testing.T) {
	t.Parallel()
	c := begin(t, newHome(t), "")
	appended(t, c, command("open", "fix-login", opened("Mend it")))
	claim := command("claim", "fix-login", event.Claimed{Assignee: ada, ReturnTo: ada})
	entry, err := c.queue.Put(claim)
	if err != nil {
		t.Fatal(err)
	}
	entry.At = entry.At.Add(-3 * patience)
	if p := c.pendingEntry(entry); !p.abandoned {
		t.Error("it is not abandoned")
	}
	var got queue.Outcome
	p := c.pendingEntry(entry)
	p.settle = func(o queue.Outcome) { got = o }
	c.publish(t.Context(), []pending{p})
	if no, ok := got.Ended.(queue.Refused); !ok || no.Problem.Step != "abandoned" {
		t.Errorf("it ended as %#v", got.Ended)
	}
	// Whoever asks for it again is there, and gets it.
	appended(t, c, claim)
	wantKeys(t, c, "open", "claim")
}

// Red when: follow does not look whether the index is another one by now.
func TestACarrierFollowsAnIndexThatAnotherMadeAnew(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	one := begin(t, h, "")
	other, err := Open(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(other.Close)
	appended(t, one, command("k1", "fix-login", opened("Mend it")))
	if read := one.Rebuild(t.Context(), "for a test"); read.Result.Err != nil {
		t.Fatal(read.Result.Err)
	}
	appended(t, one, command("k2", "paint", opened("Paint it")))
	if got := keys(t, other); len(got) != 2 {
		t.Errorf("the other has %v of the index that it opened", got)
	}
	appended(t, other, command("k3", "roof", opened("A roof")))
	wantKeys(t, one, "k1", "k2", "k3")
}

// Red when: renewIndex leaves the carrier with a closed index after a failure.
func TestACarrierOutlivesAnIndexThatCouldNotBeMade(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	c := begin(t, h, "")
	appended(t, c, command("k1", "fix-login", opened("Mend it")))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.renewIndex(ended, "for a test"); err == nil {
		t.Fatal("an index was made in no time")
	}
	wantKeys(t, c, "k1")
}

// case R17: damage that is noticed only while the difference is read.
func TestAnIndexThatIsDamagedInTheMiddleIsMadeAnew(t *testing.T) {
	t.Parallel()
	repo := remotetest.Path(t)
	h := newHome(t)
	c := begin(t, h, repo.Dir)
	appended(t, c, command("k1", "fix-login", opened("Mend it")))
	alter(t, h, `UPDATE event SET bytes = 'x'`)
	appended(t, begin(t, newHome(t), repo.Dir), command("k2", "paint", opened("Paint it")))
	wantKeys(t, c, "k1", "k2")
	alter(t, h, `UPDATE event SET bytes = 'x'`)
	appended(t, c, command("k3", "roof", opened("A roof")))
	wantKeys(t, c, "k1", "k2", "k3")
}

// An outcome that says when it came is of the time at which the caller could know. It is
// not run beside others: a process that one of them is starting has all locks for an
// instant, which who has no time cannot wait for, and is then told that nobody knows.
func TestACallerWhoGivesUpIsToldWhatIsTrue(t *testing.T) {
	c := begin(t, newHome(t), "")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	closed, err := c.Append(ended, command("k", "fix-login", opened("Mend it")), command("c", "fix-login", event.Claimed{Assignee: ada, ReturnTo: ada}))
	if err != nil {
		t.Fatal(err)
	}
	if e, ok := closed.Result[0].Ended.(queue.Queued); !ok {
		t.Errorf("what may wait ended as %#v", e)
	}
	if e, ok := closed.Result[1].Ended.(queue.Refused); !ok {
		t.Errorf("what may not wait ended as %#v", e)
	}
	if _, err := c.Publish(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantKeys(t, c, "k")
}

// Red when: forsake goes on although the old log could not be kept aside.
func TestARewriteIsNotAcceptedWithoutKeepingTheOldLog(t *testing.T) {
	t.Parallel()
	repo := remotetest.Path(t)
	h := newHome(t)
	c := begin(t, h, repo.Dir)
	a := appended(t, c, command("k", "fix-login", opened("Mend it")))
	is := repo.Rewrite(branch)
	ref := filepath.Join(h.repository(), "refs", "holdfast", "rewritten-"+a.Commit+".lock")
	if err := os.WriteFile(ref, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.AcceptRewrite(t.Context(), is); problem.From(err, "").Step != "carrier" {
		t.Errorf("it was accepted: %v", err)
	}
	if err := os.Remove(ref); err != nil {
		t.Fatal(err)
	}
	if _, err := c.AcceptRewrite(t.Context(), is); err != nil {
		t.Fatal(err)
	}
	wantKeys(t, c, "k")
}

// Red when: plan refuses for what it has only drafted: here for a claim that never
// came to be.
func TestNobodyIsRefusedForWhatIsNotInTheLog(t *testing.T) {
	t.Parallel()
	proxy := remotetest.NewProxy(t, remotetest.HTTP(t))
	c := beginAt(t, newHome(t), proxy.URL, proxy.Dir)
	appended(t, c, command("open", "fix-login", opened("Mend it")))
	proxy.Plan(func(r remotetest.Request) remotetest.Act {
		if r.Kind == remotetest.Push || r.Kind == remotetest.PushRefs {
			return remotetest.Drop{}
		}
		return remotetest.Pass{}
	})
	closed, err := c.Append(t.Context(), command("one", "fix-login", event.Claimed{Assignee: ada, ReturnTo: ada}),
		command("other", "fix-login", event.Claimed{Assignee: bob, ReturnTo: bob}), command("open2", "roof", opened("A roof")),
		command("link", "fix-login", event.Linked{Relation: event.BlockedBy, To: "roof"}))
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range closed.Result {
		if no, ok := o.Ended.(queue.Refused); ok && (no.Problem.Step == history.StepClaimHeld || no.Problem.Step == history.StepLink) {
			t.Errorf("command %d was refused at %s, and nothing of that is in the log: %s", i, no.Problem.Step, no.Problem.Reason)
		}
	}
}

// Something on the way sends the push twice, and only the answer to the second
// comes back, which is that it came too late; then the remote is away. Red when: a
// refusal because the branch has moved is taken for the word that we are not in it.
func TestAPushThatWasSentTwiceIsNotSaidToBeRefused(t *testing.T) {
	t.Parallel()
	proxy := remotetest.NewProxy(t, remotetest.HTTP(t))
	c := beginAt(t, newHome(t), proxy.URL, proxy.Dir)
	appended(t, c, command("open", "fix-login", opened("Mend it")))
	first := proxy.Count(remotetest.Push)
	proxy.Plan(func(r remotetest.Request) remotetest.Act {
		switch {
		case r.Kind == remotetest.Push && r.Number == first+1:
			return remotetest.Twice{Second: true}
		case r.Kind == remotetest.FetchRefs:
			return remotetest.Drop{}
		default:
			return remotetest.Pass{}
		}
	})
	claim := command("claim", "fix-login", event.Claimed{Assignee: ada, ReturnTo: ada})
	if got := end(t, c, claim); !isUnknown(got) {
		t.Errorf("a claim that is in the log ended as %#v", got)
	}
	proxy.Plan(func(remotetest.Request) remotetest.Act { return remotetest.Pass{} })
	if got := tell("claim", end(t, c, claim)); got.Outcome != "already_present" && got.Outcome != "appended" {
		t.Errorf("asked again, it ended as %+v", got)
	}
	wantKeys(t, c, "open", "claim")
}

func isUnknown(e queue.Ended) bool { _, ok := e.(queue.Unknown); return ok }

// Red when: publish settles others' commands when its own time is up.
func TestOthersAreNotAnsweredBecauseOurTimeIsUp(t *testing.T) {
	t.Parallel()
	c := begin(t, newHome(t), "")
	appended(t, c, command("open", "fix-login", opened("Mend it")))
	theirs := command("claim", "fix-login", event.Claimed{Assignee: bob, ReturnTo: bob})
	entry, err := c.queue.Put(theirs)
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	closed, err := c.Append(ended, command("note", "fix-login", event.CommentCreated{Comment: "c1", Body: "Hello"}))
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := closed.Result[0].Ended.(queue.Queued); !ok {
		t.Errorf("whose time is up was told %#v", got)
	}
	if o, ok := c.queue.Answer(entry); ok {
		t.Errorf("whose time is not was told %#v", o)
	}
	if got, ok := c.see(t.Context(), entry).Result.Ended.(queue.Appended); !ok {
		t.Errorf("and then %#v", got)
	}
	wantKeys(t, c, "open", "claim", "note")
}

// A git that was killed leaves a lock on the ref that it wrote. Red when: refs.write
// does not take it away: nothing can be appended, or read, in this home any more.
func TestALockThatAKilledGitLeftStopsNobody(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{"embedded": "", "path": remotetest.Path(t).Dir} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			c := begin(t, h, url)
			appended(t, c, command("k1", "fix-login", opened("Mend it")))
			left := []string{
				filepath.Join(h.repository(), "refs/holdfast/verified.lock"), filepath.Join(h.repository(), "refs/holdfast/fetched.lock"),
				filepath.Join(h.repository(), "refs/holdfast/written.lock"),
			}
			if url == "" {
				left = append(left, filepath.Join(h.Embedded, "refs/holdfast/written.lock"), filepath.Join(h.Embedded, "refs/heads", branch+".lock"))
			} else {
				appended(t, begin(t, newHome(t), url), command("k2", "paint", opened("Paint it")))
			}
			for _, path := range left {
				if err := os.WriteFile(path, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			appended(t, c, command("k3", "roof", opened("A roof")))
			refresh(t, c)
			if got := keys(t, c); got[len(got)-1] != "k3" {
				t.Errorf("the log has %v", got)
			}
			if now, _, err := c.repo.Resolve(t.Context(), own(refVerified)); err != nil || now.IsZero() {
				t.Error(now, err)
			}
		})
	}
}
