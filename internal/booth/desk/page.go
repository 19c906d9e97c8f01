package desk

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"html/template"
	"io"
	"io/fs"
	"net/http"

	"holdfast/internal/access"
	"holdfast/internal/problem"
	"holdfast/internal/web"
)

// page is what every page's frame shows.
type page struct {
	Title     string
	Principal string // empty when not signed in
	Home      string
	Logout    string
	Live      string // the event stream; empty where the page does not change
	Here      string // where the page is fetched again when something changed
	static    *static
}

// Static is the address of one of the desk's own files.
func (p page) Static(name string) string { return p.static.url(name) }

// pages are the parsed templates.
type pages struct {
	set    *template.Template
	static *static
	base   web.Base
}

func newPages(st *static, base web.Base) (*pages, error) {
	set, err := template.New("").Option("missingkey=error").ParseFS(embedded, "templates/*.html")
	if err != nil {
		return nil, err
	}
	return &pages{set: set, static: st, base: base}, nil
}

func (p *pages) page(r *http.Request, title string) page {
	out := page{Title: title, Home: p.base.String(), Logout: p.base.URL("logout"), static: p.static}
	if op, ok := web.PartyOf(r).(access.Operator); ok {
		out.Principal = op.Principal
	}
	return out
}

// write renders a page whole before the first byte is sent, so that a failure
// is an error page and not half of one.
func (p *pages) write(w http.ResponseWriter, name string, data any) error {
	return p.writeStatus(w, http.StatusOK, name, data)
}

func (p *pages) writeStatus(w http.ResponseWriter, status int, name string, data any) error {
	var b bytes.Buffer
	if err := p.set.ExecuteTemplate(&b, name, data); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // an error here is the reader's leaving
	return nil
}

// problemPage is a problem, for readers who are people.
type problemPage struct {
	Page    page
	Heading string
	Problem web.Problem
}

// ErrorPage writes a problem as a page.
func (d *Desk) ErrorPage(w io.Writer, r *http.Request, p web.Problem) error {
	return d.pages.set.ExecuteTemplate(w, "problem.html", problemPage{d.pages.page(r, heading(p.Status)), heading(p.Status), p})
}

func heading(status int) string {
	switch status {
	case http.StatusNotFound:
		return "Not here"
	case http.StatusUnauthorized:
		return "Sign in first"
	case http.StatusForbidden:
		return "Not allowed"
	case http.StatusInternalServerError:
		return "Something broke"
	default:
		return "Not done"
	}
}

// static are the desk's own files, at addresses that change with their bytes.
type static struct {
	base    web.Base
	version string
	files   map[string][]byte
}

func newStatic(base web.Base, from fs.FS) (*static, error) {
	s := &static{base: base, files: map[string][]byte{}}
	sum := sha256.New()
	err := fs.WalkDir(from, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := fs.ReadFile(from, name)
		s.files[name] = data
		sum.Write(data)
		return err
	})
	s.version = hex.EncodeToString(sum.Sum(nil)[:6])
	return s, err
}

func (s *static) url(name string) string { return s.base.URL("static", s.version, name) }

func (s *static) serve(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("file")
	data, ok := s.files[name]
	if !ok || r.PathValue("version") != s.version {
		return problem.New(problem.Gone, problem.StepNotFound, "There is no such file of the desk's own.")
	}
	w.Header().Set("Content-Type", mediaType(name, func() []byte { return data }))
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = w.Write(data)
	return nil
}
