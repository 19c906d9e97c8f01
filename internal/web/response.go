package web

import (
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"holdfast/internal/access"
)

const (
	// patience is how long one piece of a request or a response may take.
	// There is no limit on the whole: a video or an upload may take hours, and
	// a reader that stopped reading is noticed all the same.
	patience = 2 * time.Minute
	// piece is how much is handed to the kernel at a time, so that the limit
	// can be moved on between two pieces.
	piece = 1 << 20
)

// response counts what is sent and moves the write deadline on with it. It
// keeps io.ReaderFrom, so that the kernel still sends files, and is
// transparent to http.ResponseController.
type response struct {
	http.ResponseWriter
	control *http.ResponseController
	status  int   // 0: nothing has been sent yet
	bytes   int64 // of the body
	party   string
	route   string
	content bool // it came out of a booth: errors are sandboxed as well
}

func newResponse(w http.ResponseWriter) *response {
	out := &response{ResponseWriter: w, control: http.NewResponseController(w), party: "unknown"}
	out.extend()
	return out
}

// extend gives the next piece its time. A writer without deadlines (a test's)
// has none.
func (w *response) extend() { w.control.SetWriteDeadline(time.Now().Add(patience)) }

func (w *response) WriteHeader(status int) {
	if w.status == 0 && status >= 200 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *response) begin() {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	w.extend()
}

func (w *response) Write(b []byte) (int, error) {
	w.begin()
	n, err := w.ResponseWriter.Write(b)
	w.bytes += int64(n)
	return n, err
}

// ReadFrom sends src. A file goes piece by piece by the kernel, which sees it
// only through a single LimitedReader, so a second one is never put around the
// first; anything else goes through Write, as fast as it comes.
func (w *response) ReadFrom(src io.Reader) (total int64, err error) {
	limited, ok := src.(*io.LimitedReader)
	if !ok {
		limited = &io.LimitedReader{R: src, N: math.MaxInt64}
	}
	rf, canSend := w.ResponseWriter.(io.ReaderFrom)
	if _, isFile := limited.R.(syscall.Conn); !isFile || !canSend {
		return io.Copy(struct{ io.Writer }{w}, limited)
	}
	for limited.N > 0 && err == nil {
		w.begin()
		part := &io.LimitedReader{R: limited.R, N: min(piece, limited.N)}
		var n int64
		n, err = rf.ReadFrom(part)
		limited.N -= n
		total += n
		w.bytes += n
		if part.N > 0 { // the file has ended
			break
		}
	}
	return total, err
}

func (w *response) FlushError() error {
	w.begin()
	return w.control.Flush()
}

func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// patient moves the read deadline on with each piece of a request's body.
type patient struct {
	io.ReadCloser
	control *http.ResponseController
}

func patientBody(w http.ResponseWriter, body io.ReadCloser) io.ReadCloser {
	if body == nil || body == http.NoBody {
		return body
	}
	return patient{body, http.NewResponseController(w)}
}

func (p patient) Read(b []byte) (int, error) {
	p.control.SetReadDeadline(time.Now().Add(patience))
	n, err := p.ReadCloser.Read(b)
	if err != nil {
		// After the body the server listens for the client's leaving, and must
		// not take the end of our patience for it.
		p.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// LimitBody lets a request carry at most n bytes. Reading on is an error that
// becomes a refusal at problem.StepTooLarge.
func LimitBody(w http.ResponseWriter, r *http.Request, n int64) {
	if r.Body != nil {
		r.Body = http.MaxBytesReader(w, r.Body, n)
	}
}

func (s *Site) logRequest(w *response, r *http.Request, began time.Time) {
	remote, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		remote = r.RemoteAddr
	}
	took := time.Since(began)
	s.log.Log(r.Context(), requestLevel(r, w.status), "request", "method", r.Method, "path", loggedPath(r.URL), "route", w.route, "status", w.status,
		"bytes", w.bytes, "took", took, "party", w.party, "remote", remote)
	if s.count != nil && w.route != "" {
		s.count(w.route, w.status, took)
	}
}

// requestLevel: a read that went well is of interest only to somebody who looks
// for it.
func requestLevel(r *http.Request, status int) slog.Level {
	if safeMethod(r.Method) && status < http.StatusBadRequest {
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// loggedPath is a request's path without what opens anything: no query, since a
// sign-in link is one, and no path token.
func loggedPath(u *url.URL) string {
	path, err := parsePath(u)
	if err != nil {
		// Not taken apart, it cannot be told where a secret might be.
		return "(malformed)"
	}
	for i, segment := range path {
		if i > 0 && path[i-1] == "c" || access.IsToken(segment) {
			path[i] = "-"
		}
	}
	const most = 1 << 10
	text := "/" + strings.Join(path, "/")
	return text[:min(len(text), most)]
}
