package remotetest

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// user and password are what each [Server] wants.
const user, password = "planner", "open sesame"

// Server is a repository behind HTTP with basic authentication.
type Server struct {
	*Repository
	URL    string // with user and password
	Locked string // without: whoever comes by it is asked for a password
}

// HTTP serves an empty repository with git http-backend. The arguments are those
// of [Path].
func HTTP(t testing.TB, init ...string) *Server {
	t.Helper()
	r := Path(t, init...)
	backend := &cgi.Handler{
		Path: filepath.Join(programs(r), "git-http-backend"),
		Env: append(environment(filepath.Dir(r.Dir)),
			"GIT_PROJECT_ROOT="+filepath.Dir(r.Dir), "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER="+user),
		Stderr: io.Discard,
		Logger: log.New(io.Discard, "", 0),
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if !admitted(q) {
			w.Header().Set("WWW-Authenticate", `Basic realm="plans"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		whole, err := measured(q)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		backend.ServeHTTP(w, whole)
	}))
	t.Cleanup(s.Close)
	return served(r, s.URL)
}

// programs is the folder of git's own programs, which is asked for once.
func programs(r *Repository) string {
	r.t.Helper()
	where, known := execPath.Load().(string)
	if !known {
		where = r.run("", nil, "--exec-path")
		execPath.Store(where)
	}
	return where
}

var execPath atomic.Value // a string

// served is the server of r that answers at base.
func served(r *Repository, base string) *Server {
	locked, err := url.Parse(base + "/" + filepath.Base(r.Dir))
	if err != nil {
		r.t.Fatal(err)
	}
	open := *locked
	open.User = url.UserPassword(user, password)
	return &Server{Repository: r, URL: open.String(), Locked: locked.String()}
}

// WriteCredentials makes a file from which git's own helper reads the password
// for [Server.Locked]: credential.helper = store --file=PATH.
func (s *Server) WriteCredentials(path string) {
	s.t.Helper()
	host := strings.TrimSuffix(s.URL, "/"+filepath.Base(s.Dir))
	if err := os.WriteFile(path, []byte(host+"\n"), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func admitted(q *http.Request) bool {
	u, p, ok := q.BasicAuth()
	return ok && u == user && p == password
}

// measured is the request with its body in memory. A large push comes in
// chunks, which CGI does not know.
func measured(q *http.Request) (*http.Request, error) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return nil, err
	}
	whole := q.Clone(q.Context())
	whole.Body = io.NopCloser(bytes.NewReader(body))
	whole.ContentLength, whole.TransferEncoding = int64(len(body)), nil
	return whole, nil
}
