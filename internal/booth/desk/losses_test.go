package desk

import (
	"slices"
	"strings"
	"testing"
)

// lost is what losses says about a page, with other files of the booth beside it.
func lost(page string, files map[string]string) []string {
	return losses([]byte(page), "index.html", func(p string) ([]byte, bool) {
		data, ok := files[p]
		return []byte(data), ok
	})
}

// Each use, in a script of the page, and what is said of it. Red when a word goes
// from the list.
func TestEachCapabilityThatIsTakenAwayIsSaid(t *testing.T) {
	for use, says := range map[string]string{
		`localStorage.setItem("a", 1)`:                     "keeps things in the browser (localStorage in index.html)",
		`window.sessionStorage`:                            "(sessionStorage in index.html)",
		`indexedDB.open("x")`:                              "(indexedDB in index.html)",
		`document.cookie = "a"`:                            "(document.cookie in index.html)",
		`caches.open("v1")`:                                "(caches.open in index.html)",
		`navigator.serviceWorker.register("sw.js")`:        "registers a service worker",
		`new Worker("w.js")`:                               "starts a worker script (new Worker in index.html)",
		`new SharedWorker("w.js")`:                         "(new SharedWorker in index.html)",
		`alert("x")`:                                       "opens a dialog (alert in index.html)",
		`if(confirm("x"))`:                                 "(confirm in index.html)",
		`x=prompt("x")`:                                    "(prompt in index.html)",
		`window.alert(alert(1))`:                           "(alert in index.html)",
		`top.location = "/"`:                               "reaches for the page around it (top.location in index.html)",
		`parent.document.title`:                            "(parent.document in index.html)",
		`window.open("x")`:                                 "opens windows",
		`fetch("api/v1/booths")`:                           "talks to a server",
		`fetch("x", {method: "POST"})`:                     "talks to a server",
		`navigator.sendBeacon("x")`:                        "talks to a server",
		`navigator.geolocation.getCurrentPosition()`:       "asks for something of this device (navigator.geolocation in index.html)",
		`navigator.mediaDevices.getUserMedia({})`:          "(getUserMedia in index.html)",
		`navigator.clipboard.writeText("x")`:               "(navigator.clipboard in index.html)",
		`document.documentElement.requestFullscreen()`:     "(requestFullscreen in index.html)",
		`fetch("/data.json")`:                              "loads /data.json from the top of the server",
		`import x from "/lib/x.js"`:                        "loads /lib/x.js from the top of the server",
		`localStorage.a; sessionStorage.b; localStorage.c`: "(localStorage in index.html, sessionStorage in index.html)",
	} {
		got := lost("<!doctype html><p>x<script>"+use+"</script>", nil)
		if len(got) != 1 || !strings.Contains(got[0], says) {
			t.Errorf("%s: %q", use, got)
		}
	}
}

// Red when mentions finds a word within another, or text counts as script.
func TestFalseFriendsAreNotSaid(t *testing.T) {
	for _, page := range []string{
		"",
		"<p>plain",
		"<p>alert( and localStorage are words here</p>",
		"<script>myalert(1); $alert(1); _confirm(2); reprompt(3); assert(x); xlocalStorage</script>",
		"<script>1</script><p>localStorage",
		"<style>localStorage</style>",
		"<!-- <script>localStorage</script> -->",
		`<a href="x.html">x</a><img src="a.png"><img src="data:image/png;base64,"><script src="https://cdn.example/x.js"></script>`,
		`<meta http-equiv="refresh" content="5">`,
		`<meta http-equiv="refresh" content="5; url=next.html">`,
		`<meta http-equiv="refresh" content="5; #here">`,
		`<meta name="refresh" content="0; url=/x">`,
		`<script src="..//../x.js"></script>`,
		`<a target="_blank" href="x">x</a>`,
		`<svg viewBox="0 0 1 1"><path d="M0 0"/></svg>`,
	} {
		if got := lost(page, nil); len(got) != 0 {
			t.Errorf("%s: %q", page, got)
		}
	}
}

// Red when a way to write an address from the root, a form or a refresh is missed.
func TestWhatAPageAsksForIsReadOffItsMarkup(t *testing.T) {
	for page, says := range map[string]string{
		`<script src="/assets/app.js"></script>`:                            "loads /assets/app.js from the top",
		`<SCRIPT SRC=' /assets/app.js '></SCRIPT>`:                          "loads /assets/app.js from the top",
		`<link rel=stylesheet href=/a.css>`:                                 "loads /a.css from the top",
		`<img src="/a.png"/>`:                                               "loads /a.png from the top",
		`<video src=/v.mp4></video>`:                                        "loads /v.mp4 from the top",
		`<video><source src=/v.webm></video>`:                               "loads /v.webm from the top",
		`<iframe src="/x.html"></iframe>`:                                   "loads /x.html from the top",
		`<img src=/1><img src=/2><img src=/3><img src=/4><img src=/4>`:      "loads /1, /2, /3 and 1 more from",
		`<img src="/first" src="second">`:                                   "loads /first from",
		`<form action=x><input></form>`:                                     "has a form",
		`<base href="/app/">`:                                               "sets a base address (/app/)",
		`<a target=_top href=x>x</a>`:                                       `target="_top"`,
		`<a target=_parent href=x>x</a>`:                                    `target="_parent"`,
		`<body onload="alert(1)">`:                                          "opens a dialog (alert in index.html)",
		`<p ONCLICK="localStorage.clear()">`:                                "keeps things",
		`<meta http-equiv="refresh" content="0; url=https://e.example">`:    "sends the reader on to https://e.example",
		`<META HTTP-EQUIV=Refresh CONTENT="0;URL='/login'">`:                "sends the reader on to /login",
		`<meta http-equiv="refresh" content="0,url=//e.example/x">`:         "sends the reader on to //e.example/x",
		`<meta http-equiv="refresh" content="0 /x">`:                        "sends the reader on to /x",
		`<meta http-equiv="refresh" content="0; url = &quot;../../&quot;">`: "sends the reader on to ../../",
	} {
		got := lost(page, nil)
		if len(got) != 1 || !strings.Contains(got[0], says) {
			t.Errorf("%s: %q, want %q", page, got, says)
		}
	}
}

// Red when the scripts beside a page are not read, are read from outside of the
// booth, or without an end.
func TestScriptsBesideThePageAreRead(t *testing.T) {
	files := map[string]string{
		"lib/a.js": `import "./b.js"; import("../c.mjs")`, "lib/b.js": "localStorage", "c.mjs": `import "./lib/a.js"; alert(1)`,
		"loop.js": `import "./loop.js"`, "m.js": "prompt(1)",
	}
	got := lost(`<script src="lib/a.js?v=1#x"></script><link rel=modulepreload href=m.js><script src="gone.js"></script>`, files)
	want := []string{"(localStorage in lib/b.js)", "(alert in c.mjs, prompt in m.js)"}
	for i, w := range want {
		if len(got) != len(want) || !strings.Contains(got[i], w) {
			t.Fatalf("%q", got)
		}
	}
	var asked []string
	losses([]byte(`<script src="../../x.js"></script><script src="loop.js"></script><script src="a/../../y.js"></script>`), "sub/page.html", func(p string) ([]byte, bool) {
		asked = append(asked, p)
		return []byte(`import "./loop.js"; import "../../../z.js"`), true
	})
	slices.Sort(asked)
	if !slices.Equal(asked, []string{"sub/loop.js", "y.js"}) && !slices.Equal(asked, []string{"loop.js", "sub/loop.js", "y.js"}) {
		t.Errorf("asked for %q", asked)
	}
	n := 0
	losses([]byte(`<script src="0.js"></script>`), "index.html", func(p string) ([]byte, bool) {
		n++
		return []byte(`import "./x` + p + `"`), true
	})
	if n != maxScripts {
		t.Errorf("%d files were read", n)
	}
}

// Red when a name out of the page is on the desk's page as it stands.
func TestWhatIsSaidIsPlain(t *testing.T) {
	for _, page := range []string{"<img src=\"/\u202e\x1b\">", "<base href=\"\u202e\">", "<meta http-equiv=refresh content='0;/\u202e'>", "<iframe src=\"\u202e\"></iframe>"} {
		for _, line := range lost(page, nil) {
			if strings.ContainsAny(line, "\u202e\x1b\n") {
				t.Errorf("%q", line)
			}
		}
	}
}

func FuzzLosses(f *testing.F) {
	f.Add("<script src=/a.js></script><script>import './b.js'; alert(1)</script><meta http-equiv=refresh content='0;url=x'>")
	f.Add("<script>")
	f.Add("<a onx=\x00 target=_top><iframe src='%zz'>")
	f.Fuzz(func(t *testing.T, page string) {
		for _, line := range losses([]byte(page), "d/index.html", func(p string) ([]byte, bool) {
			if strings.HasPrefix(p, "/") || p == ".." || strings.HasPrefix(p, "../") {
				t.Fatalf("asked for %q", p)
			}
			return []byte(page), true
		}) {
			if line == "" {
				t.Fatal("an empty line")
			}
		}
	})
}
