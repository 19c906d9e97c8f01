//go:build browser

package browsertest

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// laneOf is a script for the lanes that a booth's card is in.
func laneOf(booth string) string {
	return `[...document.querySelectorAll("section.lane")].filter(s => [...s.querySelectorAll("h3")].some(h => h.textContent === ` + quote(booth) + `)).map(s => s.querySelector("h2").id).join()`
}

// TestKeepingMovesTheCardOnAnOpenIndex, and releasing moves it back. Red when the
// index's version does not depend on the lanes, or the page's button says keep of
// what is kept.
func TestKeepingMovesTheCardOnAnOpenIndex(t *testing.T) {
	eachSite(t, func(t *testing.T, d *Desk) {
		d.Write("wanted", "a.txt", "words")
		d.Write("other", "a.txt", "words")
		index, page := signedIn(t, d), signedIn(t, d)
		Eval[bool](index, `window.same = true`)
		page.Open(d.URL + "b/wanted/")
		press := func(button, says, lane string) {
			t.Helper()
			page.Follow(`form[action$="/` + button + `"] button`)
			if got := life(page); page.Path() != d.path("b", "wanted", "") || !strings.HasPrefix(got, says) {
				t.Errorf("after %s, %s says %q", button, page.Path(), got)
			}
			index.Until(laneOf("wanted") + ` === ` + quote(lane))
			if got := Eval[string](index, laneOf("other")); got != "counting" || !Eval[bool](index, `window.same`) {
				t.Errorf("after %s, the other card is in %s", button, got)
			}
		}
		index.Until(laneOf("wanted") + ` === "counting"`)
		press("keep", "kept", "kept")
		press("unkeep", "expires in ", "counting")
		press("keep", "kept", "kept")
	})
}

// TestAHeldBoothIsDeletedFromItsCardAndComesBack, with everything in it: by mouse,
// and by keyboard alone. Red when serveDelete leads elsewhere than to the notice,
// when a hold keeps the operator from deleting, and when the × is below the link
// that covers the card (the booth's page opens), or has tabindex=-1.
func TestAHeldBoothIsDeletedFromItsCardAndComesBack(t *testing.T) {
	mouse := func(tab *Tab, selector string) { tab.Follow(selector) }
	keys := func(tab *Tab, selector string) {
		tab.t.Helper()
		Eval[bool](tab, `window.before = true`)
		for range 30 {
			tab.Do(chromedp.KeyEvent(kb.Tab))
			if Eval[bool](tab, `document.activeElement.matches(`+quote(selector)+`)`) {
				tab.Do(chromedp.KeyEvent(kb.Enter))
				tab.Until("window.before === undefined && document.readyState === 'complete'")
				return
			}
		}
		tab.t.Fatalf("no key leads to %s", selector)
	}
	for name, press := range map[string]func(*Tab, string){"mouse": mouse, "keys": keys} {
		t.Run(name, func(t *testing.T) {
			eachSite(t, func(t *testing.T, d *Desk) {
				d.Write("asked", "a.txt", "words")
				d.Write("asked", ".marks.json", question)
				d.Write("other", "a.txt", "words")
				before := d.tree()
				tab, watching := signedIn(t, d), signedIn(t, d)
				if got := Eval[string](tab, laneOf("asked")); got != "waiting" {
					t.Errorf("it is in %s", got)
				}
				press(tab, `form[action='`+d.path("b", "asked", "delete")+`'] .x`)
				if got := Eval[string](tab, `document.querySelector("[role=status]").textContent`); !strings.Contains(got, "“asked” is in the trash") {
					t.Errorf("the index says %q", got)
				}
				if got := Eval[string](tab, laneOf("asked")); got != "" {
					t.Errorf("it is still in %s", got)
				}
				watching.Until(laneOf("asked") + ` === ""`)
				if _, there := d.tree()["/asked/.marks.json"]; there {
					t.Error("its folder is still there")
				}
				press(tab, `[role=status] button`)
				if tab.Path() != d.path("b", "asked", "") || !strings.HasPrefix(life(tab), "held until answered") {
					t.Errorf("undoing led to %s: %s", tab.Path(), tab.Text())
				}
				watching.Until(laneOf("asked") + ` === "waiting"`)
				if after := d.tree(); !equal(before, after) {
					t.Errorf("it came back as %q", after)
				}
			})
		})
	}
}
