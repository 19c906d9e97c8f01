package pages

import (
	"encoding/json"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"holdfast/internal/page"
	"holdfast/internal/plain"
	"holdfast/internal/problem"
	"holdfast/internal/prose"
	"holdfast/internal/roadmap"
	"holdfast/internal/roadmap/event"
	"holdfast/internal/roadmap/history"
)

type nodePage struct {
	Page page.Frame
	newness
	Version  string
	Card     card
	Line     string // the standing in a sentence
	Body     text
	Rail     rail
	Result   *resultView
	Cycle    []nodeLink
	Graph    *drawing
	Groups   []linkGroup
	Fork     *forkView
	Missing  []string
	Comments []commentView
	Talk     pager
	Say      *form // of a comment
	Answers  *answered
	History  historyView
	Forms    []form
	Notice   *notice
	Board    string
	Log      string // as JSON
}

// text is what somebody wrote: rendered, or as it stands.
type text struct {
	HTML  template.HTML
	Plain string
	Notes []string // what is not shown
}

type rail struct {
	Holder, ReturnTo, OpenedBy *who
	Opened, Updated            string
	Run, Revision              string
	Labels                     []string
	Claims                     []claimView
	Receipts                   []receiptView
}

type claimView struct {
	Assignee, ReturnTo *who
	At, Event          string
	Attempts           []string
	Spent              bool
}

type receiptView struct {
	Obligation, Verdict, Address, URL, At string
	By                                    *who
}

type resultView struct {
	Attempt, Head, Booth, URL string
}

type nodeLink struct{ Node, Title, URL, Is string }

type linkGroup struct {
	Title string
	Links rows[nodeLink]
}

// notice is what is said at the top of a page about what was just done.
type notice struct {
	Bad           bool
	Heading       string
	Reason, Hint  string
	Changed       []eventView // since the revision that a form was made on
	Typed         []typed
	Event, Events string
}

type typed struct{ Name, Text string }

// maxTalk is how many comments a page shows.
const maxTalk = 50

// serveNode shows a node.
func (p *Pages) serveNode(w http.ResponseWriter, r *http.Request) error {
	n, err := nodeOf(r)
	if err != nil {
		return err
	}
	return p.writeNode(w, r, n, http.StatusOK, freshness(r), nil)
}

// nodeOf is the node of the address. No node has a name that none can have.
func nodeOf(r *http.Request) (event.Node, error) {
	n, err := event.ParseNode(r.PathValue("node"))
	if err != nil {
		return "", problem.New(problem.Gone, problem.StepNotFound, "There is no node %.100q.", r.PathValue("node"))
	}
	return n, nil
}

// writeNode writes a node's page. With done, that is said on it, and its words are
// in the form again.
func (p *Pages) writeNode(w http.ResponseWriter, r *http.Request, n event.Node, status int, fresh roadmap.Freshness, done *done) error {
	live := p.Live()
	doc, err := p.Plan.Whole(r.Context(), fresh, n)
	p.closed(doc.Close)
	if err != nil {
		return err
	}
	v := p.nodeView(r, doc, done)
	v.newness = p.newness(r, doc.Head, fresh)
	if fresh == roadmap.Now && done == nil {
		v.Page.Live, v.Page.Topic, v.Page.Here = live, Topic, p.here(r, nil)
	}
	if done != nil {
		v.Notice = done.notice(doc)
	} else {
		v.Notice = p.recorded(r, doc)
	}
	return p.pages.WriteStatus(w, status, "node.html", v)
}

func (p *Pages) nodeView(r *http.Request, d roadmap.Whole, done *done) nodePage {
	v := nodePage{
		Page: p.pages.Frame(r, clip(title(d.Row), 100)), Card: p.card(d.Row), Line: sentence(d), Rail: p.rail(d),
		Board: p.boardURL(nil), Log: p.Base.URL("api", "v1", root, string(d.Row.Node), "log"),
	}
	if d.Revision == "" { // without an order nothing is set aside
		d.Events = slices.Clone(d.Events)
		for i := range d.Events {
			d.Events[i].Aside = false
		}
	}
	b := &budget{left: 4 * prose.Max}
	v.Body = p.text(d.Body, 1, b)
	switch s := d.Standing.Sum().(type) {
	case history.ReadyForReview:
		v.Result = p.result(s.Result)
	case history.Forked:
		v.Fork = p.fork(r, d)
	case history.Incomplete:
		for _, id := range s.Missing {
			v.Missing = append(v.Missing, string(id))
		}
	case history.Open, history.Claimed, history.InProgress, history.Blocked, history.HandedBack, history.Accepted, history.Dropped:
		// the sentence says it all
	}
	for _, n := range d.Cycle {
		v.Cycle = append(v.Cycle, nodeLink{Node: string(n), URL: p.nodeURL(n)})
	}
	v.Groups = p.groups(d)
	v.Graph = p.draw(d)
	v.History = p.history(r, d.Events)
	acting := p.mayAct(r)
	if acting {
		v.Forms = p.forms(r, d, done)
		if d.Revision != "" {
			v.Say = p.say(r, d, done)
		}
	}
	p.talk(r, d, &v, b, acting, done)
	v.Version = versionOf(d)
	return v
}

// versionOf differs where the page does, whenever it was made.
func versionOf(d roadmap.Whole) string {
	d.Head = roadmap.Head{Rewritten: d.Rewritten}
	data, err := json.Marshal(struct {
		Node   roadmap.Node
		Around map[event.Node]roadmap.Row
		Events int
	}{d.Node, d.Around, len(d.Events)})
	if err != nil {
		return fingerprint(d.AsOf) // then it changes with each reading
	}
	return fingerprint(string(data))
}

// sentence is where a node stands, in a sentence.
func sentence(d roadmap.Whole) string {
	s := d.Standing
	words := "It is " + s.Line
	switch sum := s.Sum().(type) {
	case history.Claimed:
		words += " since " + stamp(sum.Since)
	case history.InProgress:
		words += ", says " + sum.By.Subject()
		if sum.Note != "" {
			words += ": " + sum.Note
		}
	case history.Blocked:
		if sum.Reason != "" {
			words += ", says " + sum.By.Subject() + ": " + sum.Reason
		}
		if len(sum.Picks) > 0 {
			words += ": " + strings.Join(sum.Picks, ", ")
		}
	case history.HandedBack:
		words += " by " + sum.By.Subject() + ": " + sum.Reason
	case history.ReadyForReview:
		words += ": " + sum.By.Subject() + " returned a result"
	case history.Accepted:
		words += " by " + sum.By.Subject() + because(sum.Reason)
	case history.Dropped:
		words += " by " + sum.By.Subject() + because(sum.Reason)
	case history.Open:
		if d.Ready {
			words += " and ready: work may begin"
		}
	case history.Forked:
		words = "Its history is forked: two or more events were appended to the same one. Nobody holds it, and it takes nothing until one line is kept."
	case history.Incomplete:
		words = "Its history is incomplete: events are named that the log does not have. It mends itself when the log has them."
	}
	if d.Blocked && !history.Closed(s.Sum()) {
		words += " · it waits for another node"
	}
	return clip(words, 600)
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

func (p *Pages) rail(d roadmap.Whole) rail {
	v := rail{
		Holder: person(d.Holder), ReturnTo: person(d.ReturnTo), OpenedBy: person(d.OpenedBy),
		Run: plain.Text(d.Run), Revision: d.Revision.Short(),
	}
	if !d.Updated.IsZero() {
		v.Updated = stamp(d.Updated)
	}
	if !d.Opened.IsZero() {
		v.Opened = stamp(d.Opened)
	}
	for _, l := range d.Labels {
		v.Labels = append(v.Labels, plain.Text(l))
	}
	for _, c := range slices.Backward(d.Claims) {
		if len(v.Claims) == maxRows {
			break
		}
		view := claimView{Assignee: person(c.Assignee), ReturnTo: person(c.ReturnTo), At: stamp(c.At), Event: c.Claim.Short(), Spent: c.Spent}
		for _, a := range c.Attempts {
			view.Attempts = append(view.Attempts, string(a))
		}
		v.Claims = append(v.Claims, view)
	}
	for _, rc := range slices.Backward(d.Receipts) {
		if len(v.Receipts) == maxRows {
			break
		}
		v.Receipts = append(v.Receipts, receiptView{
			Obligation: clip(rc.Obligation, 100), Verdict: clip(rc.Verdict, 100), Address: clip(rc.Address, 200), URL: p.evidence(rc.Address), At: stamp(rc.At), By: person(rc.Author),
		})
	}
	return v
}

// evidence is where something is looked at that an event points to: a booth of this
// desk, or an address of the web. Anything else is only words.
func (p *Pages) evidence(address string) string {
	u, err := url.Parse(address)
	if err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" {
		return u.String()
	}
	if name, ok := strings.CutPrefix(address, "booth:"); ok && !strings.Contains(name, "/") {
		return p.Base.URL("b", name, "")
	}
	return ""
}

func (p *Pages) result(res history.Result) *resultView {
	v := &resultView{Attempt: string(res.Attempt), Head: res.Head, Booth: plain.Text(res.Booth)}
	if v.URL = p.evidence(res.Booth); v.URL == "" && res.Booth != "" && !strings.Contains(res.Booth, "/") && !strings.Contains(res.Booth, ":") {
		v.URL = p.Base.URL("b", res.Booth, "")
	}
	return v
}

// budget bounds how much is laid out for one page.
type budget struct{ left int }

// text is somebody's words below a heading of the page at level under.
func (p *Pages) text(s string, under int, b *budget) text {
	if s == "" {
		return text{}
	}
	if len(s) > prose.Max || len(s) > b.left {
		return text{Plain: plain.Unicode(s)}
	}
	b.left -= len(s)
	out, notes := prose.Render([]byte(plain.Unicode(s)), "", prose.Places{Base: p.Base, Under: under})
	return text{HTML: out, Notes: notes}
}

// groups are the node's links, by what they mean.
func (p *Pages) groups(d roadmap.Whole) []linkGroup {
	link := func(n event.Node, title, is string) nodeLink {
		l := nodeLink{Node: string(n), Title: clip(title, 120), URL: p.nodeURL(n), Is: is}
		if row, ok := d.Around[n]; ok && l.Is == "" {
			l.Is = plain.Text(row.Standing.Line)
		}
		return l
	}
	var waits, blocks, parents, children, related []nodeLink
	for _, b := range d.BlockedBy {
		is := ""
		if b.Is == history.BlockerMissing.String() {
			is = "cannot be found or read"
		}
		waits = append(waits, link(b.Node, b.Title, is))
	}
	for _, l := range d.Blocks {
		blocks = append(blocks, link(l.To, l.Title, ""))
	}
	for _, l := range d.Parents {
		parents = append(parents, link(l.To, l.Title, ""))
	}
	for _, c := range d.Children {
		children = append(children, link(c, d.Around[c].Title, ""))
	}
	for _, l := range d.Related {
		related = append(related, link(l.To, l.Title, ""))
	}
	var out []linkGroup
	for _, g := range []struct {
		title string
		links []nodeLink
	}{{"Part of", parents}, {"Waits for", waits}, {"Blocks", blocks}, {"Parts", children}, {"Related", related}} {
		if len(g.links) > 0 {
			out = append(out, linkGroup{g.title, cut(g.links, 50)})
		}
	}
	return out
}
