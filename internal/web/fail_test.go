package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"holdfast/internal/access"
	"holdfast/internal/problem"

	"github.com/google/go-cmp/cmp"
)

// Red when: a row of Status changes.
func TestWhichStatusAnErrorHas(t *testing.T) {
	for want, errs := range map[int][]*problem.Error{
		401: {problem.Refusal(problem.StepNotSignedIn, "")},
		403: {problem.Refusal(problem.StepNotOperator, ""), problem.Refusal(access.StepOtherBooth, ""), problem.Refusal(problem.StepHost, ""), problem.Refusal(problem.StepOrigin, "")},
		404: {problem.New(problem.Gone, problem.StepNotFound, ""), problem.New(problem.Gone, "booth", "")},
		405: {problem.New(problem.Usage, problem.StepMethod, "")},
		400: {problem.New(problem.Usage, "name", "")},
		409: {problem.Refusal("marks", "")},
		413: {problem.Refusal(problem.StepTooLarge, "")},
		500: {problem.New(problem.Failed, problem.StepInternal, ""), problem.New(problem.Failed, "disk", ""), problem.New(0, "", "")},
		503: {problem.Refusal(StepBusy, "")},
		504: {problem.New(problem.Unknown, "push", "")},
		507: {problem.New(problem.Failed, problem.StepNoSpace, "")},
	} {
		for _, e := range errs {
			if got := Status(e); got != want {
				t.Errorf("%v %s: %d, want %d", e.Kind, e.Step, got, want)
			}
		}
	}
}

// Red when: writeProblem leaves a member out or sends the cause; resetHeaders
// keeps what was meant for the answer that did not come.
func TestAnErrorIsSentInItsPublicWords(t *testing.T) {
	h := newHouse(t)
	w := h.ask(t, "GET", "/api/v1/fail/refused", "Accept: text/html")
	var got map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"type": "about:blank", "title": "Conflict", "status": 409.0, "detail": "It is taken.",
		"kind": "refused", "step": "taken", "reason": "It is taken.", "hint": "wait",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if w.Code != 409 || w.Header().Get("Content-Type") != "application/problem+json" || w.Header().Get("ETag") != "" || w.Header().Get("Content-Length") != "" {
		t.Error(w.Code, w.Header())
	}
}

// Red when: publicWords uses the error's own text; fail does not log.
func TestAnErrorWithoutPublicWordsIsAnIncident(t *testing.T) {
	for _, how := range []string{"other", "panic"} {
		h := newHouse(t)
		w := h.ask(t, "GET", "/api/v1/fail/"+how)
		var p Problem
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
			t.Fatal(err)
		}
		if w.Code != 500 || p.Step != problem.StepInternal || p.Kind != "failed" || len(p.Incident) < 8 || strings.Contains(w.Body.String(), "secret") {
			t.Errorf("%s: %d %s", how, w.Code, w.Body)
		}
		if log := h.log.String(); !strings.Contains(log, "incident="+p.Incident) || !strings.Contains(log, "secret") {
			t.Errorf("%s: %s", how, log)
		}
	}
}

// Red when: fail writes the problem after the half that was sent, or returns.
func TestAResponseThatFailsHalfWayIsCut(t *testing.T) {
	for _, how := range []string{"late", "latepanic"} {
		h := newHouse(t)
		w := h.ask(t, "GET", "/fail/"+how)
		if w.Code != 0 || w.Body.String() != "half of" {
			t.Errorf("%s: %d %q", how, w.Code, w.Body)
		}
		if !strings.Contains(h.log.String(), "secret") {
			t.Error(h.log.String())
		}
	}
}

// Red when: wantsPage asks one header less.
func TestAPersonGetsAPageAndAProgramJSON(t *testing.T) {
	h := newHouse(t, withBase("/desk/"))
	const html, navigate = "Accept: text/html,application/xhtml+xml;q=0.9", "Sec-Fetch-Mode: navigate"
	for _, c := range []struct {
		target  string
		page    bool
		headers []string
	}{
		{"/desk/nothing", true, []string{html}},
		{"/desk/nothing", true, []string{html, navigate}},
		{"/desk/nothing", true, []string{navigate}},
		{"/desk/nothing", false, []string{html, "Sec-Fetch-Mode: cors"}},
		{"/desk/nothing", false, []string{"Accept: application/json"}},
		{"/desk/nothing", false, nil},
		{"/desk/api/v1/nothing", false, []string{html, navigate}},
		{"/api/v1/nothing", false, []string{html}},
		{"/desk/nothing/marks.json", false, []string{html}},
		{"/desk/nothing/api/x", true, []string{html}},
		{"/desk//", true, []string{html}},
	} {
		got := h.ask(t, "GET", c.target, c.headers...)
		want := "application/problem+json"
		if c.page {
			want = "text/html; charset=utf-8"
		}
		if got.Header().Get("Content-Type") != want {
			t.Errorf("%s %v: %s", c.target, c.headers, got.Header().Get("Content-Type"))
		}
		if c.page && !strings.Contains(got.Body.String(), `href="/desk/"`) {
			t.Error(got.Body)
		}
	}
}

// Red when: writeProblem does not fall back.
func TestThePageIsTheRenderersAndWithoutItJSON(t *testing.T) {
	var broken bool
	h := newHouse(t, func(c *Config, _ *AuthConfig) {
		c.ErrorPage = func(w io.Writer, r *http.Request, p Problem) error {
			fmt.Fprintf(w, "page of %d %s", p.Status, p.Step)
			if broken {
				return errors.New("template")
			}
			return nil
		}
	})
	if w := h.ask(t, "GET", "/nothing", "Accept: text/html"); w.Code != 404 || w.Body.String() != "page of 404 not-found" {
		t.Error(w.Code, w.Body)
	}
	broken = true
	if w := h.ask(t, "GET", "/nothing", "Accept: text/html"); w.Code != 404 || !json.Valid(w.Body.Bytes()) {
		t.Error(w.Code, w.Body)
	}
}

// Red when: failureHeaders leaves one out.
func TestARefusalSaysWhatTheStandardAsksFor(t *testing.T) {
	h := newHouse(t)
	if w := h.ask(t, "POST", "/b/demo/keep"); w.Code != 401 || w.Header().Get("WWW-Authenticate") == "" {
		t.Error(w.Code, w.Header())
	}
}
