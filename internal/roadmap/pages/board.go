package pages

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"holdfast/internal/page"
	"holdfast/internal/plain"
	"holdfast/internal/problem"
	"holdfast/internal/roadmap"
	"holdfast/internal/roadmap/event"
	"holdfast/internal/roadmap/history"
)

// How many cards the board shows of each lane, and a page of one lane in all.
const (
	laneCards = 12
	pageCards = 100
)

// How many offers a field makes, and how many rows of what went wrong are shown.
const (
	maxOffers = 50
	maxRows   = 20
)

type boardPage struct {
	Page page.Frame
	newness
	Version string // changes when what is shown changes
	Filter  filterForm
	Lanes   []lane
	Pager   pager
	Counts  string
	Refused rows[refusedView]
	Queue   queueView
	New     string // where a node is opened; empty where the reader may not
	Daily   string
	Board   string
	Empty   bool // nothing is planned at all
}

type lane struct {
	ID, Title, About string
	Waiting          bool // for the operator
	Count            int
	Cards            []card
	More             string // the address of the whole lane; empty where this is it
}

type card struct {
	URL, Node, Title string
	Priority         string
	Tags             []tag
	Labels           []string
	Holder           *who
}

// pager leads through a long list.
type pager struct {
	Needed         bool
	Words          string
	Previous, Next string
}

// rows is the beginning of a list.
type rows[T any] struct {
	Shown []T
	Count int
	More  string // in words
}

func cut[T any](all []T, most int) rows[T] {
	r := rows[T]{Shown: all[:min(len(all), most)], Count: len(all)}
	if more := len(all) - most; more > 0 {
		r.More = fmt.Sprintf("and %d more", more)
	}
	return r
}

type refusedView struct{ Node, URL, Step, Reason, Place string }

type queueView struct {
	Trouble string
	Waiting rows[queuedView]
	Late    rows[lateView]
	Damaged rows[string]
}

type queuedView struct{ Node, URL, Kind, At, Key string }

type lateView struct{ Node, URL, Step, Reason, At, Key string }

// filterForm is the search as it was asked for.
type filterForm struct {
	Action, Clear           string
	Text, Label, Holder     string
	Standings               []choice
	Ready, Any              bool
	LabelOffers, HoldOffers []string
}

type choice struct {
	Value, Label string
	Chosen       bool
}

// about is what a board says of a standing.
var about = map[string]struct {
	title, words string
	waiting      bool
}{
	history.Key(history.ReadyForReview{}): {"Ready for review", "A result was returned: accept it, drop it, or let it go on.", true},
	history.Key(history.Forked{}):         {"Forked", "Two histories: one of them is to be kept.", true},
	history.Key(history.Incomplete{}):     {"Incomplete", "The log lacks events of these.", true},
	history.Key(history.HandedBack{}):     {"Handed back", "Given back undone.", true},
	history.Key(history.Blocked{}):        {"Blocked", "Cannot go on.", true},
	history.Key(history.InProgress{}):     {"In progress", "Being worked on.", false},
	history.Key(history.Claimed{}):        {"Claimed", "Somebody holds it.", false},
	history.Key(history.Open{}):           {"Open", "To be done; nobody holds it.", false},
	history.Key(history.Accepted{}):       {"Accepted", "Done.", false},
	history.Key(history.Dropped{}):        {"Dropped", "Will not be done.", false},
}

// filterOf reads what a list is to be made of.
func filterOf(q url.Values) (roadmap.Filter, error) {
	f := roadmap.Filter{Standing: q.Get("standing"), Label: q.Get("label"), Ready: q.Get("ready") != "", Text: q.Get("q")}
	if h := strings.TrimSpace(q.Get("holder")); h != "" {
		holder, err := event.ParsePrincipal(h)
		if err != nil {
			return f, err
		}
		f.Holder = holder
	}
	return f, nil
}

func (p *Pages) serveBoard(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	if q.Has("new") {
		return p.writeOpening(w, r, http.StatusOK, opening{})
	}
	f, err := filterOf(q)
	if err != nil {
		return err
	}
	live, fresh := p.Live(), freshness(r)
	list, err := p.Plan.List(r.Context(), fresh, f)
	p.closed(list.Close)
	if err != nil {
		return err
	}
	all := list
	if f != (roadmap.Filter{}) {
		if all, err = p.Plan.List(r.Context(), roadmap.AsOf, roadmap.Filter{}); err != nil {
			return err
		}
	}
	b := boardPage{
		Page: p.pages.Frame(r, "Roadmap"), newness: p.newness(r, list.Head, fresh), Filter: p.filterForm(q, f, all), Queue: p.queue(),
		Daily: p.Base.URL(root, dailyName), Board: p.boardURL(nil), Empty: len(all.Nodes) == 0 && len(all.Refused) == 0,
		Counts: plain.Count(len(all.Nodes), "node"),
	}
	if b.Filter.Any {
		b.Counts = fmt.Sprintf("%d of %s", len(list.Nodes), b.Counts)
	}
	if p.mayAct(r) {
		b.New = p.boardURL(url.Values{"new": {"1"}})
	}
	if fresh == roadmap.Now {
		b.Page.Live, b.Page.Topic, b.Page.Here = live, Topic, p.here(r, nil)
	}
	b.Refused = cut(p.refusedViews(list.Refused), maxRows)
	if err := p.lanes(r, list, &b); err != nil {
		return err
	}
	b.Version = fingerprint([]any{list.AsOf.Commit, b.Lanes, b.Refused, b.Queue, b.Rewritten != nil})
	return p.pages.Write(w, "board.html", b)
}

// lanes puts the rows into lanes: the beginning of each, or a page of the one that
// was asked for.
func (p *Pages) lanes(r *http.Request, list roadmap.List, b *boardPage) error {
	byKind := map[string][]roadmap.Row{}
	for _, row := range list.Nodes {
		byKind[row.Standing.Kind] = append(byKind[row.Standing.Kind], row)
	}
	q := r.URL.Query()
	asked := q.Get("lane")
	if asked != "" && !slices.Contains(history.Keys(), asked) {
		return problem.New(problem.Gone, problem.StepNotFound, "There is no lane %.100q.", asked)
	}
	for _, kind := range history.Keys() {
		rows := byKind[kind]
		if asked != "" && kind != asked || asked == "" && len(rows) == 0 {
			continue
		}
		a := about[kind]
		l := lane{ID: kind, Title: a.title, About: a.words, Waiting: a.waiting, Count: len(rows)}
		shown := rows
		switch {
		case asked != "":
			shown, b.Pager = turn(rows, pageCards, q.Get("page"), func(n int) string {
				return p.here(r, url.Values{"page": {strconv.Itoa(n)}})
			})
		case len(rows) > laneCards:
			shown, l.More = rows[:laneCards], p.here(r, url.Values{"lane": {kind}})
		}
		for _, row := range shown {
			l.Cards = append(l.Cards, p.card(row))
		}
		b.Lanes = append(b.Lanes, l)
	}
	return nil
}

// turn is one page of a list.
func turn[T any](all []T, size int, asked string, address func(int) string) ([]T, pager) {
	last := max((len(all)+size-1)/size, 1)
	n, _ := strconv.Atoi(asked)
	at := min(max(n, 1), last)
	from, to := (at-1)*size, min(at*size, len(all))
	g := pager{Needed: last > 1, Words: fmt.Sprintf("%d to %d of %d", from+1, to, len(all))}
	if at > 1 {
		g.Previous = address(at - 1)
	}
	if at < last {
		g.Next = address(at + 1)
	}
	return all[from:to], g
}

func (p *Pages) card(r roadmap.Row) card {
	c := card{
		URL: p.nodeURL(r.Node), Node: string(r.Node), Title: clip(title(r), 200), Priority: string(r.Priority), Tags: tags(r), Holder: person(r.Holder),
	}
	for _, l := range r.Labels[:min(len(r.Labels), 6)] {
		c.Labels = append(c.Labels, plain.Text(l))
	}
	return c
}

// title is what a node is called; one without an order may have no title.
func title(r roadmap.Row) string {
	if r.Title == "" {
		return string(r.Node)
	}
	return r.Title
}

func (p *Pages) filterForm(q url.Values, f roadmap.Filter, all roadmap.List) filterForm {
	form := filterForm{
		Action: p.boardURL(nil), Clear: p.boardURL(nil), Text: f.Text, Label: f.Label, Holder: string(f.Holder), Ready: f.Ready, Any: f != (roadmap.Filter{}),
		Standings: []choice{{"", "any standing", f.Standing == ""}},
	}
	for _, kind := range history.Keys() {
		form.Standings = append(form.Standings, choice{kind, strings.ToLower(about[kind].title), kind == f.Standing})
	}
	if q.Get(asOf) != "" {
		form.Clear = p.boardURL(url.Values{asOf: {"1"}})
	}
	labels, holders := map[string]bool{}, map[string]bool{}
	for _, r := range all.Nodes {
		for _, l := range r.Labels {
			labels[l] = true
		}
		if r.Holder != "" {
			holders[string(r.Holder)] = true
		}
	}
	form.LabelOffers, form.HoldOffers = offers(labels), offers(holders)
	return form
}

func offers(set map[string]bool) []string {
	var list []string
	for s := range set {
		list = append(list, s)
	}
	slices.Sort(list)
	return list[:min(len(list), maxOffers)]
}

func (p *Pages) refusedViews(list []roadmap.RefusedNode) []refusedView {
	var out []refusedView
	for _, r := range list {
		v := refusedView{Step: r.Step, Reason: clip(r.Reason, 300), Place: clip(r.Place, 100)}
		if r.Node != "" {
			v.Node, v.URL = string(r.Node), p.nodeURL(r.Node)
		}
		out = append(out, v)
	}
	return out
}

// queue is what waits, and what was refused when nobody waited for it any more.
func (p *Pages) queue() queueView {
	doc, err := p.Plan.Queue()
	if err != nil {
		return queueView{Trouble: plain.Text(problem.Words(err))}
	}
	var waiting []queuedView
	for _, w := range doc.Waiting {
		waiting = append(waiting, queuedView{string(w.Node), p.nodeURL(w.Node), strings.ReplaceAll(string(w.Kind), "_", " "), stamp(w.At), string(w.Key)})
	}
	var late []lateView
	for _, l := range doc.Late {
		late = append(late, lateView{string(l.Node), p.nodeURL(l.Node), l.Step, clip(l.Reason, 300), stamp(l.At), string(l.Key)})
	}
	var damaged []string
	for _, d := range doc.Damaged {
		damaged = append(damaged, clip(d.Name+": "+d.Reason, 300))
	}
	return queueView{Waiting: cut(waiting, maxRows), Late: cut(late, maxRows), Damaged: cut(damaged, maxRows)}
}
