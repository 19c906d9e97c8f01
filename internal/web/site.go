package web

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"holdfast/internal/access"
	"holdfast/internal/problem"
)

// Config is what a [Site] is made of. All but ErrorPage and Log are needed.
type Config struct {
	Base   Base
	Hosts  *Hosts
	Auth   *Auth
	Policy access.Policy
	Routes []Route // the sign-in routes are added
	// ErrorPage writes the page that a person sees. The headers are set; it may
	// use nothing but the desk's own files. Without it the page is bare.
	ErrorPage func(w io.Writer, r *http.Request, p Problem) error
	Log       *slog.Logger // requests and incidents; the default logger without it
	// Count, where it is there, is told of each request that a route answered,
	// by the route's name, so that there are only so many.
	Count func(route string, status int, took time.Duration)
}

// Site is the server's handler.
type Site struct {
	base   Base
	hosts  *Hosts
	auth   *Auth
	policy access.Policy
	routes *Routes
	page   func(io.Writer, *http.Request, Problem) error
	log    *slog.Logger
	count  func(route string, status int, took time.Duration)
}

// NewSite checks the configuration and the table of routes.
func NewSite(c Config) (*Site, error) {
	if c.Hosts == nil || c.Auth == nil {
		return nil, errors.New("web: a site needs its hosts and its sign-in")
	}
	s := &Site{base: c.Base, hosts: c.Hosts, auth: c.Auth, policy: c.Policy, page: c.ErrorPage, log: c.Log, count: c.Count}
	if s.page == nil {
		s.page = barePage(c.Base)
	}
	s.log = cmp.Or(s.log, slog.Default())
	all := append(c.Auth.routes(), c.Routes...)
	routes, err := newRoutes(c.Base, all, func(route Route) http.Handler { return boundRoute{s, route} })
	s.routes = routes
	return s, err
}

// Routes is the table, for whoever wants to walk it.
func (s *Site) Routes() *Routes { return s.routes }

// ServeHTTP answers one request, whatever it is.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	out := newResponse(w)
	defer s.logRequest(out, r, time.Now())
	defer s.catch(out, r)
	// A copy: where the body that the server made is still in its own request, it
	// knows of one that was not read to its end, and lets the answer arrive before
	// it resets the connection.
	r = r.WithContext(r.Context())
	r.Body = patientBody(w, r.Body)
	strictHeaders(out.Header())
	if err := s.answer(out, r); err != nil {
		s.fail(out, r, err)
	}
	if out.status == 0 {
		out.WriteHeader(http.StatusOK)
	}
	out.extend() // what is buffered is flushed after this
}

// answer settles what the request is before any rule is asked about it.
func (s *Site) answer(w *response, r *http.Request) error {
	if err := s.hosts.checkHost(r); err != nil {
		return err
	}
	path, err := parsePath(r.URL)
	if err != nil {
		return err
	}
	if err := s.hosts.checkOrigin(r); err != nil {
		return err
	}
	path, bare := s.base.strip(path)
	if bare {
		redirect(w, http.StatusPermanentRedirect, s.base.String(), r.URL.RawQuery)
		return nil
	}
	r = r.WithContext(r.Context()) // a copy: the sender's path stays for the log
	query := r.URL.RawQuery
	r.URL = formatPath(path)
	r.URL.RawQuery = query
	handler, _ := s.routes.mux.Handler(r)
	if _, ours := handler.(boundRoute); !ours {
		return s.unrouted(r)
	}
	s.routes.mux.ServeHTTP(w, r)
	return nil
}

// unrouted tells an address that is not there from a method that it does not
// take.
func (s *Site) unrouted(r *http.Request) error {
	var allow []string
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"} {
		asked := *r
		asked.Method = method
		if handler, _ := s.routes.mux.Handler(&asked); isBound(handler) {
			allow = append(allow, method)
		}
	}
	if allow == nil {
		return notFound()
	}
	return methodError{allow, problem.New(problem.Usage, problem.StepMethod,
		"This address does not take %+q, only %s.", r.Method, strings.Join(allow, ", "))}
}

func isBound(h http.Handler) bool {
	_, ok := h.(boundRoute)
	return ok
}

// boundRoute is a route in its site: it asks who it is and whether they may.
type boundRoute struct {
	site  *Site
	route Route
}

func (b boundRoute) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	out, ok := w.(*response)
	if !ok {
		out = newResponse(w)
	}
	out.route = b.route.String()
	if err := b.run(out, r); err != nil {
		b.site.fail(out, r, err)
	}
}

func (b boundRoute) run(w *response, r *http.Request) error {
	if b.route.Action == access.ReadContent {
		w.content = true
		Sandbox(w, true)
	}
	party, err := b.identify(w, r)
	if err != nil {
		return err
	}
	w.party = party.String()
	booth := r.PathValue("booth")
	if frame, ok := party.(access.Frame); ok {
		booth = frame.Booth // its path has no other
	}
	if err := b.site.policy.Allow(party, b.route.Action, booth); err != nil {
		return err
	}
	LimitBody(w, r, cmp.Or(b.route.MaxBody, DefaultMaxBody))
	return b.route.Handler(w, withParty(r, party))
}

func (b boundRoute) identify(w *response, r *http.Request) (access.Party, error) {
	if b.route.Action == access.ReadContent {
		return b.site.auth.frame(r.PathValue("token"))
	}
	return b.site.auth.identify(w, r)
}

// catch turns a panic into a failure like any other.
func (s *Site) catch(w *response, r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	if v == http.ErrAbortHandler {
		panic(v)
	}
	s.fail(w, r, fmt.Errorf("panic: %v\n%s", v, debug.Stack()))
}
