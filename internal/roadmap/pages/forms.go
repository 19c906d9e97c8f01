package pages

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"holdfast/internal/plain"
	"holdfast/internal/roadmap"
	"holdfast/internal/roadmap/event"
	"holdfast/internal/roadmap/history"
)

// form is a form as a page shows it.
type form struct {
	ID, Action    string
	Title, About  string
	Danger, First bool
	Open          bool // it is shown unfolded
	Hidden        []hidden
	Fields        []field
	Cancel        string // where the form is not; empty where it always is
}

type hidden struct{ Name, Value string }

type field struct {
	Name, Label, Note string
	Kind              string // line, text or choice
	Value             string
	Choices           []choice
	Required          bool
	ID                string
}

func (f *form) hide(name, value string) { f.Hidden = append(f.Hidden, hidden{name, value}) }

// form makes the form of an act on a node as it is now. Where the act was done and
// did not end well, what had been typed is in it again.
func (p *Pages) form(r *http.Request, d roadmap.Whole, a act, done *done, fields ...field) form {
	f := form{
		ID: "form-" + strings.ReplaceAll(a.name, "/", "-"), Title: a.title, About: a.about, Danger: a.danger,
		Action: p.Base.URL(append([]string{root, string(d.Row.Node)}, strings.Split(a.name, "/")...)...),
	}
	key := roadmap.NewKey()
	if done.is(a.name) {
		f.Open = true
		if done.again != "" {
			key = done.again
		}
	}
	f.hide(keyField, string(key))
	heads := d.Standing.Heads
	if d.Revision != "" {
		heads = []event.ID{d.Revision}
	}
	for _, h := range heads {
		f.hide(expectField, string(h))
	}
	f.Fields = filled(f.ID, fields, done, a.name)
	return f
}

// filled puts into the fields what was typed into them.
func filled(id string, fields []field, done *done, name string) []field {
	out := slices.Clone(fields)
	for i := range out {
		out[i].ID = id + "-" + out[i].Name
		if done.is(name) && done.values.Has(out[i].Name) {
			out[i].Value = plain.Unicode(done.values.Get(out[i].Name))
		}
		out[i].Choices = slices.Clone(out[i].Choices)
		for j := range out[i].Choices {
			out[i].Choices[j].Chosen = out[i].Choices[j].Value == out[i].Value
		}
	}
	return out
}

// forms are those in the rail of a node's page, the likeliest first.
func (p *Pages) forms(r *http.Request, d roadmap.Whole, done *done) []form {
	if d.Revision == "" {
		return nil // a fork is mended where it is shown
	}
	me, _ := p.Operator() // without one, the field is empty
	reason := field{Name: "reason", Label: "Why", Note: "optional", Kind: "text"}
	required := field{Name: "reason", Label: "Why", Kind: "text", Required: true}
	edit := p.form(r, d, actNamed("edit"), done, cardFields(event.Card{Title: d.Title, Body: d.Body, Labels: d.Labels, Priority: d.Priority, Run: d.Run})...)
	if history.Closed(d.Standing.Sum()) {
		return []form{p.form(r, d, actNamed("reopen"), done, reason), edit}
	}
	assignee, returnTo := d.Holder, d.ReturnTo
	if assignee == "" {
		assignee = me
	}
	if returnTo == "" {
		returnTo = me
	}
	claim := p.form(r, d, actNamed("claim"), done,
		field{Name: "assignee", Label: "To whom", Note: "a name beside yours, or a whole principal", Kind: "line", Value: string(assignee), Required: true},
		field{Name: "return_to", Label: "Who reviews the result", Kind: "line", Value: string(returnTo), Required: true})
	accept := p.form(r, d, actNamed("accept"), done, reason)
	list := []form{claim, accept}
	if _, ok := d.Standing.Sum().(history.ReadyForReview); ok {
		list = []form{accept, claim}
	}
	list[0].First = true
	if d.Holder != "" {
		list = append(list, p.form(r, d, actNamed("release"), done))
	}
	list = append(list, p.form(r, d, actNamed("block"), done, required), edit, p.linkForm(r, d, done))
	if u := p.unlinkForm(r, d, done); u != nil {
		list = append(list, *u)
	}
	return append(list, p.form(r, d, actNamed("drop"), done, reason))
}

func (p *Pages) linkForm(r *http.Request, d roadmap.Whole, done *done) form {
	relation := field{Name: "relation", Label: "How", Kind: "choice", Value: string(event.BlockedBy)}
	for _, rel := range event.Relations {
		relation.Choices = append(relation.Choices, choice{Value: string(rel), Label: relationWords[rel]})
	}
	return p.form(r, d, actNamed("link"), done, relation, field{Name: "to", Label: "To which node", Kind: "line", Required: true})
}

func (p *Pages) unlinkForm(r *http.Request, d roadmap.Whole, done *done) *form {
	which := field{Name: "link", Label: "Which", Kind: "choice"}
	add := func(rel event.Relation, to event.Node) {
		which.Choices = append(which.Choices, choice{Value: string(rel) + " " + string(to), Label: relationWords[rel] + " " + string(to)})
	}
	for _, b := range d.BlockedBy {
		add(event.BlockedBy, b.Node)
	}
	for _, l := range d.Links {
		add(l.Relation, l.To)
	}
	if len(which.Choices) == 0 {
		return nil
	}
	which.Value = which.Choices[0].Value
	f := p.form(r, d, actNamed("unlink"), done, which)
	return &f
}

var relationWords = map[event.Relation]string{event.BlockedBy: "waits for", event.ChildOf: "is part of", event.Related: "is related to"}

// cardFields are those of a card.
func cardFields(c event.Card) []field {
	priority := field{Name: "priority", Label: "Priority", Kind: "choice", Value: string(c.Priority.Rank())}
	for _, s := range []string{"p0", "p1", "p2", "p3", "p4"} {
		words := map[string]string{"p0": "p0, the first", "p2": "p2, as usual", "p4": "p4, the last"}[s]
		if words == "" {
			words = s
		}
		priority.Choices = append(priority.Choices, choice{Value: s, Label: words})
	}
	return []field{
		{Name: "title", Label: "Title", Kind: "line", Value: c.Title, Required: true},
		{Name: "body", Label: "What is to be done", Note: "markdown", Kind: "text", Value: c.Body},
		priority,
		{Name: "labels", Label: "Labels", Note: "with commas", Kind: "line", Value: strings.Join(c.Labels, ", ")},
		{Name: "run", Label: "Worker that does it", Note: "optional", Kind: "line", Value: c.Run},
	}
}

// openFields are those of a node to be opened.
func openFields() []field {
	fields := slices.Insert(cardFields(event.Card{}), 1, field{Name: "node", Label: "Name", Note: "never changes; such as fix-login", Kind: "line", Required: true})
	return append(fields, field{Name: "blocked_by", Label: "Waits for", Note: "names of nodes, with commas", Kind: "line"})
}

// openForm is the form that opens a node.
func (p *Pages) openForm(done *done) form {
	f := form{ID: "form-open", Title: "Open it", Action: p.boardURL(nil), First: true, Open: true, Cancel: p.boardURL(nil)}
	key := roadmap.NewKey()
	if done != nil && done.again != "" {
		key = done.again
	}
	f.hide(keyField, string(key))
	f.Fields = filled(f.ID, openFields(), done, opens)
	return f
}

// openingOf reads the form that opens a node.
func openingOf(v url.Values) (event.Node, roadmap.Opening, error) {
	w := words{Values: v}
	n, err := event.ParseNode(w.line("node"))
	if err != nil {
		return n, roadmap.Opening{}, err
	}
	card, err := w.card()
	if err != nil {
		return n, roadmap.Opening{}, err
	}
	o := roadmap.Opening{Card: card}
	for _, s := range w.list("blocked_by") {
		by, err := event.ParseNode(s)
		if err != nil {
			return n, o, err
		}
		o.BlockedBy = append(o.BlockedBy, by)
	}
	return n, o, nil
}
