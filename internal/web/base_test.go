package web

import (
	"net/http/httptest"
	"strings"
	"testing"

	"holdfast/internal/access"
	"holdfast/internal/problem"
)

// Red when: ParseBase skips the check of its segments.
func TestABaseIsAPlainPath(t *testing.T) {
	good := map[string]string{"": "/", "/": "/", "desk": "/desk/", "/desk": "/desk/", "/desk/": "/desk/", "/a/desk.v1/": "/a/desk.v1/"}
	for text, want := range good {
		if b, err := ParseBase(text); err != nil || b.String() != want {
			t.Errorf("%q: %v %v", text, b, err)
		}
	}
	bad := []string{"//", "///", "//desk/", "/desk//", "/a//b/", "/./", "/../", "/a/../b/", "/de sk/", "/desk?x", "/d%65sk/", "/desk;x/", `/de\sk/`, "/d\xc3\xa9/", "http://h/"}
	for _, text := range bad {
		if b, err := ParseBase(text); err == nil || problem.KindOf(err) != problem.Usage {
			t.Errorf("%q: %v %v", text, b, err)
		}
	}
}

// names are what an item may be called.
var names = []string{
	"a#b.png", "50%.txt", "what?.md", "new\nline", "-rf", "<img src=x>", strings.Repeat("é", 127), "\xff\xfe",
	`a\b`, `..\..\etc\passwd`, "%2e%2e", "a+b c", "photo\u202egnp.exe", "...", ".x", "a;b", "[::1]", "*", ":", "é%2f",
}

// case B04, case B21. Red when: URL escapes with QueryEscape or not at all;
// parsePath unescapes twice; strip is left out.
func TestEveryNameGoesOutAndComesBackByItsExactBytes(t *testing.T) {
	for _, base := range []string{"/", "/desk/", "/a/desk/"} {
		h := newHouse(t, withBase(base))
		for _, name := range names {
			address := h.base.URL("b", name, "sub", name)
			if !strings.HasPrefix(address, base+"b/") {
				t.Errorf("%q leaves the base: %s", name, address)
			}
			want := "item " + quote(name) + " " + quote("sub/"+name)
			stripped := "/" + strings.TrimPrefix(address, base)
			for _, sent := range []string{address, stripped} {
				if got := h.ask(t, "GET", sent).Body.String(); got != want {
					t.Errorf("%s: %s, want %s", sent, got, want)
				}
			}
		}
	}
}

// Red when: URL escapes these like any other name. A browser takes "%2e%2e"
// for "..", and would ask for another path.
func TestANameThatNoAddressHasIsNotFound(t *testing.T) {
	h := newHouse(t, withBase("/desk/"))
	for _, name := range []string{"", ".", "..", "a/b", "/", "../x", "a\x00b", "\x00"} {
		address := h.base.URL("b", name, "x")
		if strings.Contains(strings.ToLower(address), "..") || strings.Contains(address, "//") {
			t.Errorf("%q: %s", name, address)
		}
		if w := h.ask(t, "GET", address); w.Code != 404 {
			t.Errorf("%q: %s answers %d %s", name, address, w.Code, w.Body)
		}
	}
	if got := h.base.URL(); got != "/desk/" {
		t.Error(got)
	}
	if got := h.base.URL("b", "x", ""); got != "/desk/b/x/" {
		t.Error(got)
	}
	if got := (Base{}).URL(""); strings.HasPrefix(got, "//") || got == "/" {
		t.Error(got)
	}
}

// case B21. Red when: withSlashless adds none (the mux redirects, without the
// base), or answer does not look for a bare base.
func TestRedirectsStayUnderTheBase(t *testing.T) {
	h := newHouse(t, withBase("/desk/"))
	for sent, want := range map[string]string{
		"/desk":               "/desk/",
		"/desk?x=1":           "/desk/?x=1",
		"/desk/b/a%20b":       "/desk/b/a%20b/",
		"/b/a%20b?sort=x":     "/desk/b/a%20b/?sort=x",
		"/desk/b/%5Cevil.com": "/desk/b/%5Cevil.com/",
	} {
		if w := h.ask(t, "GET", sent); w.Code != 308 || w.Header().Get("Location") != want {
			t.Errorf("%s: %d to %s, want %s", sent, w.Code, w.Header().Get("Location"), want)
		}
	}
	token := h.content(t, "demo", "s1")
	if w := h.ask(t, "GET", "/desk/c/"+token); w.Header().Get("Location") != "/desk/c/"+token+"/" {
		t.Error(w.Code, w.Header())
	}
}

// Red when: check does not compare the first segments.
func TestABaseThatLooksLikeTheDesksOwnPathIsRefused(t *testing.T) {
	h := newHouse(t)
	for _, text := range []string{"/b/", "/login/", "/logout/x/", "/api/", "/c/", "/healthz/"} {
		base, err := ParseBase(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := NewSite(Config{Base: base, Hosts: h.hosts, Auth: h.auth, Routes: deskRoutes()}); problem.KindOf(err) != problem.Usage {
			t.Errorf("%s: %v", text, err)
		}
	}
	wild := []Route{{Method: "GET", Pattern: "/{any}", Action: access.ReadPages, Handler: echo("any")}}
	if _, err := NewSite(Config{Base: h.base, Hosts: h.hosts, Auth: h.auth, Routes: wild}); err != nil {
		t.Error(err)
	}
	desk, _ := ParseBase("/desk/")
	if _, err := NewSite(Config{Base: desk, Hosts: h.hosts, Auth: h.auth, Routes: wild}); err == nil {
		t.Error("a wildcard answers for the base")
	}
}

// case B02. Red when, one at a time: parsePath accepts "..", ".", an empty
// segment, a slash or NUL inside one; parsePath reads EscapedPath where
// RawPath is there (the rows with é).
func TestAPathThatReadsInTwoWaysIsNotFound(t *testing.T) {
	for _, base := range []string{"/", "/desk/"} {
		h := newHouse(t, withBase(base))
		for _, target := range []string{
			"/b/x/%2e%2e/%2e%2e/etc/passwd", "/b/x/../../etc/passwd", "/b/x/%2E./y", "/b/x/./y", "/b/x/%2e/y", "/b/x/..",
			"/b/x/..%2f..%2fetc%2fpasswd", "/b/x/a%2Fb", "/b/x/%2f", "/b/x%2fy/", "/b/x/a%00", "/b/x/%00/y",
			"/b//x/", "//b/x/", "/b/x//", "//", "/b/x/y//z", "//evil.example/b/x/", "/b/x/\xc3\xa9%2f..", "/b/x/\xc3\xa9%2fy",
		} {
			for _, sent := range []string{target, strings.TrimSuffix(base, "/") + target} {
				w := h.ask(t, "GET", sent)
				if w.Code != 404 || w.Header().Get("Location") != "" {
					t.Errorf("%s: %d %s %s", sent, w.Code, w.Header().Get("Location"), w.Body)
				}
			}
		}
	}
}

// case B02: a backslash is a byte of a name here, and no way up.
func TestABackslashIsNoSeparator(t *testing.T) {
	h := newHouse(t)
	want := `item "x" "..\\..\\etc\\passwd"`
	for _, sent := range []string{`/b/x/..\..\etc\passwd`, `/b/x/..%5c..%5cetc%5cpasswd`} {
		if got := h.ask(t, "GET", sent).Body.String(); got != want {
			t.Errorf("%s: %s", sent, got)
		}
	}
}

// Red when: answer routes a request that has no path of its own.
func TestATargetThatIsNoPathIsNotFound(t *testing.T) {
	h := newHouse(t)
	r := httptest.NewRequest("OPTIONS", "*", nil)
	r.Host = here
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code != 404 {
		t.Error(w.Code)
	}
	r = httptest.NewRequest("CONNECT", "other.example:443", nil)
	r.Host = here
	w = httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code != 404 {
		t.Error(w.Code)
	}
}

func FuzzPath(f *testing.F) {
	for _, seed := range []string{"/", "/b/x/%2e%2e", "/b/%ff", "/a%2fb", "//", "/b/x/"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, target string) {
		u := formatTarget(target)
		if u == nil {
			return
		}
		path, err := parsePath(u)
		if err != nil {
			return
		}
		again, err := parsePath(formatPath(path))
		if err != nil || strings.Join(again, "/") != strings.Join(path, "/") || len(again) != len(path) {
			t.Errorf("%q reads as %q, then as %q: %v", target, path, again, err)
		}
		for i, segment := range path {
			if !nameable(segment) && !(segment == "" && i == len(path)-1) {
				t.Errorf("%q has %q", target, segment)
			}
		}
	})
}
