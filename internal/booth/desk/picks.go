package desk

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/internal/access"
	"holdfast/internal/booth"
	"holdfast/internal/booth/folder"
	"holdfast/internal/booth/marks"
	"holdfast/internal/plain"
	"holdfast/internal/problem"
	"holdfast/internal/web"
)

// pickView is a question as a page shows it.
type pickView struct {
	ID         string
	Anchor     string // the element's id
	Title, Why string
	State      string // open, answered, declined, withdrawn
	Partly     bool   // open, and part of it is answered
	Urgent     bool
	Asked      string // by whom, and when
	Heard      string // when its asker last asked for the answer
	Said       string // who answered, and when
	Comment    string // as it was typed
	Remark     string // the comment, to be read
	Withdrawn  string
	Earlier    []string // answers that were superseded
	Parts      []partView
	Acts       bool   // the reader may answer
	Closed     string // why not
	Action     string // where the form goes
	Question   int64
	Document   int64
	Back       string
	Refused    *problem.Error // why the last answer was not taken
	Typed      []string       // what it said, where the form does not have it
}

// partView is one thing that is asked, with what was said or typed.
type partView struct {
	Field    string // the form's name for it
	Prompt   string
	Kind     string
	Optional bool
	Options  []optionView
	Pictured bool // an option has a picture
	Text     string
	Answer   string // in words; empty for none
}

// optionView is one answer that can be chosen.
type optionView struct {
	Value, Label, About string
	Recommended         bool
	Checked             bool
	Picture, URL        string // of the item that it stands for
}

// The values of a form that are no option's id; those begin with "=".
const (
	valueNone = "none"
	valueYes  = "yes"
	valueNo   = "no"
)

// typedAnswer is what a form said.
type typedAnswer struct {
	reply booth.Reply
	words []string       // the same, to be read
	why   *problem.Error // why it was not taken
}

// readForm reads a form that answers a question. Its fields are numbered by the
// question's parts, which the revision in it pins down.
func (d *Desk) readForm(a act) (*typedAnswer, error) {
	question, err := strconv.ParseInt(a.form.Get("question"), 10, 64)
	document, err2 := strconv.ParseInt(a.form.Get("document"), 10, 64)
	if err != nil || err2 != nil {
		return nil, problem.New(problem.Usage, "form", "The form does not say which question it answers. Nothing was changed.")
	}
	read, err := booth.Marks(d.Data, a.name)
	if err != nil {
		return nil, err
	}
	t := &typedAnswer{reply: booth.Reply{ID: a.form.Get("id")}, words: typedWords(a.form)}
	t.reply.Whole, t.reply.Question, t.reply.Document = true, &question, &document
	t.reply.Comment = strings.TrimSpace(unixLines(a.form.Get("comment")))
	t.reply.Parts = map[string]marks.Value{}
	p, ok := read.Pick(t.reply.ID)
	if !ok {
		return t, nil
	}
	for i, part := range p.Parts {
		t.reply.Parts[part.ID] = formValue(part, a.form[fieldOf(i)])
	}
	return t, nil
}

// typedWords is what a form said, in the order of its fields.
func typedWords(form url.Values) []string {
	var words []string
	for i := range maxFields {
		for _, s := range form[fieldOf(i)] {
			words = append(words, strings.TrimPrefix(s, "="))
		}
	}
	words = append(words, form.Get("comment"))
	return slices.DeleteFunc(words, func(s string) bool { return strings.TrimSpace(s) == "" })
}

// maxFields is how many parts of a form are read back to whoever sent it.
const maxFields = 64

// unixLines is a text of a form, whose lines end otherwise.
func unixLines(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

func fieldOf(part int) string { return fmt.Sprintf("part-%d", part) }

func formValue(part marks.Part, said []string) marks.Value {
	var v marks.Value
	for _, s := range said {
		option, chosen := strings.CutPrefix(s, "=")
		switch {
		case part.Kind == marks.Text:
			v.Text = unixLines(s)
		case chosen:
			v.Choices = append(v.Choices, option)
		case s == valueNone:
			v.None = true
		case s == valueYes || s == valueNo:
			yes := s == valueYes
			v.Confirm = &yes
		}
	}
	return v
}

// pickView shows a question of the marks in l; typed is what a form said about it,
// nil for none.
func (d *Desk) pickView(r *http.Request, l booth.Look, p marks.Pick, heard time.Time, typed *typedAnswer) pickView {
	_, operator := web.PartyOf(r).(access.Operator)
	name, now := l.Name, d.Now()
	v := pickView{
		ID: p.MarkID, Anchor: booth.Anchor(p.MarkID), Title: plain.Text(p.Title), Why: plain.Lines(p.Why),
		State: string(p.State()), Urgent: p.Priority == "high",
		Asked: asked(p, now), Acts: operator && p.Withdrawn == nil && l.Marks.Whole(),
		Action: d.Base.URL("b", name.String(), "marks", "answer"), Question: p.Revision(), Document: l.Marks.Rev,
	}
	if v.Closed = "Only the operator can answer: sign in first."; operator {
		v.Closed = "It can be answered once the marks are repaired."
	}
	if !heard.IsZero() && p.Open() {
		v.Heard = "last asked for " + ago(heard, now)
	}
	if a := p.Answer; a != nil {
		v.Said, v.Comment, v.Remark = "answered by "+signed(a.By, a.At, now), a.Comment, plain.Lines(a.Comment)
		v.Partly = p.Open()
	}
	if w := p.Withdrawn; w != nil {
		v.Withdrawn = "withdrawn by " + signed(w.By, w.At, now)
		if w.Reason != "" {
			v.Withdrawn += ": " + plain.Text(w.Reason)
		}
	}
	for _, s := range p.Superseded {
		v.Earlier = append(v.Earlier, fmt.Sprintf("%s (%s)", inWords(p, s), signed(s.Answer.By, s.Answer.At, now)))
	}
	switch {
	case typed == nil || typed.reply.ID != p.MarkID:
		typed = nil
	case v.Acts && *typed.reply.Question == p.Revision():
		v.Refused, v.Comment = typed.why, typed.reply.Comment
	default: // what was chosen was chosen for another question
		v.Refused, v.Typed = typed.why, typed.words
		typed = nil
	}
	for i, part := range p.Parts {
		said := p.Value(part.ID)
		if typed != nil {
			if t, ok := typed.reply.Parts[part.ID]; ok {
				said = t
			}
		}
		v.Parts = append(v.Parts, d.partView(r, name, i, part, said, p.Value(part.ID)))
	}
	return v
}

func asked(p marks.Pick, now time.Time) string {
	return "asked by " + signed(p.By, p.At, now)
}

// signed is who did something, and how long ago.
func signed(by string, at *time.Time, now time.Time) string {
	s := plain.Text(by)
	if s == "" {
		s = "somebody"
	}
	if at != nil {
		s += " " + ago(*at, now)
	}
	return s
}

func (d *Desk) partView(r *http.Request, name folder.Name, i int, part marks.Part, said, stored marks.Value) partView {
	v := partView{
		Field: fieldOf(i), Prompt: plain.Text(part.Prompt), Kind: part.Kind, Optional: !part.Needed(),
		Text: said.Text, Answer: valueInWords(part, stored),
	}
	option := func(value, label string, checked bool) {
		v.Options = append(v.Options, optionView{Value: value, Label: label, Checked: checked})
	}
	switch part.Kind {
	case marks.Choice, marks.Multi:
		for _, o := range part.Options {
			shown := d.optionView(r, name, part, o, said)
			v.Pictured = v.Pictured || shown.Picture != ""
			v.Options = append(v.Options, shown)
		}
	case marks.Confirm:
		option(valueYes, "Yes", said.Confirm != nil && *said.Confirm)
		option(valueNo, "No", said.Confirm != nil && !*said.Confirm)
	}
	if !part.Exact && part.Kind != marks.Text {
		label := "None of these"
		if part.Kind == marks.Confirm {
			label = "Neither"
		}
		option(valueNone, label, said.None)
	}
	return v
}

func (d *Desk) optionView(r *http.Request, name folder.Name, part marks.Part, o marks.Option, said marks.Value) optionView {
	v := optionView{
		Value: "=" + o.ID, Label: plain.Text(o.Label), About: plain.Text(o.About), Recommended: o.ID == part.Recommend,
	}
	if o.Label == "" {
		v.Label = plain.Text(o.ID)
	}
	for _, c := range said.Choices {
		v.Checked = v.Checked || c == o.ID
	}
	if o.Item != "" {
		v.URL = d.viewURL(name.String(), o.Item)
		if isPicture(o.Item) {
			v.Picture = d.contentURL(r, name.String(), o.Item)
		}
	}
	return v
}

// inWords is a superseded answer in one line. One to a question that was edited
// since is told by the ids that it chose: their labels may be others now.
func inWords(p marks.Pick, s marks.Superseded) string {
	var said []string
	if s.Why == marks.QuestionEdited {
		for _, id := range slices.Sorted(maps.Keys(s.Answer.Parts)) {
			said = append(said, plain.Text(id)+": "+valueInWords(marks.Part{}, s.Answer.Parts[id]))
		}
		return "to the question before it was edited: " + strings.Join(said, "; ")
	}
	for _, part := range p.Parts {
		if w := valueInWords(part, s.Answer.Parts[part.ID]); w != "" {
			said = append(said, w)
		}
	}
	return strings.Join(said, "; ")
}

func valueInWords(part marks.Part, v marks.Value) string {
	switch {
	case v.None:
		return "none of these"
	case v.Confirm != nil && *v.Confirm:
		return "yes"
	case v.Confirm != nil:
		return "no"
	case v.Text != "":
		return plain.Lines(v.Text)
	}
	var labels []string
	for _, c := range v.Choices {
		label := c
		for _, o := range part.Options {
			if o.ID == c && o.Label != "" {
				label = o.Label
			}
		}
		labels = append(labels, plain.Text(label))
	}
	return strings.Join(labels, ", ")
}
