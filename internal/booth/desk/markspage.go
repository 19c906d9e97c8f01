package desk

import (
	"fmt"
	"net/http"
	"slices"

	"holdfast/internal/access"
	"holdfast/internal/booth"
	"holdfast/internal/booth/folder"
	"holdfast/internal/booth/marks"
	"holdfast/internal/page"
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
	Page     page.Frame
	Head     headView
	Version  string
	Problems []string
	Repair   string // where the damaged marks are repaired; empty where nothing is
	Open     listed[pickView]
	Settled  listed[pickView]
	Remarks  listed[remarkView]
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
	p := marksPage{Page: d.pages.Frame(r, "Marks of "+plain.Text(l.Title())), Head: d.head(r, l, "marks")}
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
	p.Open, p.Settled = d.pickViews(r, l, true, "marks", typed), d.pickViews(r, l, false, "marks", typed)
	p.Remarks = d.remarks(l, func(string) bool { return true })
	p.Version = fingerprint([]any{p.Head.Card.Line, l.Marks.Rev, p.Problems, p.Open, p.Settled, p.Remarks})
	status := http.StatusOK
	if typed != nil {
		status = web.Status(typed.why)
		if !slices.ContainsFunc(slices.Concat(p.Open.Shown, p.Settled.Shown), func(v pickView) bool { return v.ID == typed.reply.ID }) {
			p.Refused, p.Typed = typed.why, typed.words
		}
	}
	return d.pages.WriteStatus(w, status, "marks.html", p)
}

// maxShown is how many questions of a kind, and how many remarks, a page shows: a
// booth can be full of them.
const maxShown = 100

// listed are the first of many, and how many there are.
type listed[T any] struct {
	Shown []T
	Count int
	More  string // what to do about the others; empty where there are none
}

func listedOf[T, V any](all []T, name string, view func(T) V) listed[V] {
	s := listed[V]{Count: len(all)}
	for _, one := range all[:min(len(all), maxShown)] {
		s.Shown = append(s.Shown, view(one))
	}
	if len(all) > maxShown {
		s.More = fmt.Sprintf("and %d more: holdfast booth marks %s lists them", len(all)-maxShown, plain.Text(name))
	}
	return s
}

// pickViews are the questions of a booth: the open ones, the first first, or the
// settled ones, the last first.
func (d *Desk) pickViews(r *http.Request, l booth.Look, open bool, back string, typed *typedAnswer) listed[pickView] {
	var picks []marks.Pick
	for _, p := range l.Marks.Picks() {
		if p.Open() == open {
			picks = append(picks, p)
		}
	}
	if !open {
		slices.Reverse(picks)
	}
	heard := d.Ledger.Asked(l.Name)
	return listedOf(picks, l.Name.String(), func(p marks.Pick) pickView {
		v := d.pickView(r, l, p, heard[p.MarkID], typed)
		v.Back = back
		return v
	})
}

// remarks are the notes and flags of a booth whose target is wanted, the last
// first.
func (d *Desk) remarks(l booth.Look, wanted func(target string) bool) listed[remarkView] {
	var found []marks.Mark
	for _, m := range l.Marks.Marks {
		switch m := m.(type) {
		case marks.Note:
			if wanted(m.Target) {
				found = append(found, m)
			}
		case marks.Flag:
			if wanted(m.Target) {
				found = append(found, m)
			}
		case marks.Pick:
		}
	}
	slices.Reverse(found)
	return listedOf(found, l.Name.String(), func(m marks.Mark) remarkView { return d.remarkView(l, m) })
}

func (d *Desk) remarkView(l booth.Look, m marks.Mark) remarkView {
	var v remarkView
	var target string
	var by marks.Ident
	switch m := m.(type) {
	case marks.Note:
		v.Text, target, by = m.Text, m.Target, m.Ident
	case marks.Flag:
		v.Flag, v.Text, target, by = true, m.Text, m.Target, m.Ident
	case marks.Pick: // is no remark
	}
	v.Text, v.Target, v.Signed = plain.Lines(v.Text), plain.Text(target), signed(by.By, by.At, l.At)
	if target != "" {
		v.URL = d.viewURL(l.Name.String(), target)
	}
	return v
}

// about are the remarks about one item.
func (d *Desk) about(l booth.Look, item folder.ItemPath) listed[remarkView] {
	return d.remarks(l, func(target string) bool { return target == item.String() })
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
