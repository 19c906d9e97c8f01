// Package browsertest runs the real program and looks at it with a real browser.
//
// [Start] runs the binary on a home of its own, as a person would; [Open] drives
// Debian's Chromium, one process for each test binary and one profile for each
// [Tab]. Only tests import this package.
package browsertest

import (
	"bufio"
	"errors"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// Desk is a running "holdfast up".
type Desk struct {
	URL    string // where a browser reaches it, with a slash at the end
	SignIn string // good once
	Home   string
	t      testing.TB
	log    *logged
}

// built is the folder of the binary, empty before there is one.
var built string

// build makes the binary once for each test process.
var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "holdfast-browsertest-")
	if err != nil {
		return "", err
	}
	built = dir
	binary := filepath.Join(dir, "holdfast")
	out, err := exec.Command("go", "build", "-o", binary, "holdfast/cmd/holdfast").CombinedOutput()
	if err != nil {
		return "", errors.New(string(out))
	}
	return binary, nil
})

// Binary is the program under test.
func Binary(t testing.TB) string {
	t.Helper()
	binary, err := build()
	if err != nil {
		t.Fatalf("build: %v", err)
	}
	return binary
}

// Start runs a desk on a new home, with further arguments to up, and ends it
// with the test.
func Start(t testing.TB, args ...string) *Desk {
	t.Helper()
	return StartAt(t, t.TempDir(), args...)
}

// StartAt runs a desk on a home that is there.
func StartAt(t testing.TB, home string, args ...string) *Desk {
	t.Helper()
	cmd := exec.Command(Binary(t), append([]string{"--home", home, "up", "--listen", "127.0.0.1:0", "--log", "debug"}, args...)...)
	log := &logged{t: t}
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("holdfast up did not end cleanly: %v", err)
		}
	})
	lines := bufio.NewScanner(out)
	d := &Desk{Home: home, t: t, log: log}
	d.URL = after(t, lines, "holdfast: listening on ") + "/"
	d.SignIn = after(t, lines, "holdfast: sign in at ")
	return d
}

func after(t testing.TB, lines *bufio.Scanner, prefix string) string {
	t.Helper()
	if !lines.Scan() {
		t.Fatalf("holdfast up ended before it said %q", prefix)
	}
	rest, ok := strings.CutPrefix(lines.Text(), prefix)
	if !ok {
		t.Fatalf("holdfast up said %q, want %q…", lines.Text(), prefix)
	}
	return rest
}

// logged keeps the server's log, and shows it where a test fails.
type logged struct {
	t    testing.TB
	mu   sync.Mutex
	text strings.Builder // guarded by mu
}

func (l *logged) Write(b []byte) (int, error) {
	l.t.Logf("up: %s", strings.TrimRight(string(b), "\n"))
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// Log is what the server has logged so far.
func (d *Desk) Log() string {
	d.log.mu.Lock()
	defer d.log.mu.Unlock()
	return d.log.text.String()
}

// Link is a fresh sign-in link, good once, at the address of this desk.
func (d *Desk) Link() string {
	d.t.Helper()
	out, err := exec.Command(Binary(d.t), "--home", d.Home, "open", "--print").Output()
	if err != nil {
		d.t.Fatalf("holdfast open: %v", err)
	}
	link, err := url.Parse(strings.TrimSpace(string(out)))
	if err != nil {
		d.t.Fatal(err)
	}
	at, err := url.Parse(d.URL)
	if err != nil {
		d.t.Fatal(err)
	}
	link.Host = at.Host
	return link.String()
}

// Proxied puts a reverse proxy before a desk that runs with --base-path and
// --hosts 127.0.0.1, so that a browser reaches it only there. With strip the
// proxy takes the path off, as many do.
func Proxied(t testing.TB, d *Desk, base string, strip bool) *Desk {
	t.Helper()
	to, err := url.Parse(d.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = to.Scheme, to.Host
		r.Out.Host = r.In.Host
		r.SetXForwarded()
	}}
	var handler http.Handler = proxy
	if strip {
		handler = http.StripPrefix(strings.TrimSuffix(base, "/"), proxy)
	}
	mux := http.NewServeMux()
	mux.Handle(base, handler)
	front := httptest.NewServer(mux)
	t.Cleanup(front.Close)
	at := func(link string) string {
		u, err := url.Parse(link)
		if err != nil {
			t.Fatal(err)
		}
		f, err := url.Parse(front.URL)
		if err != nil {
			t.Fatal(err)
		}
		u.Host = f.Host
		return u.String()
	}
	return &Desk{URL: at(d.URL), SignIn: at(d.SignIn), Home: d.Home, t: t, log: d.log}
}

// Booth makes a booth's folder and gives its path.
func (d *Desk) Booth(name string) string {
	d.t.Helper()
	dir := filepath.Join(d.Home, "booths", name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		d.t.Fatal(err)
	}
	return dir
}

// Write writes a file of a booth, making both.
func (d *Desk) Write(booth, file, content string) {
	d.t.Helper()
	path := filepath.Join(d.Booth(booth), file)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		d.t.Fatal(err)
	}
}

// Client is an HTTP client with a cookie jar; signed in as the operator where
// asked.
func (d *Desk) Client(signedIn bool) *http.Client {
	d.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		d.t.Fatal(err)
	}
	c := &http.Client{Jar: jar}
	if signedIn {
		res, err := c.Get(d.Link())
		if err != nil {
			d.t.Fatal(err)
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK {
			d.t.Fatalf("signing in answered %s", res.Status)
		}
	}
	return c
}
