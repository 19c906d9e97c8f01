// Package pages is the fleet in a browser: the boxes, a page for each, the versions of
// the roster, the instances, a page for each, and the same as JSON.
//
// A page shows what package fleet answered, and decides nothing. Each read asks the
// store, and verifies what it says. What is refused (an older roster, another one,
// a memory that is damaged, a store that cannot be asked) is a page that says so (503);
// nothing that was read before is shown in its place. A roster that nobody has written
// for long is shown, and said to be old: whether that is all that there is, the store
// alone knows.
//
// What changes the roster is a command. Of the instances one thing can be done here: the
// operator stops one, by the same operation as the command's. It goes on while these pages
// are served, whether the browser waits or not, and what is begun is noted in the store:
// saying it again goes on with it.
//
// Every text of the fleet is hostile, and made plain: so is what an instance printed.
// Pages work without script.
package pages

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"holdfast/internal/access"
	"holdfast/internal/fleet"
	"holdfast/internal/page"
	"holdfast/internal/plain"
	"holdfast/internal/problem"
	"holdfast/internal/web"
)

//go:embed templates static
var embedded embed.FS

// Room is the fleet's entry of the navigation, and InstancesRoom that of what runs.
var (
	Room          = page.Room{Name: "Fleet", Path: root}
	InstancesRoom = page.Room{Name: "Instances", Path: instancesRoot}
)

const (
	root          = "fleet"
	instancesRoot = "instances"
	// logName is where the versions are, below root. A box may be called so, too.
	logName = "log"
)

// Topic is what the event stream says when the roster moved, or a stop that was begun here
// ended.
const Topic = "fleet"

// Config is what the pages need. Every field is required.
type Config struct {
	House *page.House
	Base  web.Base
	// Home is looked at anew for each page: it may become a console meanwhile.
	Home fleet.Home
	// Live is the address of the event stream, for a page that shows things as they
	// are from now on.
	Live func() string
	// Changed is called when a stop that was begun here ended.
	Changed func()
	Now     func() time.Time
	Log     *slog.Logger
}

// Pages serves a fleet. It is safe for concurrent use. Close it after the last request.
type Pages struct {
	Config
	pages, instances *page.Set
	walked           fleet.Walked
	stops            stops
}

// New makes the pages.
func New(c Config) (*Pages, error) {
	set, err := c.House.Wing(Room.Name, embedded, nil)
	if err != nil {
		return nil, err
	}
	return &Pages{Config: c, pages: set, instances: set.In(InstancesRoom.Name), stops: newStops()}, nil
}

// Routes are the fleet's addresses, each with the right that it needs.
func (p *Pages) Routes() []web.Route {
	routes := []web.Route{}
	for pattern, handler := range map[string]func(http.ResponseWriter, *http.Request) error{
		"/fleet":           p.orNone(p.pages, p.serveBoxes),
		"/fleet/log":       p.page(p.serveLog),
		"/fleet/{box}":     p.page(p.serveBox),
		"/fleet/{box}/{$}": p.page(p.serveBox), // a box may be called log, too

		"/api/v1/fleet":           p.document(p.boxes),
		"/api/v1/fleet/log":       p.document(p.versions),
		"/api/v1/fleet/{box}":     p.document(p.box),
		"/api/v1/fleet/{box}/{$}": p.document(p.box),

		"/instances":                p.orNone(p.instances, p.serveInstances),
		"/instances/{instance}":     p.page(p.serveInstance),
		"/instances/{instance}/log": p.page(p.serveLogFile),

		"/api/v1/instances":            p.document(p.list),
		"/api/v1/instances/{instance}": p.document(p.instance),
	} {
		routes = append(routes, web.Route{Method: http.MethodGet, Pattern: pattern, Action: access.ReadPages, Handler: handler})
	}
	return append(routes,
		web.Route{Method: http.MethodGet, Pattern: "/instances/{instance}/verify", Action: access.Operate, Handler: p.page(p.serveVerify)},
		web.Route{Method: http.MethodGet, Pattern: "/api/v1/instances/{instance}/verify", Action: access.Operate, Handler: p.document(p.verification)},
		web.Route{Method: http.MethodPost, Pattern: "/instances/{instance}/stop", Action: access.Operate, MaxBody: maxStopForm, Handler: p.serveStop},
	)
}

// serving is a handler for which the console was opened.
type serving func(w http.ResponseWriter, r *http.Request, c *fleet.Console) error

// page answers with a page. What cannot be read now is a page that says so.
func (p *Pages) page(serve serving) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		c, err := fleet.OpenConsole(p.Home)
		switch {
		case errors.Is(err, fleet.ErrNoFleet):
			return err
		case err != nil:
			return p.unavailable(w, r, err)
		}
		defer c.Close()
		if err := serve(w, r, c); err != nil && (isOfRequest(err) || r.Context().Err() != nil) {
			return err
		} else if err != nil {
			return p.unavailable(w, r, err)
		}
		return nil
	}
}

// goneSteps are the steps of what was asked for and is not there.
var goneSteps = []string{"box-unknown", "instance-unknown", stepNoReceipt, stepNoOutput}

// isOfRequest says whether an error is one of what was asked for, and not of the fleet.
func isOfRequest(err error) bool {
	e := problem.From(err, "")
	return e.Kind == problem.Usage || e.Kind == problem.Gone && slices.Contains(goneSteps, e.Step)
}

// trouble is what is wrong, in words.
type trouble struct{ Reason, Hint, Step string }

func troubleOf(err error) *trouble {
	if err == nil {
		return nil
	}
	e := problem.From(err, "Something broke here. It is in the server's log.")
	return &trouble{sentence(e.Reason), plain.Text(e.Hint), e.Step}
}

// sentence is a text that begins as a sentence does, and ends.
func sentence(s string) string {
	s = plain.Text(s)
	if s == "" {
		return s
	}
	if s[0] < utf8.RuneSelf {
		s = strings.ToUpper(s[:1]) + s[1:]
	}
	if !strings.HasSuffix(s, ".") {
		s += "."
	}
	return s
}

// unavailablePage says why there is nothing to show.
type unavailablePage struct {
	Page    page.Frame
	Heading string
	Trouble *trouble
	Again   string
}

// What is said of refusals, where they have no words of their own for what to do.
var advice = map[string]string{
	"roster-fork":        "somebody signed two rosters of one revision, or wrote on a store that was put back: let nobody write, and compare holdfast fleet log --candidates on every console",
	"bucket-unreachable": "see that the store runs and can be reached from here; holdfast doctor tries it",
	"memory-unwritten":   "see that the home's folder has room and may be written",
}

func (p *Pages) unavailable(w http.ResponseWriter, r *http.Request, err error) error {
	if problem.KindOf(err) == problem.Failed {
		p.Log.Error("the fleet cannot be shown", "err", err)
	}
	u := unavailablePage{
		Page: p.pages.Frame(r, "Not now"), Heading: "The fleet cannot be shown now", Trouble: troubleOf(err), Again: p.here(r),
	}
	switch u.Trouble.Step {
	case "roster-rollback", "roster-fork", "roster-bucket", "roster-signer", "memory-bucket":
		u.Heading = "The store's roster is not believed"
	case "store", "bucket-unreachable", "bucket-read", "bucket-list", "bucket-object":
		u.Heading = "The fleet's store cannot be read"
	}
	if u.Trouble.Hint == "" {
		u.Trouble.Hint = advice[u.Trouble.Step]
	}
	if u.Trouble.Hint == "" {
		u.Trouble.Hint = "holdfast doctor says what is wrong with this home's part in the fleet"
	}
	w.Header().Set("Retry-After", "10")
	return p.pages.WriteStatus(w, http.StatusServiceUnavailable, "fleet-unavailable.html", u)
}

// frame is the frame of a page that changes by itself.
func (p *Pages) frame(r *http.Request, title string) page.Frame { return p.frameIn(p.pages, r, title) }

func (p *Pages) frameIn(room *page.Set, r *http.Request, title string) page.Frame {
	f := room.Frame(r, title)
	f.Live, f.Topic, f.Here = p.Live(), Topic, p.here(r)
	return f
}

// unchanged answers a page that fetches itself again, if what it shows is still so.
func unchanged(w http.ResponseWriter, r *http.Request, version string) bool {
	if r.Header.Get(web.LiveHeader) == "" || r.Header.Get("If-None-Match") != `"`+version+`"` {
		return false
	}
	w.WriteHeader(http.StatusNotModified)
	return true
}

// here is the address of this page.
func (p *Pages) here(r *http.Request) string {
	segments := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if strings.HasSuffix(r.URL.Path, "/") {
		segments = append(segments, "")
	}
	return withQuery(p.Base.URL(segments...), r.URL.Query())
}

func withQuery(address string, q url.Values) string {
	if len(q) == 0 {
		return address
	}
	return address + "?" + q.Encode()
}

func (p *Pages) fleetURL() string { return p.Base.URL(root) }
func (p *Pages) logURL() string   { return p.Base.URL(root, logName) }

// boxURL is the page of a box that is not retired, by its name.
func (p *Pages) boxURL(b fleet.Box) string {
	switch {
	case b.State == retired: // the name may be another's now
		return p.rowURL(b.Enrollment)
	case b.BoxID == logName:
		return p.Base.URL(root, logName, "")
	default:
		return p.Base.URL(root, b.BoxID)
	}
}

// rowURL is the page of whatever box has this enrollment.
func (p *Pages) rowURL(enrollment string) string { return p.Base.URL(root, enrollment) }

// fingerprint is short and differs when what is shown differs.
func fingerprint(shown any) (string, error) {
	text, err := json.Marshal(shown)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6]), err
}
