package page

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"holdfast/internal/web"
)

func wing(files ...string) fstest.MapFS {
	m := fstest.MapFS{"templates/hello.html": {Data: []byte(`{{template "top" .}}<h1>{{.Name}}</h1>{{template "bottom" .}}`)}}
	for i := 0; i < len(files); i += 2 {
		m[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
	}
	return m
}

type hello struct {
	Page Frame
	Name string
}

// Red when: Frame marks every room, or url leaves out the digest.
func TestAPageHasTheFrameAndItsOwnSheets(t *testing.T) {
	base, err := web.ParseBase("/desk/")
	if err != nil {
		t.Fatal(err)
	}
	h, err := New(base, Room{Name: "One"}, Room{Name: "Two", Path: "two"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := h.Wing("Two", wing("static/two.css", "a{}"), nil)
	if err != nil {
		t.Fatal(err)
	}
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
	if err := s.Write(w, "hello.html", hello{s.Frame(r, "Hi"), "<b>"}); err != nil {
		t.Fatal(err)
	}
	body := w.Body.String()
	for _, want := range []string{
		`<title>Hi · Holdfast</title>`, `<a href="/desk/">One</a>`, `<a href="/desk/two" aria-current="true">Two</a>`, `<h1>&lt;b&gt;</h1>`, h.url("page.css"), h.url("two.css"),
	} {
		if !strings.Contains(body, want) {
			t.Errorf("%s is not in %s", want, body)
		}
	}
	if strings.Index(body, "page.css") > strings.Index(body, "two.css") {
		t.Error("the shared sheet comes after the wing's")
	}
	var problem strings.Builder
	if err := h.ErrorPage(&problem, r, web.Problem{Status: 404, Reason: "<none>"}); err != nil || strings.Contains(problem.String(), "two.css") || !strings.Contains(problem.String(), "&lt;none&gt;") {
		t.Errorf("%v: %s", err, problem.String())
	}
}

// Red when: WriteStatus renders into the response.
func TestAPageThatFailsIsNotSentInPart(t *testing.T) {
	h, err := New(web.Base{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := h.Wing("x", wing(), nil)
	if err != nil {
		t.Fatal(err)
	}
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
	if err := s.Write(w, "hello.html", struct{ Page Frame }{s.Frame(r, "Hi")}); err == nil || w.Body.Len() != 0 {
		t.Errorf("%v, and %d bytes", err, w.Body.Len())
	}
}

// Red when: set lets a later file take a name, or serveStatic does not compare the digest.
func TestStaticFilesHaveOneNameAndOneAddress(t *testing.T) {
	h, err := New(web.Base{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Wing("x", wing("static/page.css", "b{}"), nil); err == nil {
		t.Error("a wing replaces the shared sheet")
	}
	get := func(version string) (*httptest.ResponseRecorder, error) {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
		r.SetPathValue("file", "page.css")
		r.SetPathValue("version", version)
		err := h.Routes()[0].Handler(w, r)
		return w, err
	}
	if w, err := get(h.files["page.css"].version); err != nil || w.Header().Get("Content-Type") != "text/css; charset=utf-8" || !strings.Contains(w.Header().Get("Cache-Control"), "immutable") {
		t.Errorf("%v %v", err, w.Header())
	} else if b, _ := io.ReadAll(w.Body); !strings.Contains(string(b), ":root") {
		t.Error("it is not the sheet")
	}
	if _, err := get("0123456789ab"); err == nil {
		t.Error("an old address answers with other bytes")
	}
}
