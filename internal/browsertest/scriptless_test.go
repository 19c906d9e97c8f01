//go:build browser

package browsertest

import (
	"strings"
	"testing"
)

// TestPagesWorkWithoutScript: everything but liveness. Red when the bar's form
// has no action of its own.
func TestPagesWorkWithoutScript(t *testing.T) {
	eachSite(t, func(t *testing.T, d *Desk) {
		c := collect(t)
		d.install("reports/plain", "plain", "COLLECTOR", c.URL)
		d.Write("pictures", "1.png", picture)
		d.Write("pictures", "2.png", picture)
		d.Write("pictures", "3.txt", "words")
		d.Write("reading", "links.md", "# Near\n\n[a note](note.md)\n")
		d.Write("reading", "note.md", "the note")
		tab := Open(t, 390, 844)
		tab.Script(false)
		tab.Open(d.SignIn)
		if tab.Path() != d.path() {
			t.Fatalf("signing in ended at %s", tab.Path())
		}
		tab.Follow(linkTo(d, "b", "pictures", ""))
		tab.Follow(".tile a")
		tab.Until(`document.querySelector("img.picture").naturalWidth === 1`)
		tab.Follow("a[rel=next]")
		tab.Follow("a[rel=next]")
		if !strings.Contains(tab.Text(), "words") {
			t.Error("no text in the view")
		}
		tab.Follow(".brand")
		tab.Follow(linkTo(d, "b", "reading", ""))
		tab.Follow(".groups a")
		if !strings.Contains(tab.Text(), "the note") {
			t.Error("no note")
		}
		tab.Follow(".brand")
		tab.Follow(linkTo(d, "b", "plain", ""))
		wait(t, "the report's page", func() bool { return strings.Contains(d.Log(), "/c/-/index.html") })
		tab.Click("summary")
		tab.Until(`document.querySelector("details").open`)
		tab.Follow(".tile a")
		tab.Follow("form button")
		if tab.Path() != d.path() || !strings.Contains(tab.Text(), "read-only: not signed in") {
			t.Errorf("signing out ended at %s", tab.Path())
		}
		if strings.Contains(d.Log(), "/events") {
			t.Error("a script ran: this was no test")
		}
	})
}
