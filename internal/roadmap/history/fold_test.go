package history

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"holdfast/internal/roadmap/event"
)

// effects is where a node stands after a statement of cy's, whether or not it
// would be admitted, as STANDING:HOLDER>RETURN-TO, and = where nothing of this
// changes. Columns are starts, rows are says.
const effects = `
                open                claimed             progress            blocked             blocked-free        waiting             handed              review              accepted      dropped
edited          =                   =                   =                   =                   =                   =                   =                   =                   =             =
linked          =                   =                   =                   =                   =                   =                   =                   =                   =             =
unlinked        =                   =                   =                   =                   =                   =                   =                   =                   =             =
claimed         claimed:cy>bo       claimed:cy>bo       claimed:cy>bo       claimed:cy>bo       claimed:cy>bo       claimed:cy>bo       claimed:cy>bo       claimed:cy>bo       claimed:cy>bo claimed:cy>bo
released        open:>              open:>              open:>              open:>              open:>              open:>              open:>              open:>              open:>        open:>
progress        in_progress:>       in_progress:bo>ada  in_progress:bo>ada  in_progress:bo>ada  in_progress:>       in_progress:bo>ada  in_progress:>ada    in_progress:ada>ada in_progress:> in_progress:>
blocked         blocked:>           blocked:bo>ada      blocked:bo>ada      blocked:bo>ada      blocked:>           blocked:bo>ada      blocked:>ada        blocked:ada>ada     blocked:>     blocked:>
handed_back     handed_back:>       handed_back:>ada    handed_back:>ada    handed_back:>ada    handed_back:>       handed_back:>ada    handed_back:>ada    handed_back:>ada    handed_back:> handed_back:>
receipt         =                   =                   =                   =                   =                   =                   =                   =                   =             =
comment_created =                   =                   =                   =                   =                   =                   =                   =                   =             =
comment_edited  =                   =                   =                   =                   =                   =                   =                   =                   =             =
comment_deleted =                   =                   =                   =                   =                   =                   =                   =                   =             =
published       =                   review:ada>ada      review:ada>ada      review:ada>ada      =                   review:ada>ada      review:ada>ada      review:ada>ada      =             =
waiting         =                   blocked:bo>ada      blocked:bo>ada      blocked:bo>ada      =                   blocked:bo>ada      blocked:>ada        blocked:ada>ada     =             =
failed          =                   =                   =                   =                   =                   =                   =                   =                   =             =
given_back      =                   =                   =                   =                   =                   =                   =                   =                   =             =
accepted        accepted:>          accepted:>          accepted:>          accepted:>          accepted:>          accepted:>          accepted:>          accepted:>          accepted:>    accepted:>
dropped         dropped:>           dropped:>           dropped:>           dropped:>           dropped:>           dropped:>           dropped:>           dropped:>           dropped:>     dropped:>
reopened        open:>              open:>              open:>              open:>              open:>              open:>              open:>              open:>              open:>        open:>
`

// stands is a state as the table writes it.
func stands(s State) string {
	subject := func(p event.Principal) string {
		if p == "" {
			return ""
		}
		return p.Subject()
	}
	return strings.TrimPrefix(Key(s.Standing), "ready_for_") + ":" + subject(s.Holder) + ">" + subject(s.ReturnTo)
}

// TestEachStatementHasItsEffect is the other half of the package comment's table.
// Red when any case of apply is taken out, or sets or clears a holder otherwise.
func TestEachStatementHasItsEffect(t *testing.T) {
	cells := grid(t, effects)
	for cell, want := range cells {
		l := start(t, cell[1])
		before := l.state()
		if want == "=" {
			want = stands(before)
		}
		d := l.statement(t, cell[0])
		l.say(d.Body)
		after := l.state()
		if stands(after) != want {
			t.Errorf("%s after %s: %s, want %s", cell[0], cell[1], stands(after), want)
		}
		if stands(before) == stands(after) && stands(before) == want && d.Body.Kind() != event.KindEdited {
			if diff := cmp.Diff(before.Card, after.Card); diff != "" {
				t.Errorf("%s after %s changes the card:\n%s", cell[0], cell[1], diff)
			}
		}
		if after.Head != l.lastID() || after.Updated.By != cy || after.Events != before.Events+1 {
			t.Errorf("%s after %s: head %s by %s, %d events", cell[0], cell[1], after.Head.Short(), after.Updated.By, after.Events)
		}
	}
	if want := (len(says) - 2) * (len(starts) - 3); len(cells) != want {
		t.Errorf("%d cells, want %d: all but opened and reconciled, on all that is ordered", len(cells), want)
	}
}

// TestStandingsSayWhoAndWhy: what each standing carries, in full.
func TestStandingsSayWhoAndWhy(t *testing.T) {
	for name, want := range map[string]Standing{
		"open":         Open{},
		"claimed":      Claimed{By: bo, Since: minutes(3)},
		"progress":     InProgress{By: ada, Note: "n"},
		"blocked":      Blocked{By: ada, Reason: "r"},
		"waiting":      Blocked{By: ada, Picks: []string{"b/q"}},
		"handed":       HandedBack{By: ada, Reason: "r"},
		"accepted":     Accepted{By: ada, Reason: "r"},
		"dropped":      Dropped{By: ada, Reason: "r"},
		"none":         nil,
		"blocked-free": Blocked{By: ada, Reason: "r"},
	} {
		if d := cmp.Diff(want, start(t, name).state().Standing); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	l := start(t, "review")
	want := ReadyForReview{By: ada, Result: Result{Event: l.lastID(), Attempt: firstTry, Claim: l.lastClaim(), Booth: "b"}}
	if d := cmp.Diff(Standing(want), l.state().Standing); d != "" {
		t.Error(d)
	}
	f := start(t, "forked")
	if d := cmp.Diff(Standing(f.unordered().Why), f.state().Standing); d != "" {
		t.Error(d)
	}
}

// case R15. A claim, a release and another claim
// while the first attempt runs; its result goes to the first claim, and the second
// can still return its own. Red when result takes the newest claim, or the holder
// that is.
func TestAResultGoesToItsOwnClaim(t *testing.T) {
	l := newLog(t)
	l.open()
	first := l.say(event.Claimed{Assignee: bo, ReturnTo: bo})
	l.say(event.Released{})
	second := l.say(event.Claimed{Assignee: cy, ReturnTo: ada})
	late := event.ResultReturned{Attempt: firstTry, Claim: first.ID(), Outcome: event.Published{Booth: "first"}}
	if err := Admit(Order(l.events), l.draft(late)); err != nil {
		t.Fatal(err)
	}
	l.say(late)
	s := l.state()
	if stands(s) != "review:bo>bo" || s.Claim != first.ID() || !s.Claims[0].Spent || s.Claims[1].Spent {
		t.Errorf("%s under %s, %+v", stands(s), s.Claim.Short(), s.Claims)
	}
	own := event.ResultReturned{Attempt: secondTry, Claim: second.ID(), Outcome: event.Published{Booth: "second"}}
	if err := Admit(Order(l.events), l.draft(own)); err != nil {
		t.Fatal(err)
	}
	l.say(own)
	if s := l.state(); stands(s) != "review:ada>ada" || s.Claim != second.ID() || !s.Claims[1].Spent {
		t.Errorf("%s under %s, %+v", stands(s), s.Claim.Short(), s.Claims)
	}
}

// TestClaimsAreSpentByAllButWaiting. Red when waiting spends, or an outcome that
// failed does not.
func TestClaimsAreSpentByAllButWaiting(t *testing.T) {
	for _, c := range []struct {
		outcome event.Outcome
		spent   bool
	}{
		{event.Published{}, true},
		{event.Waiting{Picks: []string{"b/q"}}, false},
		{event.VerificationFailed{Cause: "red"}, true},
		{event.GivenBack{Reason: "no"}, true},
	} {
		l := start(t, "claimed")
		l.returned(firstTry, c.outcome)
		l.returned(firstTry, event.Published{Booth: "again"}) // has no effect
		l.say(event.ResultReturned{Attempt: secondTry, Claim: l.events[0].ID(), Outcome: event.Published{}})
		want := []Claim{{Event: l.lastClaim(), Assignee: bo, ReturnTo: ada, At: minutes(3), Attempts: []event.Attempt{firstTry}, Spent: c.spent}}
		if d := cmp.Diff(want, l.state().Claims); d != "" {
			t.Errorf("%T (-want +got):\n%s", c.outcome, d)
		}
	}
}

// TestALateResultOpensNothing: the node was accepted or dropped meanwhile. The
// result is recorded and spends its claim. Red when result does not ask.
func TestALateResultOpensNothing(t *testing.T) {
	for _, name := range []string{"accepted", "dropped"} {
		l := start(t, name)
		was := l.state()
		l.returned(firstTry, event.Published{Booth: "late"})
		s := l.state()
		if d := cmp.Diff(was.Standing, s.Standing); d != "" || s.Holder != "" || !s.Claims[0].Spent {
			t.Errorf("%s: %s %+v\n%s", name, stands(s), s.Claims, d)
		}
		if r := Details(l.ordered()).Results; len(r) != 1 || !r[0].Effective {
			t.Errorf("%s: results %+v", name, r)
		}
	}
}

func TestLinksAreASet(t *testing.T) {
	l := newLog(t)
	l.open()
	for _, link := range []event.Linked{{Relation: event.Related, To: "b"}, {Relation: event.BlockedBy, To: "z"}, {Relation: event.BlockedBy, To: "a"}, {Relation: event.Related, To: "b"}} {
		l.say(link)
	}
	l.say(event.Unlinked{Relation: event.ChildOf, To: "a"})
	l.say(event.Unlinked{Relation: event.BlockedBy, To: "z"})
	want := []Link{{event.BlockedBy, "a"}, {event.Related, "b"}}
	if d := cmp.Diff(want, l.state().Links); d != "" {
		t.Error(d)
	}
}

// TestOnlyTheKeptLineFolds: a claim set aside holds nothing, and takes no result.
// Red when Fold walks the events aside, too.
func TestOnlyTheKeptLineFolds(t *testing.T) {
	l := newLog(t)
	first := l.open()
	kept := l.after(event.Edited{Card: event.Card{Title: "kept", Run: "coder"}}, first)
	lost := l.after(event.Claimed{Assignee: bo, ReturnTo: ada}, first)
	l.after(event.Reconciled{Keep: kept.ID()}, lost, kept)
	s := l.state()
	if stands(s) != "open:>" || s.Claims != nil || s.Card.Title != "kept" || s.Card.Run != "coder" || s.Events != 4 {
		t.Errorf("%+v", s)
	}
	err := Admit(Order(l.events), l.draft(event.ResultReturned{Attempt: firstTry, Claim: lost.ID(), Outcome: event.Published{}}))
	if stepOf(err) != StepResultClaim {
		t.Errorf("a claim that was set aside: %v", err)
	}
}

// TestAnUnorderedHistoryKeepsItsFirstTitle, where there is one first.
func TestAnUnorderedHistoryKeepsItsFirstTitle(t *testing.T) {
	forked, incomplete := start(t, "forked").state(), start(t, "incomplete").state()
	if forked.Card.Title != "Mend the sign-in page" || forked.Opened.By != ada || forked.Events != 5 || forked.Head != "" {
		t.Errorf("%+v", forked)
	}
	if incomplete.Card.Title != "" || incomplete.Events != 2 || incomplete.Node != node {
		t.Errorf("%+v", incomplete)
	}
}

// TestExtendingIsFolding: a state that grew event by event is the one that was
// folded at once, and the one before is as it was. Red when Extend shares a list
// with the state that it began from, or apply counts otherwise than Fold.
func TestExtendingIsFolding(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		events := drawLine(rt).told(t, minutes)
		var s State
		for i, e := range events {
			before, err := s.Encode()
			if err != nil {
				rt.Fatal(err)
			}
			next, ok := s.Extend(e)
			if !ok {
				rt.Fatalf("event %d does not follow", i)
			}
			if d := cmp.Diff(StateOf(node, events[:i+1]), next); d != "" {
				rt.Fatalf("after %d events (-folded +extended):\n%s", i+1, d)
			}
			if after, err := s.Encode(); err != nil || string(after) != string(before) {
				rt.Fatalf("event %d changed the state before it: %v\n%s\n%s", i, err, before, after)
			}
			s = next
		}
	})
}

// TestTwoStatesFromOneShareNothing: an index extends what it read, and others still
// look at that. Red when Extend or result appends to the list that it was given, or
// a link is taken out of it.
func TestTwoStatesFromOneShareNothing(t *testing.T) {
	l := start(t, "claimed")
	for _, to := range []event.Node{"a", "b", "c"} {
		l.say(event.Linked{Relation: event.Related, To: to})
	}
	for _, a := range []event.Attempt{"000000000000000a", "000000000000000b", "000000000000000c"} {
		l.returned(a, event.Waiting{Picks: []string{"b/q"}})
	}
	var s State
	for _, e := range l.events { // grown, so that the lists have room for more
		s, _ = s.Extend(e)
	}
	base, head := l.events, l.events[len(l.events)-1]
	var grown []State
	var want []State
	for _, body := range []event.Body{
		event.ResultReturned{Attempt: firstTry, Claim: l.lastClaim(), Outcome: event.Published{}},
		event.ResultReturned{Attempt: secondTry, Claim: l.lastClaim(), Outcome: event.Published{}},
		event.Linked{Relation: event.ChildOf, To: "x"},
		event.Linked{Relation: event.ChildOf, To: "y"},
		event.Unlinked{Relation: event.Related, To: "a"},
		event.Claimed{Assignee: bo, ReturnTo: bo},
		event.Claimed{Assignee: cy, ReturnTo: cy},
	} {
		e := l.after(body, head)
		next, ok := s.Extend(e)
		if !ok {
			t.Fatalf("%#v does not follow", body)
		}
		grown, want = append(grown, next), append(want, StateOf(node, append(base[:len(base):len(base)], e)))
	}
	if d := cmp.Diff(append(want, StateOf(node, base)), append(grown, s)); d != "" {
		t.Errorf("(-folded +extended):\n%s", d)
	}
}

// TestExtendNeverGuesses: over any history and one event more, Extend is right or
// declines. Red when follows takes a reconciliation, or an event after another
// than the head.
func TestExtendNeverGuesses(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		events := drawEvents(rt, t)
		if len(events) == 0 {
			return
		}
		last := events[len(events)-1]
		s := StateOf(node, events[:len(events)-1])
		next, ok := s.Extend(last)
		want := s
		if ok {
			want = StateOf(node, events)
		}
		if d := cmp.Diff(want, next); d != "" {
			rt.Fatalf("extended %v (-want +got):\n%s", ok, d)
		}
		if !ok && len(last.Parents()) == 1 && last.Parents()[0] == s.Head {
			rt.Fatal("declined what follows the head")
		}
	})
}

// TestAnEventOfAnotherNodeExtendsNothing.
func TestAnEventOfAnotherNodeExtendsNothing(t *testing.T) {
	l := start(t, "open")
	other, err := event.Draft{Node: "store", Author: ada, At: noon, Parents: []event.ID{l.lastID()}, Body: event.Released{}}.Seal()
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := l.state().Extend(other); ok {
		t.Error("extended by an event of another node")
	}
	if _, ok := (State{Node: "web"}).Extend(l.events[0]); ok {
		t.Error("an empty state took the first event of another node")
	}
}

// TestAStateIsReadAsItWasKept, whatever the history.
func TestAStateIsReadAsItWasKept(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := StateOf(node, drawEvents(rt, t))
		data, err := s.Encode()
		if err != nil {
			rt.Fatal(err)
		}
		again, err := DecodeState(data)
		if d := cmp.Diff(s, again); err != nil || d != "" {
			rt.Fatalf("%v\n%s", err, d)
		}
	})
	for _, from := range starts {
		s := start(t, from.name).state()
		data, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := DecodeState(data)
		if d := cmp.Diff(s, again); err != nil || d != "" {
			t.Errorf("%s: %v\n%s", from.name, err, d)
		}
		for _, bad := range []string{"", string(data) + "x", strings.Replace(string(data), `"node"`, `"more":1,"node"`, 1), strings.Replace(string(data), `"kind":"`, `"kind":"x`, 1)} {
			if _, err := DecodeState([]byte(bad)); err == nil && bad != string(data) {
				t.Errorf("%s: read %s", from.name, bad)
			}
		}
	}
}

// TestKeysAreNames of all standings, and no two are alike.
func TestKeysAreNames(t *testing.T) {
	for key, s := range map[string]Standing{
		"open": Open{}, "claimed": Claimed{}, "in_progress": InProgress{}, "blocked": Blocked{}, "handed_back": HandedBack{},
		"ready_for_review": ReadyForReview{}, "accepted": Accepted{}, "dropped": Dropped{}, "forked": Forked{},
		"history_incomplete": Incomplete{}, "": nil,
	} {
		if Key(s) != key || Phrase(s) == "" {
			t.Errorf("%T: %q %q", s, Key(s), Phrase(s))
		}
	}
}

// case R16, one node of 5,000 events.
func BenchmarkStateOf(b *testing.B) {
	l := newLog(b)
	l.open()
	for i := 1; i < 5000; i++ {
		l.say(event.Progress{Note: time.Duration(i).String()})
	}
	for b.Loop() {
		StateOf(node, l.events)
	}
}

func BenchmarkExtendAndEncode(b *testing.B) {
	l := start(b, "claimed")
	s := l.state()
	e := l.say(event.Progress{Note: "n"})
	for b.Loop() {
		next, ok := s.Extend(e)
		if _, err := next.Encode(); err != nil || !ok {
			b.Fatal(err)
		}
	}
}
