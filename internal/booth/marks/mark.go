package marks

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/internal/canon"
)

// Mark is one entry: a [Note], a [Flag] or a [Pick].
//
//sumtype:decl
type Mark interface {
	ID() string
	mark()
}

// Note is something that somebody wrote, about an item or the whole booth.
type Note struct {
	Ident
	Text   string `json:"text"`
	Target string `json:"target"`
}

// Flag points at an item; Text may be empty.
type Flag struct {
	Ident
	Target string `json:"target"`
	Text   string `json:"text"`
}

// Pick is a question and, in time, its answer.
type Pick struct {
	Ident
	Title     string     `json:"title"`
	Why       string     `json:"why"`
	Parts     []Part     `json:"parts"`
	Withdrawn *Withdrawn `json:"withdrawn"`
	Answer    *Answer    `json:"answer"`
}

func (Note) mark() {}
func (Flag) mark() {}
func (Pick) mark() {}

// Ident is what every mark has: an id, unique in its document, and its author.
type Ident struct {
	MarkID string     `json:"id"`
	By     string     `json:"by"`
	At     *time.Time `json:"at"`
}

// ID is the mark's id, unique in its document.
func (m Ident) ID() string { return m.MarkID }

// Part is one thing that a pick asks.
type Part struct {
	ID       string   `json:"id"`
	Prompt   string   `json:"prompt"`
	Kind     string   `json:"kind"` // one of the keys of partKinds
	Options  []Option `json:"options"`
	Required *bool    `json:"required"` // true where absent
}

// Option is one of the answers that a choice offers.
type Option struct {
	ID    string `json:"id"`
	Label string `json:"label"`
}

// Withdrawn says that the asker has moved on.
type Withdrawn struct {
	By string `json:"by"`
}

// Answer is what was said, by part id.
type Answer struct {
	By    string           `json:"by"`
	Parts map[string]Value `json:"parts"`
}

// Value answers one part: Choices (choice, multi) or None of them, Confirm, or
// Text.
type Value struct {
	Choices []string `json:"choices"`
	None    bool     `json:"none"`
	Confirm *bool    `json:"confirm"`
	Text    string   `json:"text"`
}

// partKinds are the kinds of part that this version can ask, and whether such a
// part needs options.
var partKinds = map[string]bool{"choice": true, "multi": true, "confirm": false, "text": false}

// Open says that a required part has no answer. A pick that is answered in part
// is open; one that was withdrawn is not.
func (p Pick) Open() bool {
	if p.Withdrawn != nil {
		return false
	}
	for _, part := range p.Parts {
		if part.required() && !p.answered(part) {
			return true
		}
	}
	return false
}

func (p Part) required() bool { return p.Required == nil || *p.Required }

// answered says that a part has an answer of its own kind; an empty answer is
// not one.
func (p Pick) answered(part Part) bool {
	if p.Answer == nil {
		return false
	}
	v, ok := p.Answer.Parts[part.ID]
	if !ok {
		return false
	}
	switch part.Kind {
	case "choice", "multi":
		return len(v.Choices) > 0 || v.None
	case "confirm":
		return v.Confirm != nil
	case "text":
		return strings.TrimSpace(v.Text) != ""
	default:
		return false
	}
}

// hydrate makes a mark of one entry, or says what is wrong with it.
func hydrate(raw json.RawMessage) (Mark, error) {
	var head struct {
		ID    string `json:"id"`
		Shape string `json:"shape"`
	}
	if err := canon.DecodeOpen(raw, &head); err != nil {
		return nil, err
	}
	if head.ID == "" {
		return nil, errors.New("it has no id")
	}
	switch head.Shape {
	case "note":
		var n Note
		if err := canon.DecodeOpen(raw, &n); err != nil {
			return nil, err
		}
		return n, need("text", n.Text)
	case "flag":
		var f Flag
		if err := canon.DecodeOpen(raw, &f); err != nil {
			return nil, err
		}
		return f, need("target", f.Target)
	case "pick":
		var p Pick
		if err := canon.DecodeOpen(raw, &p); err != nil {
			return nil, err
		}
		return p, p.check()
	case "":
		return nil, errors.New("it has no shape")
	default:
		return nil, fmt.Errorf("its shape %q is not known", head.Shape)
	}
}

func need(member, value string) error {
	if strings.TrimSpace(value) == "" {
		return fmt.Errorf("its %s is missing", member)
	}
	return nil
}

// check refuses a pick that could never be answered, and an answer to something
// that was not asked: neither may free a hold.
func (p Pick) check() error {
	if err := need("title", p.Title); err != nil {
		return err
	}
	if len(p.Parts) == 0 {
		return errors.New("it asks nothing: no parts")
	}
	if p.Withdrawn != nil && p.Withdrawn.By == "" {
		return errors.New("who withdrew it is missing")
	}
	parts := map[string]Part{}
	for _, part := range p.Parts {
		if _, twice := parts[part.ID]; twice {
			return fmt.Errorf("two parts have the id %q", part.ID)
		}
		if err := part.check(); err != nil {
			return err
		}
		parts[part.ID] = part
	}
	return p.checkAnswer(parts)
}

func (part Part) check() error {
	wants, known := partKinds[part.Kind]
	switch {
	case part.ID == "":
		return errors.New("a part has no id")
	case !known:
		return fmt.Errorf("part %q has kind %q, which is not known", part.ID, part.Kind)
	case wants && len(part.Options) == 0:
		return fmt.Errorf("part %q can never be answered: it has no options", part.ID)
	}
	seen := map[string]bool{}
	for _, o := range part.Options {
		if o.ID == "" || seen[o.ID] {
			return fmt.Errorf("part %q has an option without an id of its own", part.ID)
		}
		seen[o.ID] = true
	}
	return nil
}

func (p Pick) checkAnswer(parts map[string]Part) error {
	if p.Answer == nil {
		return nil
	}
	for id, v := range p.Answer.Parts {
		part, asked := parts[id]
		switch {
		case !asked:
			return fmt.Errorf("its answer is about part %q, which it does not ask", id)
		case part.Kind == "choice" && len(v.Choices) > 1:
			return fmt.Errorf("its answer chooses %d options of part %q, where one is asked for", len(v.Choices), id)
		}
		for _, c := range v.Choices {
			if !slices.ContainsFunc(part.Options, func(o Option) bool { return o.ID == c }) {
				return fmt.Errorf("its answer chooses %q, which part %q does not offer", c, id)
			}
		}
	}
	return nil
}

// Oldest is when the question that has been open longest was asked; false where
// none is open, or none says when.
func (r Reading) Oldest() (time.Time, bool) {
	var oldest time.Time
	for _, m := range r.Marks {
		if p, ok := m.(Pick); ok && p.Open() && p.At != nil && (oldest.IsZero() || p.At.Before(oldest)) {
			oldest = *p.At
		}
	}
	return oldest, !oldest.IsZero()
}
