//go:build browser

package browsertest

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// gate answers nobody until it is opened.
func gate(t *testing.T) (address string, open func()) {
	t.Helper()
	opened := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-opened:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, func() { close(opened) }
}

// TestABoothCannotMeddle: a report answers, notes, flags, asks, withdraws, keeps,
// releases, repairs, deletes and restores, its own booth and others, by fetch,
// beacon, form and window, from its page, from a frame in it and from a drawing
// opened alone; it loads every page that would be a view if a person opened it;
// and it reads what it can reach. Nothing is changed, read, or looked at.
//
// Red, each tried: "allow-same-origin" among web.SandboxTokens; checkOrigin that
// answers nil; IsDeliberateView that answers true, or without isNavigation, or
// without isOwnAct (its windows); no Cross-Origin-Opener-Policy on the desk's pages
// (the report works in its windows and does not come to its end).
func TestABoothCannotMeddle(t *testing.T) {
	eachSite(t, func(t *testing.T, d *Desk) {
		for _, booth := range []string{"victim", "kept", "popped", "meddling", "gone"} {
			d.Write(booth, "secret.txt", "the secret")
			d.Write(booth, ".marks.json", question)
		}
		d.Write("kept", ".forever", "")
		res, err := d.Client(true).PostForm(d.URL+"b/gone/delete", url.Values{})
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatal(res, err)
		}
		trashed := res.Request.URL.Query().Get("deleted")
		tab := signedIn(t, d)
		requests := len(d.Log())

		for _, at := range []struct {
			page    string
			runs    []string // documents in which its script runs
			outside bool     // it also opens windows
		}{
			{"b/meddling/view?f=text.md", nil, false},
			{"b/meddling/view?f=drawing.svg", nil, false},
			{"alone", []string{"drawing"}, false},
			{"b/meddling/", []string{"report", "inner", "srcdoc"}, true},
		} {
			c := collect(t)
			hold, open := gate(t)
			d.install("reports/meddling", "meddling", "COLLECTOR-GATE", hold, "COLLECTOR", c.URL, "DESK", d.URL, "TRASH", trashed)
			before := d.tree()
			if at.page == "alone" {
				tab.Open(Eval[string](tab, `[...document.querySelectorAll(".actions a")].find(a => a.textContent === "Open the file alone").href`))
			} else {
				tab.Open(d.URL + at.page)
			}
			here := tab.Path()
			// The operator's own look, which is the only one there may be.
			if err := os.Remove(filepath.Join(d.Booth("meddling"), ".viewed")); err != nil && at.page != "alone" {
				t.Error(err)
			}
			open()
			for _, where := range at.runs {
				c.about("done-" + where)
				for _, subject := range []string{"read-", "events-", "frames-"} {
					if got := c.about(subject + where); got != "" {
						t.Errorf("%s, %s%s: %s", at.page, subject, where, got)
					}
				}
			}
			if at.outside {
				c.about("end")
				if got := c.about("hands"); got != "" {
					t.Errorf("it has a hand on its windows with %s", got)
				}
				for _, path := range []string{"", "marks", "view"} {
					path = d.path("b", "popped", path)
					wait(t, "the page in a window of "+path, func() bool { return strings.Contains(d.Log(), "method=GET path="+path+" ") })
				}
			}
			for line := range strings.Lines(d.Log()[requests:]) {
				if strings.Contains(line, "msg=request") && strings.Contains(line, "method=POST") && !strings.Contains(line, "status=403") {
					t.Errorf("%s: was not refused: %s", at.page, line)
				}
			}
			if after := d.tree(); !equal(before, after) {
				t.Errorf("%s: the booths have changed: %q", at.page, after)
			}
			for _, booth := range []string{"victim", "kept", "popped", "meddling"} {
				if d.viewed(booth) {
					t.Errorf("%s: %s has a view, and nobody looked", at.page, booth)
				}
			}
			tab.Front()
			if tab.Path() != here {
				t.Errorf("the desk's page went to %s", tab.Path())
			}
			if n := Eval[int](tab, `document.querySelectorAll("main :is(.prose, .picture) :is(form, iframe, script, meta)").length`); n > 0 {
				t.Errorf("%s: what it wrote is on the desk's page", at.page)
			}
		}
		tab.Open(d.URL)
		if text := tab.Text(); !strings.Contains(text, "signed in as") || !strings.Contains(text, "Trash: 1") {
			t.Errorf("the desk says %s", text)
		}
	})
}

// A report that has its own question's words on a false button: pressing it
// sends nothing. Red with "allow-forms" among web.SandboxTokens.
func TestAFalseAnswerButtonAnswersNothing(t *testing.T) {
	eachSite(t, func(t *testing.T, d *Desk) {
		c := collect(t)
		d.Write("false", ".marks.json", question)
		d.Write("false", "index.html", `<!doctype html><title>x</title><body><form method="post" action="`+d.URL+`b/false/marks/answer">`+
			`<input type="hidden" name="id" value="m1"><input type="hidden" name="question" value="1"><input type="hidden" name="document" value="1"><input type="hidden" name="part-0" value="=a"><button style="position:fixed;inset:0;width:100%">Answer</button></form>`+
			`<script>addEventListener("mousemove", () => fetch("`+c.URL+`/pointer", { mode: "no-cors" })); addEventListener("click", () => setTimeout(() => fetch("`+c.URL+`/clicked", { mode: "no-cors" }), 100))</script>`)
		tab := signedIn(t, d)
		tab.Open(d.URL + "b/false/")
		inFrame(tab, c, 30, 30)
		c.about("clicked")
		if strings.Contains(d.Log(), "method=POST path="+d.path("b", "false")) || d.marks("false") != question {
			t.Errorf("the button posted, and the marks are %s", d.marks("false"))
		}
	})
}
