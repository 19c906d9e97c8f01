package web

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/internal/access"
	"holdfast/internal/problem"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const here = "127.0.0.1:7433"

// house is a site with routes like the desk's, and all that a test asks it.
type house struct {
	*Site
	key   access.Key
	links *access.Links
	auth  *Auth
	log   *lockedBuffer
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

var errSecretCause = errors.New("open /private/path: secret cause")

// echo answers with the route and the exact path values.
func echo(name string, values ...string) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		fmt.Fprint(w, name)
		for _, v := range values {
			fmt.Fprintf(w, " %q", r.PathValue(v))
		}
		return nil
	}
}

func deskRoutes() []Route {
	return []Route{
		{Method: "GET", Pattern: "/{$}", Action: access.ReadPages, Handler: echo("index")},
		{Method: "GET", Pattern: "/healthz", Action: access.ReadPublic, Handler: echo("healthz")},
		{Method: "GET", Pattern: "/b/{booth}/{$}", Action: access.ReadPages, Handler: echo("booth", "booth")},
		{Method: "GET", Pattern: "/b/{booth}/{item...}", Action: access.ReadPages, Handler: echo("item", "booth", "item")},
		{Method: "PUT", Pattern: "/b/{booth}/{item...}", Action: access.Publish, MaxBody: 8, Handler: swallow},
		{Method: "POST", Pattern: "/b/{booth}/keep", Action: access.Keep, Handler: echo("keep", "booth")},
		{Method: "POST", Pattern: "/b/{booth}/notes", Action: access.Note, Handler: echo("note", "booth")},
		{Method: "DELETE", Pattern: "/b/{booth}", Action: access.Delete, Handler: echo("delete", "booth")},
		{Method: "GET", Pattern: "/c/{token}/{item...}", Action: access.ReadContent, Handler: echo("content", "item")},
		{Method: "GET", Pattern: "/api/v1/fail/{how}", Action: access.ReadPages, Handler: fail},
		{Method: "GET", Pattern: "/fail/{how}", Action: access.ReadPages, Handler: fail},
	}
}

func swallow(w http.ResponseWriter, r *http.Request) error {
	_, err := io.Copy(io.Discard, r.Body)
	return err
}

func fail(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("ETag", `"x"`)
	w.Header().Set("Content-Length", "12345")
	w.Header().Set("Cache-Control", "public")
	switch r.PathValue("how") {
	case "panic":
		panic("secret panic")
	case "late":
		w.Header().Del("Content-Length")
		io.WriteString(w, "half of")
		return errSecretCause
	case "latepanic":
		io.WriteString(w, "half of")
		panic("secret panic")
	case "refused":
		return fmt.Errorf("wrapped: %w", problem.Refusal("taken", "It is taken.").WithHint("wait").Because(errSecretCause))
	default:
		return errSecretCause
	}
}

type option func(*Config, *AuthConfig)

func withBase(text string) option {
	return func(c *Config, a *AuthConfig) {
		base, err := ParseBase(text)
		if err != nil {
			panic(err)
		}
		c.Base, a.Base = base, base
	}
}

func newHouse(t *testing.T, options ...option) *house {
	t.Helper()
	key, err := access.LoadOrCreateKey(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &house{key: key, links: &access.Links{}, log: &lockedBuffer{}}
	hosts, err := NewHosts(tcp(here), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	auth := AuthConfig{Key: key, Principal: "principal:test", Links: h.links}
	conf := Config{Hosts: hosts, Routes: deskRoutes(), Log: slog.New(slog.NewTextHandler(h.log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	for _, o := range options {
		o(&conf, &auth)
	}
	if h.auth, err = NewAuth(auth); err != nil {
		t.Fatal(err)
	}
	conf.Auth = h.auth
	if h.Site, err = NewSite(conf); err != nil {
		t.Fatal(err)
	}
	return h
}

func tcp(addr string) net.Addr {
	a, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		panic(err)
	}
	return a
}

// ask sends a request line's method and target, with "Name: value" headers,
// and answers with the response. A cut connection is status 0.
func (h *house) ask(t *testing.T, method, target string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	return h.send(t, method, target, "", headers...)
}

func (h *house) send(t *testing.T, method, target, body string, headers ...string) (w *httptest.ResponseRecorder) {
	t.Helper()
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Host = here
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		if name == "Host" {
			r.Host = value
		} else {
			r.Header.Add(name, value)
		}
	}
	w = httptest.NewRecorder()
	defer func() {
		if v := recover(); v == http.ErrAbortHandler {
			w = &httptest.ResponseRecorder{Code: 0, Body: w.Body}
		} else if v != nil {
			panic(v)
		}
	}()
	h.ServeHTTP(w, r)
	return w
}

func (h *house) cookie(t *testing.T) string {
	t.Helper()
	token, err := h.key.SessionToken(access.NewSession("principal:ann", time.Now()))
	if err != nil {
		t.Fatal(err)
	}
	return "Cookie: " + h.auth.cookieName() + "=" + token
}

func (h *house) worker(t *testing.T, booth string) string {
	t.Helper()
	token, err := h.key.WorkerToken(access.WorkerGrant{Booth: booth, Issued: time.Now(), Expires: time.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	return "Authorization: Bearer " + token
}

func (h *house) content(t *testing.T, booth, session string) string {
	t.Helper()
	token, err := h.key.ContentToken(booth, session, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func quote(s string) string { return fmt.Sprintf("%q", s) }

func formatTarget(target string) *url.URL {
	u, err := url.ParseRequestURI(target)
	if err != nil {
		return nil
	}
	return u
}
