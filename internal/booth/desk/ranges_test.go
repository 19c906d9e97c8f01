package desk

import (
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// case B15. Red when the writer that sends an item does not say the length with a
// 416, or a HEAD and a unit that nobody knows are given a part.
func TestRangesAreWhatRFC9110Says(t *testing.T) {
	s := serve(t, options{})
	write(t, s.dir("x")+"/v.mp4", "0123456789")
	stamp := time.Unix(1_700_000_000, 0)
	check(t, os.Chtimes(s.dir("x")+"/v.mp4", stamp, stamp))
	whole := s.do(t, "GET", s.url("b", "x", "v.mp4"), anonymous)
	tag, modified := whole.Header.Get("ETag"), whole.Header.Get("Last-Modified")
	if whole.Header.Get("Accept-Ranges") != "bytes" || !strings.HasPrefix(tag, `"`) || modified == "" {
		t.Fatalf("%v", whole.Header)
	}
	for _, c := range []struct {
		what    string
		method  string
		headers []string
		status  int
		part    string // Content-Range
		body    string
	}{
		{"no range", "GET", nil, 200, "", "0123456789"},
		{"first two", "GET", []string{"Range: bytes=0-1"}, 206, "bytes 0-1/10", "01"},
		{"the last", "GET", []string{"Range: bytes=-1"}, 206, "bytes 9-9/10", "9"},
		{"from the eighth", "GET", []string{"Range: bytes=8-"}, 206, "bytes 8-9/10", "89"},
		{"beyond the end", "GET", []string{"Range: bytes=8-99"}, 206, "bytes 8-9/10", "89"},
		{"more than there is", "GET", []string{"Range: bytes=-99"}, 206, "bytes 0-9/10", "0123456789"},
		{"backwards", "GET", []string{"Range: bytes=5-2"}, 416, "bytes */10", ""},
		{"no numbers", "GET", []string{"Range: bytes=a-b"}, 416, "bytes */10", ""},
		{"past the end", "GET", []string{"Range: bytes=10-"}, 416, "bytes */10", ""},
		{"far past it", "GET", []string{"Range: bytes=99999999999999999999-"}, 416, "bytes */10", ""},
		{"one past, one not", "GET", []string{"Range: bytes=0-0,20-"}, 206, "bytes 0-0/10", "0"},
		{"another unit", "GET", []string{"Range: lines=0-1"}, 200, "", "0123456789"},
		{"HEAD", "HEAD", nil, 200, "", ""},
		{"HEAD with a range", "HEAD", []string{"Range: bytes=0-1"}, 200, "", ""},
		{"HEAD with a bad one", "HEAD", []string{"Range: bytes=5-2"}, 200, "", ""},
		{"If-Range, the tag", "GET", []string{"Range: bytes=0-1", "If-Range: " + tag}, 206, "bytes 0-1/10", "01"},
		{"If-Range, another tag", "GET", []string{"Range: bytes=0-1", `If-Range: "other"`}, 200, "", "0123456789"},
		{"If-Range, a weak tag", "GET", []string{"Range: bytes=0-1", "If-Range: W/" + tag}, 200, "", "0123456789"},
		{"If-Range, the time", "GET", []string{"Range: bytes=0-1", "If-Range: " + modified}, 206, "bytes 0-1/10", "01"},
		{"If-Range, another time", "GET", []string{"Range: bytes=0-1", "If-Range: Mon, 01 Jan 2024 00:00:00 GMT"}, 200, "", "0123456789"},
		{"If-Range, backwards", "GET", []string{"Range: bytes=5-2", `If-Range: "other"`}, 200, "", "0123456789"},
		{"If-None-Match, the tag", "GET", []string{"If-None-Match: " + tag}, 304, "", ""},
		{"If-None-Match, among others", "GET", []string{`If-None-Match: "other", W/` + tag}, 304, "", ""},
		{"If-None-Match, any", "GET", []string{"If-None-Match: *"}, 304, "", ""},
		{"If-None-Match, another", "GET", []string{`If-None-Match: "other"`}, 200, "", "0123456789"},
		{"If-None-Match before a range", "GET", []string{"If-None-Match: " + tag, "Range: bytes=5-2"}, 304, "", ""},
		{"If-None-Match, HEAD", "HEAD", []string{"If-None-Match: " + tag}, 304, "", ""},
		{"If-Match, another", "GET", []string{`If-Match: "other"`}, 412, "", ""},
		{"If-Modified-Since", "GET", []string{"If-Modified-Since: " + modified}, 304, "", ""},
	} {
		for where, target := range map[string]string{"plain": s.url("b", "x", "v.mp4"), "content": s.url("c", s.token(t, "x"), "v.mp4")} {
			res := s.do(t, c.method, target, anonymous, c.headers...)
			if res.StatusCode != c.status || res.Header.Get("Content-Range") != c.part || c.status < 300 && res.body != c.body {
				t.Errorf("%s, %s: %s, Content-Range %q, %q", where, c.what, res.Status, res.Header.Get("Content-Range"), res.body)
			}
			if c.status == 304 && (res.Header.Get("ETag") != tag || res.body != "") {
				t.Errorf("%s, %s: ETag %q, %q", where, c.what, res.Header.Get("ETag"), res.body)
			}
			if c.method == "HEAD" && c.status == 200 && res.ContentLength != 10 {
				t.Errorf("%s, %s: Content-Length %d", where, c.what, res.ContentLength)
			}
			sandboxed(t, where+", "+c.what, res, where == "content")
		}
	}
}

// case B15.
func TestTwoRangesAreTwoParts(t *testing.T) {
	s := serve(t, options{})
	write(t, s.dir("x")+"/v.mp4", "0123456789")
	res := s.do(t, "GET", s.url("b", "x", "v.mp4"), anonymous, "Range: bytes=0-1,-2")
	kind, params, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if res.StatusCode != http.StatusPartialContent || err != nil || kind != "multipart/byteranges" || res.Header.Get("Content-Range") != "" {
		t.Fatalf("%s %v", res.Status, res.Header)
	}
	sandboxed(t, "two ranges", res, false)
	parts := multipart.NewReader(strings.NewReader(res.body), params["boundary"])
	for _, want := range []struct{ part, body string }{{"bytes 0-1/10", "01"}, {"bytes 8-9/10", "89"}} {
		p, err := parts.NextPart()
		check(t, err)
		data, err := io.ReadAll(p)
		check(t, err)
		if p.Header.Get("Content-Range") != want.part || p.Header.Get("Content-Type") != "video/mp4" || string(data) != want.body {
			t.Errorf("%v %q", p.Header, data)
		}
	}
	if _, err := parts.NextPart(); err != io.EOF {
		t.Errorf("more parts: %v", err)
	}
}

// sandboxed fails unless res has the headers of bytes that came out of a booth;
// shared: at an address that carries its own token.
func sandboxed(t testing.TB, what string, res answer, shared bool) {
	t.Helper()
	h := res.Header
	policy := h.Get("Content-Security-Policy")
	if !strings.HasPrefix(policy, "sandbox ") || strings.Contains(policy, "allow-same-origin") || strings.Contains(policy, "allow-forms") || strings.Contains(policy, "allow-top") {
		t.Errorf("%s: policy %q", what, policy)
	}
	if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" || h.Get("Set-Cookie") != "" {
		t.Errorf("%s: %v", what, h)
	}
	origin := ""
	if shared {
		origin = "null"
	}
	if h.Get("Access-Control-Allow-Origin") != origin || h.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("%s: readable by %q", what, h.Get("Access-Control-Allow-Origin"))
	}
}
