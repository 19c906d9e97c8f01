package main

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// pushes measures what an append to a plan cannot go below, a bare push of a
// commit that is ready, over HTTP and to a path, and what fossil takes for a
// ticket in a file of its own.
func pushes(l *lab) error {
	far, err := l.pusher("far", true)
	if err != nil {
		return err
	}
	defer far.close()
	near, err := l.pusher("near", false)
	if err != nil {
		return err
	}
	defer near.close()
	peer, err := l.fossil()
	if err != nil {
		return err
	}
	figures, err := alternate(42, far.pushReady, near.pushReady, peer.addTicket)
	if err != nil {
		return err
	}
	l.compare("bare git push, HTTP / to a path", figures[0], figures[1], "ms", "(a floor)")
	l.compare("bare git push to a path / fossil ticket add", figures[1], figures[2], "ms", "(a floor)")
	return nil
}

// alternate does each of several things n times, in turn, and gives the figures of
// each but for the first two, which warm the caches.
func alternate(n int, things ...func() (float64, error)) ([][]float64, error) {
	figures := make([][]float64, len(things))
	for i := range n {
		for j, do := range things {
			figure, err := do()
			if err != nil {
				return nil, err
			}
			if i > 1 {
				figures[j] = append(figures[j], figure)
			}
		}
	}
	return figures, nil
}

// pusher has a repository from which it pushes, and the remote for that.
type pusher struct {
	dir    string // both are in here
	remote string // a URL or a path
	count  int
	server *httptest.Server // nil at a path
}

// pusher makes two repositories, the remote behind HTTP with a password or at a
// path.
func (l *lab) pusher(name string, overHTTP bool) (*pusher, error) {
	p := &pusher{dir: filepath.Join(l.dir, name)}
	p.remote = filepath.Join(p.dir, "remote.git")
	for _, repo := range []string{p.remote, p.own()} {
		if _, err := p.git("", "init", "--quiet", "--bare", repo); err != nil {
			return nil, err
		}
	}
	if _, err := p.git("", "-C", p.remote, "config", "http.receivepack", "true"); err != nil {
		return nil, err
	}
	if overHTTP {
		return p, p.serve()
	}
	return p, nil
}

func (p *pusher) own() string { return filepath.Join(p.dir, "own.git") }

// serve puts the remote behind git's own server.
func (p *pusher) serve() error {
	core, err := p.git("", "--exec-path")
	if err != nil {
		return err
	}
	backend := &cgi.Handler{
		Path:   filepath.Join(core, "git-http-backend"),
		Env:    append(p.environ(), "GIT_PROJECT_ROOT="+p.dir, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=bench"),
		Stderr: io.Discard,
		Logger: log.New(io.Discard, "", 0),
	}
	p.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if _, password, ok := q.BasicAuth(); !ok || password != "bench" {
			w.Header().Set("WWW-Authenticate", `Basic realm="bench"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, q)
	}))
	at, err := url.Parse(p.server.URL)
	if err != nil {
		return err
	}
	at.User, at.Path = url.UserPassword("bench", "bench"), "/remote.git"
	p.remote = at.String()
	return nil
}

func (p *pusher) close() {
	if p.server != nil {
		p.server.Close()
	}
}

// pushReady makes a commit of one small file, and gives how long the push of it
// takes, in milliseconds.
func (p *pusher) pushReady() (float64, error) {
	const ref = "refs/heads/plan"
	p.count++
	text := fmt.Sprintf(`{"number":%d,"note":%q}`, p.count, strings.Repeat("x", 400))
	stream := fmt.Sprintf("commit %s\ncommitter Bench <bench@example.org> now\ndata 0\nM 100644 inline event-%d.json\ndata %d\n%s\ndone\n",
		ref, p.count%256, len(text), text)
	if p.count > 1 {
		stream = strings.Replace(stream, "\nM ", "\nfrom "+ref+"^0\nM ", 1)
	}
	if _, err := p.git(stream, "-C", p.own(), "fast-import", "--quiet", "--done", "--date-format=now"); err != nil {
		return 0, err
	}
	began := time.Now()
	_, err := p.git("", "-C", p.own(), "push", "--quiet", "--porcelain", p.remote, ref)
	return milliseconds(began), err
}

// git runs git apart from the user's configuration.
func (p *pusher) git(in string, args ...string) (string, error) {
	return output(p.environ(), in, "git", args...)
}

func (p *pusher) environ() []string {
	return []string{"HOME=" + p.dir, "PATH=" + os.Getenv("PATH"), "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0"}
}

// fossils is a repository of fossil.
type fossils struct {
	home  string
	count int
}

// fossil makes an empty one.
func (l *lab) fossil() (*fossils, error) {
	f := &fossils{home: filepath.Join(l.dir, "fossil")}
	if err := os.Mkdir(f.home, 0o777); err != nil {
		return nil, err
	}
	return f, f.run("init", "--admin-user", "bench", f.repository())
}

func (f *fossils) repository() string { return filepath.Join(f.home, "plan.fossil") }

// addTicket gives how long it takes to add one, in milliseconds.
func (f *fossils) addTicket() (float64, error) {
	f.count++
	began := time.Now()
	err := f.run("ticket", "add", "title", fmt.Sprintf("number %d", f.count), "comment", strings.Repeat("x", 400),
		"--user", "bench", "-R", f.repository())
	return milliseconds(began), err
}

func (f *fossils) run(args ...string) error {
	_, err := output([]string{"HOME=" + f.home, "PATH=" + os.Getenv("PATH")}, "", "fossil", args...)
	return err
}

// output runs a command in an environment, with what it reads, and gives what it
// printed, without white space at the ends.
func output(environ []string, in, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Env, cmd.Stdin = environ, strings.NewReader(in)
	var words bytes.Buffer
	cmd.Stderr = &words
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s%s", name, strings.Join(args, " "), err, words.Bytes(), out)
	}
	return strings.TrimSpace(string(out)), nil
}

func milliseconds(since time.Time) float64 {
	return float64(time.Since(since).Microseconds()) / 1000
}
