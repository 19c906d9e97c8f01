//go:build browser

package browsertest

import (
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// site is one way in which a browser reaches a desk.
type site struct {
	name  string
	start func(t *testing.T) *Desk
}

var (
	root      = site{"root", func(t *testing.T) *Desk { return Start(t) }}
	unclipped = site{"desk", func(t *testing.T) *Desk { return Proxied(t, startBelow(t), "/desk/", false) }}
	stripped  = site{"desk-stripped", func(t *testing.T) *Desk { return Proxied(t, startBelow(t), "/desk/", true) }}
)

func startBelow(t *testing.T) *Desk {
	return Start(t, "--base-path", "/desk/", "--hosts", "127.0.0.1")
}

// eachSite runs a scenario at "/" and behind a proxy at "/desk/". Case B21.
func eachSite(t *testing.T, scenario func(t *testing.T, d *Desk)) {
	for _, s := range []site{root, unclipped} {
		t.Run(s.name, func(t *testing.T) { scenario(t, s.start(t)) })
	}
}

// signedIn opens a tab in which the operator is signed in, on the index.
func signedIn(t *testing.T, d *Desk) *Tab {
	t.Helper()
	tab := Open(t, 1280, 900)
	tab.Open(d.Link())
	tab.Until("location.href === " + quote(d.URL))
	return tab
}

// card is the selector of a booth's link on the index, and of an item's on a
// page; the address is compared as the browser resolved it.
func linkTo(d *Desk, path ...string) string {
	return `main a[href=` + quote(d.path(path...)) + `]`
}

// path is the address of something below the desk, without its origin.
func (d *Desk) path(segments ...string) string {
	u, err := url.Parse(d.URL)
	if err != nil {
		d.t.Fatal(err)
	}
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	return u.Path + strings.Join(segments, "/")
}

// quote writes a string for a script or a selector: ASCII, by code points that
// both read alike.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		if r < ' ' || r == '"' || r == '\\' {
			panic("not for quoting: " + s)
		}
		b.WriteRune(r)
	}
	b.WriteByte('"')
	return b.String()
}

// wait waits for a condition outside of the browser.
func wait(t *testing.T, what string, met func() bool) {
	t.Helper()
	for end := time.Now().Add(stuck); !met(); time.Sleep(poll) {
		if time.Now().After(end) {
			t.Fatalf("never came: %s", what)
		}
	}
}

// collector hears what a report says of itself: a report runs in a process of
// its own, where the desk's page cannot look.
type collector struct {
	URL string
	t   *testing.T
	mu  sync.Mutex
	got map[string]string // guarded by mu; what was said, by its subject
}

func collect(t *testing.T) *collector {
	c := &collector{t: t, got: map[string]string{}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.got[strings.TrimPrefix(r.URL.Path, "/")] = r.URL.Query().Get("v")
	}))
	t.Cleanup(s.Close)
	c.URL = s.URL
	return c
}

// about waits until a report has said something about a subject.
func (c *collector) about(subject string) string {
	c.t.Helper()
	var said string
	wait(c.t, "the report's word about "+subject, func() (ok bool) {
		c.mu.Lock()
		defer c.mu.Unlock()
		said, ok = c.got[subject]
		return ok
	})
	return said
}

// heard says whether anything was said about a subject.
func (c *collector) heard(subject string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.got[subject]
	return ok
}

// forget is for a subject that is going to be spoken of again.
func (c *collector) forget(subject string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.got, subject)
}

// install copies a folder of testdata into a booth, with words of its files
// replaced.
func (d *Desk) install(from, booth string, words ...string) {
	d.t.Helper()
	dir := filepath.Join("testdata", from)
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		d.Write(booth, rel, strings.NewReplacer(words...).Replace(string(data)))
		return nil
	})
	if err != nil {
		d.t.Fatal(err)
	}
}

// tree is everything in the data folder, dot files too, by path; views are left
// out.
func (d *Desk) tree() map[string]string {
	d.t.Helper()
	out := map[string]string{}
	root := filepath.Join(d.Home, "booths")
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.Name() == ".viewed" {
			return err
		}
		content := e.Type().String()
		if e.Type().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			content = string(data)
		}
		out[strings.TrimPrefix(path, root)] = content
		return nil
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return out
}

// viewed says whether a booth has the trace of a view.
func (d *Desk) viewed(booth string) bool {
	d.t.Helper()
	_, err := os.Lstat(filepath.Join(d.Home, "booths", booth, ".viewed"))
	return err == nil
}

// losses are the lines above the frame, empty where there are none.
func losses(tab *Tab) []string {
	tab.t.Helper()
	return Eval[[]string](tab, `[...document.querySelectorAll("#losses li")].map(e => e.textContent)`)
}

// says checks that each of the words is in one of the lines.
func says(t *testing.T, lines []string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, w) }) {
			t.Errorf("nothing is said about %q in %q", w, lines)
		}
	}
}

// body reads an answer that has to be 200.
func body(t *testing.T, c *http.Client, address string) string {
	t.Helper()
	res, err := c.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", address, res.Status, err)
	}
	return string(data)
}
