package desk

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/internal/access"
	"holdfast/internal/booth"
	"holdfast/internal/booth/folder"
	"holdfast/internal/booth/ledger"
	"holdfast/internal/booth/sweep"
	"holdfast/internal/durable"
	"holdfast/internal/page"
	"holdfast/internal/web"
)

const (
	principal = "principal:local/host/me"
	day       = 24 * time.Hour
)

// site is a desk that listens, with its data folder.
type site struct {
	house   *page.House
	desk    *Desk
	handler http.Handler
	key     access.Key
	data    string
	addr    string // host:port
	base    web.Base
	watched bool         // the desk believes that it is told of changes
	ahead   atomic.Int64 // how far the desk's clock is ahead
}

type options struct {
	base  string
	login bool
}

func serve(t testing.TB, o options) *site {
	t.Helper()
	s := &site{data: t.TempDir()}
	var err error
	s.base, err = web.ParseBase(o.base)
	check(t, err)
	s.key, err = access.LoadOrCreateKey(t.TempDir())
	check(t, err)
	data, err := folder.OpenData(s.data)
	check(t, err)
	t.Cleanup(func() { data.Close() })
	home, err := durable.OpenDir(t.TempDir())
	check(t, err)
	t.Cleanup(func() { home.Close() })
	quiet := slog.New(slog.DiscardHandler)
	known := ledger.New(home)
	sweeper, err := sweep.Open(t.Context(), sweep.Config{
		Data: data, Desk: home, Ledger: known, TTL: day, Tick: time.Hour, TrashTTL: day, Clock: sweep.SystemClock(), Log: quiet, Holder: "a test",
	})
	check(t, err)
	t.Cleanup(func() { sweeper.Close() })
	server := httptest.NewUnstartedServer(nil)
	policy := access.Policy{LoginRequired: o.login}
	hosts, err := web.NewHosts(server.Listener.Addr(), nil, nil)
	check(t, err)
	auth, err := web.NewAuth(web.AuthConfig{Key: s.key, Principal: principal, Links: new(access.Links), Base: s.base})
	check(t, err)
	s.house, err = page.New(s.base, Room)
	check(t, err)
	s.desk, err = New(Config{
		House: s.house, Data: data, Ledger: known, Sweeper: sweeper, FolderPath: "/the/booths", TTL: day, Base: s.base, Key: s.key, Policy: policy, Log: quiet,
		Watched: func(string) bool { return s.watched },
		Live:    func() string { return s.base.URL("events") },
		Now:     func() time.Time { return time.Now().Add(time.Duration(s.ahead.Load())) },
	})
	check(t, err)
	t.Cleanup(s.desk.Close)
	handler, err := web.NewSite(web.Config{
		Base: s.base, Hosts: hosts, Auth: auth, Policy: policy, Routes: append(s.house.Routes(), s.desk.Routes()...), ErrorPage: s.house.ErrorPage, Log: quiet,
	})
	check(t, err)
	s.handler = handler
	server.Config.Handler = handler
	server.Config.ErrorLog = slog.NewLogLogger(quiet.Handler(), slog.LevelWarn)
	server.Start()
	t.Cleanup(server.Close)
	s.addr = server.Listener.Addr().String()
	return s
}

// who makes a request somebody's.
type who func(*http.Request)

func anonymous(*http.Request) {}

func bearer(token string) who {
	return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
}

func (s *site) operator() who { return bearer(s.key.OperatorToken()) }

func (s *site) worker(t testing.TB, name string) who {
	t.Helper()
	token, err := s.key.WorkerToken(access.WorkerGrant{Booth: name, Issued: time.Now(), Expires: time.Now().Add(time.Hour)})
	check(t, err)
	return bearer(token)
}

// browser is the operator, signed in.
func (s *site) browser(t testing.TB) who {
	t.Helper()
	token, err := s.key.SessionToken(access.NewSession(principal, time.Now()))
	check(t, err)
	return func(r *http.Request) { r.AddCookie(&http.Cookie{Name: "holdfast-" + s.key.ID(), Value: token}) }
}

// answer is a response, read.
type answer struct {
	*http.Response

	body string
	cut  error // why the body ended early
}

// do sends a request line's target as it stands, and reads the answer.
func (s *site) do(t testing.TB, method, target string, as who, more ...string) answer {
	t.Helper()
	return s.send(t, method, target, nil, as, more...)
}

// send is do with a body. The headers in more are "Name: value".
func (s *site) send(t testing.TB, method, target string, body io.Reader, as who, more ...string) answer {
	t.Helper()
	req, err := http.NewRequest(method, "http://"+s.addr+"/", body)
	check(t, err)
	req.URL.Opaque = "//" + s.addr + target
	for _, h := range more {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Add(name, value)
	}
	as(req)
	// Not with DisableKeepAlives: a server that is told to close does not read the
	// rest of a body that it refused, and the reset may overtake its answer.
	transport := &http.Transport{DisableCompression: true}
	defer transport.CloseIdleConnections()
	client := http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := client.Do(req)
	check(t, err)
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	return answer{res, string(data), err}
}

// raw sends text, on a connection of its own, and reads one answer. No client
// has cleaned anything.
func (s *site) raw(t testing.TB, text string) answer {
	t.Helper()
	conn, err := net.Dial("tcp", s.addr)
	check(t, err)
	defer conn.Close()
	check(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	_, err = io.WriteString(conn, text)
	check(t, err)
	method, _, _ := strings.Cut(text, " ")
	res, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	check(t, err)
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	return answer{res, string(data), err}
}

// url is an address on the desk by exact segments, base included.
func (s *site) url(segments ...string) string { return s.base.URL(segments...) }

func (s *site) view(name, item string) string { return s.desk.viewURL(name, item) }

// token is a content token for a booth's bytes, as for a reader that is nobody.
func (s *site) token(t testing.TB, name string) string {
	t.Helper()
	token, err := s.key.ContentToken(name, access.AnonymousSession, s.desk.Now())
	check(t, err)
	return token
}

func (s *site) dir(name string) string { return s.data + "/" + name }

// zip is what is in a booth's zip, by name.
func (s *site) zip(t testing.TB, name string) map[string]string {
	t.Helper()
	res := s.do(t, "GET", s.url("b", name, "")+"?download=1", anonymous)
	if res.StatusCode != http.StatusOK || res.cut != nil {
		t.Fatalf("zip: %s %v", res.Status, res.cut)
	}
	return unzip(t, res.body)
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// write writes a file whose path is not cleaned: names are bytes.
func write(t testing.TB, path, content string) {
	t.Helper()
	check(t, os.MkdirAll(filepath.Dir(path), 0o755))
	check(t, os.WriteFile(path, []byte(content), 0o644))
}

func want(t testing.TB, what string, res answer, status int) {
	t.Helper()
	if res.StatusCode != status {
		t.Errorf("%s: %s, want %d: %.300s", what, res.Status, status, res.body)
	}
}

var (
	reportFile = booth.ReportFile
	boardFile  = booth.BoardFile
)
