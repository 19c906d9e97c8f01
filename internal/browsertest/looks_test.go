//go:build browser

package browsertest

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

// imagesDir is where the pictures go; they are only written where it is set.
const imagesDir = "HOLDFAST_IMAGES"

// look is a page to be looked at.
type look struct{ name, path string }

// everyQuestion is each kind and state of a question, a note and a flag.
const everyQuestion = `{"schema":"holdfast.marks/v1","rev":9,"marks":[
{"id":"p1","shape":"pick","by":"attempt/41","at":"2026-09-22T12:00:00Z","title":"Which palette should the final render use?","why":"Both passed the checks.\nThe warm one clips a little in the highlights.","priority":"high","rev":1,"parts":[
 {"id":"palette","prompt":"Palette","kind":"choice","recommend":"warm","options":[{"id":"warm","label":"Warm","about":"clips at 2 % of the pixels","item":"warm.png"},{"id":"cold","label":"Cold","item":"cold.png"}]},
 {"id":"sizes","prompt":"Sizes to render","kind":"multi","options":[{"id":"s","label":"640 × 360"},{"id":"m","label":"1280 × 720"},{"id":"l","label":"3840 × 2160"}]},
 {"id":"go","prompt":"Start right away?","kind":"confirm"},
 {"id":"words","prompt":"Anything to change first?","kind":"text","required":false}]},
{"id":"p2","shape":"pick","by":"attempt/41","at":"2026-09-22T13:00:00Z","title":"Keep the old checkpoints?","rev":1,"parts":[{"id":"a","kind":"confirm","exact":true},{"id":"b","prompt":"And until when?","kind":"text"}],
 "answer":{"by":"principal:local/desk/ada","at":"2026-09-22T14:00:00Z","via":"page","rev":1,"parts":{"a":{"confirm":true}},"comment":"ask me again for the date"}},
{"id":"p3","shape":"pick","by":"attempt/40","at":"2026-09-22T10:00:00Z","title":"Which seed?","rev":2,"parts":[{"id":"a","prompt":"Seed","kind":"choice","options":[{"id":"7"},{"id":"42","label":"42, as in the paper"}]}],
 "answer":{"by":"principal:local/desk/ada","at":"2026-09-22T14:00:00Z","via":"cli","rev":2,"parts":{"a":{"choices":["42"]}}},
 "superseded":[{"why":"answered-again","answer":{"by":"principal:local/desk/ada","at":"2026-09-22T11:00:00Z","parts":{"a":{"choices":["7"]}}}}]},
{"id":"p4","shape":"pick","by":"attempt/40","title":"Use the cluster?","parts":[{"id":"a","kind":"choice","options":[{"id":"y","label":"Yes"}]}],"answer":{"by":"principal:local/desk/ada","parts":{"a":{"none":true}}}},
{"id":"p5","shape":"pick","by":"attempt/40","title":"Which mirror?","parts":[{"id":"a","kind":"text"}],"withdrawn":{"by":"attempt/40","at":"2026-09-22T11:00:00Z","reason":"found one that answers"}},
{"id":"n1","shape":"note","by":"principal:local/desk/ada","at":"2026-09-22T12:00:00Z","text":"The grain in the shadows is on purpose.\nLeave it."},
{"id":"f1","shape":"flag","by":"attempt/41","target":"cold.png","text":"banding in the sky"}
]}`

// gatherings is a desk with a booth of every kind, the awkward ones too.
func gatherings(t *testing.T) (*Desk, []look) {
	home := t.TempDir()
	demo := exec.Command("../../scripts/demo-home", home)
	demo.Env = append(os.Environ(), "HOLDFAST=none")
	if out, err := demo.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	planAt(t, home)
	fleetAt(t, home)
	d := StartAt(t, home)
	d.observed(t)
	deleted := ""
	long := strings.Repeat("unbroken", 31) // a name of at most 255 bytes, and nowhere to break it
	d.Write(long, long+".png", picture)
	d.Write(long, "unbroken"+strings.Repeat("0123456789", 24)+".txt", strings.Repeat("unbroken", 500))
	d.Write(long, "short.png", picture)
	d.Booth("nothing-in-it")
	d.Write("not-all-of-it", "a.txt", "words")
	dir := d.Booth("not-all-of-it")
	if err := os.Symlink(filepath.Join(home, "holdfast.toml"), filepath.Join(dir, "a-link")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "a-pipe"), 0o666); err != nil {
		t.Fatal(err)
	}
	d.Write("damaged", "a.txt", "words")
	d.Write("damaged", ".marks.json", `{"schema":"holdfast.marks/v1","rev":3,"marks":[{"id":"x"},{"id":"x","shape":"note"}]}`)
	d.Write("damaged", ".booth.json", "{")
	d.Write("damaged", ".forever", `{"why":"until the paper is out"}`)
	d.Write("loses-much", "index.html", `<!doctype html><title>x</title><meta http-equiv="refresh" content="900; url=https://example.org/"><a target="_top" href="#">a</a><form></form>`+
		`<link rel="stylesheet" href="/assets/index.css"><script src="/assets/index.js"></script><iframe src="inner.html"></iframe><script>function never() { localStorage.a = document.cookie; `+
		`new Worker("a"); navigator.serviceWorker.register("a"); alert(top.location); fetch("/data.json", { method: "POST" }); window.open("a"); navigator.clipboard }</script>`)
	for i := range 200 {
		d.Write("many", fmt.Sprintf("frame-%03d.png", i), picture)
	}
	d.Write("questions", "warm.png", picture)
	d.Write("questions", "cold.png", picture)
	d.Write("questions", "notes.txt", "words")
	d.Write("questions", ".marks.json", everyQuestion)
	for _, name := range []string{"thrown-away", long[:200]} {
		d.Write(name, "a.txt", "words")
		res, err := d.Client(true).PostForm(d.URL+"b/"+name+"/delete", url.Values{})
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatal(res, err)
		}
		deleted = res.Request.URL.RawQuery
	}
	d.Write("media", "talk.mp3", "none")
	d.Write("media", "film.mp4", "none")
	d.Write("media", "weights.bin", "\x00\x01")
	d.Write("media", "table.csv", "a,b\n1,2\n")
	d.Write("media", "long.md", "# Title\n\nText `code` [link](table.csv).\n\n## Part\n\n- one\n- [ ] two\n\n> said\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```\n"+strings.Repeat("code ", 60)+"\n```\n\n<b>tag</b>\n")
	return d, append(append(planLooks(), fleetLooks()...), []look{
		{"index", ""},
		{"gallery", "b/renders/"},
		{"report", "b/training-report/"},
		{"board", "b/reading-list/"},
		{"picture", "b/renders/view?f=04-spiral.png"},
		{"text", "b/renders/view?f=render.log"},
		{"markdown", "b/media/view?f=long.md"},
		{"missing", "b/nowhere/"},
		{"questions", "b/questions/"},
		{"marks", "b/questions/marks"},
		{"marks-damaged", "b/damaged/marks"},
		{"marks-none", "b/nothing-in-it/marks"},
		{"flagged", "b/questions/view?f=cold.png"},
		{"trash", "trash"},
		{"index-deleted", "?" + deleted},
		{"lane", "?lane=counting"},
		{"long", "b/" + long + "/"},
		{"long-item", "b/" + long + "/view?f=" + long + ".png"},
		{"empty", "b/nothing-in-it/"},
		{"unserved", "b/not-all-of-it/"},
		{"damaged", "b/damaged/"},
		{"losses", "b/loses-much/"},
		{"many", "b/many/"},
		{"many-2", "b/many/?page=2"},
		{"report-files", "b/training-report/?page=1"},
		{"audio", "b/media/view?f=talk.mp3"},
		{"video", "b/media/view?f=film.mp4"},
		{"binary", "b/media/view?f=weights.bin"},
		{"table", "b/media/view?f=table.csv"},
		{"page", "b/training-report/view?f=index.html"},
	}...)
}

// TestPagesFitAndAreAccessible looks at every kind of page at a desk's and a
// phone's width, light and dark: nothing sticks out sideways, and axe finds
// nothing that is moderate, serious or critical. With HOLDFAST_IMAGES=DIR it
// keeps the pictures.
//
// Red, each tried: --soft at #a0a0a0 (contrast), the report's frame without its
// title, headings without overflow-wrap (too wide).
func TestPagesFitAndAreAccessible(t *testing.T) {
	axe, err := os.ReadFile("../../node_modules/axe-core/axe.min.js")
	if err != nil {
		t.Fatalf("%v (scripts/install-test-tools installs it)", err)
	}
	d, looks := gatherings(t)
	empty := Start(t)
	tab := Open(t, 1280, 900)
	inspect := func(name string) {
		t.Helper()
		Eval[bool](tab, string(axe)+"; true")
		for _, size := range [][2]int64{{1280, 900}, {390, 844}} {
			tab.Do(chromedp.EmulateViewport(size[0], size[1]))
			Eval[bool](tab, `Promise.all([...document.images].map(i => i.loading === "lazy" || i.complete ? 0 : new Promise(r => { i.onload = i.onerror = r }))).then(() => true)`)
			if over := Eval[int](tab, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); over > 0 {
				t.Errorf("%s at %d px is %d px too wide", name, size[0], over)
			}
			for _, dark := range []bool{false, true} {
				if dark && size[0] < 1280 && os.Getenv(imagesDir) == "" {
					continue // the same colours again
				}
				tab.Dark(dark)
				rules := map[bool]string{false: "", true: `, runOnly: ["color-contrast"]`}[dark] // nothing else depends on it
				for _, v := range Eval[[]string](tab, `axe.run(document, { resultTypes: ["violations"], iframes: false`+rules+` }).then(r => r.violations.filter(v => v.impact !== "minor").map(v => v.impact + " " + v.id + ": " + v.nodes.map(n => n.html.slice(0, 120)).slice(0, 3).join(" ")))`) {
					t.Errorf("%s at %d px, dark %v: %s", name, size[0], dark, v)
				}
				keep(t, tab, fmt.Sprintf("%s-%d-%s.png", name, size[0], map[bool]string{false: "light", true: "dark"}[dark]))
			}
		}
	}
	see := func(name, address string) {
		t.Helper()
		tab.Open(address)
		inspect(name)
	}
	see("index-anonymous", d.URL)
	see("questions-anonymous", d.URL+"b/questions/")
	see("empty-anonymous", empty.URL)
	see("sign-in", d.URL+"login")
	tab.Open(empty.Link())
	see("empty-index", empty.URL)
	see("empty-trash", empty.URL+"trash")
	see("empty-roadmap", empty.URL+"roadmap")
	see("no-fleet", empty.URL+"fleet")
	see("no-instances", empty.URL+"instances")
	tab.Open(d.Link())
	for _, l := range looks {
		see(l.name, d.URL+l.path)
	}
	running := running(t)
	tab.Open(running.Link())
	for _, l := range instanceLooks() {
		tab.Open(running.URL + l.path)
		Eval[bool](tab, `document.querySelectorAll("details").forEach(d => { d.open = true }), true`)
		inspect(l.name)
	}
	tab.Open(d.URL + "b/questions/marks")
	Eval[bool](tab, `document.querySelectorAll("details").forEach(d => { d.open = true }), true`)
	inspect("marks-unfolded")
	Eval[bool](tab, `document.querySelector("#p1 [name=question]").value = 7, document.querySelector("#p1 [value='=warm']").checked = true`)
	tab.Follow(`#p1 .answer button`)
	inspect("refused")
	if !Eval[bool](tab, `!!document.querySelector("#p1 [role=alert]")`) {
		t.Error("the answer was not refused: this was another page")
	}
	tab.Open(d.URL + "fleet")
	Eval[bool](tab, `document.querySelectorAll("details").forEach(d => { d.open = true }), true`)
	inspect("fleet-unfolded")
	rollBack(t, d.Home)
	tab.Open(d.URL + "fleet")
	inspect("fleet-refused")
	if !strings.Contains(tab.Text(), "roster-rollback") {
		t.Error("the roster was not refused: this was another page")
	}
	tab.Open(d.URL + "roadmap/pick-a-palette")
	Eval[bool](tab, `document.querySelectorAll("details").forEach(d => { d.open = true }), true`)
	inspect("node-unfolded")
	Eval[bool](tab, `document.querySelector("#form-edit [name=expected_revision]").value = "0".repeat(64), true`)
	tab.Follow(`#form-edit button`)
	inspect("node-conflict")
}

func keep(t *testing.T, tab *Tab, name string) {
	t.Helper()
	dir := os.Getenv(imagesDir)
	if dir == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(dir, name), tab.Picture(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestEverythingIsReachedByKeyboard: Tab goes to every link, field, button and frame in
// the order of the page, each shows that it has the focus, and the skip link
// leads past the bar. Red with outline: none, or a skip link whose
// target is not there.
func TestEverythingIsReachedByKeyboard(t *testing.T) {
	d, looks := gatherings(t)
	tab := signedIn(t, d)
	for _, l := range looks {
		if slices.Contains([]string{"many", "many-2", "losses", "report", "page", "report-files", "audio", "video"}, l.name) {
			continue // what a frame or a player does with the key is its own
		}
		tab.Open(d.URL + l.path)
		// Of radios that belong together, one is reached by Tab, the rest by arrows.
		want := Eval[int](tab, `window.stop = (e) => e.type !== "radio" || [...e.form.elements[e.name]].find((r, _, all) => r.checked || (r === all[0] && !all.some(a => a.checked))) === e, (window.all = [...document.querySelectorAll("a[href], button, summary, textarea, select, input:enabled:not([type=hidden]), [tabindex='0']")].filter(e => e.checkVisibility() && stop(e))).length`)
		for i := range want {
			tab.Do(chromedp.KeyEvent(kb.Tab))
			if got := Eval[int](tab, `all.indexOf(document.activeElement)`); got != i {
				t.Errorf("%s: key %d leads to element %d", l.name, i+1, got)
				break
			}
			if !Eval[bool](tab, `(() => { const e = document.activeElement, s = getComputedStyle(e), b = e.getBoundingClientRect(); return s.outlineStyle === "solid" && parseFloat(s.outlineWidth) >= 2 && b.right > 0 && b.bottom > 0 && b.top < innerHeight })()`) {
				t.Errorf("%s: the focus on %s is not seen", l.name, Eval[string](tab, `document.activeElement.outerHTML.slice(0, 200)`))
			}
		}
		tab.Open(d.URL + l.path)
		tab.Do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter))
		tab.Until(`location.hash === "#main"`)
		tab.Do(chromedp.KeyEvent(kb.Tab))
		if !Eval[bool](tab, `!!document.activeElement.closest("main") || !document.querySelector("main :is(a, button, summary, input, [tabindex])")`) {
			t.Errorf("%s: the skip link does not skip", l.name)
		}
	}
	tab.Open(d.URL)
	tab.Do(chromedp.Focus(chromedp.CSS(".card a")), chromedp.KeyEvent(kb.Enter))
	tab.Until(`location.pathname !== ` + quote(d.path()) + ` && document.readyState === "complete"`)
}
