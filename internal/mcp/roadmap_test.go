package mcp

import (
	"context"
	"testing"

	"holdfast/internal/roadmap"
	"holdfast/internal/roadmap/event"
)

// unsure is a plan that cannot tell what became of a claim.
type unsure struct{ outcome roadmap.Appended }

func (unsure) List(context.Context, roadmap.Freshness, roadmap.Filter) (roadmap.List, error) {
	return roadmap.List{}, nil
}

func (unsure) Show(context.Context, roadmap.Freshness, event.Node) (roadmap.Node, error) {
	return roadmap.Node{Body: "Mend it"}, nil
}

func (u unsure) Append(context.Context, event.Node, event.Body, roadmap.Act) (roadmap.Appended, error) {
	return u.outcome, nil
}

func (u unsure) Claim(context.Context, event.Node, event.Principal, roadmap.Act) (roadmap.Claimed, error) {
	return roadmap.Claimed{Appended: u.outcome}, nil
}

func (u unsure) Return(context.Context, event.Node, event.Attempt, event.Outcome, roadmap.Act) (roadmap.Appended, error) {
	return u.outcome, nil
}

// Red when: claim gives the work whatever became of the claim.
func TestAClaimOfWhichNothingIsKnownGivesNoWork(t *testing.T) {
	for outcome, id := range map[string]event.ID{"unknown": "", "appended": "e1"} {
		p := unsure{roadmap.Appended{Node: "fix-login", Outcome: outcome, ID: id}}
		c := Config{Plan: func(context.Context) (Plan, Who, func(), error) { return p, Who{}, func() {}, nil }}
		got, err := c.claim(t.Context(), claiming{Node: "fix-login"})
		if err != nil || (got.Work != nil) != (id != "") {
			t.Errorf("%s: %+v, %v", outcome, got, err)
		}
	}
}
