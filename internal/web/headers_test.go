package web

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"holdfast/internal/access"
)

// Red when: ServeHTTP does not set them first, resetHeaders forgets them, or
// one of them changes.
func TestEveryResponseIsStrictByDefault(t *testing.T) {
	h := newHouse(t)
	for _, target := range []string{"/", "/healthz", "/b/demo/x", "/b/demo", "/nothing", "/b//x", "/fail/x", "/api/v1/fail/panic", "/login"} {
		got := h.ask(t, "GET", target).Header()
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; font-src 'self'; " +
				"connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
			"X-Content-Type-Options":       "nosniff",
			"X-Frame-Options":              "DENY",
			"Cross-Origin-Opener-Policy":   "same-origin",
			"Cross-Origin-Resource-Policy": "same-origin",
			"Cache-Control":                "no-store",
			"Access-Control-Allow-Origin":  "",
		} {
			if got.Get(name) != want {
				t.Errorf("%s: %s is %q", target, name, got.Get(name))
			}
		}
	}
}

// With no-referrer, browsers send "Origin: null" with the page's own forms, and
// the desk would refuse each of its own writes. Red when: strictHeaders says so.
func TestTheDesksPagesMayPostTheirOwnForms(t *testing.T) {
	h := newHouse(t)
	for _, target := range []string{"/", "/b/demo/", "/nothing"} {
		if got := h.ask(t, "GET", target).Header().Get("Referrer-Policy"); got != "same-origin" {
			t.Errorf("%s: %q", target, got)
		}
	}
}

// case B07. Red when: Sandbox allows one of them, keeps a header of the desk's
// pages, or a content route or its errors are sent without it.
func TestWhatCameOutOfABoothIsInASandbox(t *testing.T) {
	h := newHouse(t)
	good, bad := "/c/"+h.content(t, "demo", "s1")+"/x.html", "/c/hfc1.x.y/x.html"
	for _, target := range []string{good, bad} {
		for _, accept := range []string{"*/*", "text/html"} {
			got := h.ask(t, "GET", target, "Accept: "+accept).Header()
			policy := got.Get("Content-Security-Policy")
			if !strings.HasPrefix(policy, "sandbox allow-scripts ") || strings.Contains(policy, "frame-ancestors") {
				t.Errorf("%s: %q", target, policy)
			}
			if kind := got.Get("Content-Type"); target == bad && accept == "text/html" && !strings.HasPrefix(kind, "text/plain") {
				t.Errorf("what went wrong in a frame is told in %s", kind)
			}
			for _, never := range []string{"allow-same-origin", "allow-top-navigation", "allow-forms", "allow-storage-access"} {
				if strings.Contains(policy, never) {
					t.Errorf("%s: %s", target, never)
				}
			}
			for name, want := range map[string]string{
				"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Frame-Options": "", "Cross-Origin-Opener-Policy": "",
				"Access-Control-Allow-Origin": "null", "Access-Control-Allow-Credentials": "", "Cross-Origin-Resource-Policy": "cross-origin",
			} {
				if got.Get(name) != want {
					t.Errorf("%s: %s is %q", target, name, got.Get(name))
				}
			}
		}
	}
}

// case B07. Red when: Sandbox ignores shared.
func TestBytesAtAnAddressThatIsNoSecretAreForTheDeskAlone(t *testing.T) {
	w := httptest.NewRecorder()
	strictHeaders(w.Header())
	Sandbox(w, false)
	if w.Header().Get("Access-Control-Allow-Origin") != "" || w.Header().Get("Cross-Origin-Resource-Policy") != "same-origin" {
		t.Error(w.Header())
	}
}

// case B07: the browser's part is tested in a browser; this is the server's. A
// report's script has the origin "null" and no cookie. Red when: see
// TestAWriteThatAnotherPageBeganIsRefused; or when a token opens another booth.
func TestAReportsScriptChangesAndReadsNothing(t *testing.T) {
	h := newHouse(t)
	for _, headers := range [][]string{{"Origin: null"}, {"Origin: null", "Sec-Fetch-Site: cross-site"}, {"Origin: null", h.cookie(t)}} {
		if w := h.ask(t, "POST", "/b/demo/keep", headers...); w.Code != 403 {
			t.Errorf("%v: %d", headers, w.Code)
		}
		if w := h.ask(t, "GET", "/b/demo/", headers...); w.Header().Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%v may read the desk", headers)
		}
	}
	token := h.content(t, "demo", "s1")
	if w := h.ask(t, "GET", "/b/demo/", "Authorization: Bearer "+token); w.Code != 401 {
		t.Errorf("a path token is a bearer token: %d", w.Code)
	}
}

// Red when: run takes the booth of a content route from its path.
func TestAnAddressOpensTheBoothThatItWasMadeFor(t *testing.T) {
	var party access.Party
	h := newHouse(t, func(c *Config, _ *AuthConfig) {
		for i := range c.Routes {
			c.Routes[i].Handler = func(_ http.ResponseWriter, r *http.Request) error { party = PartyOf(r); return nil }
		}
	})
	for _, booth := range names {
		want := access.Frame{Booth: booth, Session: "s1"}
		if w := h.ask(t, "GET", "/c/"+h.content(t, booth, "s1")+"/x"); w.Code != 200 || party != want {
			t.Errorf("%d %v, want %v", w.Code, party, want)
		}
	}
}

// Red when: the handler's word is overwritten after it ran.
func TestAHandlerMaySayOtherwise(t *testing.T) {
	h := newHouse(t, func(c *Config, _ *AuthConfig) {
		c.Routes = append(c.Routes, Route{Method: "GET", Pattern: "/app.css", Action: access.ReadPublic, Handler: func(w http.ResponseWriter, r *http.Request) error {
			w.Header().Set("Cache-Control", "max-age=60")
			_, err := io.WriteString(w, "x")
			return err
		}})
	})
	if got := h.ask(t, "GET", "/app.css").Header().Get("Cache-Control"); got != "max-age=60" {
		t.Error(got)
	}
}
