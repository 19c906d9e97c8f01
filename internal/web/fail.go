package web

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"html/template"
	"io"
	"net/http"
	"strings"

	"holdfast/internal/access"
	"holdfast/internal/problem"
)

// StepBusy refuses for now: too many of the same are under way.
const StepBusy = "busy"

// Problem is an error as it is sent: the members of RFC 9457, and the command
// line's own words beside them.
type Problem struct {
	Type     string `json:"type"`
	Title    string `json:"title"`
	Status   int    `json:"status"`
	Detail   string `json:"detail"`
	Kind     string `json:"kind"`
	Step     string `json:"step"`
	Reason   string `json:"reason"`
	Hint     string `json:"hint,omitempty"`
	Incident string `json:"incident,omitempty"` // finds the cause in the log
}

// NewProblem is an error as it is sent.
func NewProblem(e *problem.Error) Problem {
	return Problem{
		Type: "about:blank", Title: http.StatusText(Status(e)), Status: Status(e), Detail: e.Reason,
		Kind: e.Kind.String(), Step: e.Step, Reason: e.Reason, Hint: e.Hint,
	}
}

// Status is the status for an error: by its step, where that says more than
// its kind.
func Status(e *problem.Error) int {
	switch e.Step {
	case problem.StepNotSignedIn:
		return http.StatusUnauthorized
	case problem.StepNotOperator, problem.StepHost, problem.StepOrigin, access.StepOtherBooth:
		return http.StatusForbidden
	case problem.StepTooLarge:
		return http.StatusRequestEntityTooLarge
	case problem.StepNoSpace:
		return http.StatusInsufficientStorage
	case problem.StepMethod:
		return http.StatusMethodNotAllowed
	case StepBusy:
		return http.StatusServiceUnavailable
	}
	switch e.Kind {
	case problem.Gone:
		return http.StatusNotFound
	case problem.Usage:
		return http.StatusBadRequest
	case problem.Refused:
		return http.StatusConflict
	case problem.Unknown:
		return http.StatusGatewayTimeout
	case problem.Failed:
		return http.StatusInternalServerError
	default:
		return http.StatusInternalServerError
	}
}

// methodError also says which methods there are.
type methodError struct {
	allow []string
	words *problem.Error
}

func (e methodError) Error() string { return e.words.Error() }
func (e methodError) Unwrap() error { return e.words }

// unavailable is an error after which the same request may do later.
type unavailable struct{ error }

func (e unavailable) Unwrap() error { return e.error }

// Unavailable is err, to be answered with 503: what was asked for is right, and what
// it needs cannot be had now.
func Unavailable(err error) error { return unavailable{err} }

// publicWords finds what may be said about err.
func publicWords(err error) *problem.Error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return problem.Refusal(problem.StepTooLarge, "This is more than the %d bytes that may be sent here.", tooLarge.Limit).Because(err)
	}
	return problem.From(err, "Something broke here. It is in the server's log.")
}

// fail answers with err. A response that has begun cannot be taken back: the
// connection is cut, so that nobody takes a part for the whole.
func (s *Site) fail(w *response, r *http.Request, err error) {
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		panic(http.ErrAbortHandler) // nobody is there to read it
	}
	e := publicWords(err)
	p := NewProblem(e)
	if later := (unavailable{}); errors.As(err, &later) {
		p.Status, p.Title = http.StatusServiceUnavailable, http.StatusText(http.StatusServiceUnavailable)
	}
	if w.status != 0 || e.Kind == problem.Failed || e.Kind == problem.Unknown {
		p.Incident = strings.ToLower(rand.Text()[:10])
		s.log.Error("request failed", "incident", p.Incident, "route", w.route, "path", loggedPath(r.URL), "cause", err)
	}
	if w.status != 0 {
		panic(http.ErrAbortHandler)
	}
	resetHeaders(w)
	failureHeaders(w.Header(), err, p.Status)
	s.writeProblem(w, r, p)
}

// resetHeaders forgets what the handler had begun to say, but not a cookie,
// and not that this address is a secret.
func resetHeaders(w *response) {
	h := w.Header()
	cookies, referrer := h["Set-Cookie"], h.Get("Referrer-Policy")
	clear(h)
	strictHeaders(h)
	if w.content {
		Sandbox(w, true)
	}
	if referrer == "no-referrer" {
		h.Set("Referrer-Policy", referrer)
	}
	if cookies != nil {
		h["Set-Cookie"] = cookies
	}
}

func failureHeaders(h http.Header, err error, status int) {
	var method methodError
	if errors.As(err, &method) {
		h.Set("Allow", strings.Join(method.allow, ", "))
	}
	switch status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", `Bearer realm="holdfast"`)
	case http.StatusServiceUnavailable:
		h.Set("Retry-After", "10")
	}
}

func (s *Site) writeProblem(w *response, r *http.Request, p Problem) {
	if w.content && s.wantsPage(r) { // in a report's frame: the desk's page does not belong there
		send(w, p.Status, "text/plain; charset=utf-8", []byte(p.Reason+"\n"+p.Hint+"\n"))
		return
	}
	if s.wantsPage(r) {
		var page bytes.Buffer
		err := s.page(&page, s.withSender(w, r), p)
		if err == nil {
			send(w, p.Status, "text/html; charset=utf-8", page.Bytes())
			return
		}
		s.log.Error("the error page failed", "cause", err)
	}
	body, err := json.Marshal(p)
	if err != nil {
		body = []byte(`{}`)
	}
	send(w, p.Status, "application/problem+json", body)
}

// withSender is r with its party, for a page that says who is signed in: what
// failed may have failed before that was asked.
func (s *Site) withSender(w *response, r *http.Request) *http.Request {
	party, err := s.auth.identify(w, r)
	if err != nil {
		return r
	}
	return withParty(r, party)
}

// wantsPage says whether a person is going to look at the answer.
func (s *Site) wantsPage(r *http.Request) bool {
	if path, err := parsePath(r.URL); err == nil {
		path, _ = s.base.strip(path)
		if len(path) > 0 && (path[0] == "api" || strings.HasSuffix(path[len(path)-1], ".json")) {
			return false
		}
	}
	if mode := r.Header.Get("Sec-Fetch-Mode"); mode != "" {
		return mode == "navigate"
	}
	return strings.Contains(r.Header.Get("Accept"), "text/html")
}

// WriteJSON answers with v, whole or not at all.
func WriteJSON(w http.ResponseWriter, status int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	send(w, status, "application/json", append(body, '\n'))
	return nil
}

func send(w http.ResponseWriter, status int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	w.Write(body) // an error here is the reader's leaving
}

var bare = template.Must(template.New("").Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{{.P.Title}}</title>
<main><h1>{{.P.Title}}</h1>
<p>{{.P.Reason}}</p>
{{with .P.Hint}}<p>{{.}}</p>{{end}}{{with .P.Incident}}<p>Incident {{.}}</p>{{end}}
<p><a href="{{.Base}}">To the desk</a></p></main></html>
`))

func barePage(base Base) func(io.Writer, *http.Request, Problem) error {
	return func(w io.Writer, _ *http.Request, p Problem) error {
		return bare.Execute(w, struct {
			P    Problem
			Base string
		}{p, base.String()})
	}
}
