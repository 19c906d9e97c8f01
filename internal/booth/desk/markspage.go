package desk

import (
	"net/http"
	"slices"

	"holdfast/internal/access"
	"holdfast/internal/booth"
	"holdfast/internal/booth/folder"
	"holdfast/internal/booth/marks"
	"holdfast/internal/plain"
	"holdfast/internal/problem"
	"holdfast/internal/web"
)

// headView is the head of every page of a booth: what it is, how long it lives,
// and what the operator can do with it.
type headView struct {
	Card   card
	Kept   bool
	Acts   bool // the reader may keep, release and delete
	Keep   string
	Unkeep string
	Delete string
	Back   string // which page the buttons lead back to
}

func (d *Desk) head(r *http.Request, l booth.Look, back string) headView {
	name := l.Name.String()
	_, acts := web.PartyOf(r).(access.Operator)
	kept := isKept(l)
	return headView{
		Card: d.card(l), Kept: kept, Acts: acts, Back: back,
		Keep: d.Base.URL("b", name, "keep"), Unkeep: d.Base.URL("b", name, "unkeep"), Delete: d.Base.URL("b", name, "delete"),
	}
}

type marksPage struct {
	Page     page
	Head     headView
	Version  string
	Problems []string
	Repair   string // where the damaged marks are repaired; empty where nothing is
	Open     []pickView
	Settled  []pickView
	Remarks  []remarkView
	Note     string         // where a note goes; empty where the reader may not
	Refused  *problem.Error // why an answer was not taken whose question is not on the page
	Typed    []string       // and what it said
}

// remarkView is a note or a flag.
type remarkView struct {
	Flag   bool
	Text   string
	Target string // item; empty for the whole booth
	URL    string
	Signed string
}

func (d *Desk) serveMarks(w http.ResponseWriter, r *http.Request) error {
	b, err := d.open(r)
	if err != nil {
		return err
	}
	defer b.Close()
	d.viewed(r, b)
	return d.writeMarks(w, r, b.Name().String(), nil)
}

// writeMarks shows the marks of a booth, and what a form said that was not taken.
func (d *Desk) writeMarks(w http.ResponseWriter, r *http.Request, name string, typed *typedAnswer) error {
	live := d.Live()
	l, err := d.look(r.Context(), name)
	if err != nil {
		return err
	}
	p := marksPage{Page: d.pages.page(r, "Marks of "+plain.Text(l.Title())), Head: d.head(r, l, "marks")}
	if typed == nil { // else what was typed would be lost with the first change
		p.Page.Live, p.Page.Here = live, d.Base.URL("b", name, "marks")
	}
	p.Problems = problems(l)
	if !l.Marks.Whole() {
		p.Repair = d.Base.URL("b", name, "repair")
	}
	if p.Head.Acts && l.Marks.Whole() {
		p.Note = d.Base.URL("b", name, "marks", "note")
	}
	p.Open, p.Settled = d.pickViews(r, l, "marks", typed)
	p.Remarks = d.remarks(l)
	p.Version = fingerprint([]any{p.Head.Card.Line, l.Marks.Rev, p.Problems, p.Open, p.Settled, p.Remarks})
	status := http.StatusOK
	if typed != nil {
		status = web.Status(typed.why)
		if _, there := l.Marks.Pick(typed.reply.ID); !there {
			p.Refused, p.Typed = typed.why, typed.words
		}
	}
	return d.pages.writeStatus(w, status, "marks.html", p)
}

// pickViews are the questions of a booth: the open ones, those first that have
// waited longest, and the settled ones, the last first.
func (d *Desk) pickViews(r *http.Request, l booth.Look, back string, typed *typedAnswer) (open, settled []pickView) {
	heard := d.Ledger.Asked(l.Name)
	for _, m := range l.Marks.Marks {
		p, ok := m.(marks.Pick)
		if !ok {
			continue
		}
		v := d.pickView(r, l, p, heard[p.MarkID], typed)
		v.Back = back
		if p.Open() {
			open = append(open, v)
		} else {
			settled = append(settled, v)
		}
	}
	slices.Reverse(settled)
	return open, settled
}

// remarks are the notes and flags of a booth, the last first.
func (d *Desk) remarks(l booth.Look) []remarkView {
	return d.remarksWhere(l, func(string) bool { return true })
}

func (d *Desk) remarksWhere(l booth.Look, wanted func(target string) bool) []remarkView {
	var out []remarkView
	add := func(flag bool, text, target string, by marks.Ident) {
		if !wanted(target) {
			return
		}
		v := remarkView{Flag: flag, Text: plain.Lines(text), Target: plain.Text(target), Signed: signed(by.By, by.At, l.At)}
		if target != "" {
			v.URL = d.viewURL(l.Name.String(), target)
		}
		out = append(out, v)
	}
	for _, m := range l.Marks.Marks {
		switch m := m.(type) {
		case marks.Note:
			add(false, m.Text, m.Target, m.Ident)
		case marks.Flag:
			add(true, m.Text, m.Target, m.Ident)
		case marks.Pick:
		}
	}
	slices.Reverse(out)
	return out
}

// about are the remarks about one item.
func (d *Desk) about(l booth.Look, item folder.ItemPath) []remarkView {
	return d.remarksWhere(l, func(target string) bool { return target == item.String() })
}

// serveAsks leads to the marks, where questions were at another address.
func (d *Desk) serveAsks(w http.ResponseWriter, r *http.Request) error {
	name, err := folder.Existing(r.PathValue("booth"))
	if err != nil {
		return err
	}
	http.Redirect(w, r, d.Base.URL("b", name.String(), "marks"), http.StatusPermanentRedirect)
	return nil
}
