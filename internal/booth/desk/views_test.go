package desk

import (
	"os"
	"strings"
	"testing"
	"time"
)

// INV-7, and what is a view. Red when a call of viewed moves before the item was
// found, leaves the policy out, or is added where nobody asked for a page.
func TestWhatIsAView(t *testing.T) {
	s := serve(t, options{})
	dir := s.dir("x")
	write(t, dir+"/a.txt", "a")
	write(t, dir+"/p.png", "x")
	page, view := s.url("b", "x", ""), s.view("x", "a.txt")
	zipped := page + "?download=1"
	browser, operator := s.browser(t), s.operator()
	nav := []string{"Sec-Fetch-Dest: document", "Sec-Fetch-Mode: navigate"}
	with := func(more ...string) []string { return append(append([]string{}, nav...), more...) }
	type row struct {
		what, method, target string
		as                   who
		headers              []string
		is                   bool
	}
	_, linked, _ := strings.Cut(s.do(t, "GET", s.base.String(), anonymous).body, `rel="stylesheet" href="`)
	sheet, _, _ := strings.Cut(linked, `"`)
	rows := []row{
		{"the page", "GET", page, browser, nil, true},
		{"the page, of a program", "GET", page, operator, nil, true},
		{"a page of it", "GET", page + "?page=2", browser, nil, true},
		{"the zip", "GET", zipped, browser, nil, true},
		{"the view of an item", "GET", view, browser, nil, true},
		{"typed", "GET", page, browser, with("Sec-Fetch-Site: none", "Sec-Fetch-User: ?1"), true},
		{"followed on the desk", "GET", page, browser, with("Sec-Fetch-Site: same-origin"), true},
		{"clicked on another site", "GET", page, browser, with("Sec-Fetch-Site: cross-site", "Sec-Fetch-User: ?1"), true},
		{"sent there by another site", "GET", page, browser, with("Sec-Fetch-Site: cross-site"), false},
		{"of the same site, not clicked", "GET", page, browser, with("Sec-Fetch-Site: same-site"), false},
		{"as a picture", "GET", page, browser, []string{"Sec-Fetch-Dest: image", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Site: same-origin"}, false},
		{"in a frame", "GET", view, browser, []string{"Sec-Fetch-Dest: iframe", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Site: same-origin"}, false},
		{"the live page's own fetch", "GET", page, browser, []string{"Sec-Fetch-Dest: empty", "Sec-Fetch-Mode: cors", "Sec-Fetch-Site: same-origin"}, false},
		{"a mode alone", "GET", page, browser, []string{"Sec-Fetch-Mode: cors"}, false},
		{"zip by a booth's script", "GET", zipped, browser, []string{"Sec-Fetch-Dest: empty", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Site: cross-site"}, false},
		{"HEAD", "HEAD", page, browser, nil, false},
		{"HEAD of a view", "HEAD", view, browser, nil, false},
		{"HEAD of the zip", "HEAD", zipped, browser, nil, false},
		{"prefetch", "GET", page, browser, with("Sec-Purpose: prefetch"), false},
		{"prerender", "GET", view, browser, with("Sec-Purpose: prefetch;prerender"), false},
		{"prefetch, the old way", "GET", page, browser, []string{"Purpose: prefetch"}, false},
		{"prefetch, another old way", "GET", page, browser, []string{"X-Moz: prefetch"}, false},
		{"the view of nothing", "GET", s.view("x", "none"), browser, nil, false},
		{"the view of a dot file", "GET", s.view("x", ".booth.json"), browser, nil, false},
		{"no view at all", "GET", s.url("b", "x", "view"), browser, nil, false},
		{"a redirect", "GET", s.url("b", "x"), browser, nil, false},
		{"bytes", "GET", s.url("b", "x", "a.txt"), browser, nil, false},
		{"bytes by token", "GET", s.url("c", s.token(t, "x"), "a.txt"), browser, nil, false},
		{"no item", "GET", s.url("b", "x", "none"), browser, nil, false},
		{"the index", "GET", s.base.String(), browser, nil, false},
		{"the list", "GET", s.url("api", "v1", "booths"), operator, nil, false},
		{"the listing", "GET", s.url("api", "v1", "booths", "x"), operator, nil, false},
		{"the explanation", "GET", s.url("api", "v1", "booths", "x", "explain"), operator, nil, false},
		{"a style sheet", "GET", sheet, browser, nil, false},
	}
	for name, as := range map[string]who{
		"anonymous": anonymous, "worker": s.worker(t, "x"), "another worker": s.worker(t, "y"), "observer": bearer(s.key.ObserverToken()), "bad token": bearer("x"),
	} {
		rows = append(rows, row{name + ", the page", "GET", page, as, nil, false}, row{name + ", the zip", "GET", zipped, as, nil, false}, row{name + ", a view", "GET", view, as, nil, false})
	}
	for _, c := range rows {
		if err := os.Remove(dir + "/.viewed"); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		res := s.do(t, c.method, c.target, c.as, c.headers...)
		_, err := os.Lstat(dir + "/.viewed")
		if (err == nil) != c.is {
			t.Errorf("%s (%s): a view: %v, want %v", c.what, res.Status, err == nil, c.is)
		}
	}
}

// INV-1: a view is one more file. Red when RecordView writes a time of its own,
// or At does not read it with the tree.
func TestAViewPutsTheCountdownBackToTheStart(t *testing.T) {
	s := serve(t, options{})
	write(t, s.dir("x")+"/a.txt", "a")
	s.ahead.Store(int64(20 * time.Hour))
	newest := func() string {
		l, err := s.desk.look(t.Context(), "x")
		check(t, err)
		return l.Survey.Newest.Path + ", " + l.Survey.Newest.Clock.String()
	}
	if got := newest(); got == ".viewed, view" {
		t.Errorf("before: %s", got)
	}
	s.do(t, "GET", s.url("b", "x", ""), s.browser(t))
	if got := newest(); got != ".viewed, view" {
		t.Errorf("after: %s", got)
	}
}

// Red when the marker is opened through what lies in its place.
func TestAViewFollowsNoPlantedLink(t *testing.T) {
	s := serve(t, options{})
	write(t, s.dir("x")+"/a.txt", "a")
	write(t, s.data+"/victim", "v")
	old := time.Unix(1_000_000_000, 0)
	check(t, os.Chtimes(s.data+"/victim", old, old))
	for _, to := range []string{"../victim", "../new"} {
		check(t, os.Symlink(to, s.dir("x")+"/.viewed"))
		want(t, "the page", s.do(t, "GET", s.url("b", "x", ""), s.browser(t)), 200)
		check(t, os.Remove(s.dir("x")+"/.viewed"))
	}
	if m, err := os.Stat(s.data + "/victim"); err != nil || !m.ModTime().Equal(old) {
		t.Errorf("%v %v", m, err)
	}
	if _, err := os.Lstat(s.data + "/new"); !os.IsNotExist(err) {
		t.Errorf("%v", err)
	}
}
