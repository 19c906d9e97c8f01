package pages

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"holdfast/internal/access"
	"holdfast/internal/durable"
	"holdfast/internal/page"
	"holdfast/internal/remotetest"
	"holdfast/internal/roadmap"
	"holdfast/internal/roadmap/carrier"
	"holdfast/internal/roadmap/event"
	"holdfast/internal/roadmap/observation"
	"holdfast/internal/web"
)

const me = event.Principal("principal:local/studio/ada")

// site is the pages of a plan, as a site that answers.
type site struct {
	t       testing.TB
	home    carrier.Home
	plan    *roadmap.Plan
	store   observation.Store
	handler http.Handler
	key     access.Key
	changed int
}

// begun is a home with a plan in it, as roadmap.Begin makes it.
var begun = remotetest.Prepare(func(t testing.TB, dir string) {
	t.Helper()
	begin(t, homeIn(dir), "")
})

func homeIn(dir string) carrier.Home {
	return carrier.Home{Plan: filepath.Join(dir, "plan"), Embedded: filepath.Join(dir, "roadmap.git"), Log: slog.New(slog.DiscardHandler)}
}

func begin(t testing.TB, home carrier.Home, remote string) {
	t.Helper()
	check(t, os.Mkdir(home.Plan, 0o700))
	_, err := roadmap.Begin(t.Context(), home, remote)
	check(t, err)
}

// serve is the pages of a new plan, kept at url, or in the home where it is empty.
func serve(t testing.TB, remote string) *site {
	t.Helper()
	dir := t.TempDir()
	s := &site{t: t, home: homeIn(dir)}
	if remote == "" {
		begun.Copy(t, ".", dir)
	} else {
		begin(t, s.home, remote)
	}
	var err error
	s.plan, err = roadmap.Open(t.Context(), s.home)
	check(t, err)
	t.Cleanup(s.plan.Close)
	folder, err := durable.OpenDir(s.home.Plan)
	check(t, err)
	t.Cleanup(func() { folder.Close() })
	s.store = observation.At(folder)
	s.begin(nil)
	return s
}

// begin makes the site; with trouble, of a plan that could not be opened.
func (s *site) begin(trouble error) {
	s.t.Helper()
	var err error
	s.key, err = access.LoadOrCreateKey(s.t.TempDir())
	check(s.t, err)
	base, err := web.ParseBase("/desk/")
	check(s.t, err)
	house, err := page.New(base, Room)
	check(s.t, err)
	c := Config{House: house, Base: base, Plan: s.plan, Trouble: trouble, Observations: s.store, Live: func() string { return base.URL("events") }, Changed: func() { s.changed++ }, Operator: func() (event.Principal, error) { return me, nil }, Named: event.ParsePrincipal, Log: slog.New(slog.DiscardHandler)}
	if trouble != nil {
		c.Plan = nil
	}
	p, err := New(c)
	check(s.t, err)
	hosts, err := web.NewHosts(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}, []string{"desk.example"}, nil)
	check(s.t, err)
	auth, err := web.NewAuth(web.AuthConfig{Key: s.key, Principal: string(me), Links: new(access.Links), Base: base})
	check(s.t, err)
	s.handler, err = web.NewSite(web.Config{Base: base, Hosts: hosts, Auth: auth, Routes: append(house.Routes(), p.Routes()...), ErrorPage: house.ErrorPage, Log: c.Log})
	check(s.t, err)
}

// got is an answer, read.
type got struct {
	*http.Response

	body string
}

func (s *site) ask(method, address string, form url.Values, operator bool) got {
	s.t.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	r := httptest.NewRequestWithContext(s.t.Context(), method, "http://desk.example"+address, body)
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	r.Header.Set("Accept", "text/html")
	if operator {
		r.Header.Set("Authorization", "Bearer "+s.key.OperatorToken())
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return got{w.Result(), w.Body.String()}
}

func (s *site) get(address string) got {
	s.t.Helper()
	return s.ask(http.MethodGet, address, nil, true)
}

// page is what a page says, signed in; it must be there.
func (s *site) page(address string) string {
	s.t.Helper()
	res := s.get(address)
	if res.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: %s: %.600s", address, res.Status, res.body)
	}
	return res.body
}

// formOn is the form on a page that goes to action, as a browser would send it,
// with some fields changed.
func formOn(t testing.TB, page, action string, change ...string) url.Values {
	t.Helper()
	z := html.NewTokenizer(strings.NewReader(page))
	var form url.Values
	area, choosing := "", ""
	for {
		switch z.Next() {
		case html.ErrorToken:
			t.Fatalf("no form goes to %s in %.3000s", action, page)
		case html.TextToken:
			if form != nil && area != "" {
				form.Set(area, form.Get(area)+string(z.Text()))
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			tag := z.Token()
			at := map[string]string{}
			for _, a := range tag.Attr {
				at[a.Key] = a.Val
			}
			switch {
			case tag.Data == "form" && at["action"] == action:
				form = url.Values{}
			case form == nil:
			case tag.Data == "input" && at["name"] != "":
				form.Add(at["name"], at["value"])
			case tag.Data == "textarea":
				area = at["name"]
				form.Set(area, "")
			case tag.Data == "select":
				choosing = at["name"]
			case tag.Data == "option":
				if _, chosen := at["selected"]; chosen || form.Get(choosing) == "" {
					form.Set(choosing, at["value"])
				}
			}
		case html.EndTagToken:
			switch tag := z.Token(); {
			case tag.Data == "textarea":
				area = ""
			case tag.Data == "form" && form != nil:
				for i := 0; i < len(change); i += 2 {
					form.Set(change[i], change[i+1])
				}
				return form
			}
		}
	}
}

// do sends a form of a node's page, changed, and follows to where it leads.
func (s *site) do(node, act string, change ...string) got {
	s.t.Helper()
	address := "/desk/roadmap/" + node
	form := formOn(s.t, s.page(address), address+"/"+act, change...)
	return s.follow(s.ask(http.MethodPost, address+"/"+act, form, true))
}

func (s *site) follow(res got) got {
	s.t.Helper()
	if res.StatusCode != http.StatusSeeOther {
		return res
	}
	return s.get(res.Header.Get("Location"))
}

// open opens a node past the pages.
func (s *site) open(n event.Node, c event.Card, by ...event.Node) event.ID {
	s.t.Helper()
	a, err := s.plan.Open(s.t.Context(), n, roadmap.Opening{Card: c, BlockedBy: by}, roadmap.Act{Author: me})
	check(s.t, err)
	return a.Revision
}

func (s *site) append(n event.Node, b event.Body) event.ID {
	s.t.Helper()
	a, err := s.plan.Append(s.t.Context(), n, b, roadmap.Act{Author: me})
	check(s.t, err)
	return a.ID
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wants checks that a text has all of these, each of its own.
func wants(t testing.TB, in string, all ...string) {
	t.Helper()
	for _, s := range all {
		if !strings.Contains(in, s) {
			t.Errorf("%q is not in: %.1500s", s, textOf(in[max(0, strings.Index(in, "<main")):]))
		}
	}
}

var whitespace = regexp.MustCompile(`\s+`)

// textOf is a page as text.
func textOf(page string) string {
	z := html.NewTokenizer(strings.NewReader(page))
	var b strings.Builder
	for z.Next() != html.ErrorToken {
		if t := z.Token(); t.Type == html.TextToken {
			b.WriteString(t.Data + " ")
		}
	}
	return whitespace.ReplaceAllString(b.String(), " ")
}
