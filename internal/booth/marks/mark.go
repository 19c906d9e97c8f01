package marks

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
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
	if err := json.Unmarshal(raw, &head); err != nil {
		return nil, err
	}
	if head.ID == "" {
		return nil, errors.New("it has no id")
	}
	switch head.Shape {
	case "note":
		var n Note
		if err := json.Unmarshal(raw, &n); err != nil {
			return nil, err
		}
		return n, need("text", n.Text)
	case "flag":
		var f Flag
		if err := json.Unmarshal(raw, &f); err != nil {
			return nil, err
		}
		return f, need("target", f.Target)
	case "pick":
		var p Pick
		if err := json.Unmarshal(raw, &p); err != nil {
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

// check refuses a pick that could never be answered.
func (p Pick) check() error {
	if err := need("title", p.Title); err != nil {
		return err
	}
	if len(p.Parts) == 0 {
		return errors.New("it asks nothing: no parts")
	}
	seen := map[string]bool{}
	for _, part := range p.Parts {
		wants, known := partKinds[part.Kind]
		switch {
		case part.ID == "":
			return errors.New("a part has no id")
		case seen[part.ID]:
			return fmt.Errorf("two parts have the id %q", part.ID)
		case !known:
			return fmt.Errorf("part %q has kind %q, which is not known", part.ID, part.Kind)
		case wants && len(part.Options) == 0:
			return fmt.Errorf("part %q can never be answered: it has no options", part.ID)
		}
		seen[part.ID] = true
	}
	return nil
}
