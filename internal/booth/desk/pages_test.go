package desk

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	htmlparse "golang.org/x/net/html"

	"holdfast/internal/booth"
)

// addresses are the values of the attributes of a page that name an address.
func addresses(t testing.TB, page string) []string {
	t.Helper()
	var out []string
	z := htmlparse.NewTokenizer(strings.NewReader(page))
	for {
		switch z.Next() {
		case htmlparse.ErrorToken:
			return out
		case htmlparse.StartTagToken, htmlparse.SelfClosingTagToken:
			for _, a := range z.Token().Attr {
				switch a.Key {
				case "href", "src", "action", "data-live", "poster", "srcset", "formaction":
					out = append(out, a.Val)
				}
			}
		}
	}
}

// plantEveryKind fills a data folder so that every kind of page and of view is
// there, and gives the addresses of all of them.
func plantEveryKind(t testing.TB, s *site) []string {
	t.Helper()
	files := map[string]string{
		"gallery/a.png": "x", "gallery/b.mp3": "x", "gallery/c.mp4": "x", "gallery/d.txt": "x", "gallery/e.bin": "\x00", "gallery/f.md": "[t](d.txt) ![p](a.png) [up](/b/board/)",
		"gallery/g.html": "<p>x", "gallery/sub/h #?.txt": "x",
		"report/index.html": "<p>x", "report/data.json": "{}",
		"board/links.md": "# One\n[t](more/t.txt) ![p](p.png) [to](/b/gallery/?page=2#x) [again](/b/gallery/)\n", "board/more/t.txt": "x", "board/p.png": "x",
	}
	for path, content := range files {
		write(t, s.data+"/"+path, content)
	}
	for i := range pageSize + 3 {
		write(t, fmt.Sprintf("%s/many/%03d.txt", s.data, i), "x")
	}
	check(t, os.Mkdir(s.data+"/empty", 0o755))
	check(t, os.Symlink("nowhere", s.dir("empty")+"/l"))
	out := []string{s.base.String()}
	for _, n := range []string{"gallery", "report", "board", "many", "empty"} {
		out = append(out, s.url("b", n, ""), s.url("b", n, "")+"?page=2")
	}
	for path := range files {
		name, item, _ := strings.Cut(path, "/")
		out = append(out, s.view(name, item))
	}
	return append(out, s.url("b", "none", ""), s.url("b", "gallery", "none"), s.view("gallery", "none"))
}

var formAction = regexp.MustCompile(` (?:form)?action="([^"]*)"`)

// case B21: each address on each page begins with the base and leads somewhere.
// Red when one is written by hand in a template, or a document's own address from
// the top of the desk is left as it is.
func TestEveryAddressIsUnderTheBase(t *testing.T) {
	for _, base := range []string{"/", "/desk/", "/a/b/"} {
		s := serve(t, options{base: base})
		browser := s.browser(t)
		seen, forms := map[string]bool{}, map[string]bool{}
		for _, target := range plantEveryKind(t, s) {
			page := s.do(t, "GET", target, browser, "Accept: text/html")
			if !strings.Contains(page.body, "<title>") {
				t.Fatalf("%s is no page: %s", target, page.Status)
			}
			for _, a := range addresses(t, page.body) {
				if strings.HasPrefix(a, "#") {
					continue
				}
				if !strings.HasPrefix(a, base) || strings.HasPrefix(a, "//") {
					t.Errorf("base %s: %s leads to %q", base, target, a)
				}
				seen[a] = true
			}
			for _, f := range formAction.FindAllStringSubmatch(page.body, -1) {
				forms[html.UnescapeString(f[1])] = true
			}
		}
		for a := range seen {
			a, _, _ = strings.Cut(a, "#")
			if strings.HasPrefix(a, s.url("events")) || a == s.url("logout") || strings.Contains(a, "/b/none/") { // not of the desk's own routes
				continue
			}
			if forms[a] {
				want(t, a, s.do(t, "POST", a, anonymous), http.StatusUnauthorized)
				continue
			}
			want(t, a, s.do(t, "GET", a, browser), http.StatusOK)
		}
		if len(seen) < 100 {
			t.Errorf("only %d addresses were seen", len(seen))
		}
	}
}

// case B21. A proxy may take the base off or leave it on.
func TestRedirectsStayUnderTheBase(t *testing.T) {
	s := serve(t, options{base: "/desk/"})
	write(t, s.dir("x")+"/a.txt", "a")
	token := s.token(t, "x")
	for target, to := range map[string]string{
		"/desk": "/desk/", "/desk?q": "/desk/?q", "/desk/b/x": "/desk/b/x/", "/b/x": "/desk/b/x/", "/desk/b/x?download=1": "/desk/b/x/?download=1",
		"/desk/c/" + token: "/desk/c/" + token + "/", "/desk/b/%2e%2ex%23": "/desk/b/..x%23/",
	} {
		res := s.do(t, "GET", target, anonymous)
		if res.StatusCode != http.StatusPermanentRedirect || res.Header.Get("Location") != to {
			t.Errorf("%s: %s to %q, want %q", target, res.Status, res.Header.Get("Location"), to)
		}
	}
	for _, target := range []string{"/desk/b/x/b.txt", "/b/x/c.txt"} {
		res := s.send(t, "PUT", target, strings.NewReader("x"), s.operator())
		if res.StatusCode != http.StatusCreated || !strings.HasPrefix(res.Header.Get("Location"), "/desk/b/x/") {
			t.Errorf("%s: %s %q", target, res.Status, res.Header.Get("Location"))
		}
	}
	want(t, "with the base taken off", s.do(t, "GET", "/", anonymous), http.StatusOK)
	want(t, "another base", s.do(t, "GET", "/desktop/", anonymous), http.StatusNotFound)
}

// states are one booth in each state, with what makes it so. Picks and damage as
// in package marks.
var states = map[string]map[string]string{
	"counting":     {},
	"kept":         {".forever": ""},
	"kept-damaged": {".forever": "", ".marks.json": "{"},
	"open":         {".marks.json": `{"schema":"holdfast.marks/v1","rev":1,"marks":[{"id":"p","shape":"pick","title":"t","parts":[{"id":"a","kind":"confirm"}]}]}`},
	"damaged":      {".marks.json": ""},
	"deep":         {strings.Repeat("d/", 130) + "f": "x"},
}

var lines = map[string]string{
	"kept": "kept", "kept-damaged": "kept · marks unreadable", "open": "held until answered", "damaged": "held · marks unreadable",
}

// INV-3, INV-4: the index, each kind of booth's page, each view, and the JSON
// show one line, which is never a countdown while something holds. Red when a
// template leaves "life" out, or a page decides for itself.
func TestEverySurfaceStatesTheOneLifetime(t *testing.T) {
	s := serve(t, options{})
	now := time.Now().Add(90 * time.Minute)
	s.desk.Now = func() time.Time { return now }
	kinds := map[string]string{"gallery": "a.txt", "report": reportFile, "board": boardFile}
	for kind, file := range kinds {
		for state, files := range states {
			dir := s.dir(kind + "-" + state)
			write(t, dir+"/"+file, "x")
			for path, content := range files {
				write(t, dir+"/"+path, content)
			}
		}
	}
	index := s.do(t, "GET", s.base.String(), anonymous)
	var list booth.Booths
	check(t, json.Unmarshal([]byte(s.do(t, "GET", s.url("api", "v1", "booths"), anonymous).body), &list))
	if len(list.Booths) != len(kinds)*len(states) {
		t.Fatalf("%d booths", len(list.Booths))
	}
	for _, b := range list.Booths {
		kind, state, _ := strings.Cut(b.Name, "-")
		line := b.State.Line
		if w := lines[state]; w != "" && line != w || state == "counting" && line != "expires in 1d" || state == "deep" && !strings.HasPrefix(line, "held · cannot be read: d/d/") {
			t.Errorf("%s: %q", b.Name, line)
		}
		shown := ">" + html.EscapeString(line) + "</span>"
		_, card, _ := strings.Cut(index.body, ">"+b.Name+"<")
		if card, _, _ = strings.Cut(card, "</li>"); !strings.Contains(card, shown) {
			t.Errorf("%s: its card does not say %q", b.Name, line)
		}
		for _, target := range []string{s.url("b", b.Name, ""), s.url("b", b.Name, "") + "?page=1", s.view(b.Name, kinds[kind])} {
			page := s.do(t, "GET", target, anonymous)
			if strings.Count(page.body, shown) != 1 || b.State.Kind != "counting" && strings.Contains(page.body, "expires ") {
				t.Errorf("%s does not say %q once", target, line)
			}
		}
		var explained booth.Explanation
		check(t, json.Unmarshal([]byte(s.do(t, "GET", s.url("api", "v1", "booths", b.Name, "explain"), anonymous).body), &explained))
		var shownBooth booth.Listing
		check(t, json.Unmarshal([]byte(s.do(t, "GET", s.url("api", "v1", "booths", b.Name), anonymous).body), &shownBooth))
		if explained.Summary != b || shownBooth.Summary != b || b.Kind != kind {
			t.Errorf("%+v\n%+v\n%+v", b, explained.Summary, shownBooth.Summary)
		}
	}
}

// Each booth is in each lane that it belongs to, and in one at least. Red when a
// state has no lane.
func TestEachBoothIsInItsLanes(t *testing.T) {
	s := serve(t, options{})
	for state, files := range states {
		write(t, s.dir(state)+"/a.txt", "x")
		for path, content := range files {
			write(t, s.dir(state)+"/"+path, content)
		}
	}
	write(t, s.dir("kept-open")+"/.forever", "")
	write(t, s.dir("kept-open")+"/.marks.json", states["open"][".marks.json"])
	snap, err := s.desk.take(t.Context(), nil)
	check(t, err)
	got := map[string][]string{}
	for _, ln := range snap.lanes {
		for _, e := range ln.entries {
			got[e.card.Name] = append(got[e.card.Name], ln.ID)
		}
	}
	for name, want := range map[string][]string{
		"counting": {"counting"}, "kept": {"kept"}, "kept-damaged": {"repair", "kept"}, "open": {"waiting"}, "damaged": {"repair"},
		"deep": {"repair"}, "kept-open": {"waiting", "kept"},
	} {
		if !slices.Equal(got[name], want) {
			t.Errorf("%s: %v, want %v", name, got[name], want)
		}
	}
}

// case B28: two booths of the same age have one order, whichever comes first from
// the disk. Red when sorted has no tie-breaker.
func TestBoothsOfOneAgeHaveOneOrder(t *testing.T) {
	s := serve(t, options{})
	names := []string{"c", "a", "\xff", "b", "');alert(1)"}
	for _, n := range names {
		write(t, s.dir(n)+"/f", "x")
	}
	now := time.Now().Add(-time.Hour) // all that is there is in the future, and so counts as now
	s.desk.Now = func() time.Time { return now }
	for range 20 { // the booths come in another order each time
		snap, err := s.desk.take(t.Context(), nil)
		check(t, err)
		var order []string
		for _, e := range snap.lanes[2].entries {
			order = append(order, e.card.Name)
		}
		if got := strings.Join(order, " "); got != `');alert(1) a b c \xff` {
			t.Errorf("%s", got)
		}
	}
	a, b := s.do(t, "GET", s.base.String(), anonymous), s.do(t, "GET", s.base.String(), anonymous)
	if a.body != b.body {
		t.Error("the index differs from one look to the next")
	}
}

// case B28, as far as root can: a board that is too large says so. Red when board
// drops its error.
func TestABoardThatCannotBeShownSaysWhy(t *testing.T) {
	s := serve(t, options{})
	write(t, s.dir("x")+"/links.md", strings.Repeat("x", maxBoard+1))
	page := s.do(t, "GET", s.url("b", "x", ""), anonymous)
	want(t, "the page", page, http.StatusOK)
	if !strings.Contains(page.body, "links.md cannot be read: ") {
		t.Error("it does not say why")
	}
}

// case B17. Red when problems leaves the future out.
func TestAStampInTheFutureIsSaidOnThePage(t *testing.T) {
	s := serve(t, options{})
	write(t, s.dir("x")+"/ahead.txt", "x")
	ahead := time.Now().Add(1000 * time.Hour)
	check(t, os.Chtimes(s.dir("x")+"/ahead.txt", ahead, ahead))
	if page := s.do(t, "GET", s.url("b", "x", ""), anonymous); !strings.Contains(page.body, "dated in the future (ahead.txt first)") {
		t.Error("not said")
	}
}

// Red when a page number is used as it comes.
func TestAnyPageNumberIsAPage(t *testing.T) {
	s := serve(t, options{})
	plantEveryKind(t, s)
	for _, number := range []string{"0", "-1", "2", "99999999999999999999", "x", "", "2&page=3", "%00"} {
		for _, name := range []string{"many", "empty", "report"} {
			res := s.do(t, "GET", s.url("b", name, "")+"?page="+number, anonymous)
			want(t, name+" "+number, res, http.StatusOK)
		}
	}
	seen := map[string]int{}
	for _, n := range []string{"1", "2"} {
		page := s.do(t, "GET", s.url("b", "many", "")+"?page="+n, anonymous)
		for i := range pageSize + 3 {
			seen[fmt.Sprintf("%03d.txt", i)] += strings.Count(page.body, fmt.Sprintf("<bdi>%03d.txt</bdi>", i))
		}
	}
	for name, times := range seen {
		if times != 1 {
			t.Errorf("%s is on %d pages", name, times)
		}
	}
}

// A text is shown by its beginning, with its last character whole. Red when
// trimRune cuts too little or too much.
func TestALongTextIsCutBetweenCharacters(t *testing.T) {
	for in, want := range map[string]string{"a": "a", "aü": "aü", "a\xc3": "a", "a\xe2\x82": "a", "a\xf0\x9f\x92": "a", "a\xff": "a\xff", "": "", "\xc3": ""} {
		if got := string(trimRune([]byte(in))); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	s := serve(t, options{})
	write(t, s.dir("x")+"/a.log", strings.Repeat("ü", maxText)+"END")
	page := s.do(t, "GET", s.view("x", "a.log"), anonymous)
	if strings.Contains(page.body, "\uFFFD") || strings.Contains(page.body, "END") || strings.Count(page.body, "ü") < maxText/2-1 || strings.Contains(page.body, "ü") == false {
		t.Error("the text is cut wrongly")
	}
}
