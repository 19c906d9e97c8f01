package desk

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"holdfast/internal/access"
	"holdfast/internal/booth"
	"holdfast/internal/booth/folder"
	"holdfast/internal/booth/lifetime"
	"holdfast/internal/booth/sweep"
	"holdfast/internal/page"
	"holdfast/internal/plain"
	"holdfast/internal/problem"
	"holdfast/internal/web"
)

// Sweeper is what deletes booths, and gives them back. Remove takes a held or a
// kept booth like any other; Restore of what is not in the trash is Gone.
type Sweeper interface {
	Remove(ctx context.Context, name folder.Name, by string) (sweep.Trashed, error)
	Restore(ctx context.Context, id string) (folder.Name, error)
	Trash() []sweep.Trashed
	Aside() []sweep.Aside
	Sweep(ctx context.Context, dry bool) (sweep.Report, error)
}

// serveDelete puts a booth into the trash. A form leads to the index, which
// offers to undo it.
func (d *Desk) serveDelete(w http.ResponseWriter, r *http.Request) error {
	a, err := d.actOn(r)
	if err != nil {
		return err
	}
	t, err := d.Sweeper.Remove(r.Context(), a.name, a.who.By)
	if err != nil {
		return err
	}
	d.Changed(a.name.String())
	if a.form == nil {
		return web.WriteJSON(w, http.StatusOK, t.Document())
	}
	http.Redirect(w, r, d.Base.String()+"?deleted="+url.QueryEscape(t.ID), http.StatusSeeOther)
	return nil
}

func (d *Desk) serveRestore(w http.ResponseWriter, r *http.Request) error {
	name, err := d.Sweeper.Restore(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	d.Changed(name.String())
	return web.WriteJSON(w, http.StatusOK, booth.NewRestored(name))
}

// serveUndo is a form's restore; it leads to the booth that came back.
func (d *Desk) serveUndo(w http.ResponseWriter, r *http.Request) error {
	name, err := d.Sweeper.Restore(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	d.Changed(name.String())
	http.Redirect(w, r, d.Base.URL("b", name.String(), ""), http.StatusSeeOther)
	return nil
}

func (d *Desk) serveTrashList(w http.ResponseWriter, _ *http.Request) error {
	out := booth.Trash{Trash: []booth.Trashed{}}
	for _, t := range d.Sweeper.Trash() {
		out.Trash = append(out.Trash, t.Document())
	}
	return web.WriteJSON(w, http.StatusOK, out)
}

func (d *Desk) serveSweep(w http.ResponseWriter, r *http.Request) error {
	dry := r.URL.Query().Get("dry")
	if dry != "" && dry != "1" {
		return problem.New(problem.Usage, "dry", "dry is 1 or not there.")
	}
	report, err := d.Sweeper.Sweep(r.Context(), dry == "1")
	if err != nil {
		return err
	}
	for _, name := range report.Swept {
		d.Changed(name)
	}
	return web.WriteJSON(w, http.StatusOK, report)
}

type trashPage struct {
	Page    page.Frame
	Acts    bool // the reader may restore
	Trashed []trashView
	Aside   []string // names of booths that cannot go back
}

// trashView is a booth in the trash as a page shows it.
type trashView struct {
	Name, About, Trouble, Undo string
}

func (d *Desk) serveTrash(w http.ResponseWriter, r *http.Request) error {
	_, acts := web.PartyOf(r).(access.Operator)
	p := trashPage{Page: d.pages.Frame(r, "Trash"), Acts: acts}
	for _, t := range d.Sweeper.Trash() {
		p.Trashed = append(p.Trashed, d.trashView(t))
	}
	for _, a := range d.Sweeper.Aside() {
		p.Aside = append(p.Aside, plain.Text(a.Name.String()))
	}
	return d.pages.Write(w, "trash.html", p)
}

func (d *Desk) trashView(t sweep.Trashed) trashView {
	by := "by the timer"
	if t.By != "" {
		by = "by " + plain.Text(t.By)
	}
	left := "gone for good at the next tick"
	if t.Purge > 0 {
		left = "gone for good in " + lifetime.Span(t.Purge) + " of the desk's time"
	}
	return trashView{
		Name:    plain.Text(t.Name.String()),
		About:   fmt.Sprintf("%s · deleted %s %s · %s", plain.Size(t.Bytes), by, ago(t.At, d.Now()), left),
		Trouble: plain.Text(t.Trouble),
		Undo:    d.Base.URL("trash", t.ID, "restore"),
	}
}

// trashNotice says on the index what was just deleted, and where the rest is.
func (d *Desk) trashNotice(r *http.Request, p *indexPage) {
	all, aside := d.Sweeper.Trash(), d.Sweeper.Aside()
	if len(all)+len(aside) > 0 {
		p.Trash, p.InTrash = d.Base.URL("trash"), len(all)
	}
	p.Aside = len(aside)
	id := r.URL.Query().Get("deleted")
	for _, t := range all {
		if t.ID == id {
			v := d.trashView(t)
			p.Trashed, p.Undo = v.Name, v.Undo
		}
	}
}
