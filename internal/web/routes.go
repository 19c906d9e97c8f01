package web

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"holdfast/internal/access"
	"holdfast/internal/problem"
)

// Route is one thing that the site answers.
type Route struct {
	Method string // GET answers HEAD too
	// Pattern is the path below the base, as http.ServeMux writes it:
	// "/b/{booth}/{$}". Wildcards hold exact bytes. Wherever it has {booth},
	// that is the booth which the action is about; a route of
	// access.ReadContent has {token} in its place. A pattern that ends in a
	// slash also redirects from the path without it.
	Pattern string
	Action  access.Action
	MaxBody int64 // of the request, in bytes; 0 is DefaultMaxBody
	// Handler answers. What it returns, before it wrote anything, becomes the
	// response; afterwards it cuts the connection.
	Handler func(http.ResponseWriter, *http.Request) error
}

// DefaultMaxBody is what a request may carry where its route says nothing.
const DefaultMaxBody = 1 << 20

// Routes is a checked table of routes.
type Routes struct {
	all []Route
	mux *http.ServeMux
}

// newRoutes checks the table: every route has an action, no two answer the
// same request, and none begins like the base.
func newRoutes(base Base, routes []Route, bind func(Route) http.Handler) (*Routes, error) {
	t := &Routes{all: withSlashless(base, routes), mux: http.NewServeMux()}
	for _, route := range t.all {
		if err := route.check(base); err != nil {
			return nil, err
		}
		if err := register(t.mux, route, bind(route)); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// All is every route, the redirects included.
func (t *Routes) All() []Route { return slices.Clone(t.all) }

func (route Route) String() string { return route.Method + " " + route.Pattern }

func (route Route) check(base Base) error {
	segments := strings.Split(strings.TrimPrefix(route.Pattern, "/"), "/")
	wild := func(name string) bool { return strings.Contains(route.Pattern, "{"+name+"}") }
	switch {
	case route.Method == "" || !strings.HasPrefix(route.Pattern, "/"):
		return badRoute(route, "it needs a method and a path")
	case !route.Action.Valid():
		return badRoute(route, "it has no action, so nobody could say who may use it")
	case route.Handler == nil:
		return badRoute(route, "it has no handler")
	case wild("token") != (route.Action == access.ReadContent):
		return badRoute(route, "{token} and the action %v belong together", access.ReadContent)
	case wild("booth") && route.Action == access.ReadContent:
		return badRoute(route, "its token says which booth it is")
	}
	own := base.segments()
	if len(own) > 0 && (segments[0] == own[0] || strings.HasPrefix(segments[0], "{") && segments[0] != "{$}") {
		return problem.New(problem.Usage, "base",
			"The base path %q begins like %q, which is the desk's own.", base, route.Pattern).
			WithHint("choose another base path")
	}
	return nil
}

func badRoute(route Route, format string, args ...any) error {
	return fmt.Errorf("web: route %q: %s", route, fmt.Sprintf(format, args...))
}

// register turns the mux's panics, for a malformed or ambiguous pattern, into
// errors.
func register(mux *http.ServeMux, route Route, handler http.Handler) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = badRoute(route, "%v", v)
		}
	}()
	mux.Handle(route.String(), handler)
	return nil
}

// withSlashless adds a redirect for each pattern that ends in a slash. The mux
// would make one itself, and it does not know the base.
func withSlashless(base Base, routes []Route) []Route {
	all := slices.Clone(routes)
	declared := map[string]bool{}
	for _, route := range all {
		declared[route.String()] = true
	}
	for _, route := range routes {
		pattern, found := slashless(route.Pattern)
		redirect := Route{Method: route.Method, Pattern: pattern, Action: route.Action, Handler: addSlash(base)}
		if found && !declared[redirect.String()] {
			declared[redirect.String()] = true
			all = append(all, redirect)
		}
	}
	return all
}

func slashless(pattern string) (string, bool) {
	cut := strings.LastIndexByte(pattern, '/')
	if cut <= 0 {
		return "", false
	}
	last := pattern[cut+1:]
	return pattern[:cut], last == "" || last == "{$}" || strings.HasSuffix(last, "...}")
}

// addSlash keeps the method and the query.
func addSlash(base Base) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		path := strings.Split(r.URL.Path[1:], "/")
		redirect(w, http.StatusPermanentRedirect, base.URL(append(path, "")...), r.URL.RawQuery)
		return nil
	}
}

// redirect sends the browser to an address that Base.URL made.
func redirect(w http.ResponseWriter, status int, address, query string) {
	if query != "" {
		address += "?" + query
	}
	w.Header().Set("Location", address)
	w.WriteHeader(status)
}

type partyKey struct{}

// PartyOf is who the request comes from: access.Anonymous outside of a Site.
func PartyOf(r *http.Request) access.Party {
	if p, ok := r.Context().Value(partyKey{}).(access.Party); ok {
		return p
	}
	return access.Anonymous{}
}

func withParty(r *http.Request, p access.Party) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), partyKey{}, p))
}
