package desk

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"holdfast/internal/access"
)

// Red when any answer with a booth's bytes leaves before web.Sandbox was called,
// or an error under /c/ has the desk's own policy.
func TestWhateverCarriesABoothsBytesIsInTheSandbox(t *testing.T) {
	s := serve(t, options{})
	dir := s.dir("x")
	for name, content := range map[string]string{"a.html": "<script>1</script>", "a.svg": "<svg/>", "a.md": "# x", "a": "\x00", "a.js": "1", "a.pdf": "%PDF", "index.html": "x", "sub/index.html": "s"} {
		write(t, dir+"/"+name, content)
	}
	token := s.token(t, "x")
	for _, name := range []string{"a.html", "a.svg", "a.md", "a", "a.js", "a.pdf", "sub/", "sub/index.html"} {
		path := strings.Split(name, "/")
		for _, query := range []string{"", "?download=1"} {
			for _, method := range []string{"GET", "HEAD"} {
				res := s.do(t, method, s.url(append([]string{"b", "x"}, path...)...)+query, s.browser(t))
				want(t, name, res, http.StatusOK)
				sandboxed(t, name, res, false)
				res = s.do(t, method, s.url(append([]string{"c", token}, path...)...)+query, anonymous)
				want(t, name, res, http.StatusOK)
				sandboxed(t, name, res, true)
			}
		}
	}
	want(t, "the report", s.do(t, "GET", s.url("c", token, ""), anonymous), http.StatusOK)
	sandboxed(t, "zip", s.do(t, "GET", s.url("b", "x", "")+"?download=1", anonymous), false)
	for _, target := range []string{s.url("c", token, "none"), s.url("c", token, ".marks.json"), s.url("c", "hfc1.x.y", "a.html"), s.url("c", token)} {
		sandboxed(t, target, s.do(t, "GET", target, anonymous, "Accept: text/html"), true)
	}
	for _, target := range []string{s.base.String(), s.url("b", "x", ""), s.view("x", "a.html"), s.url("b", "x", "none"), s.url("api", "v1", "booths")} {
		res := s.do(t, "GET", target, s.browser(t), "Origin: null")
		if res.Header.Get("Access-Control-Allow-Origin") != "" || strings.HasPrefix(res.Header.Get("Content-Security-Policy"), "sandbox") {
			t.Errorf("%s: %v", target, res.Header)
		}
	}
}

// Red when ReadContent asks for the path's booth, or the token's times are not
// asked for.
func TestAContentAddressOpensOneBoothForAnHour(t *testing.T) {
	s := serve(t, options{})
	write(t, s.dir("x")+"/f", "of x")
	write(t, s.dir("y")+"/f", "of y")
	write(t, s.dir("y")+"/g", "of y")
	token := s.token(t, "x")
	if res := s.do(t, "GET", s.url("c", token, "f"), anonymous); res.body != "of x" {
		t.Errorf("%s %q", res.Status, res.body)
	}
	old := func(ago time.Duration) string {
		token, err := s.key.ContentToken("x", access.AnonymousSession, time.Now().Add(-ago))
		check(t, err)
		return token
	}
	worker, err := s.key.WorkerToken(access.WorkerGrant{Booth: "x", Issued: time.Now(), Expires: time.Now().Add(time.Hour)})
	check(t, err)
	for what, path := range map[string][]string{
		"an item of another booth":  {"c", token, "g"},
		"another booth by its name": {"c", token, "y", "g"},
	} {
		want(t, what, s.do(t, "GET", s.url(path...), anonymous), http.StatusNotFound)
	}
	for what, bad := range map[string]string{
		"an old one": old(time.Hour + time.Second), "one of tomorrow": old(-2 * time.Hour), "a changed one": token[:len(token)-1] + "_",
		"the operator's": s.key.OperatorToken(), "a worker's": worker, "none": "x", "another key's": strings.Replace(token, "hfc1.", "hfc1.AA", 1),
	} {
		want(t, what, s.do(t, "GET", s.url("c", bad, "f"), anonymous), http.StatusUnauthorized)
		want(t, what+", by the operator", s.do(t, "GET", s.url("c", bad, "f"), s.operator()), http.StatusUnauthorized)
	}
	want(t, "a write", s.send(t, "PUT", s.url("c", token, "f"), strings.NewReader("x"), s.operator()), http.StatusMethodNotAllowed)
	want(t, "as a bearer", s.do(t, "GET", s.url("b", "x", "f"), bearer(token)), http.StatusUnauthorized)

	closed := serve(t, options{login: true})
	write(t, closed.dir("x")+"/f", "of x")
	want(t, "nobody's, with a login", closed.do(t, "GET", closed.url("c", closed.token(t, "x"), "f"), anonymous), http.StatusUnauthorized)
	session, err := closed.key.ContentToken("x", "0123456789abcdef0123456789abcdef", time.Now())
	check(t, err)
	want(t, "a session's, with a login", closed.do(t, "GET", closed.url("c", session, "f"), anonymous), http.StatusOK)
}

// Red when a dot file is an item for one of the verbs.
func TestDotFilesAreNoItems(t *testing.T) {
	s := serve(t, options{})
	write(t, s.dir("x")+"/a.txt", "a")
	hidden := []string{".marks.json", ".booth.json", ".viewed", ".forever", ".secret", ".git/config", "sub/.env", "sub/.d/f", "..."}
	for _, h := range hidden {
		write(t, s.dir("x")+"/"+h, `{"secret":1}`)
	}
	token := s.token(t, "x")
	page := s.do(t, "GET", s.url("b", "x", ""), anonymous)
	listing := s.do(t, "GET", s.url("api", "v1", "booths", "x"), anonymous)
	if got := s.zip(t, "x"); len(got) != 1 || !strings.Contains(listing.body, `"items":1,`) || !strings.Contains(page.body, "1 item ") {
		t.Errorf("%v %s", got, listing.body)
	}
	for _, h := range hidden {
		path := strings.Split(h, "/")
		if strings.Contains(listing.body, `"path":"`+h+`","url"`) || strings.Contains(listing.body, `"path":"`+h+`","why"`) || strings.Contains(page.body, "<bdi>"+h+"</bdi>") {
			t.Errorf("%s is listed", h)
		}
		for _, target := range []string{s.url(append([]string{"b", "x"}, path...)...), s.url(append([]string{"c", token}, path...)...), s.view("x", h)} {
			want(t, target, s.do(t, "GET", target, s.operator()), http.StatusNotFound)
		}
		want(t, "PUT "+h, s.send(t, "PUT", s.url(append([]string{"b", "x"}, path...)...), strings.NewReader("new"), s.operator()), http.StatusBadRequest)
		if got, err := os.ReadFile(s.dir("x") + "/" + h); err != nil || string(got) != `{"secret":1}` {
			t.Errorf("%s: %q %v", h, got, err)
		}
	}
	write(t, s.data+"/.hidden/a.txt", "a")
	want(t, "a hidden booth", s.do(t, "GET", s.url("b", ".hidden", "a.txt"), s.operator()), http.StatusNotFound)
	want(t, "PUT into one", s.send(t, "PUT", s.url("b", ".hidden", "b.txt"), strings.NewReader("x"), s.operator()), http.StatusBadRequest)
	want(t, "PATCH of one", s.send(t, "PATCH", s.url("api", "v1", "booths", ".hidden"), strings.NewReader(`{"title":"x"}`), s.operator()), http.StatusBadRequest)
}

// case B22. Red when the site does not ask Hosts, or a write from the origin
// "null" (which is what comes out of a booth) passes.
func TestAForeignHostAndAForeignOriginAreRefused(t *testing.T) {
	s := serve(t, options{})
	write(t, s.dir("x")+"/a.txt", "a")
	token := "Authorization: Bearer " + s.key.OperatorToken() + "\r\n"
	send := func(line, headers string) answer {
		return s.raw(t, line+" HTTP/1.1\r\n"+headers+token+"Content-Length: 1\r\nConnection: close\r\n\r\nx")
	}
	own := "Host: " + s.addr + "\r\n"
	for _, c := range []struct {
		what, line, headers string
		status              int
	}{
		{"rebound read", "GET /b/x/a.txt", "Host: evil.example\r\nOrigin: http://evil.example\r\n", 403},
		{"rebound write", "PUT /b/x/a.txt", "Host: evil.example\r\nOrigin: http://evil.example\r\n", 403},
		{"rebound with the port", "PUT /b/x/a.txt", "Host: evil.example" + s.addr[strings.LastIndexByte(s.addr, ':'):] + "\r\nOrigin: http://evil.example\r\n", 403},
		{"absolute target", "GET http://evil.example/b/x/a.txt", own, 403},
		{"from a booth", "PUT /b/x/a.txt", own + "Origin: null\r\n", 403},
		{"from a booth, says same-origin", "PUT /b/x/a.txt", own + "Origin: null\r\nSec-Fetch-Site: same-origin\r\n", 403},
		{"from another site", "PUT /b/x/a.txt", own + "Origin: http://evil.example\r\n", 403},
		{"from another site, by fetch metadata", "PATCH /api/v1/booths/x", own + "Sec-Fetch-Site: cross-site\r\n", 403},
		{"from the desk", "PUT /b/x/a.txt", own + "Origin: http://" + s.addr + "\r\nSec-Fetch-Site: same-origin\r\n", 204},
		{"a program's", "PUT /b/x/a.txt", own, 204},
	} {
		want(t, c.what, send(c.line, c.headers), c.status)
	}
}
