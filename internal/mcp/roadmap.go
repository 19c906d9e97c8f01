package mcp

import (
	"context"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"holdfast/internal/problem"
	"holdfast/internal/roadmap"
	"holdfast/internal/roadmap/event"
)

// Plan is what the tools need of a plan; a [roadmap.Plan] has it.
type Plan interface {
	List(ctx context.Context, fresh roadmap.Freshness, f roadmap.Filter) (roadmap.List, error)
	Show(ctx context.Context, fresh roadmap.Freshness, n event.Node) (roadmap.Node, error)
	Append(ctx context.Context, n event.Node, b event.Body, a roadmap.Act) (roadmap.Appended, error)
	Claim(ctx context.Context, n event.Node, returnTo event.Principal, a roadmap.Act) (roadmap.Claimed, error)
	Return(ctx context.Context, n event.Node, of event.Attempt, o event.Outcome, a roadmap.Act) (roadmap.Appended, error)
}

// Who is between whom a claim of an agent's is: Agent holds the node, and what it
// makes goes to Operator for review.
type Who struct {
	Agent, Operator event.Principal
	Attempt         event.Attempt // that the agent runs in, whatever that is called; may be empty
}

// addPlan adds the tools that are about the plan. None takes the word of its caller for
// the claim that a result is under.
func (c Config) addPlan(s *sdk.Server, reads, adds *sdk.ToolAnnotations) {
	sdk.AddTool(s, &sdk.Tool{
		Name: "roadmap_ready", Title: "List what can be begun", Annotations: reads,
		Description: "List the units of work of the plan that can be begun now: open, and waiting for nothing; the most urgent first.",
	}, tool(c.ready))
	sdk.AddTool(s, &sdk.Tool{
		Name: "roadmap_claim", Title: "Claim a unit of work", Annotations: adds,
		Description: "Hold a unit of work of the plan before you begin it. Whoever is first holds it; else you are told who does, and must not work on it. Answers with all that is known of it, and with the attempt that this begins: keep its name for roadmap_result.",
	}, tool(c.claim))
	sdk.AddTool(s, &sdk.Tool{
		Name: "roadmap_progress", Title: "Say how the work goes", Annotations: adds,
		Description: "Say how far a unit of work that you hold has come, that it cannot go on (blocked), or that you give it back undone (handed_back).",
	}, tool(c.progress))
	sdk.AddTool(s, &sdk.Tool{
		Name: "roadmap_result", Title: "Return a result", Annotations: adds,
		Description: "Say, once, what your attempt at a unit of work amounted to: published (there is something to review), handed_back (you could not do it), or waiting (it cannot go on before questions are answered). This ends the attempt: to wait and go on yourself, call booth_wait instead.",
	}, tool(c.result))
}

type readying struct {
	Label string `json:"label,omitempty" jsonschema:"only those with this label"`
}

func (c Config) ready(ctx context.Context, in readying) (roadmap.List, error) {
	p, _, done, err := c.Plan(ctx)
	if err != nil {
		return roadmap.List{}, err
	}
	defer done()
	return p.List(ctx, roadmap.Now, roadmap.Filter{Ready: true, Label: in.Label})
}

type claiming struct {
	Node string `json:"node" jsonschema:"the name of the unit of work"`
	Key  string `json:"key,omitempty" jsonschema:"asking again with this key is the same claim"`
}

type claimed struct {
	roadmap.Claimed
	Work *roadmap.Node `json:"work,omitempty" jsonschema:"what is to be done; left out where it could not be read after the claim, and where the outcome is not appended or already_present: then do not begin it"`
}

func (c Config) claim(ctx context.Context, in claiming) (claimed, error) {
	p, who, done, err := c.Plan(ctx)
	if err != nil {
		return claimed{}, err
	}
	defer done()
	n, act, err := acting(who, in.Node, in.Key)
	if err != nil {
		return claimed{}, err
	}
	out, err := p.Claim(ctx, n, who.Operator, act)
	if err != nil {
		return claimed{}, err
	}
	answer := claimed{Claimed: out}
	if out.ID == "" { // whether it is held is not known: nothing to begin on
		return answer, nil
	}
	if n, err := p.Show(ctx, roadmap.AsOf, out.Node); err == nil {
		answer.Work = &n
	}
	return answer, nil
}

type progressing struct {
	Node     string `json:"node" jsonschema:"the name of the unit of work, which you hold"`
	Note     string `json:"note" jsonschema:"how far it has come; why it is blocked or given back"`
	Standing string `json:"standing,omitempty" jsonschema:"in_progress (the default), blocked or handed_back"`
	Key      string `json:"key,omitempty" jsonschema:"asking again with this key says it once"`
}

func (c Config) progress(ctx context.Context, in progressing) (roadmap.Appended, error) {
	body, err := in.body()
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
	return p.Append(ctx, n, body, act)
}

func (in progressing) body() (event.Body, error) {
	if strings.TrimSpace(in.Note) == "" {
		return nil, problem.New(problem.Usage, "note", "There is nothing to say: the note is blank. Nothing was appended.")
	}
	switch in.Standing {
	case "", "in_progress":
		return event.Progress{Note: in.Note}, nil
	case "blocked":
		return event.Blocked{Reason: in.Note}, nil
	case "handed_back":
		return event.HandedBack{Reason: in.Note}, nil
	default:
		return nil, problem.New(problem.Usage, "standing", "%q is none of in_progress, blocked and handed_back. Nothing was appended.", in.Standing)
	}
}

// acting is the node that an agent means, and how it acts on that.
func acting(who Who, node, key string) (event.Node, roadmap.Act, error) {
	n, err := event.ParseNode(node)
	if err != nil {
		return "", roadmap.Act{}, err
	}
	k := roadmap.NewKey()
	if key != "" {
		if k, err = event.ParseKey(key); err != nil {
			return "", roadmap.Act{}, err
		}
	}
	return n, roadmap.Act{Author: who.Agent, Key: k}, nil
}
