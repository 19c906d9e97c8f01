package web

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/internal/access"
)

// asked is who a site takes a request with these headers for.
func (h *house) asked(t *testing.T, headers ...string) (party string, status int) {
	t.Helper()
	before := len(h.log.String())
	w := h.ask(t, "GET", "/", headers...)
	_, rest, _ := strings.Cut(h.log.String()[before:], "party=")
	party, _, _ = strings.Cut(strings.Trim(rest, `"`), " remote")
	return strings.Trim(party, `"`), w.Code
}

// Red when: identify goes on to the cookie after a bad bearer token, or answers
// Anonymous for it.
func TestABadBearerIsRefusedAndABadCookieIsNobody(t *testing.T) {
	h := newHouse(t)
	ended, err := h.key.WorkerToken(access.WorkerGrant{Booth: "demo", Issued: time.Unix(0, 0), Expires: time.Unix(1, 0)})
	if err != nil {
		t.Fatal(err)
	}
	operator, cookie := h.key.OperatorToken(), h.cookie(t)
	name := h.auth.cookieName()
	for _, c := range []struct {
		party   string
		status  int
		headers []string
	}{
		{"anonymous", 200, nil},
		{"operator principal:test", 200, []string{"Authorization: Bearer " + operator}},
		{"operator principal:test", 200, []string{"Authorization: bearer  " + operator}},
		{"observer", 200, []string{"Authorization: Bearer " + h.key.ObserverToken()}},
		{"worker", 200, []string{h.worker(t, "demo"), cookie}},
		{"unknown", 401, []string{"Authorization: Bearer " + ended}},
		{"unknown", 401, []string{"Authorization: Bearer " + operator + "x", cookie}},
		{"unknown", 401, []string{"Authorization: Bearer"}},
		{"unknown", 401, []string{"Authorization: Bearer " + h.content(t, "demo", "s1")}},
		{"unknown", 401, []string{"Authorization: Bearer " + strings.TrimPrefix(cookie, "Cookie: "+name+"=")}},
		{"unknown", 401, []string{"Authorization: Bearer " + operator, "Authorization: Bearer " + operator}},
		{"anonymous", 200, []string{"Authorization: Basic YTpi"}},
		{"operator principal:ann", 200, []string{"Authorization: Basic YTpi", cookie}},
		{"operator principal:ann", 200, []string{cookie}},
		{"operator principal:ann", 200, []string{"Cookie: " + name + "=x", cookie}},
		{"anonymous", 200, []string{"Cookie: " + name + "=" + operator}},
		{"anonymous", 200, []string{"Cookie: " + name + "=" + h.content(t, "demo", "s1")}},
		{"anonymous", 200, []string{strings.Replace(cookie, "holdfast-", "holdfast_", 1)}},
	} {
		if party, status := h.asked(t, c.headers...); party != c.party || status != c.status {
			t.Errorf("%v: %q, %d; want %q, %d", c.headers, party, status, c.party, c.status)
		}
	}
}

// Red when: identify does not clear it, or clears one that is good;
// resetHeaders forgets it.
func TestACookieThatIsNoLongerGoodIsCleared(t *testing.T) {
	h := newHouse(t, withBase("/desk/"))
	w := h.ask(t, "GET", "/", "Cookie: "+h.auth.cookieName()+"=v1.x.y")
	cookies := w.Result().Cookies()
	if len(cookies) != 1 || cookies[0].MaxAge != -1 || cookies[0].Path != "/desk/" || cookies[0].Value != "" {
		t.Errorf("%v", cookies)
	}
	if w := h.ask(t, "POST", "/b/demo/keep", "Cookie: "+h.auth.cookieName()+"=v1.x.y"); w.Code != 401 || len(w.Result().Cookies()) != 1 {
		t.Errorf("a refusal does not clear it: %d %v", w.Code, w.Header())
	}
	if w := h.ask(t, "GET", "/", h.cookie(t)); w.Header()["Set-Cookie"] != nil {
		t.Error(w.Header())
	}
}

// Red when: the cookie's name is the same for every key.
func TestTwoServersOnOneHostDoNotMixTheirCookies(t *testing.T) {
	a, b := newHouse(t), newHouse(t)
	if a.auth.cookieName() == b.auth.cookieName() || len(a.auth.cookieName()) != len("holdfast-")+8 {
		t.Error(a.auth.cookieName(), b.auth.cookieName())
	}
	if w := b.ask(t, "GET", "/", a.cookie(t)); w.Header()["Set-Cookie"] != nil {
		t.Error("one clears the other's cookie")
	}
}

// Red when: login does not redeem, or sets the cookie without one of its
// attributes.
func TestASignInLinkSetsACookieAndGoesToTheDesk(t *testing.T) {
	for _, secure := range []bool{false, true} {
		h := newHouse(t, withBase("/desk/"), func(_ *Config, a *AuthConfig) { a.Secure = secure })
		path := h.auth.SignInPath(h.links.Mint(time.Now(), time.Minute))
		if !strings.HasPrefix(path, "/desk/login?once=") {
			t.Error(path)
		}
		w := h.ask(t, "GET", path, "Cookie: "+h.auth.cookieName()+"=old")
		if w.Code != 303 || w.Header().Get("Location") != "/desk/" || w.Header().Get("Cache-Control") != "no-store" || w.Header().Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%d %v", w.Code, w.Header())
		}
		cookies := w.Result().Cookies()
		if len(cookies) != 1 {
			t.Fatal(cookies)
		}
		c := cookies[0]
		if !c.HttpOnly || c.Secure != secure || c.SameSite != http.SameSiteLaxMode || c.Path != "/desk/" || c.MaxAge != 30*24*3600 {
			t.Errorf("%+v", c)
		}
		if party, _ := h.asked(t, "Cookie: "+c.Name+"="+c.Value); party != "operator principal:test" {
			t.Error(party)
		}
	}
}

// Red when: login drops the case of HEAD, of prefetch or of isNavigation.
func TestOnlyAPersonsOpeningUsesALinkUp(t *testing.T) {
	h := newHouse(t)
	path := h.auth.SignInPath(h.links.Mint(time.Now(), time.Minute))
	h.ask(t, "HEAD", path)
	for _, header := range []string{
		"Sec-Purpose: prefetch", "Sec-Purpose: prefetch;prerender", "Purpose: prefetch", "X-Moz: prefetch",
		"Sec-Fetch-Dest: image", "Sec-Fetch-Dest: iframe", "Sec-Fetch-Mode: no-cors",
	} {
		if w := h.ask(t, "GET", path, header); w.Code == 303 || w.Header()["Set-Cookie"] != nil {
			t.Errorf("%s: %d", header, w.Code)
		}
	}
	if w := h.ask(t, "GET", path, "Sec-Fetch-Dest: document", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Site: cross-site"); w.Code != 303 {
		t.Errorf("the link was spent: %d %s", w.Code, w.Body)
	}
	w := h.ask(t, "GET", path, "Accept: text/html")
	if w.Code != 401 || !strings.Contains(w.Body.String(), "run: holdfast open") || w.Header().Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("used again: %d %v %s", w.Code, w.Header(), w.Body)
	}
}

// Red when: login redeems without the Links' lock (see access), or twice.
func TestOneOfManyIsSignedIn(t *testing.T) {
	h := newHouse(t)
	path := h.auth.SignInPath(h.links.Mint(time.Now(), time.Minute))
	var in atomic.Int32
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if h.ask(t, "GET", path).Code == 303 {
				in.Add(1)
			}
		})
	}
	if wg.Wait(); in.Load() != 1 {
		t.Error(in.Load())
	}
}

// Red when: next takes the text as it is, does not ask for the base, or makes
// a path out of another site's address.
func TestSigningInLeadsNowhereElse(t *testing.T) {
	h := newHouse(t, withBase("/desk/"))
	for next, want := range map[string]string{
		"":                               "/desk/",
		"/desk/b/a%20b/?x=1%26":          "/desk/b/a%20b/?x=1%26",
		"/desk/b/x/#frag":                "/desk/b/x/",
		"/desk":                          "/desk/",
		"/desk/":                         "/desk/",
		"/b/x/":                          "/desk/",
		"/desktop/":                      "/desk/",
		"//evil.example/desk/b/x/":       "/desk/",
		"///evil.example":                "/desk/",
		`/\evil.example/desk/`:           "/desk/",
		"https://evil.example/desk/b/x/": "/desk/",
		"https:/desk/b/x/":               "/desk/",
		"javascript:alert(1)":            "/desk/",
		"/desk/../../x":                  "/desk/",
		"/desk/%2e%2e/x":                 "/desk/",
		"/desk//evil.example":            "/desk/",
		"/desk/b/x%0d%0aSet-Cookie: a=b": "/desk/b/x%0D%0ASet-Cookie:%20a=b",
	} {
		path := h.auth.SignInPath(h.links.Mint(time.Now(), time.Minute)) + "&next=" + strings.NewReplacer("%", "%25", "&", "%26", "#", "%23", " ", "%20", "?", "%3F").Replace(next)
		if w := h.ask(t, "GET", path); w.Code != 303 || w.Header().Get("Location") != want {
			t.Errorf("%q: %d to %q, want %q", next, w.Code, w.Header().Get("Location"), want)
		}
	}
}

// Red when: logout does not end the session, or frame does not ask for it.
func TestSigningOutEndsTheSessionAndWhatItOpened(t *testing.T) {
	h := newHouse(t)
	session := access.NewSession("principal:ann", time.Now())
	token, err := h.key.SessionToken(session)
	if err != nil {
		t.Fatal(err)
	}
	cookie := "Cookie: " + h.auth.cookieName() + "=" + token
	content := "/c/" + h.content(t, "demo", session.ID) + "/x"
	if w := h.ask(t, "GET", content); w.Code != 200 {
		t.Fatal(w.Code)
	}
	if w := h.ask(t, "POST", "/logout", cookie, "Origin: null"); w.Code != 403 {
		t.Errorf("a booth's content signs out: %d", w.Code)
	}
	w := h.ask(t, "POST", "/logout", cookie)
	if w.Code != 303 || len(w.Result().Cookies()) != 1 || w.Result().Cookies()[0].MaxAge != -1 {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	if party, _ := h.asked(t, cookie); party != "anonymous" {
		t.Error(party)
	}
	if w := h.ask(t, "GET", content); w.Code != 401 {
		t.Error(w.Code)
	}
	if party, _ := h.asked(t, h.cookie(t)); party != "operator principal:ann" {
		t.Errorf("another browser is signed out too: %s", party)
	}
}

// Red when: the site asks OpenSession or OpenContent about another time.
func TestSessionsAndAddressesEnd(t *testing.T) {
	h := newHouse(t)
	synctest.Test(t, func(t *testing.T) {
		cookie, content := h.cookie(t), "/c/"+h.content(t, "demo", "s1")+"/x"
		time.Sleep(29 * time.Minute)
		if w := h.ask(t, "GET", content); w.Code != 200 {
			t.Error(w.Code)
		}
		time.Sleep(31 * time.Minute)
		w := h.ask(t, "GET", content)
		if w.Code != 401 || !strings.Contains(w.Body.String(), "reload") {
			t.Error(w.Code, w.Body)
		}
		if party, _ := h.asked(t, cookie); party != "operator principal:ann" {
			t.Error(party)
		}
		time.Sleep(access.SessionLife)
		if party, _ := h.asked(t, cookie); party != "anonymous" {
			t.Error(party)
		}
	})
}

// Red when: NewAuth accepts what is not there.
func TestNobodyIsTheOperatorOfAServerWithoutAKey(t *testing.T) {
	h := newHouse(t)
	for _, c := range []AuthConfig{{}, {Principal: "p", Links: h.links}, {Key: h.key, Links: h.links}, {Key: h.key, Principal: "p"}} {
		if _, err := NewAuth(c); err == nil {
			t.Errorf("%+v", c)
		}
	}
}
