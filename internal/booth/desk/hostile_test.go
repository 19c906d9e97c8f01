package desk

import (
	"archive/zip"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"golang.org/x/text/unicode/norm"

	"holdfast/internal/plain"
)

const secret = "the secret outside"

func unzip(t testing.TB, data string) map[string]string {
	t.Helper()
	z, err := zip.NewReader(strings.NewReader(data), int64(len(data)))
	check(t, err)
	out := map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		check(t, err)
		content, err := io.ReadAll(r)
		check(t, err)
		out[f.Name] = string(content)
	}
	return out
}

// case B01. Red when the survey or Open follows a link, when PUT goes through
// one, or the page leaves a link out.
func TestNoLinkIsFollowedByAnyVerb(t *testing.T) {
	s := serve(t, options{})
	outside := t.TempDir()
	write(t, outside+"/f", secret)
	write(t, s.dir("x")+"/real.txt", "real")
	write(t, s.dir("y")+"/f", secret)
	write(t, s.data+"/f", secret)
	links := map[string]string{"a": outside + "/f", "d": "..", "gone": "nowhere", "beside": "real.txt", "far": outside, "sub/up": "../real.txt"}
	check(t, os.Mkdir(s.dir("x")+"/sub", 0o755))
	for name, to := range links {
		check(t, os.Symlink(to, s.dir("x")+"/"+name))
	}
	token := s.token(t, "x")
	page := s.do(t, "GET", s.url("b", "x", ""), anonymous)
	for name := range links {
		if !strings.Contains(page.body, "<li><bdi>"+name+"</bdi>: link, not followed</li>") {
			t.Errorf("the page does not say what %s is", name)
		}
		for _, through := range []string{name, name + "/f", name + "/y/f"} {
			item := strings.Split(through, "/")
			for what, target := range map[string]string{
				"plain":    s.url(append([]string{"b", "x"}, item...)...),
				"download": s.url(append([]string{"b", "x"}, item...)...) + "?download=1",
				"content":  s.url(append([]string{"c", token}, item...)...),
				"view":     s.view("x", through),
			} {
				for _, method := range []string{"GET", "HEAD"} {
					res := s.do(t, method, target, s.operator())
					want(t, method+" "+what+" "+through, res, http.StatusNotFound)
					if strings.Contains(res.body, secret) || method == "GET" && !strings.Contains(res.body, "link, not followed") {
						t.Errorf("%s %s: %s", what, through, res.body)
					}
				}
			}
			res := s.send(t, "PUT", s.url(append([]string{"b", "x"}, item...)...), strings.NewReader("new"), s.operator())
			want(t, "PUT "+through, res, http.StatusConflict)
		}
	}
	if got := s.zip(t, "x"); len(got) != 1 || got["real.txt"] != "real" {
		t.Errorf("zip: %v", got)
	}
	for _, untouched := range []string{outside + "/f", s.dir("y") + "/f", s.data + "/f"} {
		if got, err := os.ReadFile(untouched); err != nil || string(got) != secret {
			t.Errorf("%q %v", got, err)
		}
	}
	// A booth that is a link itself is none.
	check(t, os.Symlink(outside, s.dir("z")))
	want(t, "a linked booth", s.do(t, "GET", s.url("b", "z", "f"), s.operator()), http.StatusNotFound)
	want(t, "a linked booth's page", s.do(t, "GET", s.url("b", "z", ""), s.operator()), http.StatusNotFound)
	want(t, "PUT into a linked booth", s.send(t, "PUT", s.url("b", "z", "g"), strings.NewReader("x"), s.operator()), http.StatusConflict)
	if _, err := os.Lstat(outside + "/g"); !os.IsNotExist(err) {
		t.Error("written outside")
	}
}

// case B02. Red when parsePath cleans, or the query of a view is cleaned. The
// request lines are sent as they stand here: a client would tidy them.
func TestNoSpellingOfAPathLeavesTheBooth(t *testing.T) {
	s := serve(t, options{})
	write(t, s.dir("x")+"/a.txt", "a")
	write(t, s.dir("x")+"/sub/b.txt", "b")
	write(t, s.dir("x")+"/.marks.json", secret)
	write(t, s.dir("x")+`/back\slash`, "back")
	write(t, s.dir("x")+"/.git/config", secret)
	write(t, s.data+"/outside.txt", secret)
	write(t, filepath.Dir(s.data)+"/outside.txt", secret)
	token := s.token(t, "x")
	get := func(target string, more string) answer {
		return s.raw(t, "GET "+target+" HTTP/1.1\r\nHost: "+s.addr+"\r\n"+more+"Connection: close\r\n\r\n")
	}
	ups := []string{
		"%2e%2e/%2e%2e/etc/passwd", "../outside.txt", "../../outside.txt", "..%2foutside.txt", "..%2Foutside.txt", "%2e%2e%2foutside.txt",
		"..%5coutside.txt", `..\outside.txt`, "a.txt%00", "%00", "a.txt%00.png", "/a.txt", "//a.txt", "./a.txt", "sub//b.txt", "sub/./b.txt",
		"sub/../a.txt", "sub%2fb.txt", "sub%2Fb.txt", "a.txt/", "a.txt/.", "a.txt/..", ".marks.json", "%2emarks.json", ".git/config",
		"sub/%2e%2e/.marks.json", "%252e%252e/outside.txt", "..;/outside.txt", "%c0%ae%c0%ae/outside.txt", "%uff0e/outside.txt", "%zz",
		"back/slash", "/etc/passwd", "%2fetc%2fpasswd", "sub", "sub%2f",
	}
	for _, up := range ups {
		for what, target := range map[string]string{
			"plain": "/b/x/" + up, "content": "/c/" + token + "/" + up, "view": "/b/x/view?f=" + up, "view, escaped": "/b/x/view?f=" + url.QueryEscape(up),
		} {
			if what == "view" && (up == "sub%2fb.txt" || up == "sub%2Fb.txt") {
				continue // in a query that is one spelling of sub/b.txt
			}
			res := get(target, "")
			if strings.Contains(res.body, secret) || strings.Contains(res.body, "root:") {
				t.Errorf("%s %s: leaks: %.200s", what, target, res.body)
			}
			if res.StatusCode != http.StatusNotFound && res.StatusCode != http.StatusBadRequest {
				t.Errorf("%s %s: %s", what, target, res.Status)
			}
			if res.StatusCode == http.StatusBadRequest && !strings.Contains(up, "%zz") && !strings.Contains(up, "%uff0e") {
				t.Errorf("%s %s: the request did not arrive: %s", what, target, res.Status)
			}
		}
		put := s.raw(t, "PUT /b/x/"+up+" HTTP/1.1\r\nHost: "+s.addr+"\r\nAuthorization: Bearer "+s.key.OperatorToken()+"\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx")
		switch up {
		case `..\outside.txt`, "..%5coutside.txt", ".marks.json", "%2emarks.json", ".git/config", "..;/outside.txt":
			want(t, "PUT "+up, put, http.StatusBadRequest) // a name that begins with a dot is none of an item
		case "back/slash", "%252e%252e/outside.txt":
			want(t, "PUT "+up, put, http.StatusCreated)
		case "sub":
			want(t, "PUT "+up, put, http.StatusConflict)
		case "%c0%ae%c0%ae/outside.txt":
			want(t, "PUT "+up, put, http.StatusCreated) // bytes like any others, of a folder in the booth
		default:
			if put.StatusCode != http.StatusNotFound && put.StatusCode != http.StatusBadRequest {
				t.Errorf("PUT %s: %s", up, put.Status)
			}
		}
	}
	// The clean siblings, so that the table above is not red for another reason.
	want(t, "an item", get("/b/x/a.txt", ""), http.StatusOK)
	want(t, "a needless escape", get("/b/x/%61.txt", ""), http.StatusOK)
	want(t, "a name with a backslash", get(`/b/x/back%5Cslash`, ""), http.StatusOK)
	want(t, "a view", get("/b/x/view?f=sub%2Fb.txt", ""), http.StatusOK)
	for path, content := range map[string]string{
		s.data + "/outside.txt": secret, filepath.Dir(s.data) + "/outside.txt": secret,
		s.dir("x") + "/.marks.json": secret, s.dir("x") + "/.git/config": secret, s.dir("x") + "/a.txt": "a",
	} {
		if got, err := os.ReadFile(path); err != nil || string(got) != content {
			t.Errorf("%s: %q %v", path, got, err)
		}
	}
	if entries := left(t, s.data); len(entries) != 2 {
		t.Errorf("something was made beside the booth: %v", entries)
	}
	// A booth's name is a segment like any other.
	for _, name := range []string{"..", "%2e%2e", ".", "%2f", "x%2f..", "x%00", ".x", "%2ex"} {
		res := get("/b/"+name+"/outside.txt", "")
		want(t, "booth "+name, res, http.StatusNotFound)
	}
}

// oddities are the things that are no regular file.
var oddities = map[string]func(t testing.TB, path string){
	"pipe":   func(t testing.TB, path string) { t.Helper(); check(t, unix.Mkfifo(path, 0o644)) },
	"device": func(t testing.TB, path string) { t.Helper(); check(t, os.Symlink("/dev/zero", path)) },
	"socket": func(t testing.TB, path string) {
		t.Helper()
		dir, err := os.Open(filepath.Dir(path)) // a socket's address is short, a path is not
		check(t, err)
		defer dir.Close()
		l, err := net.Listen("unix", fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path)))
		check(t, err)
		l.(*net.UnixListener).SetUnlinkOnClose(false)
		check(t, l.Close())
	},
}

// case B03. Red when anything opens before it has looked: the request then never
// ends, or reads without an end, and the test's own limit ends it.
func TestWhatIsNoFileIsListedAndHoldsNobodyUp(t *testing.T) {
	for kind, plant := range oddities {
		t.Run(kind, func(t *testing.T) {
			s := serve(t, options{})
			write(t, s.dir("other")+"/a.txt", "a")
			check(t, os.Mkdir(s.dir("x"), 0o755))
			names := []string{"thing", reportFile, boardFile}
			dots := []string{".marks.json", ".viewed", ".booth.json", ".forever"}
			for _, n := range append(names, dots...) {
				plant(t, s.dir("x")+"/"+n)
			}
			page := s.do(t, "GET", s.url("b", "x", ""), s.browser(t))
			want(t, "the booth's page", page, http.StatusOK)
			for _, n := range names {
				if !strings.Contains(page.body, "<li><bdi>"+n+"</bdi>: ") {
					t.Errorf("%s is not listed as not served", n)
				}
				for _, target := range []string{s.url("b", "x", n), s.url("c", s.token(t, "x"), n), s.view("x", n)} {
					want(t, target, s.do(t, "GET", target, s.operator()), http.StatusNotFound)
				}
				want(t, "PUT "+n, s.send(t, "PUT", s.url("b", "x", n), strings.NewReader("x"), s.operator()), http.StatusConflict)
			}
			if !strings.Contains(page.body, "kept · marks unreadable") || !strings.Contains(page.body, "gallery") {
				t.Error("the page does not say what the booth is")
			}
			want(t, "zip", s.do(t, "GET", s.url("b", "x", "")+"?download=1", s.browser(t)), http.StatusOK)
			want(t, "PATCH", s.send(t, "PATCH", s.url("api", "v1", "booths", "x"), strings.NewReader(`{"title":"t"}`), s.operator()), http.StatusConflict)
			for _, target := range []string{s.base.String(), s.url("api", "v1", "booths"), s.url("api", "v1", "booths", "x"), s.url("b", "other", "a.txt"), s.url("b", "other", "")} {
				want(t, target, s.do(t, "GET", target, s.browser(t)), http.StatusOK)
			}
			if m, err := os.Lstat(s.dir("x") + "/.viewed"); err != nil || m.Mode().IsRegular() {
				t.Errorf("the marker of a view was replaced: %v %v", m, err)
			}
		})
	}
}

// names that are hard on one sink or another.
var hostileNames = []string{
	"a#b.png", "50%.txt", "what?.md", "new\nline", "-rf", "<img src=x onerror=alert(1)>", "\"'`$(id)", "a b+c&d=e;f.txt", "%2e%2e%2f", `back\slash`,
	strings.Repeat("ü", 127) + "x", "\xff\xfe.txt", "photo\u202egnp.exe", "view", "index.html.", "tab\there", "\x1b[31mred", "ends with space ",
	"'); alert(1);", "</script>", "{{.Page}}", "con:stream", "~", "c", "b", "api", "\u200b", "download=1", "caf\u00e9", "cafe\u0301.txt", "a%00b",
	"sub/../x"[:3] + "#/d?e%", "view/view",
}

// case B04, case B06. Red when one sink takes a name unescaped, or another
// function cleans it. "view" is also the address of the views.
func TestEachNameWorksByItsExactBytes(t *testing.T) {
	s := serve(t, options{})
	for i, name := range hostileNames {
		if name == "view" {
			continue // its folder is there as well
		}
		segments := append([]string{"b", "x"}, strings.Split(name, "/")...)
		res := s.send(t, "PUT", s.url(segments...), strings.NewReader(fmt.Sprint("content ", i)), s.operator())
		want(t, fmt.Sprintf("PUT %q", name), res, http.StatusCreated)
		if res.Header.Get("Location") != s.url(segments...) {
			t.Errorf("Location %q", res.Header.Get("Location"))
		}
		res = s.send(t, "PUT", s.url(segments...), strings.NewReader(fmt.Sprint("content ", i)), s.operator())
		want(t, fmt.Sprintf("PUT %q again", name), res, http.StatusNoContent)
		if got, err := os.ReadFile(s.dir("x") + "/" + name); err != nil || string(got) != fmt.Sprint("content ", i) {
			t.Errorf("%q: %q %v", name, got, err)
		}
	}
	page := s.do(t, "GET", s.url("b", "x", ""), anonymous)
	zipped := s.zip(t, "x")
	token := s.token(t, "x")
	for i, name := range hostileNames {
		if name == "view" {
			continue
		}
		content := fmt.Sprint("content ", i)
		segments := strings.Split(name, "/")
		link := `<a href="` + html.EscapeString(s.view("x", name)) + `"><bdi>` + html.EscapeString(plain.Text(name)) + "</bdi></a>"
		if got := html.UnescapeString(page.body); !strings.Contains(got, html.UnescapeString(link)) {
			t.Errorf("%q is not on the page as %s", name, link)
		}
		if zipped[name] != content {
			t.Errorf("%q in the zip: %q", name, zipped[name])
		}
		view := s.do(t, "GET", s.view("x", name), anonymous)
		want(t, fmt.Sprintf("view of %q", name), view, http.StatusOK)
		for _, target := range []string{s.url(append([]string{"b", "x"}, segments...)...), s.url(append([]string{"c", token}, segments...)...)} {
			res := s.do(t, "GET", target, anonymous)
			want(t, fmt.Sprintf("%q", name), res, http.StatusOK)
			if res.body != content {
				t.Errorf("%q: %q", name, res.body)
			}
			res = s.do(t, "GET", target+"?download=1", anonymous)
			if d := res.Header.Get("Content-Disposition"); !strings.HasPrefix(d, "attachment") || strings.ContainsAny(d, "\r\n\x1b") {
				t.Errorf("%q: Content-Disposition %q", name, d)
			}
		}
	}
	if strings.Contains(page.body, "<img src=x") || strings.Contains(page.body, "\u202e") || strings.Contains(page.body, "\x1b") {
		t.Error("a name is on the page as it is")
	}
	if !strings.Contains(page.body, `photo\u202egnp.exe`) { // case B06
		t.Error("the code point that turns the text is not shown")
	}
}

// Red when serveView takes the address of the item for a view of nothing.
func TestAnItemNamedLikeTheViewsIsReached(t *testing.T) {
	s := serve(t, options{})
	write(t, s.dir("x")+"/view", "the item")
	for _, target := range []string{s.url("b", "x", "view"), s.url("b", "x", "view") + "?download=1", s.url("c", s.token(t, "x"), "view")} {
		if res := s.do(t, "GET", target, anonymous); res.StatusCode != http.StatusOK || res.body != "the item" {
			t.Errorf("%s: %s %q", target, res.Status, res.body)
		}
	}
	want(t, "no view of nothing", s.do(t, "GET", s.url("b", "x", "view")+"?f=", anonymous), http.StatusNotFound)
}

// case B05. Red when Find normalises before it has tried the bytes.
func TestANameIsFoundByItsBytesFirst(t *testing.T) {
	s := serve(t, options{})
	nfc, nfd := norm.NFC.String("caf\u00e9.txt"), norm.NFD.String("caf\u00e9.txt")
	write(t, s.dir("both")+"/"+nfc, "nfc")
	write(t, s.dir("both")+"/"+nfd, "nfd")
	write(t, s.dir("one")+"/d\u0065\u0301/"+nfd, "nfd")
	for name, content := range map[string]string{nfc: "nfc", nfd: "nfd"} {
		res := s.do(t, "GET", s.url("b", "both", name), anonymous)
		if res.StatusCode != http.StatusOK || res.body != content {
			t.Errorf("%q: %s %q", name, res.Status, res.body)
		}
		want(t, "view", s.do(t, "GET", s.view("both", name), anonymous), http.StatusOK)
		res = s.do(t, "GET", s.url("c", s.token(t, "one"), "d\u00e9", name), anonymous)
		if res.StatusCode != http.StatusOK || res.body != "nfd" {
			t.Errorf("%q of the one that is there: %s %q", name, res.Status, res.body)
		}
	}
	if got := s.zip(t, "both"); len(got) != 2 || got[nfc] != "nfc" || got[nfd] != "nfd" {
		t.Errorf("%v", got)
	}
	// A write goes by exact bytes, and makes a second one.
	want(t, "PUT", s.send(t, "PUT", s.url("b", "one", "d\u00e9", nfc), strings.NewReader("new"), s.operator()), http.StatusCreated)
	if got := s.zip(t, "one"); len(got) != 2 {
		t.Errorf("%v", got)
	}
}

// case B28. Red when a name or a title reaches a page, a header or the JSON
// unescaped.
func TestAHostileBoothNameIsInert(t *testing.T) {
	s := serve(t, options{})
	for _, name := range []string{"');alert(1)", `"><script>alert(1)<`, "\xff\nSet-Cookie: a=b", "\u202e"} {
		dir := s.dir(name)
		write(t, dir+"/a.html", "<p>x")
		write(t, dir+"/.booth.json", `{"title":"<script>alert(2)</script>\u202e","summary":"<img src=x onerror=alert(3)>","captions":{"a.html":"<b onclick=alert(4)>"}}`)
		for _, target := range []string{
			s.base.String(), s.url("b", name, ""), s.view(name, "a.html"), s.view(name, "no such"), s.url("b", name, "none"),
		} {
			res := s.do(t, "GET", target, s.browser(t), "Accept: text/html")
			for _, bad := range []string{"<script>alert", "<img src=x", "<b onclick", "\u202e", "');alert(1)", "\xff"} {
				if strings.Contains(res.body, bad) {
					t.Errorf("%s: %q is on the page", target, bad)
				}
			}
			if !strings.Contains(res.Header.Get("Content-Security-Policy"), "script-src 'self'") {
				t.Errorf("%s: policy %q", target, res.Header.Get("Content-Security-Policy"))
			}
		}
		zipped := s.do(t, "GET", s.url("b", name, "")+"?download=1", anonymous)
		if d := zipped.Header.Get("Content-Disposition"); !strings.HasPrefix(d, "attachment; filename") || zipped.Header.Get("Set-Cookie") != "" {
			t.Errorf("%q: %v", name, zipped.Header)
		}
		want(t, "JSON", s.do(t, "GET", s.url("api", "v1", "booths", name), anonymous), http.StatusOK)
	}
}
