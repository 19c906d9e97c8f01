//go:build browser

package browsertest

import (
	"archive/zip"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// hostileNames are what a worker may call a file, with what the page shows where
// that is not the name itself. Cases B04 and B06.
var hostileNames = map[string]string{
	"a#b.png":                         "",
	"50%.txt":                         "",
	"what?.md":                        "",
	"new\nline.txt":                   `new\nline.txt`,
	"-rf":                             "",
	"<img src=x>.png":                 "",
	strings.Repeat("é", 127) + "x":    "",
	"bad\xff\xfe.png":                 `bad\xff\xfe.png`,
	"photo\u202Egnp.exe":              `photo\u202egnp.exe`,
	"'\"`&amp;.txt":                   "",
	`back\slash.txt`:                  "",
	"sub dir/ü #1?&x=%20.png":         "",
	"view":                            "",
	"+ and ;.txt":                     "",
	" spaces ":                        "",
	"%2e%2e%2f.txt":                   "",
	"caf\u00e9.txt":                   "",
	"cafe\u0301.txt":                  "",
	"javascript:alert(1)":             "",
	"\x1b[31mred.log":                 `\x1b[31mred.log`,
	"trailing.dots...":                "",
	"..two dots first/is no dot file": "-",
}

// TestHostileNamesKeepTheirExactBytes: each is on the page, is opened by a click,
// shown in its view, downloaded and in the zip. Red when Base.URL does not escape,
// when plain.Text forgets unicode.Cf, or when "view" is taken for the page of that
// name (serveView without its first lines).
func TestHostileNamesKeepTheirExactBytes(t *testing.T) {
	eachSite(t, func(t *testing.T, d *Desk) {
		content := map[string]string{}
		for name, shown := range hostileNames {
			if shown == "-" {
				d.Write("names", name, "not an item")
				continue
			}
			content[name] = fmt.Sprintf("content of %q", name)
			if strings.HasSuffix(name, ".png") {
				content[name] = picture + content[name]
			}
			d.Write("names", name, content[name])
		}
		tab, client := signedIn(t, d), d.Client(true)
		tab.Open(d.URL + "b/names/")
		hrefs := Eval[[]string](tab, `[...document.querySelectorAll(".tile a")].map(a => a.href)`)
		if len(hrefs) != len(content) {
			t.Errorf("%d tiles for %d items", len(hrefs), len(content))
		}
		seen := map[string]bool{}
		for i, href := range hrefs {
			u, err := url.Parse(href)
			if err != nil {
				t.Fatal(err)
			}
			name := u.Query().Get("f")
			want, ok := content[name]
			if !ok || seen[name] {
				t.Errorf("a tile for %q", name)
			}
			seen[name] = true
			if i == 0 || d.path() == "/" { // from the gallery, or from the item before
				tab.Open(d.URL + "b/names/")
				tab.Follow(fmt.Sprintf(".tile:nth-child(%d) a", i+1))
			} else {
				tab.Follow("a[rel=next]")
			}
			shown := hostileNames[name]
			if shown == "" {
				shown = name
			}
			if got := Eval[string](tab, `document.querySelector("h1").textContent`); got != shown {
				t.Errorf("%q is shown as %q, want %q", name, got, shown)
			}
			if !Eval[bool](tab, `getComputedStyle(document.querySelector("h1 bdi")).unicodeBidi === "isolate"`) {
				t.Errorf("%q is not isolated", name)
			}
			switch {
			case strings.HasSuffix(name, ".png"):
				tab.Until(`document.querySelector("img.picture").naturalWidth === 1`)
			case strings.HasSuffix(name, ".md"):
				tab.Until(`document.querySelector(".prose").textContent.startsWith("content of")`)
			case !strings.HasSuffix(name, ".exe"):
				tab.Until(`document.querySelector("pre.text").textContent.startsWith("content of")`)
			}
			for _, words := range []string{"Download", "Open the file alone"} {
				address := Eval[string](tab, `[...document.querySelectorAll(".actions a")].find(a => a.textContent === `+quote(words)+`).href`)
				if got := body(t, client, address); got != want {
					t.Errorf("%q: %s gives %q, want %q", name, words, got, want)
				}
			}
		}
		got := unzip(t, body(t, client, d.URL+"b/names/?download=1"))
		if !equal(got, content) {
			t.Errorf("the zip holds %q", got)
		}
	})
}

func unzip(t *testing.T, data string) map[string]string {
	t.Helper()
	r, err := zip.NewReader(strings.NewReader(data), int64(len(data)))
	if err != nil && r == nil { // names that are no local paths are the point
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range r.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		out[f.Name] = string(content)
	}
	return out
}

// TestANameIsFoundInItsOtherNormalForm: exact bytes first, then the one match.
// Case B05. Red when serveView opens what was asked for without Find.
func TestANameIsFoundInItsOtherNormalForm(t *testing.T) {
	eachSite(t, func(t *testing.T, d *Desk) {
		const nfc, nfd = "caf\u00e9.txt", "cafe\u0301.txt"
		d.Write("one", nfd, "stored NFD")
		d.Write("both", nfc, "stored NFC")
		d.Write("both", nfd, "stored NFD")
		tab := signedIn(t, d)
		for _, ask := range []struct{ booth, name, want string }{
			{"one", nfc, "stored NFD"}, {"one", nfd, "stored NFD"}, {"both", nfc, "stored NFC"}, {"both", nfd, "stored NFD"},
		} {
			tab.Open(d.URL + "b/" + ask.booth + "/view?f=" + url.QueryEscape(ask.name))
			if got := Eval[string](tab, `document.querySelector("pre.text").textContent`); got != ask.want {
				t.Errorf("%s, view of %q: %q", ask.booth, ask.name, got)
			}
			if got := body(t, d.Client(false), d.URL+"b/"+ask.booth+"/"+url.PathEscape(ask.name)); got != ask.want {
				t.Errorf("%s, %q: %q", ask.booth, ask.name, got)
			}
		}
	})
}

// TestNothingHangsOnWhatIsNoFile: a pipe, a socket or a link to a device in the
// place of a file that the desk reads. Case B03. Red when lookRegular lets
// everything through and fileFlags lose O_NONBLOCK: the pipe's page never comes.
func TestNothingHangsOnWhatIsNoFile(t *testing.T) {
	eachSite(t, func(t *testing.T, d *Desk) {
		d.Write("whole", "a.txt", "words")
		make := map[string]func(path string) error{
			"pipe":   func(path string) error { return syscall.Mkfifo(path, 0o666) },
			"device": func(path string) error { return os.Symlink("/dev/zero", path) },
			"socket": func(path string) error {
				fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
				if err != nil {
					return err
				}
				defer syscall.Close(fd)
				short := filepath.Join(t.TempDir(), "s") // a socket's path is short
				if err := syscall.Bind(fd, &syscall.SockaddrUnix{Name: short}); err != nil {
					return err
				}
				return os.Rename(short, path)
			},
		}
		words := map[string]string{"pipe": "named pipe, not opened", "device": "link, not followed", "socket": "socket, not opened"}
		tab, client := signedIn(t, d), d.Client(true)
		for kind, at := range make {
			files := []string{"index.html", ".marks.json", ".viewed"}
			if kind == "pipe" { // the one that would hang
				files = append(files, "links.md", ".booth.json", ".forever", "plain.txt")
			}
			for _, file := range files {
				booth := strings.Trim(kind+file, ".")
				d.Write(booth, "beside.txt", "beside")
				path := filepath.Join(d.Booth(booth), file)
				if err := at(path); err != nil {
					t.Fatal(err)
				}
				before, err := os.Lstat(path)
				if err != nil {
					t.Fatal(err)
				}
				tab.Open(d.URL + "b/" + booth + "/")
				text := tab.Text()
				if !strings.Contains(text, "beside.txt") {
					t.Errorf("%s: the file beside it is not shown: %s", booth, text)
				}
				if !strings.HasPrefix(file, ".") && !strings.Contains(text, file+": "+words[kind]) {
					t.Errorf("%s: nothing says why it is not served: %s", booth, text)
				}
				if file == ".marks.json" && !strings.Contains(text, "held · marks unreadable") {
					t.Errorf("%s: %s", booth, text)
				}
				tab.Follow(".tile a")
				if got := tab.Text(); !strings.Contains(got, "beside") {
					t.Errorf("%s: %s", booth, got)
				}
				res, err := client.Get(d.URL + "b/" + booth + "/" + file)
				if err != nil {
					t.Fatal(err)
				}
				res.Body.Close()
				if res.StatusCode != http.StatusNotFound {
					t.Errorf("%s: %s", booth, res.Status)
				}
				if after, err := os.Lstat(path); file != ".viewed" && (err != nil || after.Mode() != before.Mode()) {
					t.Errorf("%s was replaced: %v %v", booth, after, err)
				}
			}
		}
		tab.Open(d.URL)
		tab.Follow(linkTo(d, "b", "whole", ""))
		if !strings.Contains(tab.Text(), "a.txt") {
			t.Error("another booth is not shown")
		}
		if data, err := os.ReadFile("/dev/zero.viewed"); err == nil {
			t.Errorf("a view followed a link: %q", data)
		}
	})
}

// TestABoothWithAHostileName is inert on every page. Case B28. Red when the
// pages are made with text/template.
func TestABoothWithAHostileName(t *testing.T) {
	eachSite(t, func(t *testing.T, d *Desk) {
		names := []string{`');alert(1)`, `"><script>alert(1)<`, "%3C\nb\u202E", "bad\xff"}
		for _, name := range names {
			d.Write(name, "a.png", picture)
			d.Write(name, "b.md", "# <script>alert(1)</script>\n\n[x](javascript:alert(1)) ![y](javascript:alert(1)) <img src=x onerror=alert(1)>\n")
			d.Write(name, ".booth.json", `{"title":"');alert(1)//</script><script>alert(2)</script>","summary":"<img src=x onerror=alert(1)>","captions":{"a.png":"\"onload=alert(1) x=\""}}`)
		}
		tab := signedIn(t, d)
		inert := func() {
			t.Helper()
			if n := Eval[int](tab, `document.scripts.length`); n != 1 {
				t.Errorf("%s: %d scripts", tab.Path(), n)
			}
			if odd := Eval[[]string](tab, `[...document.querySelectorAll("*")].flatMap(e => [...e.attributes]).filter(a => a.name.startsWith("on") || /^\s*javascript:/i.test(a.value)).map(a => a.name + "=" + a.value)`); len(odd) > 0 {
				t.Errorf("%s: %q", tab.Path(), odd)
			}
		}
		inert()
		if n := Eval[int](tab, `document.querySelectorAll(".card").length`); n != len(names) {
			t.Errorf("%d cards for %d booths", n, len(names))
		}
		for i := range names {
			tab.Open(d.URL)
			tab.Follow(fmt.Sprintf(".card:nth-child(%d) a", i+1))
			inert()
			tab.Follow(".tile:nth-child(1) a")
			tab.Until(`document.querySelector("img.picture").naturalWidth === 1`)
			inert()
			tab.Follow("a[rel=next]")
			inert()
			says(t, losses(tab), "has HTML in it")
		}
	})
}

// TestABoardThatCannotBeReadSaysWhy. Case B28.
func TestABoardThatCannotBeReadSaysWhy(t *testing.T) {
	eachSite(t, func(t *testing.T, d *Desk) {
		d.Write("board", "links.md", "")
		if err := os.Truncate(filepath.Join(d.Booth("board"), "links.md"), 2<<20); err != nil {
			t.Fatal(err)
		}
		tab := signedIn(t, d)
		tab.Follow(linkTo(d, "b", "board", ""))
		if text := tab.Text(); !strings.Contains(text, "links.md cannot be read: it is larger than ") {
			t.Error(text)
		}
	})
}
