package mcp

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/problem"
	"holdfast/internal/roadmap"
	"holdfast/internal/roadmap/event"
)

// Red when: only lets through what another outcome has, or what is blank; outcome leaves
// a member out, or offers verification_failed.
func TestAResultHasTheMembersOfItsOutcomeAndNoOther(t *testing.T) {
	text, blank, picks := "x", " \n", []string{"walls/p1"}
	for name, c := range map[string]struct {
		in   returning
		want event.Outcome // nil: it is refused
		step string
	}{
		"published":                 {returning{Outcome: "published", Head: &text, Booth: &text}, event.Published{Head: "x", Booth: "x"}, ""},
		"published, and no more":    {returning{Outcome: "published"}, event.Published{}, ""},
		"waiting":                   {returning{Outcome: "waiting", Picks: &picks}, event.Waiting{Picks: picks}, ""},
		"handed back":               {returning{Outcome: "handed_back", Reason: &text}, event.GivenBack{Reason: "x"}, ""},
		"published with a reason":   {returning{Outcome: "published", Reason: &text}, nil, "reason"},
		"published, reason of none": {returning{Outcome: "published", Reason: new(string)}, nil, "reason"},
		"published with picks":      {returning{Outcome: "published", Picks: new([]string)}, nil, "picks"},
		"published, head blank":     {returning{Outcome: "published", Head: &blank}, nil, "head"},
		"published, booth empty":    {returning{Outcome: "published", Booth: new(string)}, nil, "booth"},
		"waiting with a head":       {returning{Outcome: "waiting", Picks: &picks, Head: &text}, nil, "head"},
		"waiting with a booth":      {returning{Outcome: "waiting", Picks: &picks, Booth: &text}, nil, "booth"},
		"waiting with a reason":     {returning{Outcome: "waiting", Picks: &picks, Reason: &text}, nil, "reason"},
		"waiting for nothing":       {returning{Outcome: "waiting"}, nil, "picks"},
		"handed back with a head":   {returning{Outcome: "handed_back", Reason: &text, Head: &text}, nil, "head"},
		"handed back with picks":    {returning{Outcome: "handed_back", Reason: &text, Picks: &picks}, nil, "picks"},
		"handed back for nothing":   {returning{Outcome: "handed_back"}, nil, "reason"},
		"handed back, blank":        {returning{Outcome: "handed_back", Reason: &blank}, nil, "reason"},
		"verification failed":       {returning{Outcome: "verification_failed", Reason: &text}, nil, "outcome"},
		"no outcome":                {returning{}, nil, "outcome"},
	} {
		got, err := c.in.outcome()
		if c.want == nil {
			if why := problem.From(err, ""); err == nil || why.Kind != problem.Usage || why.Step != c.step {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
			continue
		}
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v, %v", name, diff, err)
		}
	}
}

// heard is a plan that remembers which attempt a result was returned for.
type heard struct {
	unsure
	of *event.Attempt
}

func (h heard) Return(_ context.Context, _ event.Node, of event.Attempt, _ event.Outcome, _ roadmap.Act) (roadmap.Appended, error) {
	*h.of = of
	return roadmap.Appended{}, nil
}

// Red when: result takes the attempt around it whatever was named, or names none.
func TestAResultIsOfTheAttemptAroundItWhereNoneIsNamed(t *testing.T) {
	named, empty := "2389976a833c9706", ""
	for want, in := range map[event.Attempt]*string{"1aa5ae382255c618": nil, "2389976a833c9706": &named, "": &empty} {
		of := event.Attempt("none")
		c := Config{Plan: func(context.Context) (Plan, Who, func(), error) {
			return heard{of: &of}, Who{Attempt: "1aa5ae382255c618"}, func() {}, nil
		}}
		if _, err := c.result(t.Context(), returning{Node: "walls", Attempt: in, Outcome: "published"}); err != nil || of != want {
			t.Errorf("want %q: %q, %v", want, of, err)
		}
	}
}
