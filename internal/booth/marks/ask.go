package marks

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"

	"holdfast/internal/canon"
	"holdfast/internal/problem"
)

// What one change may hold.
const (
	maxLine    = 1 << 10  // bytes of a title, a label, a prompt, an id
	maxWords   = 64 << 10 // bytes of a text, a comment, a why
	maxParts   = 64
	maxOptions = 256
)

// Question is what an asker says.
type Question struct {
	Title    string `json:"title"`
	Why      string `json:"why,omitempty"`
	Parts    []Part `json:"parts"`
	Priority string `json:"priority,omitempty"` // high, normal or low; normal where empty
	// Key makes asking again the same question: after a crash nobody has to know
	// whether the first asking went through.
	Key string `json:"key,omitempty"`
}

// ParseQuestion reads a question as it arrives in a file or over HTTP. Members
// that it does not know are refused: a misspelt one would ask something else.
func ParseQuestion(data []byte) (Question, error) {
	var q Question
	if err := canon.Decode(data, &q); err != nil {
		return q, problem.New(problem.Usage, "question", "The question cannot be read: %v. Nothing was asked.", err)
	}
	return q, q.Check()
}

// Check refuses a question that could never be answered, or says too much.
func (q Question) Check() error {
	_, err := checkQuestion(q.Title, q.Parts)
	if err == nil {
		err = q.checkLimits()
	}
	if err != nil {
		return problem.New(problem.Usage, "question", "This cannot be asked: %v. Nothing was changed.", err)
	}
	return nil
}

func (q Question) checkLimits() error {
	switch q.Priority {
	case "", "high", "normal", "low":
	default:
		return errors.New("its priority is high, normal or low")
	}
	if len(q.Parts) > maxParts {
		return errors.New("it has more than 64 parts")
	}
	lines, words := []string{q.Title, q.Key}, []string{q.Why}
	var ids []string
	for _, p := range q.Parts {
		ids = append(ids, p.ID)
		lines = append(lines, p.ID, p.Recommend)
		words = append(words, p.Prompt)
		if len(p.Options) > maxOptions {
			return errors.New("a part has more than 256 options")
		}
		offered := p.Recommend == ""
		for _, o := range p.Options {
			ids = append(ids, o.ID)
			lines = append(lines, o.ID, o.Label, o.Item)
			words = append(words, o.About)
			offered = offered || o.ID == p.Recommend
		}
		if !offered {
			return errors.New("it recommends an option that it does not offer")
		}
	}
	if strings.ContainsFunc(strings.Join(ids, ""), unicode.IsControl) {
		return errors.New("an id in it has a control character, which no form can send")
	}
	if err := checkTexts(lines, maxLine); err != nil {
		return err
	}
	return checkTexts(words, maxWords)
}

var (
	errLong    = errors.New("a text in it is too long")
	errNotUTF8 = errors.New("a text in it is not UTF-8")
)

func checkTexts(all []string, most int) error {
	for _, s := range all {
		switch {
		case len(s) > most:
			return errLong
		case !utf8.ValidString(s):
			return errNotUTF8
		}
	}
	return nil
}

// question is what p asks.
func (p Pick) question() Question {
	return Question{Title: p.Title, Why: p.Why, Parts: p.Parts, Priority: p.Priority, Key: p.Key}
}

// same compares two questions by what they would be written as.
func (q Question) same(o Question) bool {
	a, errA := canon.Encode(q)
	b, errB := canon.Encode(o)
	return errA == nil && errB == nil && string(a) == string(b)
}

// Ask adds a question. One with a key that was asked before is that question,
// whatever became of it, and nothing changes; the key with another question is
// refused.
func (d *Document) Ask(q Question, who Who) (Pick, error) {
	if err := q.Check(); err != nil {
		return Pick{}, err
	}
	if p, taken := d.keyed(q.Key); taken {
		if p.question().same(q) {
			return p, nil
		}
		return Pick{}, keyTaken(p).WithHint("use another key, or --edit %s to ask this instead", p.MarkID)
	}
	p := Pick{
		Ident: who.ident(d.nextID("p")), Title: q.Title, Why: q.Why, Parts: q.Parts,
		Priority: q.Priority, Key: q.Key, Rev: 1, Changed: d.next(),
	}
	return p, d.append("pick", p)
}

// keyed is the question that was asked with a key.
func (d *Document) keyed(key string) (Pick, bool) {
	for _, e := range d.entries {
		if p, ok := e.mark.(Pick); ok && key != "" && p.Key == key {
			return p, true
		}
	}
	return Pick{}, false
}

func keyTaken(p Pick) *problem.Error {
	return problem.Refusal("key-taken", "The key %q was used for another question, %s (%s). Nothing was asked.", p.Key, p.MarkID, p.Title)
}

// Revise asks q in place of the question that has the id. An answer to the old
// one is superseded. A part that is asked as before stays as it was written, with
// what this version does not know of it. Asking the same changes nothing.
func (d *Document) Revise(id string, q Question, who Who) (Pick, error) {
	i, p, err := d.pick(id)
	if err == nil {
		err = q.Check()
	}
	if err != nil {
		return Pick{}, err
	}
	if q.Key == "" {
		q.Key = p.Key
	}
	if other, taken := d.keyed(q.Key); taken && other.MarkID != id {
		return Pick{}, keyTaken(other)
	}
	if p.question().same(q) && p.Withdrawn == nil {
		return p, nil
	}
	members := map[string]any{
		"title": q.Title, "why": orNil(q.Why), "priority": orNil(q.Priority), "key": orNil(q.Key),
		"rev": p.Revision() + 1, "changed": d.next(), "withdrawn": nil, "answer": nil, "edited": who.ident(id),
	}
	if members["parts"], err = d.rewrite(i, q.Parts); err != nil {
		return Pick{}, err
	}
	if p.Answer != nil {
		if members["superseded"], err = d.supersede(i, QuestionEdited); err != nil {
			return Pick{}, err
		}
	}
	d.added = true
	if err := d.put(i, members); err != nil {
		return Pick{}, err
	}
	return d.at(i), nil
}

// rewrite is what parts are written as in place of those of entry i.
func (d *Document) rewrite(i int, parts []Part) ([]any, error) {
	raw, err := d.entries[i].members()
	if err != nil {
		return nil, err
	}
	var before []json.RawMessage
	if err := json.Unmarshal(raw["parts"], &before); err != nil {
		return nil, err
	}
	was := d.at(i).Parts
	all := make([]any, 0, len(parts))
	for _, part := range parts {
		all = append(all, part)
		for n := range was {
			if reflect.DeepEqual(was[n], part) {
				all[len(all)-1] = before[n]
			}
		}
	}
	return all, nil
}

func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// at is the question at place i.
func (d *Document) at(i int) Pick {
	p, _ := d.entries[i].mark.(Pick)
	return p
}

// Withdraw says that the asker has moved on, which frees the hold. Withdrawing
// again changes nothing.
func (d *Document) Withdraw(id, why string, who Who) (Pick, error) {
	i, p, err := d.pick(id)
	if err == nil {
		err = limits(why)
	}
	if err != nil || p.Withdrawn != nil {
		return p, err
	}
	at := who.ident("").At
	if who.By == "" {
		who.By = "the asker"
	}
	if err := d.put(i, map[string]any{"withdrawn": Withdrawn{By: who.By, At: at, Reason: why}, "changed": d.next()}); err != nil {
		return Pick{}, err
	}
	return d.at(i), nil
}

// limits refuses words that are too long, or no text.
func limits(words ...string) error {
	err := checkTexts(words, maxWords)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errLong):
		return problem.Refusal(problem.StepTooLarge, "This cannot be written: %v. Nothing was changed.", err)
	default:
		return problem.New(problem.Usage, "text", "This cannot be written: %v. Nothing was changed.", err)
	}
}

// AddNote writes a note, about an item where target names one.
func (d *Document) AddNote(text, target string, who Who) (Note, error) {
	if strings.TrimSpace(text) == "" {
		return Note{}, problem.New(problem.Usage, "note", "A note without words says nothing. Nothing was changed.")
	}
	if err := limits(text, target); err != nil {
		return Note{}, err
	}
	n := Note{Ident: who.ident(d.nextID("n")), Text: text, Target: target}
	return n, d.append("note", n)
}

// AddFlag flags an item. There is one flag for an item and an author: flagging it
// again with the same words changes nothing, with others it changes the words.
func (d *Document) AddFlag(target, text string, who Who) (Flag, error) {
	if strings.TrimSpace(target) == "" {
		return Flag{}, problem.New(problem.Usage, "flag", "A flag needs an item. Nothing was changed.")
	}
	if err := limits(text, target); err != nil {
		return Flag{}, err
	}
	for i, e := range d.entries {
		f, ok := e.mark.(Flag)
		switch {
		case !ok || f.Target != target || f.By != who.By:
			continue
		case f.Text == text:
			return f, nil
		}
		err := d.put(i, map[string]any{"text": orNil(text), "at": who.ident("").At})
		f, _ = d.entries[i].mark.(Flag)
		return f, err
	}
	f := Flag{Ident: who.ident(d.nextID("f")), Target: target, Text: text}
	return f, d.append("flag", f)
}
