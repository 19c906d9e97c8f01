package pages

import (
	"encoding/json"
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
	"time"

	"golang.org/x/net/html"

	"holdfast/internal/access"
	"holdfast/internal/fleet"
	"holdfast/internal/fleet/enrollment"
	"holdfast/internal/page"
	"holdfast/internal/web"
)

// site is the fleet's pages of a home, as a site that answers.
type site struct {
	t       testing.TB
	home    fleet.Home
	now     time.Time
	handler http.Handler
	key     access.Key
	pages   *Pages
}

func homeIn(dir string) fleet.Home {
	return fleet.Home{Console: filepath.Join(dir, "console"), Box: filepath.Join(dir, "box"), Bucket: filepath.Join(dir, "bucket")}
}

// serve is the pages of a home that is nothing yet.
func serve(t testing.TB) *site {
	t.Helper()
	return serveAt(t, homeIn(t.TempDir()))
}

// serveAt is the pages of a home, by a process that knows nothing of it yet.
func serveAt(t testing.TB, home fleet.Home) *site {
	t.Helper()
	s := &site{t: t, home: home, now: time.Now()}
	var err error
	s.key, err = access.LoadOrCreateKey(t.TempDir())
	check(t, err)
	base, err := web.ParseBase("/desk/")
	check(t, err)
	house, err := page.New(base, Room, InstancesRoom)
	check(t, err)
	log := slog.New(slog.DiscardHandler)
	p, err := New(Config{House: house, Base: base, Home: s.home, Live: func() string { return base.URL("events") }, Changed: func() {}, Now: func() time.Time { return s.now }, Log: log})
	check(t, err)
	t.Cleanup(p.Close)
	s.pages = p
	hosts, err := web.NewHosts(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}, []string{"desk.example"}, nil)
	check(t, err)
	auth, err := web.NewAuth(web.AuthConfig{Key: s.key, Principal: "principal:local/studio/ada", Links: new(access.Links), Base: base})
	check(t, err)
	s.handler, err = web.NewSite(web.Config{Base: base, Hosts: hosts, Auth: auth, Routes: append(house.Routes(), p.Routes()...), ErrorPage: house.ErrorPage, Log: log})
	check(t, err)
	return s
}

// begin is the pages of a console, and the console, with boxes of these names.
func begin(t testing.TB, boxes ...string) (*site, *fleet.Console) {
	t.Helper()
	s := serve(t)
	_, err := fleet.Init(t.Context(), s.home, fleet.Embedded)
	check(t, err)
	c, err := fleet.OpenConsole(s.home)
	check(t, err)
	t.Cleanup(c.Close)
	for _, name := range boxes {
		s.enroll(c, enrollment.Invitation{Box: name, Uses: 1})
	}
	return s, c
}

// enroll lets a box in by an invitation.
func (s *site) enroll(c *fleet.Console, i enrollment.Invitation) {
	s.t.Helper()
	word, err := c.Invite(s.t.Context(), i, time.Hour)
	check(s.t, err)
	_, err = fleet.Join(s.t.Context(), homeIn(s.t.TempDir()), word.Token, nil)
	check(s.t, err)
	_, err = c.Admit(s.t.Context())
	check(s.t, err)
}

// got is an answer, read.
type got struct {
	*http.Response

	body string
}

func (s *site) get(address string, with ...string) got {
	s.t.Helper()
	return s.do(httptest.NewRequestWithContext(s.t.Context(), http.MethodGet, "http://desk.example"+address, nil), with...)
}

// post sends a form, as the operator.
func (s *site) post(address string, form url.Values) got {
	s.t.Helper()
	r := httptest.NewRequestWithContext(s.t.Context(), http.MethodPost, "http://desk.example"+address, strings.NewReader(form.Encode()))
	return s.do(r, "Content-Type", "application/x-www-form-urlencoded", "Authorization", "Bearer "+s.key.OperatorToken())
}

// asOperator is get with the operator's credential.
func (s *site) asOperator(address string) got {
	s.t.Helper()
	return s.get(address, "Authorization", "Bearer "+s.key.OperatorToken())
}

// do answers a request with these headers, name after name.
func (s *site) do(r *http.Request, with ...string) got {
	s.t.Helper()
	r.Header.Set("Accept", "text/html")
	for i := 0; i+1 < len(with); i += 2 {
		r.Header.Set(with[i], with[i+1])
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return got{w.Result(), w.Body.String()}
}

// page is what a page says; it must be there.
func (s *site) page(address string) string {
	s.t.Helper()
	res := s.get(address)
	if res.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: %s: %.600s", address, res.Status, res.body)
	}
	return res.body
}

// json reads a document; it must be there.
func (s *site) json(address string, into any) {
	s.t.Helper()
	check(s.t, json.Unmarshal([]byte(s.page(address)), into))
}

// roster is the file that the roster is in.
func (s *site) roster() string { return filepath.Join(s.home.Bucket, "control/roster.json") }

// logged is the file of a version.
func (s *site) logged(pattern string) string {
	s.t.Helper()
	found, err := filepath.Glob(filepath.Join(s.home.Bucket, "control/roster/log", pattern))
	if err != nil || len(found) != 1 {
		s.t.Fatal(found, err)
	}
	return found[0]
}

func read(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	check(t, err)
	return data
}

func check(t testing.TB, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// wants checks that a page says all of these.
func wants(t testing.TB, page string, all ...string) {
	t.Helper()
	text := textOf(page)
	for _, s := range all {
		if !strings.Contains(text, s) && !strings.Contains(page, s) {
			t.Errorf("%q is not in: %.3000s", s, text)
		}
	}
}

// wantsNot checks that a page says none of these.
func wantsNot(t testing.TB, page string, none ...string) {
	t.Helper()
	for _, s := range none {
		if strings.Contains(textOf(page), s) {
			t.Errorf("%q is in: %.3000s", s, textOf(page))
		}
	}
}

var whitespace = regexp.MustCompile(`\s+`)

// textOf is a page as text.
func textOf(page string) string {
	z := html.NewTokenizer(strings.NewReader(page))
	var b strings.Builder
	for z.Next() != html.ErrorToken {
		switch t := z.Token(); {
		case t.Type == html.TextToken:
			b.WriteString(t.Data)
		case t.Data != "bdi" && t.Data != "code" && t.Data != "time" && t.Data != "strong" && t.Data != "a":
			b.WriteString(" ")
		}
	}
	return strings.ReplaceAll(whitespace.ReplaceAllString(b.String(), " "), " .", ".")
}

// rowOf is the row of a box in the list.
func rowOf(t testing.TB, page, box string) string {
	t.Helper()
	_, rest, ok := strings.Cut(page, `"><bdi>`+box+`</bdi></a>`)
	if !ok {
		t.Fatalf("no row of %s in %.3000s", box, textOf(page))
	}
	row, _, _ := strings.Cut(rest, "</tr>")
	return textOf(row)
}
