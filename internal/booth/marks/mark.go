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
	Target string `json:"target,omitempty"`
}

// Flag points at an item; Text may be empty.
type Flag struct {
	Ident

	Target string `json:"target"`
	Text   string `json:"text,omitempty"`
}

// Pick is a question and, in time, its answer.
type Pick struct {
	Ident

	Title    string `json:"title"`
	Why      string `json:"why,omitempty"`
	Parts    []Part `json:"parts"`
	Priority string `json:"priority,omitempty"`
	// Key makes asking again the same question; empty for none.
	Key string `json:"key,omitempty"`
	// Rev counts the edits of the question, from 1; 0 where its writer did not.
	Rev int64 `json:"rev,omitempty"`
	// Changed is the document's rev as of the last change of this pick; 0 where
	// its writer did not say, and so it may have been the last change of all.
	Changed    int64        `json:"changed,omitempty"`
	Withdrawn  *Withdrawn   `json:"withdrawn,omitempty"`
	Answer     *Answer      `json:"answer,omitempty"`
	Superseded []Superseded `json:"superseded,omitempty"`
}

func (Note) mark() {}
func (Flag) mark() {}
func (Pick) mark() {}

// Ident is what every mark has: an id, unique in its document, its author, and
// when it was made.
type Ident struct {
	MarkID string     `json:"id"`
	By     string     `json:"by,omitempty"`
	At     *time.Time `json:"at,omitempty"`
}

// ID is the mark's id, unique in its document.
func (m Ident) ID() string { return m.MarkID }

// Part is one thing that a pick asks.
type Part struct {
	ID        string   `json:"id"`
	Prompt    string   `json:"prompt,omitempty"`
	Kind      string   `json:"kind"` // one of the keys of partKinds
	Options   []Option `json:"options,omitempty"`
	Recommend string   `json:"recommend,omitempty"` // the option that the asker would take
	Exact     bool     `json:"exact,omitempty"`     // "none of these" is no answer
	Required  *bool    `json:"required,omitempty"`  // true where absent
}

// Option is one of the answers that a choice offers.
type Option struct {
	ID    string `json:"id"`
	Label string `json:"label,omitempty"`
	About string `json:"about,omitempty"`
	Item  string `json:"item,omitempty"` // path of the item that it stands for
}

// Withdrawn says that the asker has moved on.
type Withdrawn struct {
	By     string     `json:"by"`
	At     *time.Time `json:"at,omitempty"`
	Reason string     `json:"reason,omitempty"`
}

// Answer is what was said, by part id.
type Answer struct {
	By      string           `json:"by"`
	At      *time.Time       `json:"at,omitempty"`
	Via     string           `json:"via,omitempty"` // page, cli or token
	Rev     int64            `json:"rev,omitempty"` // of the question that was answered
	Parts   map[string]Value `json:"parts"`
	Comment string           `json:"comment,omitempty"`
}

// Superseded is an answer that no longer counts, and why.
type Superseded struct {
	Answer Answer `json:"answer"`
	Why    string `json:"why"` // one of the two below
}

// Why an answer was superseded.
const (
	AnsweredAgain  = "answered-again"
	QuestionEdited = "question-edited"
)

// Value answers one part: Choices (choice, multi), Confirm, Text, or None of
// what was offered, which declines.
type Value struct {
	Choices []string `json:"choices,omitempty"`
	None    bool     `json:"none,omitempty"`
	Confirm *bool    `json:"confirm,omitempty"`
	Text    string   `json:"text,omitempty"`
}

// The kinds of part that this version can ask.
const (
	Choice  = "choice"
	Multi   = "multi"
	Confirm = "confirm"
	Text    = "text"
)

// partKinds says whether a part of a kind needs options.
var partKinds = map[string]bool{Choice: true, Multi: true, Confirm: false, Text: false}

// State is how far a pick has come, in its public word.
type State string

// The states of a pick. Declined: every required part was answered with none of
// what it offers.
const (
	StateOpen      State = "open"
	StateAnswered  State = "answered"
	StateDeclined  State = "declined"
	StateWithdrawn State = "withdrawn"
)

// State is how far the pick has come.
func (p Pick) State() State {
	switch {
	case p.Withdrawn != nil:
		return StateWithdrawn
	case p.Open():
		return StateOpen
	case p.declined():
		return StateDeclined
	default:
		return StateAnswered
	}
}

// Open says that a required part has no answer. A pick that is answered in part
// is open; one that was withdrawn is not.
func (p Pick) Open() bool {
	if p.Withdrawn != nil {
		return false
	}
	for _, part := range p.Parts {
		if part.Needed() && !p.answered(part) {
			return true
		}
	}
	return false
}

// Revision is the question's revision; one that its writer did not count is
// its first.
func (p Pick) Revision() int64 { return max(p.Rev, 1) }

func (p Pick) declined() bool {
	required, declined := 0, 0
	for _, part := range p.Parts {
		if part.Needed() {
			required++
			if p.Value(part.ID).None {
				declined++
			}
		}
	}
	return required > 0 && declined == required
}

// Needed says that the pick is open without an answer to this part.
func (part Part) Needed() bool { return part.Required == nil || *part.Required }

// Value is the answer to a part; zero where it has none.
func (p Pick) Value(part string) Value {
	if p.Answer == nil {
		return Value{}
	}
	return p.Answer.Parts[part]
}

func (p Pick) answered(part Part) bool { return p.Value(part.ID).answers(part) }

// answers says that a value answers a part of its kind; an empty one does not.
func (v Value) answers(part Part) bool {
	if v.None {
		return !part.Exact
	}
	switch part.Kind {
	case Choice, Multi:
		return len(v.Choices) > 0
	case Confirm:
		return v.Confirm != nil
	case Text:
		return strings.TrimSpace(v.Text) != ""
	default:
		return false
	}
}

// Empty says that a value says nothing.
func (v Value) Empty() bool {
	return !v.None && len(v.Choices) == 0 && v.Confirm == nil && strings.TrimSpace(v.Text) == ""
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
	switch {
	case p.Withdrawn != nil && p.Withdrawn.By == "":
		return errors.New("who withdrew it is missing")
	case p.Rev < 0 || p.Rev >= maxRev:
		return fmt.Errorf("its rev %d is no count of edits", p.Rev)
	}
	parts, err := checkQuestion(p.Title, p.Parts)
	if err != nil {
		return err
	}
	if p.Answer == nil {
		return nil
	}
	for id, v := range p.Answer.Parts {
		part, asked := parts[id]
		if !asked {
			return fmt.Errorf("its answer is about part %q, which it does not ask", id)
		}
		if err := part.checkValue(v); err != nil {
			return err
		}
	}
	return nil
}

// checkQuestion refuses what could never be answered. It gives the parts by id.
func checkQuestion(title string, parts []Part) (map[string]Part, error) {
	if err := need("title", title); err != nil {
		return nil, err
	}
	if len(parts) == 0 {
		return nil, errors.New("it asks nothing: no parts")
	}
	byID := make(map[string]Part, len(parts))
	for _, part := range parts {
		if _, twice := byID[part.ID]; twice {
			return nil, fmt.Errorf("two parts have the id %q", part.ID)
		}
		if err := part.check(); err != nil {
			return nil, err
		}
		byID[part.ID] = part
	}
	return byID, nil
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

// checkValue refuses a value that chooses what the part does not offer.
func (part Part) checkValue(v Value) error {
	if part.Kind == Choice && len(v.Choices) > 1 {
		return fmt.Errorf("its answer chooses %d options of part %q, where one is asked for", len(v.Choices), part.ID)
	}
	for _, c := range v.Choices {
		if !slices.ContainsFunc(part.Options, func(o Option) bool { return o.ID == c }) {
			return fmt.Errorf("its answer chooses %q, which part %q does not offer", c, part.ID)
		}
	}
	return nil
}
