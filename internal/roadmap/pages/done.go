package pages

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"holdfast/internal/page"
	"holdfast/internal/plain"
	"holdfast/internal/problem"
	"holdfast/internal/roadmap"
	"holdfast/internal/roadmap/event"
	"holdfast/internal/roadmap/history"
	"holdfast/internal/web"
)

// said is the query that names an event that was just appended.
const said = "said"

// stepOtherCommand refuses a key under which something else was asked before.
const stepOtherCommand = "operation-conflict"

// opens is the name of the act of opening a node.
const opens = "open"

// done is what became of a form that was not simply done.
type done struct {
	name    string // of the act
	values  url.Values
	again   event.Key // to send it with once more, where the outcome is not settled
	refused *problem.Error
	waits   *roadmap.Appended // it is queued, or nobody knows
}

func (d *done) is(name string) bool { return d != nil && d.name == name }

// isOn says whether it was the act of this name about a comment.
func (d *done) isOn(name, comment string) bool {
	return d.is(name) && (d.values.Get("comment") == comment || d.values.Get("parent") == comment)
}

// serveAct does what a form says, once for each of its keys.
func (p *Pages) serveAct(a act) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		n, err := nodeOf(r)
		if err != nil {
			return err
		}
		d := &done{name: a.name}
		appended, err := p.do(r, d, func(who event.Principal, key event.Key) (roadmap.Appended, error) {
			said := words{d.values, p.Named}
			expected, err := said.expected()
			if err != nil {
				return roadmap.Appended{}, err
			}
			body, err := a.body(said)
			if err != nil {
				return roadmap.Appended{}, err
			}
			return p.Plan.Append(context.WithoutCancel(r.Context()), n, body, roadmap.Act{Author: who, Key: key, Expect: expected})
		})
		if err == nil {
			http.Redirect(w, r, p.recordedURL(appended), http.StatusSeeOther)
			return nil
		}
		return p.notDone(w, r, n, d)
	}
}

// serveOpen opens a node.
func (p *Pages) serveOpen(w http.ResponseWriter, r *http.Request) error {
	d := &done{name: opens}
	appended, err := p.do(r, d, func(who event.Principal, key event.Key) (roadmap.Appended, error) {
		n, o, err := openingOf(d.values)
		if err != nil {
			return roadmap.Appended{}, err
		}
		return p.Plan.Open(context.WithoutCancel(r.Context()), n, o, roadmap.Act{Author: who, Key: key})
	})
	if err == nil {
		http.Redirect(w, r, p.recordedURL(appended), http.StatusSeeOther)
		return nil
	}
	return p.writeOpening(w, r, d.status(), opening{done: d})
}

// errWaits is the error of what is queued or not known: it is no success.
var errWaits = problem.New(problem.Unknown, "waits", "It is not known to be recorded.")

// do reads a form and runs append. Whoever leaves meanwhile leaves it running: an
// outcome that nobody saw is found under its key. The error is in d as well.
func (p *Pages) do(r *http.Request, d *done, run func(event.Principal, event.Key) (roadmap.Appended, error)) (roadmap.Appended, error) {
	appended, err := p.try(r, d, run)
	p.closed(appended.Close)
	switch {
	case err != nil:
		d.refused = problem.From(err, "Something broke here. It is in the server's log.")
		if d.refused.Kind == problem.Failed || d.refused.Kind == problem.Unknown {
			p.Log.Error("a change of the plan was not taken", "act", d.name, "cause", err)
		} else {
			d.again = "" // nothing was changed, and this key stands for that
		}
		return appended, err
	case appended.ID == "":
		d.waits = &appended
		p.Changed()
		return appended, errWaits
	}
	p.Changed()
	return appended, nil
}

func (p *Pages) try(r *http.Request, d *done, run func(event.Principal, event.Key) (roadmap.Appended, error)) (roadmap.Appended, error) {
	if err := r.ParseForm(); err != nil {
		return roadmap.Appended{}, problem.New(problem.Usage, "form", "The form cannot be read. Nothing was changed.").Because(err)
	}
	d.values = r.PostForm
	who, err := p.author(r)
	if err != nil {
		return roadmap.Appended{}, err
	}
	key, err := words{Values: d.values}.key()
	if err != nil {
		return roadmap.Appended{}, err
	}
	d.again = key
	return run(who, key)
}

// recordedURL is the node's page, which looks in the log for what was appended
// before it says so.
func (p *Pages) recordedURL(a roadmap.Appended) string {
	return withQuery(p.nodeURL(a.Node), url.Values{said: {string(a.ID)}})
}

// status is that of the page which says what became of it. What does not fit the node
// as it stands is a conflict, for whoever filled in the form; 403 is for who may not.
func (d *done) status() int {
	switch {
	case d.waits != nil && d.waits.Outcome == "queued":
		return http.StatusAccepted
	case d.waits != nil:
		return http.StatusGatewayTimeout
	case d.refused.Step == stepOtherCommand || history.Conflicts(d.refused.Step):
		return http.StatusConflict
	}
	own := web.Status(d.refused)
	if d.refused.Kind == problem.Refused && own == http.StatusConflict {
		return http.StatusServiceUnavailable
	}
	return own
}

// notDone shows the node as it is now, with what became of the form; where that
// cannot be asked, as it was read last; and where there is none, only the words.
func (p *Pages) notDone(w http.ResponseWriter, r *http.Request, n event.Node, d *done) error {
	err := p.writeNode(w, r, n, d.status(), roadmap.Now, d)
	if isUnavailable(err) {
		err = p.writeNode(w, r, n, d.status(), roadmap.AsOf, d)
	}
	if err == nil {
		return nil
	}
	said := d.notice(roadmap.Whole{})
	return p.pages.WriteStatus(w, d.status(), "unavailable.html", unavailablePage{
		Page: p.pages.Frame(r, "Not done"), Heading: said.Heading, Reason: said.Reason, Hint: said.Hint, Typed: said.Typed, Board: p.boardURL(nil),
	})
}

// notice says what became of a form, beside the node as it is now.
func (d *done) notice(doc roadmap.Whole) *notice {
	n := &notice{Bad: true, Typed: typedIn(d.values)}
	switch {
	case d.waits != nil && d.waits.Outcome == "queued":
		n.Bad, n.Heading = false, "It waits in the queue, and is not in the plan yet"
		n.Reason = plain.Text(d.waits.Why)
		n.Hint = "It is published with the next command that reaches the remote. The board shows what waits; holdfast roadmap queue withdraws it. Its key is " + string(d.waits.Key) + "."
	case d.waits != nil:
		n.Heading = "Whether it was recorded is not known"
		n.Reason = plain.Text(d.waits.Why)
		n.Hint = "Sending the form below again is safe: it has the same key (" + string(d.waits.Key) + "), and is recorded once."
	default:
		n.Heading, n.Reason, n.Hint = "Not done", plain.Text(d.refused.Reason), plain.Text(d.refused.Hint)
		if d.status() == http.StatusConflict {
			n.Changed = since(doc.Events, d.values[expectField])
			if len(n.Changed) > 0 || d.refused.Step == history.StepRevision {
				n.Heading = "Not done: something changed meanwhile"
			}
		}
	}
	return n
}

// since is the events that came after the revisions that a form was made on.
func since(events []roadmap.Entry, expected []string) []eventView {
	last := -1
	for i, e := range events {
		if slices.Contains(expected, string(e.ID)) {
			last = i
		}
	}
	if last < 0 {
		return nil
	}
	after := events[last+1:]
	return views(after[max(0, len(after)-maxRows):])
}

// typedIn is what a form said that somebody may have typed.
func typedIn(v url.Values) []typed {
	var out []typed
	for _, f := range []struct{ name, label string }{
		{"node", "Name"},
		{"title", "Title"},
		{"body", "Text"},
		{"reason", "Why"},
		{"assignee", "To whom"},
		{"return_to", "Who reviews the result"},
		{"to", "To which node"},
		{"labels", "Labels"},
		{"run", "Worker"},
		{"blocked_by", "Waits for"},
	} {
		if s := strings.TrimSpace(v.Get(f.name)); s != "" {
			out = append(out, typed{f.label, plain.Lines(head(s, event.MaxText))})
		}
	}
	return out
}

// recorded says that an event is in the log, where it was found there now.
func (p *Pages) recorded(r *http.Request, doc roadmap.Whole) *notice {
	id, err := event.ParseID(r.URL.Query().Get(said))
	if err != nil {
		return nil
	}
	i := slices.IndexFunc(doc.Events, func(e roadmap.Entry) bool { return e.ID == id })
	if i < 0 {
		return &notice{Bad: true, Heading: "It is not in the log", Reason: "The event " + id.Short() + ", which was recorded, is not in the log as it is read now."}
	}
	v := viewOf(doc.Events[i])
	return &notice{Heading: "Recorded", Reason: v.By.Name + " " + v.Line, Event: id.Short(), Events: "#" + v.Anchor}
}

type opening struct{ done *done }

type openingPage struct {
	Page   page.Frame
	Form   form
	Notice *notice
	Board  string
}

// writeOpening writes the page with the form that opens a node.
func (p *Pages) writeOpening(w http.ResponseWriter, r *http.Request, status int, o opening) error {
	v := openingPage{Page: p.pages.Frame(r, "Open a node"), Form: p.openForm(o.done), Board: p.boardURL(nil)}
	if o.done != nil {
		v.Notice = o.done.notice(roadmap.Whole{})
		v.Notice.Typed = nil // it is in the form
	}
	return p.pages.WriteStatus(w, status, "open.html", v)
}
