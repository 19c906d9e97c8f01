package web

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"holdfast/internal/access"
	"holdfast/internal/problem"
)

// served runs h until the test or stop ends it.
func served(t *testing.T, handler func(addr string) http.Handler, grace time.Duration) (addr string, stop func() error) {
	t.Helper()
	ln, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- Serve(ctx, ln, handler(ln.Addr().String()), ServeConfig{Grace: grace, Log: discardLog()})
	}()
	t.Cleanup(cancel)
	return ln.Addr().String(), func() error { cancel(); return <-done }
}

func houseAt(t *testing.T, routes ...Route) func(string) http.Handler {
	return func(addr string) http.Handler {
		return newHouse(t, func(c *Config, _ *AuthConfig) {
			hosts, err := NewHosts(tcp(addr), nil, nil)
			if err != nil {
				t.Error(err)
			}
			c.Hosts, c.Routes = hosts, append(c.Routes, routes...)
		})
	}
}

// raw sends one request as it is, and answers with all that comes back.
func raw(t *testing.T, addr, request string) string {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "%s\r\nHost: %s\r\nConnection: close\r\n\r\n", request, addr)
	answer, err := io.ReadAll(conn)
	if err != nil {
		t.Error(err)
	}
	return string(answer)
}

// case B02, over a socket, with nobody between who would clean the path.
func TestNoRequestLineLeadsOutOfTheSite(t *testing.T) {
	addr, stop := served(t, houseAt(t), time.Second)
	for _, target := range []string{
		"/b/x/../../etc/passwd", "/b/x/%2e%2e/%2e%2e/etc/passwd", "/b/x/..%2f..%2fetc/passwd", "//b/x/", "/b/x//", "/b/x/%00",
		"/b/x/\xff%2f..", "http://" + addr + "/b/x/../y", "//evil.example/..",
	} {
		if answer := raw(t, addr, "GET "+target+" HTTP/1.1"); !strings.HasPrefix(answer, "HTTP/1.1 404 ") || strings.Contains(answer, "Location:") {
			t.Errorf("%s: %s", target, answer)
		}
	}
	for _, target := range []string{"/b/x/%zz", "/b/x/%", "*", "b/x"} {
		if answer := raw(t, addr, "GET "+target+" HTTP/1.1"); !strings.HasPrefix(answer, "HTTP/1.1 40") {
			t.Errorf("%s: %s", target, answer)
		}
	}
	if answer := raw(t, addr, "GET /b/x/a%0Ab HTTP/1.1"); !strings.HasSuffix(answer, `item "x" "a\nb"`) {
		t.Error(answer)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// Red when: fail returns instead of cutting: the length would be made up.
func TestACutResponseDoesNotLookWhole(t *testing.T) {
	addr, stop := served(t, houseAt(t), time.Second)
	res, err := http.Get("http://" + addr + "/fail/late")
	if err == nil {
		_, err = io.ReadAll(res.Body)
		res.Body.Close()
	}
	if err == nil {
		t.Error("half of it was taken for the whole")
	}
	http.DefaultClient.CloseIdleConnections()
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// Red when: Serve does not close stopping, or gives requests its own context.
func TestStoppingEndsStreamsAndLetsRequestsFinish(t *testing.T) {
	events := NewEvents(4)
	entered, release := make(chan struct{}), make(chan struct{})
	slow := func(w http.ResponseWriter, r *http.Request) error {
		close(entered)
		<-Stopping(r.Context())
		<-release
		if r.Context().Err() != nil {
			t.Error("a request under way was cancelled")
		}
		_, err := io.WriteString(w, "finished")
		return err
	}
	addr, stop := served(t, houseAt(t,
		Route{Method: "GET", Pattern: "/events", Action: access.ReadPages, Handler: events.Serve},
		Route{Method: "GET", Pattern: "/slow", Action: access.ReadPages, Handler: slow},
	), time.Minute)
	stream, err := http.Get("http://" + addr + "/events")
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(stream.Body)
	if line, err := lines.ReadString('\n'); err != nil || !strings.HasPrefix(line, "id: ") {
		t.Fatal(line, err)
	}
	answer := make(chan string, 1)
	go func() { answer <- raw(t, addr, "GET /slow HTTP/1.1") }()
	<-entered
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	if _, err := io.ReadAll(lines); err != nil {
		t.Errorf("the stream was cut: %v", err)
	}
	stream.Body.Close()
	close(release)
	if got := <-answer; !strings.HasSuffix(got, "finished") {
		t.Error(got)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	http.DefaultClient.CloseIdleConnections()
}

// Red when: shutdown does not close what is left.
func TestWhatDoesNotEndInTheGraceIsCutAndSaid(t *testing.T) {
	entered := make(chan struct{})
	left := make(chan struct{})
	stuck := func(w http.ResponseWriter, r *http.Request) error {
		close(entered)
		<-r.Context().Done()
		close(left)
		return r.Context().Err()
	}
	addr, stop := served(t, houseAt(t, Route{Method: "GET", Pattern: "/stuck", Action: access.ReadPages, Handler: stuck}), time.Millisecond)
	go func() {
		if res, err := http.Get("http://" + addr + "/stuck"); err == nil {
			res.Body.Close()
		}
	}()
	<-entered
	if err := stop(); problem.KindOf(err) != problem.Failed || !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	<-left
	http.DefaultClient.CloseIdleConnections()
}

// Red when: a case of Listen is left out.
func TestAnAddressThatCannotBeTakenIsRefusedInWords(t *testing.T) {
	taken, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for addr, words := range map[string]string{
		taken.Addr().String():    "Another program",
		"192.0.2.1:0":            "no address of this machine",
		"7433":                   "no address to listen on",
		"127.0.0.1":              "no address to listen on",
		"127.0.0.1:":             "no address to listen on",
		"127.0.0.1:99999":        "cannot be used",
		"no-such-host.invalid:1": "cannot be used",
	} {
		ln, err := Listen(addr)
		if err == nil {
			ln.Close()
		}
		var e *problem.Error
		if !errors.As(err, &e) || e.Step != "listen" || !strings.Contains(e.Reason, words) || !strings.Contains(e.Hint, "--listen") {
			t.Errorf("%s: %v", addr, err)
		}
	}
}

// Red when: IsLoopback believes a prefix or a name.
func TestWhatOnlyThisMachineCanReach(t *testing.T) {
	for addr, want := range map[string]bool{
		"127.0.0.1:1": true, "127.8.9.1:1": true, "[::1]:1": true, "localhost:1": true, "[::ffff:127.0.0.1]:1": true,
		":1": false, "0.0.0.0:1": false, "[::]:1": false, "10.0.0.1:1": false, "127.0.0.1.evil.example:1": false, "localhost.evil.example:1": false, "127.0.0.1": false, "": false,
	} {
		if got := IsLoopback(addr); got != want {
			t.Errorf("%s: %v", addr, got)
		}
	}
}
