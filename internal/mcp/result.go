package mcp

import (
	"context"
	"slices"
	"strings"

	"holdfast/internal/problem"
	"holdfast/internal/roadmap"
	"holdfast/internal/roadmap/event"
)

// returning is a result as an agent says it. The members of an outcome are pointers: one
// that was given is told from one that was not, whatever it says.
type returning struct {
	Node    string    `json:"node" jsonschema:"the name of the unit of work"`
	Attempt *string   `json:"attempt,omitempty" jsonschema:"your attempt, as roadmap_claim named it; left out: the one that you run in"`
	Outcome string    `json:"outcome" jsonschema:"published, waiting or handed_back"`
	Head    *string   `json:"head,omitempty" jsonschema:"published: the commit to review"`
	Booth   *string   `json:"booth,omitempty" jsonschema:"published: the booth in which it is shown"`
	Picks   *[]string `json:"picks,omitempty" jsonschema:"waiting: the questions that have to be answered first, BOOTH/ID each"`
	Reason  *string   `json:"reason,omitempty" jsonschema:"handed_back: why it could not be done"`
	Key     string    `json:"key,omitempty" jsonschema:"asking again with this key returns it once"`
}

// result returns what the agent's attempt amounted to.
func (c Config) result(ctx context.Context, in returning) (roadmap.Appended, error) {
	o, err := in.outcome()
	if err != nil {
		return roadmap.Appended{}, err
	}
	p, who, done, err := c.Plan(ctx)
	if err != nil {
		return roadmap.Appended{}, err
	}
	defer done()
	n, act, err := acting(who, in.Node, in.Key)
	if err != nil {
		return roadmap.Appended{}, err
	}
	of := who.Attempt
	if in.Attempt != nil {
		of = event.Attempt(*in.Attempt)
	}
	return p.Return(ctx, n, of, o, act)
}

// outcome is what the members say, where they are those of the outcome and no other's.
// That a verification failed is not an agent's to say.
func (in returning) outcome() (event.Outcome, error) {
	switch in.Outcome {
	case "published":
		return event.Published{Head: said(in.Head), Booth: said(in.Booth)}, in.only("head", "booth")
	case "waiting":
		var picks []string
		if in.Picks != nil {
			picks = *in.Picks
		}
		return event.Waiting{Picks: picks}, in.only("picks")
	case "handed_back":
		return event.GivenBack{Reason: said(in.Reason)}, in.only("reason")
	default:
		return nil, unreturned("outcome", "%q is none of published, waiting and handed_back.", in.Outcome)
	}
}

// only refuses what another outcome has, and a text that says nothing.
func (in returning) only(members ...string) error {
	texts := map[string]*string{"head": in.Head, "booth": in.Booth, "reason": in.Reason}
	for _, name := range []string{"head", "booth", "picks", "reason"} {
		given := texts[name] != nil || name == "picks" && in.Picks != nil
		switch mine := slices.Contains(members, name); {
		case given && !mine:
			return unreturned(name, "A result that is %s has no %s.", in.Outcome, name)
		case given && name != "picks" && strings.TrimSpace(*texts[name]) == "":
			return unreturned(name, "The %s is blank: say it, or leave it out.", name)
		case !given && mine && in.Outcome != "published":
			return unreturned(name, "A result that is %s says its %s.", in.Outcome, name)
		}
	}
	return nil
}

func said(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

func unreturned(member, format string, args ...any) error {
	return problem.New(problem.Usage, member, format+" Nothing was appended.", args...)
}
