// Package pages is the plan in a browser: a board by standing, a page for each node,
// the observation that was served last, and the same as JSON.
//
// A page shows what package roadmap answered, and decides nothing. Each read asks
// the remote first; where that cannot be asked the page is a refusal (503) that says
// so, and leads to what was read last, which is labelled as such (?as-of=1). A log
// that was rewritten is said at the top of every page.
//
// What changes the plan is a form with an operation key, made when the page was, so
// that a form sent twice is one event, and with the revision that it was made on. A
// refused form comes back with the words that were in it, beside what changed. What
// waits in the queue, and what nobody knows the outcome of, is not called done.
//
// Every text of the plan is hostile: it is made plain, or is markdown by package
// prose. Pages work without script.
package pages

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"holdfast/internal/access"
	"holdfast/internal/page"
	"holdfast/internal/plain"
	"holdfast/internal/problem"
	"holdfast/internal/roadmap"
	"holdfast/internal/roadmap/event"
	"holdfast/internal/roadmap/history"
	"holdfast/internal/roadmap/observation"
	"holdfast/internal/web"
)

//go:embed templates static
var embedded embed.FS

// Room is the plan's entry of the navigation.
var Room = page.Room{Name: "Roadmap", Path: root}

const root = "roadmap"

// Topic is what the event stream says when the plan changed.
const Topic = "roadmap"

// Config is what the pages need. Every field is required, but that either Plan is
// nil or Trouble.
type Config struct {
	House *page.House
	Base  web.Base
	Plan  *roadmap.Plan
	// Trouble is why there is no plan to show.
	Trouble      error
	Observations observation.Store
	// Operator is whom the operator's events are put down to.
	Operator func() (event.Principal, error)
	// Named is somebody in the plan by a principal or a bare name.
	Named func(string) (event.Principal, error)
	// Live is the address of the event stream, for a page that shows things as they
	// are from now on.
	Live func() string
	// Changed is called after something was appended here.
	Changed func()
	Log     *slog.Logger
}

// Pages serves a plan. It is safe for concurrent use.
type Pages struct {
	Config
	pages *page.Set
}

// New makes the pages.
func New(c Config) (*Pages, error) {
	set, err := c.House.Wing(Room.Name, embedded, nil)
	if err != nil {
		return nil, err
	}
	return &Pages{Config: c, pages: set}, nil
}

// Routes are the plan's addresses, each with the right that it needs.
func (p *Pages) Routes() []web.Route {
	get, read := http.MethodGet, access.ReadPages
	routes := []web.Route{
		{Method: get, Pattern: "/roadmap", Action: read, Handler: p.page(p.serveBoard)},
		{Method: get, Pattern: "/roadmap/daily", Action: read, Handler: p.page(p.serveDaily)},
		{Method: get, Pattern: "/roadmap/{node}", Action: read, Handler: p.page(p.serveNode)},
		// A node may be called daily, too.
		{Method: get, Pattern: "/roadmap/{node}/{$}", Action: read, Handler: p.page(p.serveNode)},
		{Method: http.MethodPost, Pattern: "/roadmap", Action: access.ChangePlan, Handler: p.page(p.serveOpen)},
		{Method: get, Pattern: "/api/v1/roadmap", Action: read, Handler: p.document(p.list)},
		{Method: get, Pattern: "/api/v1/roadmap/{node}", Action: read, Handler: p.document(p.node)},
		{Method: get, Pattern: "/api/v1/roadmap/{node}/log", Action: read, Handler: p.document(p.log)},
	}
	for _, a := range acts {
		routes = append(routes, web.Route{
			Method: http.MethodPost, Pattern: "/roadmap/{node}/" + a.name, Action: a.action, MaxBody: maxForm, Handler: p.page(p.serveAct(a)),
		})
	}
	return routes
}

// page answers with a page, where there is a plan. What cannot be read now is a page
// that says so.
func (p *Pages) page(serve func(http.ResponseWriter, *http.Request) error) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		if p.Trouble != nil {
			return p.unavailable(w, r, p.Trouble)
		}
		err := serve(w, r)
		if isUnavailable(err) {
			return p.unavailable(w, r, err)
		}
		return err
	}
}

// isUnavailable says whether an error of reading is one that passes, or is mended
// elsewhere, rather than one of the request.
func isUnavailable(err error) bool {
	e := problem.From(err, "")
	return err != nil && (e.Kind == problem.Refused || e.Step == stepNothingRead) && web.Status(e) == web.Status(&problem.Error{Kind: e.Kind})
}

const (
	stepFetch       = "fetch"
	stepNothingRead = "as-of"
)

// unavailablePage says why there is nothing to show.
type unavailablePage struct {
	Page         page.Frame
	Heading      string
	Reason, Hint string
	Step         string
	Last         string // what was read last
	Typed        []typed
	Board        string
}

func (p *Pages) unavailable(w http.ResponseWriter, r *http.Request, err error) error {
	e := problem.From(err, "Something broke while the plan was opened. It is in the server's log.")
	u := unavailablePage{
		Page: p.pages.Frame(r, "Not now"), Heading: "The plan cannot be shown now",
		Reason: plain.Text(e.Reason), Hint: plain.Text(e.Hint), Step: e.Step, Board: p.boardURL(nil),
	}
	if e.Step == stepFetch {
		u.Heading, u.Hint = "The plan's remote cannot be asked", ""
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			u.Last = p.here(r, url.Values{asOf: {"1"}})
		}
	}
	w.Header().Set("Retry-After", "10")
	return p.pages.WriteStatus(w, http.StatusServiceUnavailable, "unavailable.html", u)
}

// asOf is the query of a page that shows what was read last.
const asOf = "as-of"

func freshness(r *http.Request) roadmap.Freshness {
	if r.URL.Query().Get(asOf) != "" {
		return roadmap.AsOf
	}
	return roadmap.Now
}

// here is the address of this page, with other queries.
func (p *Pages) here(r *http.Request, more url.Values) string {
	segments := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if strings.HasSuffix(r.URL.Path, "/") {
		segments = append(segments, "")
	}
	q := r.URL.Query()
	for _, passing := range []string{said, asOf} {
		q.Del(passing)
	}
	for name, values := range more {
		q[name] = values
	}
	return withQuery(p.Base.URL(segments...), q)
}

func withQuery(address string, q url.Values) string {
	if len(q) == 0 {
		return address
	}
	return address + "?" + q.Encode()
}

func (p *Pages) boardURL(q url.Values) string { return withQuery(p.Base.URL(root), q) }

func (p *Pages) nodeURL(n event.Node) string {
	if n == dailyName {
		return p.Base.URL(root, string(n), "")
	}
	return p.Base.URL(root, string(n))
}

// newness says how new a page is, and whether it can be trusted.
type newness struct {
	AsOf      string // in words
	Old       string // the address of a newer page, where this is what was read last
	Rewritten *rewritten
}

type rewritten struct{ Was, Is, Command string }

func (p *Pages) newness(r *http.Request, h roadmap.Head, fresh roadmap.Freshness) newness {
	n := newness{AsOf: fmt.Sprintf("commit %.12s, %s", h.AsOf.Commit, stamp(h.AsOf.At))}
	if fresh == roadmap.AsOf {
		n.Old = p.here(r, nil)
	}
	if w := h.Rewritten; w != nil {
		n.Rewritten = &rewritten{Was: w.Was, Is: w.Is}
		if w.Is != "" {
			n.Rewritten.Command = "holdfast roadmap accept-rewrite " + w.Is
		}
	}
	return n
}

// closed puts down that a snapshot was left: it is the journal's and the census's to
// tell, and no page's.
func (p *Pages) closed(c roadmap.Closing) {
	if c.Kind == "failed" {
		p.Log.Warn("a snapshot of the plan was left behind", "detail", c.Detail)
	}
}

// stamp is a time in words.
func stamp(t time.Time) string { return t.UTC().Format("2 Jan 2006, 15:04 UTC") }

// clip is the beginning of a text on one line.
func clip(s string, most int) string {
	s = plain.Text(strings.Join(strings.Fields(head(s, 8*most)), " "))
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}

// head is at most n bytes of s, and no half of a character.
func head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}

// who is a principal for people; its whole name is the title.
type who struct{ Name, Whole string }

func person(p event.Principal) *who {
	if p == "" {
		return nil
	}
	return &who{plain.Text(p.Subject()), plain.Text(string(p))}
}

// tag is a short word on a card: its class says how it looks.
type tag struct{ Class, Text string }

// tags are where a row stands, in short.
func tags(r roadmap.Row) []tag {
	out := []tag{{"standing " + r.Standing.Kind, plain.Text(r.Standing.Line)}}
	if r.Ready {
		out = append(out, tag{"ready", "ready"})
	}
	if r.Blocked && !history.Closed(r.Standing.Sum()) {
		out = append(out, tag{"waits", "waits for another"})
	}
	return out
}

// fingerprint is short and differs when what is shown differs.
func fingerprint(shown any) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%v", shown))
	return hex.EncodeToString(sum[:6])
}

// author is the operator, as the log names people.
func (p *Pages) author(r *http.Request) (event.Principal, error) {
	if _, ok := web.PartyOf(r).(access.Operator); !ok {
		return "", problem.Refusal(problem.StepNotOperator, "Only the operator may change the plan. Nothing was changed.")
	}
	return p.Operator()
}

// mayAct says whether the reader gets forms: who may change the plan, looking at it
// as it is now.
func (p *Pages) mayAct(r *http.Request) bool {
	_, operator := web.PartyOf(r).(access.Operator)
	return operator && r.URL.Query().Get(asOf) == ""
}
