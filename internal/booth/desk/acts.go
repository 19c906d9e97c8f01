package desk

import (
	"context"
	"io"
	"mime"
	"net/http"
	"net/url"

	"holdfast/internal/access"
	"holdfast/internal/booth"
	"holdfast/internal/booth/folder"
	"holdfast/internal/booth/marks"
	"holdfast/internal/plain"
	"holdfast/internal/problem"
	"holdfast/internal/web"
)

// maxRequest is what a request about marks may carry, in bytes.
const maxRequest = 512 << 10

// act is a request that changes a booth: JSON of a program, or a form of a page.
type act struct {
	name folder.Name
	who  marks.Who
	form url.Values // nil where the request is JSON
	body []byte
}

// actOn reads a request that changes the booth which it names.
func (d *Desk) actOn(r *http.Request) (act, error) {
	name, err := folder.Existing(r.PathValue("booth"))
	if err != nil {
		return act{}, err
	}
	a := act{name: name, who: d.who(r)}
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind == "application/x-www-form-urlencoded" {
		if err := r.ParseForm(); err != nil {
			return a, problem.New(problem.Usage, "form", "The form cannot be read. Nothing was changed.").Because(err)
		}
		a.form = r.PostForm
		return a, nil
	}
	a.body, err = io.ReadAll(r.Body)
	return a, err
}

// who is the author of what a request changes.
func (d *Desk) who(r *http.Request) marks.Who {
	w := marks.Who{By: "worker", Via: "token", At: d.Now()}
	if p, ok := web.PartyOf(r).(access.Operator); ok {
		w.By = p.Principal
		if p.Session != "" {
			w.Via = "page"
		}
	}
	return w
}

// read fills in what the act says: from the form by fill, else from the JSON.
func (a act) read(into any, fill func(url.Values)) error {
	if a.form != nil {
		fill(a.form)
		return nil
	}
	return booth.ParseRequest(a.body, into)
}

// done answers an act: with doc, or by leading the browser back to the page that
// the form was on.
func (d *Desk) done(w http.ResponseWriter, r *http.Request, a act, doc any) error {
	d.Changed(a.name.String())
	if a.form == nil {
		return web.WriteJSON(w, http.StatusOK, doc)
	}
	http.Redirect(w, r, d.back(a), http.StatusSeeOther)
	return nil
}

// back is where a form wants to lead: one of the desk's own pages of the booth.
func (d *Desk) back(a act) string {
	name := a.name.String()
	switch a.form.Get("back") {
	case "marks":
		return d.Base.URL("b", name, "marks")
	case "view":
		return d.viewURL(name, a.form.Get("target"))
	default:
		return d.Base.URL("b", name, "")
	}
}

func (d *Desk) serveAsk(w http.ResponseWriter, r *http.Request) error {
	a, err := d.actOn(r)
	if err != nil {
		return err
	}
	var q booth.Question
	if err := booth.ParseRequest(a.body, &q); err != nil {
		return err
	}
	doc, err := booth.Ask(r.Context(), d.Data, a.name, q, a.who)
	if err != nil {
		return err
	}
	return d.done(w, r, a, d.placed(doc, a.name))
}

// placed is a document with the address of the page where it is answered.
func (d *Desk) placed(doc booth.Asked, name folder.Name) booth.Asked {
	doc.URL = d.Base.URL("b", name.String(), "marks") + "#" + booth.Anchor(doc.ID)
	return doc
}

// serveAnswer takes an answer. What a form says and cannot be taken is shown
// again, beside the question as it now is.
func (d *Desk) serveAnswer(w http.ResponseWriter, r *http.Request) error {
	a, err := d.actOn(r)
	if err != nil {
		return err
	}
	var reply booth.Reply
	var typed *typedAnswer
	if a.form != nil {
		if typed, err = d.readForm(a); err == nil {
			reply = typed.reply
		}
	} else {
		err = booth.ParseRequest(a.body, &reply)
	}
	if err != nil {
		return err
	}
	doc, err := booth.Answer(r.Context(), d.Data, a.name, reply, a.who)
	if err != nil && typed != nil {
		typed.why = problem.From(err, "Something broke here. It is in the server's log.")
		if typed.why.Kind == problem.Failed || typed.why.Kind == problem.Unknown {
			d.Log.Error("an answer was not taken", "booth", plain.Text(a.name.String()), "cause", err)
		}
		if shown := d.writeMarks(w, r, a.name.String(), typed); problem.KindOf(shown) != problem.Gone {
			return shown
		}
	}
	if err != nil {
		return err
	}
	return d.done(w, r, a, d.placed(doc, a.name))
}

func (d *Desk) serveWithdraw(w http.ResponseWriter, r *http.Request) error {
	a, err := d.actOn(r)
	if err != nil {
		return err
	}
	var what booth.Withdrawal
	if err := a.read(&what, func(f url.Values) { what.ID = f.Get("id") }); err != nil {
		return err
	}
	doc, err := booth.Withdraw(r.Context(), d.Data, a.name, what, a.who)
	if err != nil {
		return err
	}
	return d.done(w, r, a, d.placed(doc, a.name))
}

func (d *Desk) serveNote(w http.ResponseWriter, r *http.Request) error {
	return d.remark(w, r, booth.Note)
}

func (d *Desk) serveFlag(w http.ResponseWriter, r *http.Request) error {
	return d.remark(w, r, booth.Flag)
}

type remarker func(context.Context, *folder.Data, folder.Name, booth.Remark, marks.Who) (booth.Noted, error)

func (d *Desk) remark(w http.ResponseWriter, r *http.Request, write remarker) error {
	a, err := d.actOn(r)
	if err != nil {
		return err
	}
	var what booth.Remark
	err = a.read(&what, func(f url.Values) { what = booth.Remark{Text: f.Get("text"), Target: f.Get("target")} })
	if err != nil {
		return err
	}
	doc, err := write(r.Context(), d.Data, a.name, what, a.who)
	if err != nil {
		return err
	}
	return d.done(w, r, a, doc)
}

func (d *Desk) serveRepair(w http.ResponseWriter, r *http.Request) error {
	a, err := d.actOn(r)
	if err != nil {
		return err
	}
	doc, err := booth.Repair(r.Context(), d.Data, a.name)
	if err != nil {
		return err
	}
	return d.done(w, r, a, doc)
}

func (d *Desk) serveKeep(w http.ResponseWriter, r *http.Request) error {
	a, err := d.actOn(r)
	if err != nil {
		return err
	}
	var what booth.Keeping
	if err := a.read(&what, func(f url.Values) { what.Why = f.Get("why") }); err != nil {
		return err
	}
	changed, err := booth.Keep(r.Context(), d.Data, a.name, what.Why, a.who.By, d.Now())
	if err != nil {
		return err
	}
	return d.doneKeeping(w, r, a, changed)
}

func (d *Desk) serveUnkeep(w http.ResponseWriter, r *http.Request) error {
	a, err := d.actOn(r)
	if err != nil {
		return err
	}
	released, err := booth.Release(r.Context(), d.Data, a.name, d.Now())
	if err != nil {
		return err
	}
	return d.doneKeeping(w, r, a, released)
}

func (d *Desk) doneKeeping(w http.ResponseWriter, r *http.Request, a act, changed bool) error {
	l, err := d.look(r.Context(), a.name.String())
	if err != nil {
		return err
	}
	return d.done(w, r, a, l.Keeping(changed))
}
