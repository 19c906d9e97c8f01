package roadmap

import (
	"testing"

	"holdfast/internal/problem"
	"holdfast/internal/roadmap/event"
)

// Red when: Edit makes its card of the node's alone.
func TestAnEditAskedForAgainIsTheSameWhateverCameAfterIt(t *testing.T) {
	t.Parallel()
	p := newPlan(t)
	if _, err := p.Open(t.Context(), "base", Opening{Card: event.Card{Title: "The base"}}, Act{Author: ada}); err != nil {
		t.Fatal(err)
	}
	title, body := "The ground", "Dig."
	first, err := p.Edit(t.Context(), "base", CardChange{Title: &title}, Act{Author: ada, Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Edit(t.Context(), "base", CardChange{Body: &body}, Act{Author: ada}); err != nil {
		t.Fatal(err)
	}
	again, err := p.Edit(t.Context(), "base", CardChange{Title: &title}, Act{Author: ada, Key: "k"})
	if err != nil || again.Outcome != "already_present" || again.ID != first.ID {
		t.Errorf("%+v, %v, after %+v", again, err, first)
	}
	if _, err := p.Edit(t.Context(), "base", CardChange{Title: &body}, Act{Author: ada, Key: "k"}); problem.From(err, "").Step != "operation-conflict" {
		t.Errorf("another edit under its key ended as %v", err)
	}
}

// Red when: Open does not ask for the blockers first: the node is ready then.
func TestANodeThatCannotBeBlockedIsNotOpened(t *testing.T) {
	t.Parallel()
	p := newPlan(t)
	for _, blocker := range []event.Node{"nowhere", "roof"} {
		_, err := p.Open(t.Context(), "roof", Opening{Card: event.Card{Title: "The roof"}, BlockedBy: []event.Node{blocker}}, Act{Author: ada})
		if why := problem.From(err, ""); why.Kind != problem.Refused || why.Step != "link" {
			t.Errorf("blocked by %s it ended as %v", blocker, err)
		}
		if l, err := p.List(t.Context(), Now, Filter{}); err != nil || len(l.Nodes) != 0 {
			t.Errorf("%+v, %v", l.Nodes, err)
		}
	}
}
