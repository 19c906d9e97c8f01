package roadmap

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/internal/problem"
	"holdfast/internal/remotetest"
	"holdfast/internal/roadmap/attempt"
	"holdfast/internal/roadmap/event"
	"holdfast/internal/roadmap/git"
)

const (
	agent = event.Principal("principal:agent/studio/ada")
	bob   = event.Principal("principal:agent/studio/bob")
	dan   = event.Principal("principal:local/studio/dan")

	branch = "roadmap-events"
)

var published = event.Published{Booth: "walls-1"}

// site is a plan at a remote, with a node called walls.
type site struct {
	*Plan
	folder string
	remote *remotetest.Repository
	t      *testing.T
	opened Appended
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, remote: remotetest.Path(t)}
	s.folder, s.Plan = newPlanAt(t, s.remote.Dir, git.Limits{})
	s.opened = s.open("walls")
	return s
}

func (s *site) open(n event.Node) Appended {
	s.t.Helper()
	a, err := s.Open(s.t.Context(), n, Opening{Card: event.Card{Title: "The " + string(n)}}, Act{Author: ada})
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

// claim claims walls, and wants an attempt to be begun.
func (s *site) claim(by event.Principal, key event.Key) Claimed {
	s.t.Helper()
	c, err := s.Claim(s.t.Context(), "walls", ada, Act{Author: by, Key: key})
	if err != nil || c.Attempt == "" || c.NoAttempt != "" {
		s.t.Fatalf("%+v, %v", c, err)
	}
	return c
}

func (s *site) say(b event.Body) {
	s.t.Helper()
	if _, err := s.Append(s.t.Context(), "walls", b, Act{Author: ada}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) show() Node {
	s.t.Helper()
	n, err := s.Show(s.t.Context(), Now, "walls")
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

// at is where what binds an attempt lies.
func (s *site) at(a event.Attempt) string {
	return filepath.Join(s.folder, "attempts", string(a), "request-binding.json")
}

// put puts an event into the log that no Holdfast would append there, by git alone; its
// bytes are its envelope's, changed.
func (s *site) put(change func(string) string, d event.Draft) {
	s.t.Helper()
	d.Author, d.At = dan, time.Unix(1e9, 0)
	e, err := d.Seal()
	if err != nil {
		s.t.Fatal(err)
	}
	seq := int64(len(strings.Fields(s.remote.Git("ls-tree", "-r", "--name-only", branch, "tail/"))) + 1)
	env := event.Envelope{Seq: seq, Key: event.Key(fmt.Sprintf("planted-%d", seq)), Event: e}
	s.remote.Commit(branch, remotetest.Put(fmt.Sprintf("tail/%010d-%s.json", seq, e.ID().Short()), change(string(env.Bytes()))))
}

func asIs(s string) string { return s }

// unappended wants a refusal of a step, and the log and the queue to be as they were.
func (s *site) unappended(step string, do func() error) {
	s.t.Helper()
	before := s.remote.Tip(branch)
	err := do()
	if why := problem.From(err, ""); err == nil || why.Kind != problem.Refused || why.Step != step {
		s.t.Errorf("it ended as %v, and should be refused at %s", err, step)
	}
	if after := s.remote.Tip(branch); after != before {
		s.t.Errorf("refused at %s, something was appended", step)
	}
	if q, err := s.Queue(); err != nil || len(q.Waiting) != 0 {
		s.t.Errorf("refused at %s, it waits: %+v, %v", step, q, err)
	}
}

// case R15. Red when: Return takes the newest claim of the node, or the fold gives a
// published node to whom the newest claim names.
func TestAResultGoesToTheClaimThatItsAttemptWasBegunUnder(t *testing.T) {
	s := newSite(t)
	first := s.claim(agent, "")
	s.say(event.Released{})
	second, err := s.Claim(t.Context(), "walls", dan, Act{Author: bob})
	if err != nil || second.Attempt == first.Attempt {
		t.Fatalf("%+v, %v", second, err)
	}
	a, err := s.Return(t.Context(), "walls", first.Attempt, published, Act{Author: agent})
	if err != nil || a.Outcome != "appended" {
		t.Fatalf("%+v, %v", a, err)
	}
	n := s.show()
	if n.Standing.Kind != "ready_for_review" || n.Standing.Result.Claim != first.ID || n.Standing.Result.Attempt != first.Attempt || n.Holder != ada || n.ReturnTo != ada {
		t.Errorf("%+v", n.Row)
	}
	if _, err := s.Return(t.Context(), "walls", second.Attempt, event.GivenBack{Reason: "it is done"}, Act{Author: bob}); err != nil {
		t.Fatal(err)
	}
	if n = s.show(); n.Holder != ada || !n.Claims[0].Spent || n.Claims[1].Attempts[0] != second.Attempt {
		t.Errorf("%+v %+v", n.Row, n.Claims)
	}
}

// Ready for review, the node is held by whom the claim named, and nobody can take it.
// Red when: Return leaves the outcome out.
func TestWhatIsPublishedCannotBeClaimedFromItsReviewer(t *testing.T) {
	s := newSite(t)
	c := s.claim(agent, "")
	if _, err := s.Return(t.Context(), "walls", c.Attempt, published, Act{Author: agent}); err != nil {
		t.Fatal(err)
	}
	s.unappended("claim-held", func() error {
		_, err := s.Claim(t.Context(), "walls", dan, Act{Author: bob})
		return err
	})
	if n := s.show(); n.Standing.Kind != "ready_for_review" || n.Standing.Result.Booth != "walls-1" || n.Holder != ada {
		t.Errorf("%+v", n.Row)
	}
}

// result is what is returned, by whom.
type result struct {
	node event.Node
	of   event.Attempt
	by   event.Principal
}

// Each step at which a result is refused, and nothing is appended then. Red when: Return
// leaves out the step named, or ofResult is left out (history).
func TestEachRefusalOfAResultHasItsStepAndAppendsNothing(t *testing.T) {
	s := newSite(t)
	c := s.claim(agent, "")
	try := attempt.First
	cases := map[string]struct {
		step    string
		prepare func(r *result)
	}{
		"no attempt":       {"result-attempt", func(r *result) { r.of = "" }},
		"a blank one":      {"result-attempt", func(r *result) { r.of = " " }},
		"no name of one":   {"result-attempt", func(r *result) { r.of = "../attempts/" + r.of }},
		"one of nothing":   {"result-attempt", func(r *result) { r.of = attempt.Key(c.ID, 1000) }},
		"an empty binding": {"result-binding", func(r *result) { s.spoil(r.of, "") }},
		"a torn binding":   {"result-binding", func(r *result) { s.spoil(r.of, `{"claim":"`) }},
		"a binding that is elsewhere": {"result-binding", func(r *result) {
			from := r.of
			r.of = attempt.Key(c.ID, 1001)
			if err := os.Rename(filepath.Dir(s.at(from)), filepath.Dir(s.at(r.of))); err != nil {
				t.Fatal(err)
			}
		}},
		"another node":         {"result-elsewhere", func(r *result) { r.node = s.open("roof").Node }},
		"a node of nothing":    {"result-elsewhere", func(r *result) { r.node = "nowhere" }},
		"another's":            {"result-elsewhere", func(r *result) { r.by = bob }},
		"the operator's own":   {"result-elsewhere", func(r *result) { r.by = ada }},
		"a claim of nothing":   {"result-claim", func(r *result) { r.of = s.begin("walls", event.ID(strings.Repeat("ab", 32)), 1) }},
		"a claim that is none": {"result-claim", func(r *result) { r.of = s.begin("walls", s.opened.ID, 1) }},
		"one that has returned": {"result-duplicate", func(r *result) {
			if _, err := s.Return(t.Context(), "walls", r.of, event.Waiting{Picks: []string{"walls/p1"}}, Act{Author: agent}); err != nil {
				t.Fatal(err)
			}
		}},
		"a fork": {"result-history", func(r *result) {
			opened := s.open("fork")
			for _, word := range []string{"one", "other"} {
				s.put(asIs, event.Draft{Node: "fork", Parents: []event.ID{opened.ID}, Body: event.CommentCreated{Comment: "beside", Body: word}})
			}
			r.node, r.of = "fork", s.begin("fork", opened.ID, 1)
		}},
		"an event that is missing": {"result-history", func(r *result) {
			s.put(asIs, event.Draft{Node: "gap", Parents: []event.ID{event.ID(strings.Repeat("ab", 32))}, Body: event.CommentCreated{Comment: "later", Body: "later"}})
			r.node, r.of = "gap", s.begin("gap", c.ID, 2000)
		}},
		"an event that cannot be read": {"result-history", func(r *result) {
			opened := s.open("broken")
			s.put(func(whole string) string { return strings.Replace(whole, `"body":"beside`, `"body":"inside`, 1) },
				event.Draft{Node: "broken", Parents: []event.ID{opened.ID}, Body: event.CommentCreated{Comment: "beside", Body: "beside it"}})
			r.node, r.of = "broken", s.begin("broken", opened.ID, 1)
		}},
		"the remote is away": {"unreachable", func(*result) {}},
	}
	for name, k := range cases {
		try++
		r := result{"walls", s.begin("walls", c.ID, try), agent}
		k.prepare(&r)
		t.Run(name, func(t *testing.T) {
			s.t = t
			s.unappended(k.step, func() error {
				if k.step == "unreachable" {
					defer s.away()()
				}
				_, err := s.Return(t.Context(), r.node, r.of, published, Act{Author: r.by})
				return err
			})
		})
		s.t = t
	}
}

// away takes the remote away, until what it gives is called.
func (s *site) away() (back func()) {
	s.t.Helper()
	move := func(from, to string) {
		if err := os.Rename(from, to); err != nil {
			s.t.Fatal(err)
		}
	}
	to := s.remote.Dir + ".away"
	move(s.remote.Dir, to)
	return func() { move(to, s.remote.Dir) }
}

// spoil makes the binding of an attempt other bytes.
func (s *site) spoil(a event.Attempt, bytes string) {
	s.t.Helper()
	if err := os.WriteFile(s.at(a), []byte(bytes), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// begin begins an attempt of the agent's, whatever the claim is.
func (s *site) begin(n event.Node, claim event.ID, try int) event.Attempt {
	s.t.Helper()
	a, err := attempt.At(s.Plan.folder).Begin(attempt.Binding{Node: n, Claim: claim, Try: try, Holder: agent})
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

// Red when: Return looks for the attempt's result before it asks for the key.
func TestAResultReturnedAgainUnderItsKeyIsThere(t *testing.T) {
	s := newSite(t)
	c := s.claim(agent, "")
	first, err := s.Return(t.Context(), "walls", c.Attempt, published, Act{Author: agent, Key: "k"})
	if err != nil || first.Outcome != "appended" {
		t.Fatalf("%+v, %v", first, err)
	}
	s.say(event.Accepted{})
	again, err := s.Return(t.Context(), "walls", c.Attempt, published, Act{Author: agent, Key: "k"})
	if err != nil || again.Outcome != "already_present" || again.ID != first.ID {
		t.Errorf("%+v, %v", again, err)
	}
	s.unappended("operation-conflict", func() error {
		_, err := s.Return(t.Context(), "walls", c.Attempt, event.GivenBack{Reason: "no"}, Act{Author: agent, Key: "k"})
		return err
	})
}

// Red when: Append takes any body, or AppendAll a result on top of whatever is there.
func TestNobodyAppendsAResultButReturn(t *testing.T) {
	s := newSite(t)
	c := s.claim(agent, "")
	body := event.ResultReturned{Attempt: c.Attempt, Claim: c.ID, Outcome: published}
	s.unappended("result-binding", func() error {
		_, err := s.Append(t.Context(), "walls", body, Act{Author: agent})
		return err
	})
	s.unappended("result-binding", func() error {
		_, _, err := s.AppendAll(t.Context(), []event.Command{Act{Author: agent}.command("walls", body)})
		return err
	})
}

// Killed between the claim and its attempt, a claim asked for again begins it, and it is
// one attempt however often. Red when: Claim begins only what was appended this time.
func TestAClaimAskedForAgainBeginsItsAttempt(t *testing.T) {
	s := newSite(t)
	killed, err := s.Append(t.Context(), "walls", event.Claimed{Assignee: agent, ReturnTo: ada}, Act{Author: agent, Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		c := s.claim(agent, "k")
		if c.Outcome != "already_present" || c.ID != killed.ID || c.Attempt != attempt.Key(killed.ID, 1) {
			t.Errorf("%+v", c)
		}
	}
	if _, err := s.Return(t.Context(), "walls", attempt.Key(killed.ID, 1), published, Act{Author: agent}); err != nil {
		t.Error(err)
	}
}

// Red when: Claim makes an error of an attempt that was not begun, or leaves out what to
// do about it.
func TestAClaimWhoseAttemptWasNotBegunStandsAndSaysSo(t *testing.T) {
	s := newSite(t)
	attempts := filepath.Join(s.folder, "attempts")
	if err := os.WriteFile(attempts, nil, 0o600); err != nil { // no folder, so no attempt
		t.Fatal(err)
	}
	for _, outcome := range []string{"appended", "already_present"} {
		c, err := s.Claim(t.Context(), "walls", ada, Act{Author: agent, Key: "the-key"})
		if err != nil || c.Outcome != outcome || c.ID == "" || c.Attempt != "" {
			t.Fatalf("%+v, %v", c, err)
		}
		if !strings.Contains(c.NoAttempt, "The claim stands") || !strings.Contains(c.NoAttempt, "not begun") || !strings.Contains(c.NoAttempt, "the key the-key") {
			t.Error(c.NoAttempt)
		}
	}
	if n := s.show(); n.Holder != agent {
		t.Errorf("%+v", n.Row)
	}
	if err := os.Remove(attempts); err != nil {
		t.Fatal(err)
	}
	s.claim(agent, "the-key")
}

// Red when: Claim begins an attempt under an event that has no id, and says that the claim
// stands, or says nothing of it.
func TestAClaimOfWhichNothingIsKnownBeginsNoAttempt(t *testing.T) {
	proxy := remotetest.NewProxy(t, remotetest.HTTP(t))
	folder, p := newPlanAt(t, proxy.URL, git.Limits{})
	if _, err := p.Open(t.Context(), "walls", Opening{Card: event.Card{Title: "The walls"}}, Act{Author: ada}); err != nil {
		t.Fatal(err)
	}
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
	act := Act{Author: agent, Key: "the-key"}
	c, err := p.Claim(t.Context(), "walls", ada, act)
	if err != nil || c.Outcome != "unknown" || c.Attempt != "" || !strings.Contains(c.NoAttempt, "not known whether the claim stands") || !strings.Contains(c.NoAttempt, "the key the-key") {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := os.Lstat(filepath.Join(folder, "attempts")); err == nil {
		t.Error("an attempt was begun")
	}
	proxy.Plan(func(remotetest.Request) remotetest.Act { return remotetest.Pass{} })
	if c, err = p.Claim(t.Context(), "walls", ada, act); err != nil || c.Attempt == "" {
		t.Errorf("asked again: %+v, %v", c, err)
	}
}

// The answer is one document: the claim's members, and the attempt's beside them.
func TestAClaimsAnswerSaysItsAttemptBesideTheRest(t *testing.T) {
	data, err := json.Marshal(Claimed{Appended: Appended{ID: "e1", Outcome: "appended"}, Attempt: "2389976a833c9706"})
	if err != nil || !strings.Contains(string(data), `"outcome":"appended"`) || !strings.Contains(string(data), `"attempt":"2389976a833c9706"`) || strings.Contains(string(data), "no_attempt") {
		t.Errorf("%s, %v", data, err)
	}
}
