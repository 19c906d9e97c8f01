package desk

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"holdfast/internal/booth"
)

// left is what is in a folder, but for what the sweeper wrote into the data folder.
func left(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	check(t, err)
	var out []string
	for _, e := range entries {
		if e.Name() != ".sweeper.json" {
			out = append(out, e.Name())
		}
	}
	return out
}

// Red when servePut does not tell a new item from a replaced one.
func TestPutMakesAndReplaces(t *testing.T) {
	s := serve(t, options{})
	target := s.url("b", "x", "sub", "a.txt")
	want(t, "new", s.send(t, "PUT", target, strings.NewReader("one"), s.operator()), http.StatusCreated)
	want(t, "replaced", s.send(t, "PUT", target, strings.NewReader("two"), s.worker(t, "x")), http.StatusNoContent)
	want(t, "of unknown length", s.send(t, "PUT", target, io.MultiReader(strings.NewReader("three")), s.operator()), http.StatusNoContent)
	if got := s.do(t, "GET", target, anonymous).body; got != "three" {
		t.Errorf("%q", got)
	}
	want(t, "empty", s.send(t, "PUT", s.url("b", "x", "empty"), http.NoBody, s.operator()), http.StatusCreated)
	if got := left(t, s.dir("x")); len(got) != 2 {
		t.Errorf("left over: %v", got)
	}
	want(t, "nobody", s.send(t, "PUT", target, strings.NewReader("x"), anonymous), http.StatusUnauthorized)
	want(t, "another's worker", s.send(t, "PUT", target, strings.NewReader("x"), s.worker(t, "y")), http.StatusForbidden)
	want(t, "an observer", s.send(t, "PUT", target, strings.NewReader("x"), bearer(s.key.ObserverToken())), http.StatusForbidden)
	want(t, "a folder of that name", s.send(t, "PUT", s.url("b", "x", "sub"), strings.NewReader("x"), s.operator()), http.StatusConflict)
	want(t, "below a file", s.send(t, "PUT", s.url("b", "x", "empty", "b"), strings.NewReader("x"), s.operator()), http.StatusConflict)
	if got := s.do(t, "GET", target, anonymous).body; got != "three" {
		t.Errorf("%q", got)
	}
}

// Red when the length is not asked before the body is read.
func TestAnUploadThatSaysItIsTooLargeIsRefusedAtOnce(t *testing.T) {
	s := serve(t, options{})
	write(t, s.dir("x")+"/a.txt", "old")
	res := s.raw(t, fmt.Sprintf("PUT /b/x/a.txt HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n", s.addr, s.key.OperatorToken(), int64(booth.MaxItem)+1))
	want(t, "too large", res, http.StatusRequestEntityTooLarge)
	if !strings.Contains(res.body, `"too-large"`) {
		t.Errorf("%s", res.body)
	}
	if got := left(t, s.dir("x")); len(got) != 1 || s.zip(t, "x")["a.txt"] != "old" {
		t.Errorf("%v", got)
	}
}

// Red when fill takes the end of the connection for the end of the file.
func TestABrokenUploadLeavesNothing(t *testing.T) {
	s := serve(t, options{})
	write(t, s.dir("x")+"/a.txt", "old")
	for what, request := range map[string]string{
		"a part of what was said": "Content-Length: 100\r\n\r\nhalf",
		"chunks without the last": "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
		"a chunk cut in two":      "Transfer-Encoding: chunked\r\n\r\n40\r\nhalf",
	} {
		for _, item := range []string{"x/a.txt", "x/new/b.txt", "new/a.txt"} {
			conn, err := net.Dial("tcp", s.addr)
			check(t, err)
			_, err = io.WriteString(conn, "PUT /b/"+item+" HTTP/1.1\r\nHost: "+s.addr+"\r\nAuthorization: Bearer "+s.key.OperatorToken()+"\r\nConnection: close\r\n"+request)
			check(t, err)
			check(t, conn.(*net.TCPConn).CloseWrite())
			answer, _ := io.ReadAll(conn) // to its end: then the request has ended
			conn.Close()
			if strings.HasPrefix(string(answer), "HTTP/1.1 2") {
				t.Errorf("%s: %s", what, answer)
			}
			if got := left(t, s.dir("x")); len(got) != 1 || s.zip(t, "x")["a.txt"] != "old" {
				t.Errorf("%s: %v", what, got)
			}
			if got := left(t, s.data); len(got) != 1 {
				t.Errorf("%s: a booth is left of it: %v", what, got)
			}
		}
	}
}

// Red when servePatch makes the booth before it has read the change, or answers
// before it has written it.
func TestPatchSaysWhatABoothIsCalled(t *testing.T) {
	s := serve(t, options{})
	target := s.url("api", "v1", "booths", "x")
	for _, bad := range []string{"", "{", "null", `{"tilte":"x"}`, `{"title":7}`, strings.Repeat(" ", 1<<20) + "{}"} {
		res := s.send(t, "PATCH", target, strings.NewReader(bad), s.operator())
		if res.StatusCode != http.StatusBadRequest && res.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("%.20q: %s", bad, res.Status)
		}
	}
	if got := left(t, s.data); len(got) != 0 {
		t.Errorf("a change that was refused made %v", got)
	}
	res := s.send(t, "PATCH", target, strings.NewReader(`{"title":"<b>&\u202e"}`), s.worker(t, "x"))
	want(t, "a title", res, http.StatusOK)
	if !strings.Contains(res.body, `"name":"x"`) {
		t.Errorf("%s", res.body)
	}
	if page := s.do(t, "GET", s.url("b", "x", ""), anonymous); !strings.Contains(page.body, `<bdi>&lt;b&gt;&amp;\u202e</bdi>`) {
		t.Error("the title is not on the page as plain text")
	}
	write(t, s.dir("x")+"/"+booth.ManifestFile, "null")
	want(t, "a damaged manifest", s.send(t, "PATCH", target, strings.NewReader(`{"title":"y"}`), s.operator()), http.StatusConflict)
	want(t, "another's worker", s.send(t, "PATCH", target, strings.NewReader(`{"title":"y"}`), s.worker(t, "y")), http.StatusForbidden)
	want(t, "nobody", s.send(t, "PATCH", target, strings.NewReader(`{"title":"y"}`), anonymous), http.StatusUnauthorized)
}

// The server looks at its own request to see that a body was left unread, and
// only then lets the refusal of a large upload arrive before it resets the
// connection. Red when the site puts its body into the server's request.
func TestTheServersOwnRequestKeepsItsBody(t *testing.T) {
	s := serve(t, options{})
	req := httptest.NewRequest("PUT", "http://"+s.addr+s.url("b", "x", ".dot"), strings.NewReader("x"))
	body := req.Body
	res := httptest.NewRecorder()
	s.handler.ServeHTTP(res, req)
	if res.Code != http.StatusUnauthorized || req.Body != body {
		t.Errorf("%d, %T", res.Code, req.Body)
	}
}
