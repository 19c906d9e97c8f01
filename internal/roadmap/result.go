package roadmap

import (
	"context"
	"errors"
	"fmt"

	"holdfast/internal/problem"
	"holdfast/internal/roadmap/attempt"
	"holdfast/internal/roadmap/event"
	"holdfast/internal/roadmap/history"
)

// Steps at which a result is refused, besides those of packages attempt and history.
const (
	StepResultElsewhere = "result-elsewhere" // its attempt is of another node, or another's
	StepResultHistory   = "result-history"   // what its node's history is cannot be told
)

// stepNodeRefused is where a node stops that cannot be read whole.
const stepNodeRefused = "node-refused"

// Claimed is what became of a claim, and beside it what became of the claim's first
// attempt. Neither changes the other: a claim whose attempt was not begun stands.
type Claimed struct {
	Appended
	Attempt   event.Attempt `json:"attempt,omitempty"`    // to return a result for
	NoAttempt string        `json:"no_attempt,omitempty"` // why there is none, and what to do
}

// Claim makes the author the node's holder, and begins the first attempt under that
// claim. Asked for again under its key, a claim whose attempt was not begun begins it.
func (p *Plan) Claim(ctx context.Context, n event.Node, returnTo event.Principal, a Act) (Claimed, error) {
	out, err := p.Append(ctx, n, event.Claimed{Assignee: a.Author, ReturnTo: returnTo}, a)
	doc := Claimed{Appended: out}
	if err != nil {
		return doc, err
	}
	if out.ID == "" { // whether it is held is not known
		doc.NoAttempt = fmt.Sprintf("No attempt was begun, since it is not known whether the claim stands. Claim again with the key %s, which is the same claim.", out.Key)
		return doc, nil
	}
	// Killed here, the claim stands and its attempt has not begun.
	begun, err := attempt.At(p.folder).Begin(attempt.Binding{Node: n, Claim: out.ID, Try: attempt.First, Holder: a.Author})
	if err != nil {
		doc.NoAttempt = fmt.Sprintf("The claim stands, but no attempt was begun under it, so that no result can be returned yet. %s Claim again with the key %s, which is the same claim.",
			problem.From(err, "Why is not known.").Reason, out.Key)
	}
	doc.Attempt = begun
	return doc, nil
}

// Return states what an attempt amounted to: the author is who works on it, the node
// is the one that it works on, and the claim is the one that binds it. It never waits
// in the queue.
func (p *Plan) Return(ctx context.Context, n event.Node, of event.Attempt, o event.Outcome, a Act) (Appended, error) {
	bound, err := attempt.At(p.folder).Read(of)
	if err != nil {
		return Appended{}, err
	}
	if bound.Node != n {
		return Appended{}, problem.Refusal(StepResultElsewhere, "The attempt %s works on %s, and not on %s. Nothing was appended.", of, bound.Node, n)
	}
	if bound.Holder != a.Author {
		return Appended{}, problem.Refusal(StepResultElsewhere, "The attempt %s is of %s, and %s cannot return its result. Nothing was appended.", of, bound.Holder, a.Author)
	}
	doc, err := p.append(ctx, n, event.ResultReturned{Attempt: of, Claim: bound.Claim, Outcome: o}, a)
	return doc, ofResult(err)
}

// ofResult is the refusal of a result. That there is no order is one step of it,
// whether heads or events are in the way.
func ofResult(err error) error {
	var no *problem.Error
	if !errors.As(err, &no) || no.Step != history.StepUnordered && no.Step != stepNodeRefused {
		return err
	}
	r := *no
	r.Step = StepResultHistory
	return &r
}
