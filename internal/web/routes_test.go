package web

import (
	"net/http"
	"strings"
	"testing"

	"holdfast/internal/access"
	"holdfast/internal/problem"
)

// Red when: check drops the case that the row names, or register lets the mux
// panic.
func TestATableWithAHoleIsRefused(t *testing.T) {
	h := newHouse(t)
	for name, routes := range map[string][]Route{
		"no action":      {{Method: "GET", Pattern: "/x", Handler: echo("x")}},
		"unknown action": {{Method: "GET", Pattern: "/x", Action: 250, Handler: echo("x")}},
		"no method":      {{Pattern: "/x", Action: access.Keep, Handler: echo("x")}},
		"no handler":     {{Method: "GET", Pattern: "/x", Action: access.Keep}},
		"a host":         {{Method: "GET", Pattern: "h/x", Action: access.Keep, Handler: echo("x")}},
		"malformed":      {{Method: "GET", Pattern: "/{x", Action: access.Keep, Handler: echo("x")}},
		"twice": {
			{Method: "GET", Pattern: "/{x}", Action: access.Keep, Handler: echo("x")},
			{Method: "GET", Pattern: "/{y}", Action: access.Keep, Handler: echo("x")},
		},
		"content without a token": {{Method: "GET", Pattern: "/d/{item...}", Action: access.ReadContent, Handler: echo("x")}},
		"a token for pages":       {{Method: "GET", Pattern: "/d/{token}/", Action: access.ReadPages, Handler: echo("x")}},
		"two booths":              {{Method: "GET", Pattern: "/d/{token}/{booth}", Action: access.ReadContent, Handler: echo("x")}},
		"the sign-in again":       {{Method: "GET", Pattern: "/login", Action: access.SignIn, Handler: echo("x")}},
	} {
		if _, err := NewSite(Config{Hosts: h.hosts, Auth: h.auth, Routes: routes}); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// The whole table, walked by every party: what the policy says is what the
// server does, and nothing but a handler that was allowed ran. Red when: run
// asks with another booth or action, or answers before it asks.
func TestEveryRouteAsksTheTable(t *testing.T) {
	for _, login := range []bool{false, true} {
		var ran bool
		h := newHouse(t, func(c *Config, _ *AuthConfig) {
			c.Policy.LoginRequired = login
			for i := range c.Routes {
				c.Routes[i].Handler = func(http.ResponseWriter, *http.Request) error { ran = true; return nil }
			}
		})
		for _, route := range h.Routes().All() {
			// Made anew for each: one of the routes ends the session.
			parties := map[string]access.Party{
				"": access.Anonymous{}, h.cookie(t): access.Operator{Principal: "p"}, h.worker(t, "demo"): access.Worker{Booth: "demo"},
				h.worker(t, "other"): access.Worker{Booth: "other"}, "Authorization: Bearer " + h.key.OperatorToken(): access.Operator{Principal: "p"},
				"Authorization: Bearer " + h.key.ObserverToken(): access.Observer{},
			}
			for header, party := range parties {
				booth := ""
				if strings.Contains(route.Pattern, "{booth}") {
					booth = "demo"
				}
				token := h.content(t, "demo", "s1")
				if route.Action == access.ReadContent {
					party, booth = access.Frame{Booth: "demo", Session: "s1"}, "demo"
				}
				target := strings.NewReplacer("{$}", "", "{booth}", "demo", "{token}", token, "{item...}", "i", "{how}", "x").Replace(route.Pattern)
				ran = false
				w := h.ask(t, route.Method, target, header)
				want := h.policy.Allow(party, route.Action, booth)
				status := 0
				if want != nil {
					status = Status(problem.From(want, ""))
				}
				redirects := w.Code == 308 || w.Code == 303
				own := route.Action == access.SignIn
				if (want == nil) != (ran || redirects || own) || want != nil && w.Code != status {
					t.Errorf("login %v: %v as %v: %d, ran %v, want %v", login, route, party, w.Code, ran, want)
				}
			}
		}
	}
}

// Red when: unrouted is not asked, or lists what is not there.
func TestAMethodThatIsNotTakenSaysWhichAre(t *testing.T) {
	h := newHouse(t)
	for target, allow := range map[string]string{
		"/b/demo/keep": "GET, HEAD, POST, PUT", "/b/demo": "GET, HEAD, PUT, DELETE", "/logout": "POST", "/healthz": "GET, HEAD",
	} {
		w := h.ask(t, "PATCH", target)
		if w.Code != 405 || w.Header().Get("Allow") != allow || !strings.Contains(w.Body.String(), `"step":"method"`) {
			t.Errorf("%s: %d %q %s", target, w.Code, w.Header().Get("Allow"), w.Body)
		}
	}
	if w := h.ask(t, "HEAD", "/healthz"); w.Code != 200 {
		t.Error(w.Code)
	}
	if w := h.ask(t, "PATCH", "/nothing"); w.Code != 404 {
		t.Error(w.Code)
	}
}

// Red when: run does not limit the body; publicWords does not know the error.
func TestABodyOverItsLimitIsRefused(t *testing.T) {
	h := newHouse(t)
	put := func(body string) int { return h.send(t, "PUT", "/b/demo/x", body, h.worker(t, "demo")).Code }
	if got := put("12345678"); got != 200 {
		t.Error(got)
	}
	if got := put("123456789"); got != 413 {
		t.Error(got)
	}
}
