package web

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/internal/access"
)

// sink records what is handed to it for the kernel.
type sink struct {
	*httptest.ResponseRecorder
	parts     []int64
	files     bool
	deadlines int
}

func (s *sink) ReadFrom(src io.Reader) (int64, error) {
	limited, ok := src.(*io.LimitedReader)
	if ok {
		_, isFile := limited.R.(*os.File)
		s.files, s.parts = isFile, append(s.parts, limited.N)
	}
	return io.Copy(s.ResponseRecorder, src)
}

func (s *sink) SetWriteDeadline(time.Time) error { s.deadlines++; return nil }

func fileHouse(t *testing.T, size int) *house {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, bytes.Repeat([]byte("0123456789abcdef"), size/16), 0o600); err != nil {
		t.Fatal(err)
	}
	serve := func(w http.ResponseWriter, r *http.Request) error {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		http.ServeContent(w, r, "f.bin", time.Time{}, f)
		return nil
	}
	return newHouse(t, func(c *Config, _ *AuthConfig) {
		c.Routes = append(c.Routes, Route{Method: "GET", Pattern: "/file", Action: access.ReadPages, Handler: serve})
	})
}

// Red when: response has no ReadFrom, wraps the reader a second time, or does
// not extend between pieces.
func TestAFileIsStillSentByTheKernel(t *testing.T) {
	h := fileHouse(t, 5*piece/2)
	w := &sink{ResponseRecorder: httptest.NewRecorder()}
	r := httptest.NewRequest("GET", "/file", nil)
	r.Host = here
	h.ServeHTTP(w, r)
	if !w.files || fmt.Sprint(w.parts) != fmt.Sprint([]int64{piece, piece, piece / 2}) || w.Body.Len() != 5*piece/2 {
		t.Errorf("files %v, parts %v, %d bytes", w.files, w.parts, w.Body.Len())
	}
	if w.deadlines < 3 {
		t.Errorf("%d deadlines", w.deadlines)
	}
	if want := fmt.Sprintf("status=200 bytes=%d", 5*piece/2); !strings.Contains(h.log.String(), want) {
		t.Error(h.log.String())
	}
}

// case B15, as far as the chain could spoil it. Red when: response changes
// what http.ServeContent says.
func TestRangesComeThroughTheChain(t *testing.T) {
	h := fileHouse(t, 16)
	for value, want := range map[string]string{
		"":            "200  0123456789abcdef",
		"bytes=0-1":   "206 bytes 0-1/16 01",
		"bytes=-1":    "206 bytes 15-15/16 f",
		"bytes=5-2":   "416 ",
		"bytes=99-":   "416 bytes */16",
		"bytes=14-99": "206 bytes 14-15/16 ef",
	} {
		w := h.ask(t, "GET", "/file", "Range: "+value)
		got := fmt.Sprintf("%d %s %s", w.Code, w.Header().Get("Content-Range"), w.Body)
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", value, got)
		}
	}
	if w := h.ask(t, "GET", "/file", "Range: bytes=0-0,3-4"); w.Code != 206 || !strings.HasPrefix(w.Header().Get("Content-Type"), "multipart/byteranges") {
		t.Error(w.Code, w.Header())
	}
	if w := h.ask(t, "HEAD", "/file"); w.Code != 200 || w.Header().Get("Content-Length") != "16" {
		t.Error(w.Code, w.Header())
	}
}

// Red when: loggedPath keeps what follows "c", a token's segment, the query, or
// a path that it cannot read; fail logs another one.
func TestNoSecretOfAnAddressReachesTheLog(t *testing.T) {
	for _, base := range []string{"/", "/desk/"} {
		h := newHouse(t, withBase(base))
		token := h.content(t, "demo", "s1")
		for _, target := range []string{
			"/c/" + token + "/x", "/c/" + token, "/c//" + token, "/%63/" + token + "/", "/x/" + token, "/c/%20" + token + "/x", "/c/" + token + "/%2e%2e/y",
			"/login?once=" + token, "/fail/other?once=" + token, "/fail/late?x=" + token, "/fail/" + token,
		} {
			h.ask(t, "GET", strings.TrimSuffix(base, "/")+target)
			h.ask(t, "GET", target)
			h.ask(t, "GET", target, "Host: evil.example")
		}
		if log := h.log.String(); strings.Contains(log, token) || strings.Contains(log, token[6:40]) {
			t.Error(log)
		}
		if !strings.Contains(h.log.String(), `path=/c/-/x`) {
			t.Error("what was asked is not in the log")
		}
	}
}

// Red when: newResponse or the end of ServeHTTP does not extend (what was left
// over from an earlier request on the connection would end this one), or
// patientBody is not put around the body.
func TestEachRequestGetsItsOwnPatience(t *testing.T) {
	h := newHouse(t)
	w := &deadlines{sink: sink{ResponseRecorder: httptest.NewRecorder()}}
	r := httptest.NewRequest("PUT", "/b/demo/x", strings.NewReader("body"))
	r.Host = here
	r.Header.Set("Authorization", "Bearer "+h.key.OperatorToken())
	h.ServeHTTP(w, r)
	if w.Code != 200 || w.sink.deadlines != 2 || len(w.at) == 0 {
		t.Errorf("%d, %d for the response, %d for the body", w.Code, w.sink.deadlines, len(w.at))
	}
	if !strings.Contains(h.log.String(), "status=200 bytes=0") {
		t.Error(h.log.String())
	}
}

// Red when: response has no Unwrap or no FlushError.
func TestAHandlerStillReachesTheConnection(t *testing.T) {
	w := &sink{ResponseRecorder: httptest.NewRecorder()}
	out := newResponse(w)
	control := http.NewResponseController(out)
	before := w.deadlines
	if err := control.SetWriteDeadline(time.Now()); err != nil || w.deadlines != before+1 {
		t.Error(err, w.deadlines)
	}
	if err := control.Flush(); err != nil || !w.Flushed || out.status != 200 {
		t.Error(err, w.Flushed, out.status)
	}
}

// Red when: WriteHeader counts an informational status as the answer.
func TestAnEarlyHintIsNotTheAnswer(t *testing.T) {
	h := newHouse(t, func(c *Config, _ *AuthConfig) {
		c.Routes = append(c.Routes, Route{Method: "GET", Pattern: "/hint", Action: access.ReadPages, Handler: func(w http.ResponseWriter, r *http.Request) error {
			w.WriteHeader(http.StatusEarlyHints)
			return errSecretCause
		}})
	})
	if h.ask(t, "GET", "/hint"); !strings.Contains(h.log.String(), "status=500") {
		t.Error(h.log.String())
	}
}

// A reader that stopped reading, against the clock of a bubble. Red when:
// newResponse or begin does not extend.
func TestAReaderThatStoppedIsLeftAndASlowOneIsNot(t *testing.T) {
	for name, pause := range map[string]time.Duration{"slow": patience / 2, "stopped": 2 * patience} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, client := net.Pipe()
				failed := make(chan error, 1)
				go func() {
					defer server.Close()
					out := newResponse(pipeWriter{httptest.NewRecorder(), server})
					for range 4 {
						if _, err := out.Write([]byte("piece")); err != nil {
							failed <- err
							return
						}
					}
					failed <- nil
				}()
				buf := make([]byte, 5)
				for range 4 {
					time.Sleep(pause)
					io.ReadFull(client, buf) // nothing, once the writer has left
				}
				if err := <-failed; (err != nil) != (name == "stopped") {
					t.Error(err)
				}
			})
		})
	}
}

type pipeWriter struct {
	http.ResponseWriter
	conn net.Conn
}

func (p pipeWriter) Write(b []byte) (int, error)         { return p.conn.Write(b) }
func (p pipeWriter) SetWriteDeadline(at time.Time) error { return p.conn.SetWriteDeadline(at) }

// Red when: patient leaves the deadline of the body's last piece standing: the
// wait for the next request would end it.
func TestThePatienceForABodyEndsWithIt(t *testing.T) {
	d := &deadlines{sink: sink{ResponseRecorder: httptest.NewRecorder()}}
	body := patientBody(d, io.NopCloser(strings.NewReader("body")))
	if _, err := io.ReadAll(body); err != nil {
		t.Fatal(err)
	}
	if len(d.at) < 2 || d.at[0].IsZero() || !d.at[len(d.at)-1].IsZero() {
		t.Error(d.at)
	}
}

type deadlines struct {
	sink
	at []time.Time
}

func (d *deadlines) SetReadDeadline(at time.Time) error { d.at = append(d.at, at); return nil }

// Red when: fail returns: what is nothing yet would end as a whole, empty 200.
func TestARequestThatIsCancelledIsCut(t *testing.T) {
	h := newHouse(t, func(c *Config, _ *AuthConfig) {
		c.Routes = append(c.Routes, Route{Method: "GET", Pattern: "/wait", Action: access.ReadPages, Handler: func(w http.ResponseWriter, r *http.Request) error {
			return fmt.Errorf("waiting: %w", r.Context().Err())
		}})
	})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r := httptest.NewRequestWithContext(ctx, "GET", "/wait", nil)
	r.Host = here
	defer func() {
		if v := recover(); v != http.ErrAbortHandler || strings.Contains(h.log.String(), "incident") {
			t.Errorf("%v %s", v, h.log)
		}
	}()
	h.ServeHTTP(httptest.NewRecorder(), r)
}

func discardLog() *slog.Logger { return slog.New(slog.DiscardHandler) }
