//go:build browser

package browsertest

import (
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// inFrame clicks a point of the report's frame, given from its corner, once the
// report itself says that the pointer is over it.
func inFrame(tab *Tab, c *collector, x, y float64) {
	tab.t.Helper()
	at := Eval[[]float64](tab, `(() => { const f = document.querySelector("iframe.frame"); f.scrollIntoView(); const b = f.getBoundingClientRect(); return [b.x, b.y] })()`)
	c.forget("pointer")
	wait(c.t, "the pointer in the report", func() bool {
		x = 61 - x // to and fro: a pointer that stands still says nothing
		tab.Do(chromedp.MouseEvent("mouseMoved", at[0]+x, at[1]+y))
		return c.heard("pointer")
	})
	tab.Do(chromedp.MouseClickXY(at[0]+x, at[1]+y))
}

// report opens a booth made from testdata/reports.
func report(t *testing.T, d *Desk, name string) (*Tab, *collector) {
	t.Helper()
	c := collect(t)
	d.install("reports/"+name, name, "COLLECTOR", c.URL)
	tab := signedIn(t, d)
	tab.Follow(linkTo(d, "b", name, ""))
	return tab, c
}

func silent(t *testing.T, tab *Tab) {
	t.Helper()
	if lines := losses(tab); len(lines) > 0 {
		t.Errorf("a report that loses nothing is said to: %q", lines)
	}
}

// TestReportPlain: its pages, pictures and links work, in the frame and alone.
// Red when Sandbox leaves Cross-Origin-Resource-Policy at same-origin (no
// picture, no style) or names frame-ancestors (nothing in its own frame), or
// contentURL does not keep the folders of a path.
func TestReportPlain(t *testing.T) {
	eachSite(t, func(t *testing.T, d *Desk) {
		tab, c := report(t, d, "plain")
		if got := c.about("first"); got != "7,rgb(1, 2, 3)" {
			t.Errorf("the first page has %s", got)
		}
		silent(t, tab)
		here := tab.Path()
		inFrame(tab, c, 30, 30)
		if got := c.about("second"); got != "rgb(1, 2, 3)" {
			t.Errorf("the second page has %s", got)
		}
		if tab.Path() != here {
			t.Errorf("the desk's page went to %s", tab.Path())
		}
		if got := c.about("inner"); got == "" {
			t.Error("the second page's own frame says nothing")
		}
	})
}

// TestReportModuleBuild: what a bundler makes. Red when content is sent without
// Access-Control-Allow-Origin: null (nothing runs), or when losses does not
// follow imports (the storage in the late chunk is not said).
func TestReportModuleBuild(t *testing.T) {
	eachSite(t, func(t *testing.T, d *Desk) {
		tab, c := report(t, d, "module")
		for subject, want := range map[string]string{"picture": "7", "css": "7", "dynamic": "came", "kept": "SecurityError"} {
			if got := c.about(subject); got != want {
				t.Errorf("%s: %s, want %s", subject, got, want)
			}
		}
		says(t, losses(tab), "localStorage in assets/late-Ab12.js")
		if n := len(losses(tab)); n != 1 {
			t.Errorf("%d losses, want 1: %q", n, losses(tab))
		}
	})
}

// TestReportForTheTopOfAServer: a build with absolute addresses does not work,
// and the page says why. Red when readPage forgets addresses with a slash first.
func TestReportForTheTopOfAServer(t *testing.T) {
	eachSite(t, func(t *testing.T, d *Desk) {
		tab, c := report(t, d, "rooted")
		if got := c.about("rooted"); got != "no" {
			t.Errorf("the report's own absolute address gave it %s", got)
		}
		says(t, losses(tab), "/assets/index-BX3kd9q1.js", "/assets/index-D4vQ8f2a.css", "/data/run.json")
		if c.heard("built") {
			t.Error("something else at the top of the server was run as the report's")
		}
	})
}

// TestReportWithData: it reads its own files. Red without
// Access-Control-Allow-Origin: null.
func TestReportWithData(t *testing.T) {
	eachSite(t, func(t *testing.T, d *Desk) {
		tab, c := report(t, d, "json")
		if got := c.about("data"); got != "1,2,3,200a;b" {
			t.Errorf("its data: %s", got)
		}
		silent(t, tab)
	})
}

// TestReportThatGoesOn: a meta refresh to the booth's own page works; elsewhere
// it does not, the desk's page stays, and it is said. Red when the desk's policy
// has frame-src *, and when losses does not read refreshes as browsers do (a
// comma, no "url=", quotes).
func TestReportThatGoesOn(t *testing.T) {
	eachSite(t, func(t *testing.T, d *Desk) {
		tab, c := report(t, d, "refresh")
		c.about("arrived")
		silent(t, tab)
		for name, to := range map[string]struct{ before, address, after string }{
			"site": {"0; url=", c.URL + "/gone", ""}, "comma": {"0,URL = '", c.URL + "/gone", "' "}, "bare": {"0 ", c.URL + "/gone", ""},
			"desk": {"0; url=", d.URL, ""}, "path": {"0; url=", d.path("b", "victim", ""), ""}, "up": {"0; url=", "../../../b/victim/", ""},
		} {
			content := to.before + to.address + to.after
			d.Write(name, "index.html", `<!doctype html><title>x</title><meta http-equiv="Refresh" content="`+content+`"><script>`+
				`addEventListener("pagehide", () => navigator.sendBeacon("`+c.URL+`/left-`+name+`"))</script>`)
			tab.Open(d.URL + "b/" + name + "/")
			c.about("left-" + name) // the report has gone, so its frame has been sent on
			says(t, losses(tab), "sends the reader on to "+to.address+" by itself")
			if got := tab.Path(); got != d.path("b", name, "") {
				t.Errorf("%s: the desk's page went to %s", name, got)
			}
		}
		if c.heard("gone") {
			t.Error("a frame on the desk's page went to another site")
		}
	})
}

// TestReportHostile tries everything that it must not do. What was refused is
// heard from the report, what it sent is found in the log with the answer, and
// nothing has changed. Case B07.
//
// Red, each tried, in web: "allow-same-origin" among SandboxTokens (storage,
// every read, the desk's own cookie), "allow-top-navigation" (the desk's page is
// gone), "allow-forms" (the form takes the frame away), "allow-modals" (the
// dialogs block); checkOrigin that answers nil; neither frame-ancestors nor
// X-Frame-Options on the desk's pages; and in desk: serveItem with shared bytes.
func TestReportHostile(t *testing.T) {
	eachSite(t, func(t *testing.T, d *Desk) {
		for file, content := range map[string]string{
			"secret.txt": "the secret", "secret.js": "fetch('COLLECTOR/ran')", "secret.png": picture, "secret.css": "body{}", "index.html": "<title>v</title>",
		} {
			d.Write("victim", file, content)
		}
		c := collect(t)
		d.install("reports/hostile", "hostile", "COLLECTOR", c.URL, "DESK", d.URL)
		before := d.tree()
		tab := signedIn(t, d)
		tab.Follow(linkTo(d, "b", "hostile", ""))
		here := tab.Path()
		c.about("done")

		for _, subject := range []string{
			"localStorage", "sessionStorage", "cookie", "indexedDB", "parent", "topDocument", "topLocation", "topReplace", "worker", "serviceWorker",
			"list", "page", "item", "ownPlain", "events", "script", "picture", "style", "climb", "climbDots", "delete", "remove", "put", "patch", "popupPage", "frame",
		} {
			if got := c.about(subject); strings.HasPrefix(got, "got") || strings.HasPrefix(got, "loaded") || got == "done" {
				t.Errorf("%s: %s", subject, got)
			}
		}
		for subject, want := range map[string]string{"confirm": "got false", "frameRead": "got "} {
			if got := c.about(subject); got != want {
				t.Errorf("%s: %s", subject, got)
			}
		}
		for _, subject := range []string{"climbEscaped", "dotFile", "putOwn"} {
			if got := c.about(subject); strings.Contains(got, "got 2") || strings.Contains(got, "secret") {
				t.Errorf("%s: %s", subject, got)
			}
		}
		// What was sent has been answered: by a no.
		for _, sent := range []string{"method=POST path=" + d.path("logout"), "method=POST path=" + d.path("b", "victim", "delete"), "method=POST path=" + d.path("api", "v1", "sign-in-links")} {
			wait(t, sent, func() bool { return strings.Contains(d.Log(), sent) })
		}
		for line := range strings.Lines(d.Log()) {
			read := strings.Contains(line, "method=GET") || strings.Contains(line, "method=HEAD") || strings.Contains(line, "method=OPTIONS")
			link := strings.Contains(line, "status=201") && strings.Contains(line, `party="operator`) // the test's own, to sign in
			if !read && !link && strings.Contains(line, "msg=request") && !strings.Contains(line, "status=403") {
				t.Errorf("was not refused: %s", line)
			}
		}
		if after := d.tree(); !equal(before, after) {
			t.Errorf("the booths have changed: %q", after)
		}
		if d.viewed("victim") {
			t.Error("the report left a view on another booth")
		}
		if tab.Path() != here {
			t.Errorf("the desk's page went to %s", tab.Path())
		}
		// A click within the report is no way out either.
		tab.Front()
		inFrame(tab, c, 30, 30)
		if c.about("clicked"); tab.Path() != here {
			t.Errorf("after a click the desk's page went to %s", tab.Path())
		}
		tab.Open(d.URL + "b/hostile/")
		if !strings.Contains(tab.Text(), "signed in as") {
			t.Error("the operator was signed out")
		}
		said := losses(tab)
		says(t, said, "localStorage", "sessionStorage", "document.cookie", "indexedDB", "parent.document", "top.document", "top.location", "parent.location",
			"has a form", "alert", "confirm", "new Worker", "serviceWorker", "target=\"_top\"", "window.open", "api/v1/", `"POST"`, `"PUT"`, "sendBeacon")
		if strings.Contains(tab.Text(), "COLLECTOR") {
			t.Error("the replacement failed")
		}
		if slices.Contains(said, "") {
			t.Error("an empty loss")
		}
	})
}

func equal(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if w, ok := b[k]; !ok || v != w {
			return false
		}
	}
	return true
}
