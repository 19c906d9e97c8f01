// Package page is what the pages of every wing share: the frame with its bar and
// navigation, the one style sheet and script, the page of a problem, and addresses
// of static files that change with their bytes.
//
// A [House] has the frame. Each wing makes a [Set] of its own templates in it; a
// wing's own sheet of styles comes after the shared one, on its pages only. A page
// is rendered whole before its first byte is sent, so that a failure is a page of a
// problem and not half of one. Nothing here knows what the wings show.
package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"

	"holdfast/internal/access"
	"holdfast/internal/problem"
	"holdfast/internal/web"
)

//go:embed templates static
var embedded embed.FS

// Room is an entry of the navigation: where a wing begins.
type Room struct {
	Name string
	Path string // below the base; empty for the base itself
}

// House is the frame of all pages. Its Sets are made before it serves; from then
// on it is safe for concurrent use.
type House struct {
	base  web.Base
	rooms []Room
	files map[string]file // by name
	own   *Set
}

// file is a static file, at an address with its digest.
type file struct {
	version string
	data    []byte
}

// New makes a house with these rooms.
func New(base web.Base, rooms ...Room) (*House, error) {
	h := &House{base: base, rooms: rooms, files: map[string]file{}}
	own, err := h.set("", embedded)
	if err != nil {
		return nil, err
	}
	h.own = own
	return h, nil
}

// Set is the templates of one wing, parsed beside the frame's.
type Set struct {
	house     *House
	room      string
	templates *template.Template
	sheets    []string // names of style sheets, in their order
}

// Wing makes the set of a wing, whose room is called room. from has the folders
// "templates" and "static"; no static file may have the name of another one.
func (h *House) Wing(room string, from fs.FS, funcs template.FuncMap) (*Set, error) {
	s, err := h.set(room, from)
	if err != nil {
		return nil, err
	}
	base, err := h.own.templates.Clone()
	if err != nil {
		return nil, err
	}
	s.sheets = append(slices.Clone(h.own.sheets), s.sheets...)
	s.templates, err = base.Funcs(funcs).ParseFS(from, "templates/*.html")
	return s, err
}

// In is s in another room of the same wing.
func (s *Set) In(room string) *Set {
	other := *s
	other.room = room
	return &other
}

// set takes in the static files, and for the frame itself its templates.
func (h *House) set(room string, from fs.FS) (*Set, error) {
	s := &Set{house: h, room: room}
	names, err := fs.Glob(from, "static/*")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		data, err := fs.ReadFile(from, name)
		if err != nil {
			return nil, err
		}
		short := path.Base(name)
		if _, taken := h.files[short]; taken {
			return nil, fmt.Errorf("page: two static files are called %s", short)
		}
		sum := sha256.Sum256(data)
		h.files[short] = file{hex.EncodeToString(sum[:6]), data}
		if path.Ext(short) == ".css" {
			s.sheets = append(s.sheets, short)
		}
	}
	if h.own == nil {
		s.templates, err = template.New("").Option("missingkey=error").ParseFS(from, "templates/*.html")
	}
	return s, err
}

// Frame is what every page's frame shows; a page's data has one as Page.
type Frame struct {
	Title     string
	Principal string // empty when not signed in
	Home      string
	Logout    string
	Rooms     []Door
	Sheets    []string // addresses of style sheets
	Script    string
	Icon      string
	Live      string // the event stream; empty where the page does not change
	Topic     string // which changes the page hears of; empty: all
	Here      string // where the page is fetched again when something changed
}

// Door is an entry of the navigation as a page shows it.
type Door struct {
	Name, URL string
	Current   bool
}

// Frame is the frame of a page of this set.
func (s *Set) Frame(r *http.Request, title string) Frame {
	h := s.house
	f := Frame{
		Title: title, Home: h.base.String(), Logout: h.base.URL("logout"),
		Script: h.url("page.js"), Icon: h.url("mark.svg"),
	}
	for _, name := range s.sheets {
		f.Sheets = append(f.Sheets, h.url(name))
	}
	for _, room := range h.rooms {
		d := Door{Name: room.Name, URL: h.base.String(), Current: room.Name == s.room}
		if room.Path != "" {
			d.URL = h.base.URL(room.Path)
		}
		f.Rooms = append(f.Rooms, d)
	}
	if op, ok := web.PartyOf(r).(access.Operator); ok {
		f.Principal = op.Principal
	}
	return f
}

// Write sends a page.
func (s *Set) Write(w http.ResponseWriter, name string, data any) error {
	return s.WriteStatus(w, http.StatusOK, name, data)
}

// WriteStatus sends a page with a status.
func (s *Set) WriteStatus(w http.ResponseWriter, status int, name string, data any) error {
	var b bytes.Buffer
	if err := s.templates.ExecuteTemplate(&b, name, data); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // an error here is the reader's leaving
	return nil
}

// problemPage is a problem, for readers who are people.
type problemPage struct {
	Page    Frame
	Heading string
	Problem web.Problem
}

// ErrorPage writes a problem as a page.
func (h *House) ErrorPage(w io.Writer, r *http.Request, p web.Problem) error {
	return h.own.templates.ExecuteTemplate(w, "problem.html", problemPage{h.own.Frame(r, heading(p.Status)), heading(p.Status), p})
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

// Routes is where the static files are.
func (h *House) Routes() []web.Route {
	return []web.Route{{Method: http.MethodGet, Pattern: "/static/{version}/{file}", Action: access.ReadPublic, Handler: h.serveStatic}}
}

// url is the address of a static file.
func (h *House) url(name string) string { return h.base.URL("static", h.files[name].version, name) }

// Media types of static files, by how their names end.
var mediaTypes = map[string]string{
	".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
}

func (h *House) serveStatic(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("file")
	f, ok := h.files[name]
	if !ok || r.PathValue("version") != f.version {
		return problem.New(problem.Gone, problem.StepNotFound, "There is no such file of the desk's own.")
	}
	w.Header().Set("Content-Type", mediaTypes[strings.ToLower(path.Ext(name))])
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = w.Write(f.data)
	return nil
}
