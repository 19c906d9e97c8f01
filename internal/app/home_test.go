package app

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/internal/app/config"
	"holdfast/internal/durable"
	"holdfast/internal/problem"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// prepare is what a start does to a home.
func prepare(c *config.Config) error {
	if err := mayPrepare(c); err != nil {
		return err
	}
	return prepareHome(c)
}

// tree is what is in a folder, links and modes included.
func tree(t testing.TB, dir string) string {
	t.Helper()
	var out strings.Builder
	check(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil {
			out.WriteString(info.Mode().String() + " " + strings.TrimPrefix(path, dir) + "\n")
		}
		return err
	}))
	return out.String()
}

func refusedAt(t testing.TB, what string, err error, step, says string) {
	t.Helper()
	p := problem.From(err, "")
	if err == nil || p.Kind != problem.Refused || p.Step != step || !strings.Contains(p.Reason, says) || p.Hint == "" {
		t.Errorf("%s: %v, want a refusal at %s that says %q and a hint", what, err, step, says)
	}
}

// Each is refused in words, and nothing is made. Red when mayPrepare does not
// look at one of the folders, or lets a named home be made.
func TestAHomeThatCannotBeUsedIsRefusedBeforeAnythingIsMade(t *testing.T) {
	for what, c := range map[string]struct {
		plant func(t *testing.T, home string)
		says  string
	}{
		"a home that is not there":         {func(*testing.T, string) {}, "There is no home at"},
		"a home that is a file":            {func(t *testing.T, home string) { write(t, home, "x") }, "is no folder"},
		"a home that leads nowhere":        {func(t *testing.T, home string) { check(t, os.Symlink("nowhere", home)) }, "There is no home at"},
		"a home below a file":              {func(t *testing.T, home string) { write(t, filepath.Dir(home), "x") }, "cannot be looked at"},
		"booths that are a file":           {func(t *testing.T, home string) { write(t, home+"/booths", "x") }, "booths is no folder"},
		"booths that lead nowhere":         {func(t *testing.T, home string) { mkdir(t, home); check(t, os.Symlink("nowhere", home+"/booths")) }, "booths is a link to something that is not there"},
		"a desk's folder that is a file":   {func(t *testing.T, home string) { write(t, home+"/desk", "x") }, "desk is no folder"},
		"a desk's folder leading nowhere":  {func(t *testing.T, home string) { mkdir(t, home); check(t, os.Symlink("nowhere", home+"/desk")) }, "desk is a link to something that is not there"},
		"a desk's folder that is a device": {func(t *testing.T, home string) { mkdir(t, home); check(t, os.Symlink("/dev/null", home+"/desk")) }, "desk is no folder"},
	} {
		root := t.TempDir()
		c0 := &config.Config{Home: filepath.Join(root, "in", "home"), HomeNamed: true}
		if what != "a home below a file" {
			mkdir(t, filepath.Dir(c0.Home))
		}
		c.plant(t, c0.Home)
		before := tree(t, root)
		refusedAt(t, what, prepare(c0), "home", c.says)
		if after := tree(t, root); after != before {
			t.Errorf("%s: changed:\n%s\nwas:\n%s", what, after, before)
		}
	}
}

func mkdir(t testing.TB, path string) {
	t.Helper()
	check(t, os.MkdirAll(path, 0o755))
}

// Red when the default home is not made, or what is in it is open to others.
func TestTheDefaultHomeIsMadeAtTheFirstStart(t *testing.T) {
	c := &config.Config{Home: filepath.Join(t.TempDir(), "a", "b", "home")}
	for range 2 {
		check(t, prepare(c))
		for path, perm := range map[string]os.FileMode{c.Home: 0o700, c.DeskDir(): 0o700, c.Booths(): 0o775} {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm()&^perm != 0 || !info.IsDir() {
				t.Errorf("%s: %v %v", path, info, err)
			}
		}
	}
	// A home may be reached through a link, and so may its folders.
	linked := &config.Config{Home: filepath.Join(t.TempDir(), "link"), HomeNamed: true}
	check(t, os.Symlink(c.Home, linked.Home))
	check(t, prepare(linked))
	data, err := OpenBooths(linked)
	check(t, err)
	check(t, data.Close())
}

// Red when OpenBooths makes what is missing.
func TestLookingAtBoothsMakesNothing(t *testing.T) {
	root := t.TempDir()
	named := &config.Config{Home: filepath.Join(root, "home"), HomeNamed: true}
	_, err := OpenBooths(named)
	refusedAt(t, "no home", err, "home", "There is no home at")
	if !strings.Contains(problem.From(err, "").Hint, "mkdir -p ") {
		t.Errorf("%v", problem.From(err, "").Hint)
	}
	_, err = OpenBooths(&config.Config{Home: named.Home})
	refusedAt(t, "no default home", err, "home", "There is no home at")
	if !strings.Contains(problem.From(err, "").Hint, "holdfast up") {
		t.Errorf("%v", problem.From(err, "").Hint)
	}
	mkdir(t, named.Home)
	_, err = OpenBooths(named)
	refusedAt(t, "no booths", err, "home", "holds no booths folder yet")
	if got := tree(t, root); strings.Count(got, "\n") != 2 {
		t.Errorf("%s", got)
	}
	write(t, named.Booths(), "x")
	if _, err := OpenBooths(named); err == nil {
		t.Error("a file was opened for the booths")
	}
}

// Red when shellQuote leaves something to the shell.
func TestAPathInAHintIsOneWord(t *testing.T) {
	for path, want := range map[string]string{"/a/b-c_d.e": "/a/b-c_d.e", "/a b": "'/a b'", "/it's": `'/it'\''s'`, "": "''", "/$(x)": "'/$(x)'", "/a\n": "'/a\n'", "/ü": "'/ü'"} {
		if got := shellQuote(path); got != want {
			t.Errorf("%q: %s, want %s", path, got, want)
		}
	}
}

// Only the lock says whether a desk serves a home. Red when the file that it left
// is believed.
func TestWhoServesAsksTheLock(t *testing.T) {
	c := &config.Config{Home: t.TempDir(), HomeNamed: true}
	_, err := whoServes(context.Background(), &config.Config{Home: c.Home + "/none", HomeNamed: true})
	refusedAt(t, "no home", err, "home", "There is no home at")
	_, err = whoServes(context.Background(), c)
	refusedAt(t, "an empty home", err, "not-running", "No desk serves the home")
	if got := tree(t, c.Home); strings.Count(got, "\n") != 1 {
		t.Errorf("asking made %s", got)
	}
	check(t, prepareHome(c))
	dir, err := durable.OpenDir(c.DeskDir())
	check(t, err)
	defer dir.Close()
	check(t, writeServing(dir, Serving{URL: "http://127.0.0.1:1", PID: os.Getpid()}))
	_, err = whoServes(context.Background(), c)
	refusedAt(t, "a file without a lock", err, "not-running", "No desk serves the home")
	lock, err := dir.TryLock(lockFile, holderUp)
	check(t, err)
	if s, err := whoServes(context.Background(), c); err != nil || s.URL != "http://127.0.0.1:1" {
		t.Errorf("%+v %v", s, err)
	}
	for what, content := range map[string]string{
		"another's": `{"pid":1,"ttl":"24h0m0s","url":"http://127.0.0.1:1"}`, "damaged": "{", "null": "null", "more": `{"pid":1,"ttl":"24h0m0s","url":"x","z":1}`, "empty": "", "large": strings.Repeat(" ", maxServing+1),
	} {
		write(t, c.DeskDir()+"/"+servingFile, content)
		_, err = whoServes(context.Background(), c)
		refusedAt(t, what, err, "not-running", "does not serve yet")
	}
	check(t, os.Remove(c.DeskDir()+"/"+servingFile))
	_, err = whoServes(context.Background(), c)
	refusedAt(t, "starting", err, "not-running", "does not serve yet")
	var held *durable.Held
	_, err = dir.TryLock(lockFile, "second")
	if !errors.As(err, &held) {
		t.Fatal(err)
	}
	refusedAt(t, "up", refuseServed(c, dir, held), "lock", "is served by another holdfast (process ")
	check(t, lock.Release())
	_, err = whoServes(context.Background(), c)
	refusedAt(t, "after it", err, "not-running", "No desk serves the home")
}

// What stands at HOLDFAST_URL may be anything. Red when askForLink believes an
// answer that is no link, or shows the credential.
func TestASignInLinkComesFromADeskOnly(t *testing.T) {
	for what, c := range map[string]struct {
		status     int
		body, link string
		kind       problem.Kind
	}{
		"a link":         {201, `{"path":"/desk/login?once=abc"}`, "/desk/login?once=abc", 0},
		"a refusal":      {403, `{"kind":"refused","step":"not-operator","reason":"No."}`, "", problem.Refused},
		"a page":         {200, "<p>x", "", problem.Failed},
		"nothing":        {502, "", "", problem.Failed},
		"another's link": {201, `{"path":"http://evil.example/login"}`, "", problem.Failed},
		"another's host": {201, `{"path":"//evil.example/login"}`, "", problem.Failed},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer secret-token" || r.Method != http.MethodPost || r.URL.Path != "/desk/api/v1/sign-in-links" {
				t.Errorf("asked with %s %s %v", r.Method, r.URL, r.Header)
			}
			w.WriteHeader(c.status)
			io.WriteString(w, c.body)
		}))
		u, err := url.Parse(server.URL + "/desk/")
		check(t, err)
		link, err := SignInLink(context.Background(), &config.Config{URL: u, Token: "secret-token"})
		server.Close()
		if c.kind == 0 && (err != nil || link != server.URL+c.link) {
			t.Errorf("%s: %q %v", what, link, err)
		}
		if c.kind != 0 && (err == nil || problem.KindOf(err) != c.kind || strings.Contains(err.Error(), "secret-token")) {
			t.Errorf("%s: %q %v", what, link, err)
		}
	}
}

// Red when Up opens anything before it has asked who could reach it.
func TestADeskForEverybodyNeedsALogin(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	for _, listen := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "example.invalid:0"} {
		c := &config.Config{Home: home, Listen: listen, BasePath: "/", Login: config.LoginOpen, TTL: 1}
		err := Up(context.Background(), c, Build{}, io.Discard, func(Serving) error { t.Error("serves"); return io.EOF })
		refusedAt(t, listen, err, "login", "Nothing was started")
		if _, err := os.Lstat(home); !os.IsNotExist(err) {
			t.Errorf("%s: made a home: %v", listen, err)
		}
	}
	for _, listen := range []string{"127.0.0.1:0", "localhost:0", "[::1]:0"} {
		check(t, checkExposure(&config.Config{Listen: listen, Login: config.LoginOpen}))
	}
	check(t, checkExposure(&config.Config{Listen: "0.0.0.0:0", Login: config.LoginRequired}))
}
