package reach

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/access"
	"holdfast/internal/booth"
	"holdfast/internal/booth/desk"
	"holdfast/internal/booth/folder"
	"holdfast/internal/booth/ledger"
	"holdfast/internal/durable"
	"holdfast/internal/page"
	"holdfast/internal/problem"
	"holdfast/internal/web"
)

// booths is what the command line reaches booths by.
type booths interface {
	List(ctx context.Context) ([]booth.Summary, error)
	Show(ctx context.Context, name string) (booth.Listing, error)
	Explain(ctx context.Context, name string) (booth.Explanation, error)
	Put(ctx context.Context, name string, item folder.ItemPath, file folder.Sized) error
	Describe(ctx context.Context, name string, change booth.Change) error
}

const ttl = 24 * time.Hour

func openData(t *testing.T) (*folder.Data, string) {
	t.Helper()
	path := t.TempDir()
	data, err := folder.OpenData(path)
	check(t, err)
	t.Cleanup(func() { data.Close() })
	return data, path
}

// newLedger is a desk's ledger, and what has it see every booth that is there.
func newLedger(t *testing.T, data *folder.Data) (known *ledger.Ledger, arrive func()) {
	t.Helper()
	dir, err := durable.OpenDir(t.TempDir())
	check(t, err)
	t.Cleanup(func() { dir.Close() })
	known = ledger.New(dir)
	return known, func() {
		seen := map[string]time.Time{}
		names, err := data.Names()
		check(t, err)
		for _, n := range names {
			b, err := data.Booth(n)
			check(t, err)
			seen[ledger.Key(n, b.ID())] = time.Now()
			check(t, b.Close())
		}
		check(t, known.SetArrivals(seen))
	}
}

// remote is a desk over data, below a base path, and the operator who reaches it.
func remote(t *testing.T, data *folder.Data, known *ledger.Ledger) Remote {
	t.Helper()
	return remoteWith(t, data, known, nil)
}

// remoteWith is remote with a sweeper.
func remoteWith(t *testing.T, data *folder.Data, known *ledger.Ledger, sweeper desk.Sweeper) Remote {
	t.Helper()
	key, err := access.LoadOrCreateKey(t.TempDir())
	check(t, err)
	base, err := web.ParseBase("/desk/")
	check(t, err)
	server := httptest.NewUnstartedServer(nil)
	hosts, err := web.NewHosts(server.Listener.Addr(), nil, nil)
	check(t, err)
	auth, err := web.NewAuth(web.AuthConfig{Key: key, Principal: "principal:local/h/u", Links: new(access.Links), Base: base})
	check(t, err)
	quiet := slog.New(slog.DiscardHandler)
	house, err := page.New(base)
	check(t, err)
	d, err := desk.New(desk.Config{House: house, Data: data, Ledger: known, Sweeper: sweeper, TTL: ttl, Base: base, Key: key, Live: func() string { return "" }, Watched: func(string) bool { return false }, Log: quiet, Now: time.Now})
	check(t, err)
	server.Config.Handler, err = web.NewSite(web.Config{Base: base, Hosts: hosts, Auth: auth, Routes: d.Routes(), ErrorPage: house.ErrorPage, Log: quiet})
	check(t, err)
	server.Start()
	t.Cleanup(server.Close)
	return at(t, server.URL+"/desk/", key.OperatorToken())
}

func at(t *testing.T, address, token string) Remote {
	t.Helper()
	u, err := url.Parse(address)
	check(t, err)
	return Remote{Base: u, Token: token, HTTP: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func item(t *testing.T, s string) folder.ItemPath {
	t.Helper()
	p, err := folder.ParseItem(s)
	check(t, err)
	return p
}

func text(s string) folder.Sized {
	return folder.Sized{Reader: strings.NewReader(s), Length: int64(len(s))}
}

func title(s string) booth.Change { return booth.Change{Title: &s} }

// conform is what both ways promise: the same documents, and the same problems.
// It gives what it saw, so that the two can be compared.
func conform(t *testing.T, b booths, path string, arrive func()) []string {
	var saw []string
	ctx := context.Background()
	note := func(what string, err error) {
		if err == nil {
			saw = append(saw, what+": done")
			return
		}
		p := problem.From(err, "no words")
		saw = append(saw, fmt.Sprintf("%s: %s at %s: %s", what, p.Kind, p.Step, p.Reason))
	}
	refused := func(what string, err error, kind problem.Kind, step string) {
		t.Helper()
		note(what, err)
		if p := problem.From(err, ""); err == nil || p.Kind != kind || p.Step != step {
			t.Errorf("%s: %v, want %s at %s", what, err, kind, step)
		}
	}
	if list, err := b.List(ctx); err != nil || list == nil || len(list) != 0 {
		t.Errorf("no booths: %v %v", list, err)
	}
	names := []string{"demo", "a b#?%", "\xff\n", "');alert(1)", "view"}
	for _, n := range names {
		for _, i := range []string{"a.txt", "d/e #?%.txt", "\xff", "view", "c/x"} {
			check(t, b.Put(ctx, n, item(t, i), text(n+i)))
			if got, err := os.ReadFile(path + "/" + n + "/" + i); err != nil || string(got) != n+i {
				t.Errorf("%q in %q: %q %v", i, n, got, err)
			}
		}
		check(t, b.Put(ctx, n, item(t, "a.txt"), text("")))
		check(t, b.Describe(ctx, n, title("called "+strings.ToValidUTF8(n, "?"))))
	}
	check(t, b.Describe(ctx, "described", title("by its title alone")))
	arrive()
	list, err := b.List(ctx)
	check(t, err)
	if len(list) != len(names)+1 {
		t.Errorf("%d booths", len(list))
	}
	for _, s := range list {
		name, err := url.PathUnescape(s.URL)
		check(t, err)
		shown, err := b.Show(ctx, name)
		check(t, err)
		explained, err := b.Explain(ctx, name)
		check(t, err)
		shown.State.Line, explained.State.Line, s.State.Line = "", "", "" // which says how long from now
		if d := cmp.Diff(s, shown.Summary) + cmp.Diff(s, explained.Summary); d != "" {
			t.Error(d)
		}
		if explained.Rule == "" || shown.Files == nil || shown.Unserved == nil {
			t.Errorf("%+v %+v", explained, shown)
		}
		for i := range shown.Files { // the time at which this run made it
			shown.Files[i].At = ""
		}
		saw = append(saw, fmt.Sprintf("%q %q %s %d %d %+v", s.Name, s.URL, s.Title, s.Items, s.Bytes, shown.Files))
	}
	// Gone.
	for _, n := range []string{"none", ".hidden", "", ".", "..", "a/b", "x\x00", "../up", strings.Repeat("n", 256)} {
		_, err := b.Show(ctx, n)
		refused(fmt.Sprintf("show %q", n), err, problem.Gone, "booth")
		_, err = b.Explain(ctx, n)
		refused(fmt.Sprintf("explain %q", n), err, problem.Gone, "booth")
		if n == "none" {
			continue
		}
		refused(fmt.Sprintf("put into %q", n), b.Put(ctx, n, item(t, "a"), text("x")), problem.Usage, "booth-name")
		refused(fmt.Sprintf("describe %q", n), b.Describe(ctx, n, title("x")), problem.Usage, "booth-name")
	}
	// Refused.
	check(t, os.Symlink("a.txt", path+"/demo/link"))
	check(t, os.WriteFile(path+"/file", nil, 0o644))
	refused("put onto a link", b.Put(ctx, "demo", item(t, "link"), text("x")), problem.Refused, "not-served")
	refused("put onto a folder", b.Put(ctx, "demo", item(t, "d"), text("x")), problem.Refused, "not-served")
	refused("put below a file", b.Put(ctx, "demo", item(t, "a.txt/b"), text("x")), problem.Refused, "not-served")
	refused("a booth that is a file", b.Put(ctx, "file", item(t, "a"), text("x")), problem.Refused, "booth")
	check(t, os.WriteFile(path+"/demo/.booth.json", []byte("null"), 0o644))
	refused("describe a damaged manifest", b.Describe(ctx, "demo", title("x")), problem.Refused, "manifest")
	if got, err := os.ReadFile(path + "/demo/.booth.json"); err != nil || string(got) != "null" {
		t.Errorf("%q %v", got, err)
	}
	return saw
}

// Red when one of the two checks a name that the other takes, or gives a problem
// another kind, step or words.
func TestLocalAndRemoteAnswerAlike(t *testing.T) {
	data, path := openData(t)
	known, arrive := newLedger(t, data)
	local := conform(t, Local{Data: data, Ledger: known, TTL: ttl}, path, arrive)
	data, path = openData(t)
	known, arrive = newLedger(t, data)
	far := conform(t, remote(t, data, known), path, arrive)
	if d := cmp.Diff(local, far); d != "" {
		t.Error(d)
	}
}

// Red when a file that ends early is put all the same.
func TestAFileOfAnotherLengthIsNotPut(t *testing.T) {
	data, path := openData(t)
	check(t, os.MkdirAll(path+"/x", 0o755))
	check(t, os.WriteFile(path+"/x/a", []byte("old"), 0o644))
	for name, b := range map[string]booths{"local": Local{Data: data, TTL: ttl}, "remote": remote(t, data, nil)} {
		err := b.Put(context.Background(), "x", item(t, "a"), folder.Sized{Reader: strings.NewReader("short"), Length: 1 << 20})
		if err == nil {
			t.Errorf("%s: done", name)
		}
		if got, err := os.ReadFile(path + "/x/a"); err != nil || string(got) != "old" {
			t.Errorf("%s: %q %v", name, got, err)
		}
	}
}

// ask runs each of the calls, reads first, and gives their errors.
func ask(t *testing.T, r Remote) (reads, writes []error) {
	t.Helper()
	ctx := context.Background()
	_, list := r.List(ctx)
	_, show := r.Show(ctx, "x")
	_, explain := r.Explain(ctx, "x")
	return []error{list, show, explain}, []error{r.Put(ctx, "x", item(t, "a"), text("x")), r.Describe(ctx, "x", title("x"))}
}

// askMore is ask with the calls about marks and decisions too.
func askMore(t *testing.T, r Remote) (reads, writes []error) {
	t.Helper()
	ctx := context.Background()
	reads, writes = ask(t, r)
	_, marks := r.Marks(ctx, "x")
	_, watch := r.Watch(ctx, "x", 1, nil)
	_, trash := r.Trash(ctx)
	_, census := r.Census(ctx)
	_, asked := r.Ask(ctx, "x", question("Which?", ""))
	_, kept := r.Keep(ctx, "x", booth.Keeping{})
	_, removed := r.Remove(ctx, "x")
	_, restored := r.Restore(ctx, "x")
	_, swept := r.Sweep(ctx, false)
	return append(reads, marks, watch, trash, census), append(writes, asked, kept, removed, restored, swept)
}

func each(t *testing.T, what string, errs []error, kind problem.Kind, says string) {
	t.Helper()
	for i, err := range errs {
		p := problem.From(err, "")
		if err == nil || p.Kind != kind || p.Step != "server" || !strings.Contains(p.Reason+" "+p.Hint, says) {
			t.Errorf("%s, call %d: %v, want %s and %q", what, i, err, kind, says)
		}
	}
}

// Nothing was sent, so nothing was changed. Red when noAnswer does not tell a
// dial from what comes after it.
func TestAServerThatIsNotThereChangedNothing(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	check(t, ln.Close())
	reads, writes := askMore(t, at(t, "http://"+ln.Addr().String()+"/", ""))
	each(t, "reads", reads, problem.Failed, "Nothing was changed")
	each(t, "writes", writes, problem.Failed, "Nothing was changed")
}

// The request was sent whole, and the server went away, before it answered or in
// the middle of it. Red when noAnswer calls a write that was sent a failure.
func TestAWriteWithoutAnAnswerIsUnknown(t *testing.T) {
	for what, answer := range map[string]string{"nothing": "", "half a head": "HTTP/1.1 201 Cre", "half a body": "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", "no HTTP": "SSH-2.0-x\r\n\r\n", "a reset": ""} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		check(t, err)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for {
				conn, err := ln.Accept()
				if err != nil {
					return
				}
				if req, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
					io.Copy(io.Discard, req.Body)
				}
				io.WriteString(conn, answer)
				if what == "a reset" {
					conn.(*net.TCPConn).SetLinger(0)
				}
				conn.Close()
			}
		}()
		reads, writes := askMore(t, at(t, "http://"+ln.Addr().String()+"/", ""))
		each(t, what+", reads", reads, problem.Failed, "no answer")
		each(t, what+", writes", writes, problem.Unknown, "not known")
		check(t, ln.Close())
		<-ended
	}
}

// Red when a redirect is followed, which makes a GET of a PUT and succeeds; when
// any 2xx counts as done; or when a proxy's 502 says that nothing was changed.
func TestAnAnswerThatIsNotTheDesksIsNoSuccess(t *testing.T) {
	for _, c := range []struct {
		status      int
		kind, body  string
		read, write problem.Kind
		says        string
	}{
		{200, "text/html", "<p>Welcome", problem.Failed, problem.Unknown, "no answer of Holdfast's"},
		{200, "application/json", "", problem.Failed, problem.Unknown, "no answer of Holdfast's"},
		{301, "text/html", "", problem.Failed, problem.Failed, "it points to http://elsewhere.example/login"},
		{302, "text/html", "", problem.Failed, problem.Failed, "it points to"},
		{303, "text/html", "", problem.Failed, problem.Failed, "it points to"},
		{307, "text/html", "", problem.Failed, problem.Failed, "it points to"},
		{308, "text/html", "", problem.Failed, problem.Failed, "it points to"},
		{404, "text/html", "<p>no", problem.Failed, problem.Failed, "404"},
		{401, "application/json", `{"kind":"nonsense"}`, problem.Failed, problem.Failed, "401"},
		{502, "text/html", "<p>Bad Gateway", problem.Failed, problem.Unknown, "502"},
		{504, "", "", problem.Failed, problem.Unknown, "504"},
	} {
		followed := false
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			if strings.HasSuffix(r.URL.Path, "/login") {
				followed = true
			}
			if c.status/100 == 3 {
				w.Header().Set("Location", "http://elsewhere.example/login")
			}
			w.Header().Set("Content-Type", c.kind)
			w.WriteHeader(c.status)
			io.WriteString(w, c.body)
		}))
		reads, writes := askMore(t, at(t, server.URL+"/", "secret-token"))
		each(t, fmt.Sprint(c.status, " reads"), reads, c.read, c.says)
		each(t, fmt.Sprint(c.status, " writes"), writes, c.write, c.says)
		for _, err := range append(reads, writes...) {
			if strings.Contains(fmt.Sprint(err), "secret-token") {
				t.Errorf("the credential is in %v", err)
			}
		}
		server.Close()
		if followed {
			t.Errorf("%d was followed", c.status)
		}
	}
}

// Red when the redirect of a write is followed on the same server.
func TestARedirectedWriteIsNotARead(t *testing.T) {
	var methods []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		methods = append(methods, r.Method)
		if r.Method == http.MethodPut {
			http.Redirect(w, r, "/there", http.StatusSeeOther)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	defer server.Close()
	err := at(t, server.URL+"/", "").Put(context.Background(), "x", item(t, "a"), text("x"))
	if problem.KindOf(err) != problem.Failed || len(methods) != 1 {
		t.Errorf("%v %v", methods, err)
	}
}

// The server's own words come through. Red when refusal makes new ones.
func TestTheServersWordsComeThrough(t *testing.T) {
	data, _ := openData(t)
	r := remote(t, data, nil)
	r.Token = "no token"
	_, writes := ask(t, r)
	for _, err := range writes {
		if p := problem.From(err, ""); p.Kind != problem.Refused || p.Step != problem.StepNotSignedIn || p.Reason == "" {
			t.Errorf("%v", err)
		}
	}
}

// Red when the request does not take the context along.
func TestACallEndsWithItsContext(t *testing.T) {
	data, _ := openData(t)
	r := remote(t, data, nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := r.List(ctx); err == nil {
		t.Error("done")
	}
	if _, err := (Local{Data: data, TTL: ttl}).List(ctx); err != nil {
		t.Errorf("nothing to list: %v", err)
	}
}
