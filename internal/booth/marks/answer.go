package marks

import (
	"fmt"
	"maps"

	"holdfast/internal/problem"
)

// Reply is what somebody answers: values for some parts or all. Parts that it
// does not name keep what was said before.
type Reply struct {
	Parts   map[string]Value `json:"parts"`
	Comment string           `json:"comment,omitempty"`
	// Question is the revision of the question that was shown, and Document the
	// rev of the marks it was shown with; nil for whatever there is.
	Question *int64 `json:"question,omitempty"`
	Document *int64 `json:"document,omitempty"`
	// Whole says that this is all there is to be of the answer, as on a form that
	// shows it: a part that is named and says nothing has no answer any more, and
	// without a comment there is none.
	Whole bool `json:"whole,omitempty"`
}

// The steps at which an answer is refused.
const (
	StepStale     = "stale"          // something changed since the question was shown
	StepWithdrawn = "withdrawn"      // the asker has moved on
	StepEmpty     = "empty-answer"   // nothing was answered
	StepNoAnswer  = "no-such-option" // it answers what was not asked
)

// Answer answers a question, wholly or in part. An earlier answer is superseded;
// saying the same again changes nothing.
func (d *Document) Answer(id string, r Reply, who Who) (Pick, error) {
	i, p, err := d.pick(id)
	if err != nil {
		return Pick{}, err
	}
	if err := d.mayAnswer(p, r); err != nil {
		return p, err
	}
	parts, err := p.merge(r)
	if err != nil {
		return p, err
	}
	if err := limits(r.Comment); err != nil {
		return p, err
	}
	members := map[string]any{}
	if p.Answer != nil {
		if r.Comment == "" && !r.Whole {
			r.Comment = p.Answer.Comment
		}
		if maps.EqualFunc(parts, p.Answer.Parts, Value.same) && r.Comment == p.Answer.Comment {
			return p, nil
		}
		if members["superseded"], err = d.supersede(i, AnsweredAgain); err != nil {
			return p, err
		}
	}
	at := who.ident("").At
	members["answer"] = Answer{By: who.By, At: at, Via: who.Via, Rev: p.Revision(), Parts: parts, Comment: r.Comment}
	members["changed"] = d.next()
	if err := d.put(i, members); err != nil {
		return p, err
	}
	return d.at(i), nil
}

// mayAnswer refuses an answer to something else than what is there.
func (d *Document) mayAnswer(p Pick, r Reply) error {
	changed := p.Changed
	if changed <= 0 || changed > d.rev { // its writer did not say when
		changed = d.rev
	}
	switch {
	case p.Withdrawn != nil:
		return problem.Refusal(StepWithdrawn, "The question %q was withdrawn by %s, so there is nothing to answer. Nothing was changed.", p.Title, p.Withdrawn.By)
	case r.Question != nil && *r.Question != p.Revision():
		return problem.Refusal(StepStale, "The question %q was edited since you saw it. Nothing was changed.", p.Title).
			WithHint("read it again, and answer what it asks now")
	case r.Document != nil && (*r.Document < changed || *r.Document > d.rev):
		return problem.Refusal(StepStale, "The question %q was answered or changed since you saw it. Nothing was changed.", p.Title).
			WithHint("look at what it says now; answering again replaces that")
	}
	return nil
}

// merge lays new values over the answer that is there. Something has to be said in
// the end: an empty form is no answer.
func (p Pick) merge(r Reply) (map[string]Value, error) {
	byID := map[string]Part{}
	for _, part := range p.Parts {
		byID[part.ID] = part
	}
	merged := map[string]Value{}
	if p.Answer != nil {
		maps.Copy(merged, p.Answer.Parts)
	}
	said := 0
	for id, v := range r.Parts {
		part, asked := byID[id]
		if !asked {
			return nil, wrongAnswer(p, fmt.Errorf("it asks no part %q", id))
		}
		switch {
		case v.None && part.Exact:
			return nil, wrongAnswer(p, fmt.Errorf("part %q wants one of its options", id))
		case v.None && len(v.Choices) > 0:
			return nil, wrongAnswer(p, fmt.Errorf("it says both some and none of part %q", id))
		case v.Empty():
			if _, stood := merged[id]; stood && r.Whole {
				delete(merged, id)
				said++
			}
			continue
		case !v.answers(part):
			return nil, wrongAnswer(p, fmt.Errorf("part %q wants an answer of the kind %s", id, part.Kind))
		}
		v = v.only(part)
		if err := part.checkValue(v); err != nil {
			return nil, wrongAnswer(p, err)
		}
		if err := limits(v.Text); err != nil {
			return nil, err
		}
		merged[id] = v
		said++
	}
	if said == 0 || len(merged) == 0 {
		return nil, problem.Refusal(StepEmpty, "Nothing is chosen or written, so the question %q is as it was.", p.Title)
	}
	return merged, nil
}

func wrongAnswer(p Pick, err error) error {
	return problem.Refusal(StepNoAnswer, "This does not answer the question %q: %v. Nothing was changed.", p.Title, err)
}

// only is v without what a part of this kind does not ask for.
func (v Value) only(part Part) Value {
	if v.None {
		return Value{None: true}
	}
	switch part.Kind {
	case Choice, Multi:
		return Value{Choices: v.Choices}
	case Confirm:
		return Value{Confirm: v.Confirm}
	default:
		return Value{Text: v.Text}
	}
}

func (v Value) same(o Value) bool {
	if v.None != o.None || v.Text != o.Text || len(v.Choices) != len(o.Choices) {
		return false
	}
	for i, c := range v.Choices {
		if o.Choices[i] != c {
			return false
		}
	}
	if v.Confirm == nil || o.Confirm == nil {
		return v.Confirm == o.Confirm
	}
	return *v.Confirm == *o.Confirm
}
