//go:build browser

package browsertest

import (
	"net/http"
	"os"
	"strings"
	"testing"
)

// picture is a PNG of one pixel.
const picture = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89" +
	"\x00\x00\x00\rIDATx\x9ccHh8\xf0\x1f\x00\x05\x84\x02\xa0\x9d\xe1\xfa\x04\x00\x00\x00\x00IEND\xaeB`\x82"

// question is a marks document with one open pick.
const question = `{"schema":"holdfast.marks/v1","rev":1,"marks":[{"id":"m1","shape":"pick","title":"Which?","rev":1,` +
	`"parts":[{"id":"p1","prompt":"Which?","kind":"choice","options":[{"id":"a","label":"A"},{"id":"b","label":"B"}]}]}]}`

// TestAPersonLooksThroughTheDesk: sign in by the link, the lanes, a gallery, its
// pictures, a board, and signing out, with clicks. Red when a handler makes one
// address without Base.URL (tried: the view's way back), when serveBooth forgets
// d.viewed, or logout does not end the session.
func TestAPersonLooksThroughTheDesk(t *testing.T) {
	eachSite(t, func(t *testing.T, d *Desk) {
		for _, name := range []string{"1.png", "2.png", "3.png"} {
			d.Write("pictures", name, picture)
		}
		d.Write("asked", "a.txt", "words")
		d.Write("asked", ".marks.json", question)
		d.Write("broken", "a.txt", "words")
		d.Write("broken", ".marks.json", "{")
		d.Write("kept", "a.txt", "words")
		d.Write("kept", ".forever", "")
		d.Write("reading", "links.md", "# Near\n\n[the note](deep/note.md)\n\n# Far\n\n[elsewhere](https://example.org/)\n")
		d.Write("reading", "deep/note.md", "back to [the picture](one.png) ![one](one.png)\n")
		d.Write("reading", "deep/one.png", picture)

		tab := Open(t, 1280, 900)
		tab.Open(d.SignIn)
		tab.Until("location.href === " + quote(d.URL))
		if got := Eval[string](tab, `[...document.querySelectorAll("section.lane")].map(s => s.querySelector("h2").firstChild.data.trim() + ":" + [...s.querySelectorAll("h3")].map(h => h.textContent).sort()).join(" ")`); got !=
			"Waiting for you:asked Needs repair:broken Counting down:pictures,reading Kept:kept" {
			t.Errorf("lanes: %s", got)
		}
		if !strings.Contains(tab.Text(), "signed in as principal:local/") {
			t.Error("the page does not say who is signed in")
		}

		tab.Follow(linkTo(d, "b", "pictures", ""))
		wait(t, "the view of a gallery", func() bool { return d.viewed("pictures") })
		tab.Follow(`.tile:nth-child(1) a`)
		shown := func(want string) {
			t.Helper()
			tab.Until(`document.querySelector("img.picture").naturalWidth === 1`)
			if got := Eval[string](tab, `document.querySelector("h1").textContent`); got != want {
				t.Errorf("%s is shown, want %s", got, want)
			}
		}
		shown("1.png")
		tab.Follow(`a[rel=next]`)
		shown("2.png")
		tab.Follow(`a[rel=next]`)
		shown("3.png")
		if Eval[bool](tab, `!!document.querySelector("a[rel=next]")`) {
			t.Error("there is something after the last picture")
		}
		tab.Follow(`a[rel=prev]`)
		shown("2.png")
		href := Eval[string](tab, `[...document.querySelectorAll("a")].find(a => a.textContent === "Download").href`)
		if body(t, d.Client(true), href) != picture {
			t.Error("the download is not the picture")
		}
		tab.Follow(`.head .meta a`)
		if tab.Path() != d.path("b", "pictures", "") {
			t.Errorf("back is at %s", tab.Path())
		}
		tab.Follow(`.brand`)

		tab.Follow(linkTo(d, "b", "reading", ""))
		if got := Eval[string](tab, `[...document.querySelectorAll(".groups h2")].map(h => h.textContent).join()`); got != "Near,Far" {
			t.Errorf("groups: %s", got)
		}
		if text := tab.Text(); !strings.Contains(text, "2 links") {
			t.Errorf("the board's header does not count its links: %s", text)
		}
		tab.Follow(`.groups a`)
		tab.Until(`document.querySelector(".prose img").naturalWidth === 1`)
		tab.Follow(`.prose a`)
		shown("deep/one.png")

		tab.Open(d.URL + "b/nowhere/")
		if text := tab.Text(); !strings.Contains(text, "no booth") || !strings.Contains(text, "signed in as") {
			t.Errorf("a page that is not there forgets who is signed in: %s", text)
		}
		tab.Follow(`form[method=post] button`)
		if tab.Path() != d.path() || !strings.Contains(tab.Text(), "read-only: not signed in") {
			t.Errorf("signing out ended at %s: %s", tab.Path(), tab.Text())
		}
		tab.Follow(linkTo(d, "b", "kept", ""))
		tab.Follow(`.tile a`)
		if !strings.Contains(tab.Text(), "words") {
			t.Error("without signing in, an item is not shown")
		}
		if d.viewed("kept") {
			t.Error("somebody who is not signed in left a view")
		}
		tab.Open(d.SignIn)
		if text := tab.Text(); !strings.Contains(text, "used before") || !strings.Contains(text, "read-only") {
			t.Errorf("a link was good twice: %s", text)
		}
	})
}

// TestTheIndexChangesByItself: nobody reloads. Red when desk.js does not listen
// for "change".
func TestTheIndexChangesByItself(t *testing.T) {
	eachSite(t, func(t *testing.T, d *Desk) {
		d.Write("first", "a.txt", "words")
		tab := signedIn(t, d)
		Eval[bool](tab, `window.same = true`)
		d.Write("second", "a.png", picture)
		tab.Until(`document.querySelector('main a[href=` + quote(d.path("b", "second", "")) + `]')`)
		tab.Until(`document.querySelector("img.cover").naturalWidth === 1`)
		d.Write("second", "b.txt", "words")
		tab.Until(`[...document.querySelectorAll(".card")].some(c => c.textContent.includes("2 items"))`)
		if err := os.RemoveAll(d.Booth("second")); err != nil {
			t.Fatal(err)
		}
		tab.Until(`document.querySelectorAll(".card").length === 1`)
		if !Eval[bool](tab, `window.same`) {
			t.Error("the page was loaded anew")
		}
		if d.viewed("first") || d.viewed("second") {
			t.Error("a page that updates itself left a view")
		}
	})
}

// TestOnlyADeliberateLookIsAView, through the browser's own headers. Red when
// web.IsDeliberateView leaves out one of its three conditions: the fetch and the
// frame go by Sec-Fetch-Dest, the popup by Sec-Fetch-Site.
func TestOnlyADeliberateLookIsAView(t *testing.T) {
	eachSite(t, func(t *testing.T, d *Desk) {
		for _, booth := range []string{"fetched", "framed", "pictured", "headed", "nobody", "popped", "clicked"} {
			d.Write(booth, "a.txt", "words")
		}
		c := collect(t)
		d.install("views", "looker", "COLLECTOR", c.URL, "DESK", d.URL)
		anonymous := d.Client(false)
		body(t, anonymous, d.URL+"b/nobody/")
		body(t, anonymous, d.URL+"b/nobody/view?f=a.txt")
		if res, err := d.Client(true).Head(d.URL + "b/headed/"); err != nil || res.StatusCode != http.StatusOK {
			t.Fatal(res, err)
		}
		tab := signedIn(t, d)
		tab.Follow(linkTo(d, "b", "looker", ""))
		if !d.viewed("looker") {
			t.Error("opening a report left no view")
		}
		c.about("done")
		Eval[int](tab, `Promise.all(["", "view?f=a.txt"].map(p => fetch(`+quote(d.URL+"b/fetched/")+` + p))).then(a => a[1].status)`)
		// The report's own requests have been answered, the popup's is the last:
		// its page was served.
		wait(t, "the popup's page", func() bool { return strings.Contains(d.Log(), "/b/popped/") })
		for _, booth := range []string{"fetched", "framed", "pictured", "headed", "nobody", "popped"} {
			if d.viewed(booth) {
				t.Errorf("%s has a view, and nobody looked", booth)
			}
		}
		tab.Open(d.URL)
		tab.Follow(linkTo(d, "b", "clicked", ""))
		if !d.viewed("clicked") {
			t.Error("a click left no view")
		}
	})
}
