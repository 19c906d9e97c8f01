package history

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"holdfast/internal/problem"
	"holdfast/internal/roadmap/event"
)

// admission is which statement may follow where: the step at which it is refused,
// and a dot where it may. Columns are starts, rows are says.
const admission = `
                open         claimed      progress     blocked      blocked-free waiting      handed       review       accepted     dropped      forked            incomplete        none
opened          node-exists  node-exists  node-exists  node-exists  node-exists  node-exists  node-exists  node-exists  node-exists  node-exists  history-unordered history-unordered .
edited          .            .            .            .            .            .            .            .            .            .            history-unordered history-unordered node
linked          .            .            .            .            .            .            .            .            .            .            history-unordered history-unordered node
unlinked        .            .            .            .            .            .            .            .            .            .            history-unordered history-unordered node
claimed         .            claim-held   claim-held   claim-held   standing     claim-held   .            claim-held   standing     standing     history-unordered history-unordered node
released        standing     .            .            .            .            .            .            .            standing     standing     history-unordered history-unordered node
progress        standing     .            .            .            standing     .            standing     .            standing     standing     history-unordered history-unordered node
blocked         .            .            .            .            .            .            .            .            standing     standing     history-unordered history-unordered node
handed_back     standing     .            .            .            standing     .            standing     .            standing     standing     history-unordered history-unordered node
receipt         .            .            .            .            .            .            .            .            .            .            history-unordered history-unordered node
comment_created .            .            .            .            .            .            .            .            .            .            history-unordered history-unordered node
comment_edited  .            .            .            .            .            .            .            .            .            .            history-unordered history-unordered node
comment_deleted .            .            .            .            .            .            .            .            .            .            history-unordered history-unordered node
published       result-claim .            .            .            result-claim .            .            .            .            .            history-unordered history-unordered node
waiting         result-claim .            .            .            result-claim .            .            .            .            .            history-unordered history-unordered node
failed          result-claim .            .            .            result-claim .            .            .            .            .            history-unordered history-unordered node
given_back      result-claim .            .            .            result-claim .            .            .            .            .            history-unordered history-unordered node
accepted        .            .            .            .            .            .            .            .            standing     standing     history-unordered history-unordered node
dropped         .            .            .            .            .            .            .            .            standing     standing     history-unordered history-unordered node
reopened        standing     standing     standing     .            .            .            .            .            .            .            history-unordered history-unordered node
reconciled      reconcile    reconcile    reconcile    reconcile    reconcile    reconcile    reconcile    reconcile    reconcile    reconcile    .                 history-unordered node
`

// grid reads a table of words: row, column, word.
func grid(t *testing.T, table string) map[[2]string]string {
	t.Helper()
	rows := strings.Split(strings.Trim(table, "\n"), "\n")
	columns := strings.Fields(rows[0])
	cells := map[[2]string]string{}
	for _, row := range rows[1:] {
		words := strings.Fields(row)
		if len(words) != len(columns)+1 {
			t.Fatalf("%q has %d words for %d columns", words[0], len(words), len(columns))
		}
		for i, c := range columns {
			cells[[2]string{words[0], c}] = words[i+1]
		}
	}
	return cells
}

func stepOf(err error) string {
	var e *problem.Error
	if errors.As(err, &e) {
		return e.Step
	}
	return "."
}

// TestEachStatementHasItsPlace is the table of the package comment, one cell at a
// time, and the other form of Admit beside it. Red when any case of refuse,
// refuseBody or mayMove is taken out or moved before another.
func TestEachStatementHasItsPlace(t *testing.T) {
	want := grid(t, admission)
	for _, from := range starts {
		for _, say := range says {
			l := start(t, from.name)
			d := l.statement(t, say.name)
			err := Admit(Order(l.events), d)
			if got := stepOf(err); got != want[[2]string{say.name, from.name}] {
				t.Errorf("%s after %s: %q, want %q (%v)", say.name, from.name, got, want[[2]string{say.name, from.name}], err)
			}
			if err != nil {
				sayable(t, err)
			}
			known := func(c event.Comment) CommentStanding {
				if c == "c1" {
					return CommentShown
				}
				return CommentUnknown
			}
			if other := l.state().Admit(d, known); stepOf(other) != stepOf(err) {
				t.Errorf("%s after %s: the state says %v, the history %v", say.name, from.name, other, err)
			}
		}
	}
	if cells := len(starts) * len(says); cells != len(want) {
		t.Errorf("%d cells, %d in the table", cells, len(want))
	}
}

// TestEveryKindIsSaidSomewhere: a kind more needs a row.
func TestEveryKindIsSaidSomewhere(t *testing.T) {
	said := map[event.Kind]bool{}
	for _, s := range says {
		said[s.body(newLog(t)).Kind()] = true
	}
	for _, k := range event.Kinds() {
		if !said[k] {
			t.Errorf("no statement of kind %s", k)
		}
	}
}

// sayable fails the test unless the refusal is one that a person can use.
func sayable(t rapid.TB, err error) {
	t.Helper()
	var e *problem.Error
	if !errors.As(err, &e) {
		t.Fatalf("no problem: %v", err)
	}
	want := problem.Refused
	if e.Step == StepNode {
		want = problem.Gone
	}
	if e.Kind != want || !strings.Contains(e.Reason, "Nothing was") || !strings.Contains(e.Reason, string(node)) {
		t.Errorf("%s %s: %q", e.Kind, e.Step, e.Reason)
	}
}

// TestWhatTheTableCannotShow: refusals that depend on more than the standing.
func TestWhatTheTableCannotShow(t *testing.T) {
	claimed := start(t, "claimed")
	claim := claimed.lastClaim()
	claimed.say(event.CommentDeleted{Comment: "c1"})
	claimed.say(event.CommentCreated{Comment: "c2", Body: "b"})
	claimed.returned(firstTry, event.VerificationFailed{Cause: "red"})
	forked := start(t, "forked")
	heads := forked.unordered().Why.(Forked).Heads
	head := []event.ID{claimed.lastID()}

	for name, c := range map[string]struct {
		log     *log
		parents []event.ID
		body    event.Body
		step    string
		words   string
	}{
		"not the head":                  {claimed, []event.ID{claim}, event.Edited{Card: event.Card{Title: "t"}}, "revision-conflict", "has changed"},
		"no parent":                     {claimed, nil, event.Released{}, "revision-conflict", "has changed"},
		"more than the head":            {claimed, []event.ID{head[0], claim}, event.Released{}, "revision-conflict", "has changed"},
		"a held node, who and when":     {claimed, head, event.Claimed{Assignee: cy, ReturnTo: cy}, "claim-held", "bo holds fix-login since 2026-11-30 12:03 UTC"},
		"a held node, by oneself":       {claimed, head, event.Claimed{Assignee: bo, ReturnTo: cy}, "claim-held", "already holds"},
		"a link to itself":              {claimed, head, event.Linked{Relation: event.Related, To: node}, "link", "itself"},
		"a link twice":                  {claimed, head, event.Linked{Relation: event.BlockedBy, To: "store"}, "link", "already"},
		"a link that is not":            {claimed, head, event.Unlinked{Relation: event.ChildOf, To: "store"}, "link", "no link child_of store"},
		"a comment's name twice":        {claimed, head, event.CommentCreated{Comment: "c2", Body: "b"}, "comment", "already"},
		"a deleted comment's name":      {claimed, head, event.CommentCreated{Comment: "c1", Body: "b"}, "comment", "already"},
		"an answer to nothing":          {claimed, head, event.CommentCreated{Comment: "c9", Body: "b", Parent: "c8"}, "comment", "no comment c8"},
		"an answer to a deleted one":    {claimed, head, event.CommentCreated{Comment: "c9", Body: "b", Parent: "c1"}, "comment", "deleted"},
		"an edit of a deleted one":      {claimed, head, event.CommentEdited{Comment: "c1", Body: "b"}, "comment", "deleted"},
		"an edit of nothing":            {claimed, head, event.CommentEdited{Comment: "c8", Body: "b"}, "comment", "no comment"},
		"a second deletion":             {claimed, head, event.CommentDeleted{Comment: "c1"}, "comment", "deleted"},
		"a deletion of nothing":         {claimed, head, event.CommentDeleted{Comment: "c8"}, "comment", "no comment"},
		"an attempt twice":              {claimed, head, event.ResultReturned{Attempt: firstTry, Claim: claim, Outcome: event.Published{}}, "result-duplicate", "has returned"},
		"an attempt twice, other claim": {claimed, head, event.ResultReturned{Attempt: firstTry, Claim: head[0], Outcome: event.Published{}}, "result-duplicate", "has returned"},
		"a claim that is an event":      {claimed, head, event.ResultReturned{Attempt: secondTry, Claim: head[0], Outcome: event.Published{}}, "result-claim", "no claim"},
		"a spent claim":                 {claimed, head, event.ResultReturned{Attempt: secondTry, Claim: claim, Outcome: event.Published{}}, ".", ""},
		"some of the heads":             {forked, []event.ID{heads[0], forked.events[0].ID()}, event.Reconciled{Keep: heads[0]}, "revision-conflict", "heads"},
		"one head":                      {forked, heads[:1], event.Reconciled{Keep: heads[0]}, "revision-conflict", "heads"},
		"more than the heads":           {forked, []event.ID{heads[0], heads[1], forked.events[0].ID()}, event.Reconciled{Keep: heads[0]}, "revision-conflict", "heads"},
		"the heads, the other way":      {forked, []event.ID{heads[1], heads[0]}, event.Reconciled{Keep: heads[0]}, ".", ""},
	} {
		err := Admit(Order(c.log.events), event.Draft{Node: node, Author: cy, Parents: c.parents, At: noon, Body: c.body})
		if stepOf(err) != c.step || err != nil && !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v; want %s: %s", name, err, c.step, c.words)
		}
		if err != nil {
			sayable(t, err)
		}
	}
	if err := Admit(nil, event.Draft{Node: node, Body: event.Released{}}); stepOf(err) != problem.StepInternal {
		t.Errorf("a history that was not ordered: %v", err)
	}
}

// TestWhatIsAdmittedKeepsTheOrder: over any history, what is admitted and appended
// leaves one that is ordered, and what is refused is refused in words. An
// unordered history takes nothing but what mends it, and folds nothing. Red when
// refuseForked takes any parents, or an unordered state keeps a holder.
func TestWhatIsAdmittedKeepsTheOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := &log{t: t, events: drawEvents(rt, t)}
		d := l.statement(t, rapid.SampledFrom(says).Draw(rt, "statement").name)
		o := Order(l.events)
		err := Admit(o, d)
		u, unordered := o.(Unordered)
		if unordered {
			s := l.state()
			if s.Holder != "" || s.ReturnTo != "" || s.Claims != nil || s.Links != nil || s.Head != "" || s.Standing == nil {
				rt.Fatalf("an unordered history has %+v", s)
			}
		}
		if err != nil {
			sayable(rt, err)
			return
		}
		_, forked := u.Why.(Forked)
		if unordered && (!forked || d.Body.Kind() != event.KindReconciled) {
			rt.Fatalf("an unordered history took %s", d.Body.Kind())
		}
		e, err := d.Seal()
		if err != nil {
			rt.Fatalf("admitted, and no event: %v", err)
		}
		after := StateOf(node, append(l.events, e))
		if after.Head != e.ID() {
			rt.Fatalf("admitted %s, and the head is %q, standing %v", d.Body.Kind(), after.Head, after.Standing)
		}
	})
}
