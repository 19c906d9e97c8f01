package app

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"holdfast/internal/app/config"
	"holdfast/internal/roadmap/observation"
)

func ask(site http.Handler, path string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "http://"+listening+path, nil)
	r.Header.Set("Accept", "text/html")
	w := httptest.NewRecorder()
	site.ServeHTTP(w, r)
	return w
}

// Red when: newHouse fails with the plan, or the pages say nothing.
func TestAPlanThatCannotBeOpenedKeepsNoBoothFromBeingServed(t *testing.T) {
	for name, spoil := range map[string]func(*config.Config) error{
		"no git": func(*config.Config) error { t.Setenv("PATH", t.TempDir()); return nil },
		"damaged": func(c *config.Config) error {
			return errors.Join(os.MkdirAll(c.Plan(), 0o700), os.WriteFile(c.Plan()+"/remote.json", nil, 0o600))
		},
		"no folder": func(c *config.Config) error { return os.WriteFile(c.Plan(), nil, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			h, site := newTestHouse(t, func(c *config.Config) {
				if err := spoil(c); err != nil {
					t.Fatal(err)
				}
			})
			if w := ask(site, "/b/mine/"); w.Code != http.StatusOK {
				t.Errorf("a booth: %d", w.Code)
			}
			for _, path := range []string{"/roadmap", "/roadmap/x", "/roadmap/daily"} {
				if w := ask(site, path); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "The plan cannot be shown now") {
					t.Errorf("%s: %d %.600s", path, w.Code, w.Body)
				}
			}
			if h.plan != nil || h.trouble == nil {
				t.Errorf("%v, %v", h.plan, h.trouble)
			}
			<-h.planned(t.Context())
		})
	}
}

// Red when: keepUp does not observe, or a house whose home has no plan begins none.
func TestAHouseObservesItsPlan(t *testing.T) {
	h, site := newTestHouse(t, nil)
	if w := ask(site, "/roadmap/daily"); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), observation.StepAbsent) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	h.keepUp(t.Context())
	if w := ask(site, "/roadmap/daily"); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "Nothing is planned.") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// Red when: lookAtPlan asks although nobody listens, or publishes what did not move.
func TestThePlanIsLookedAtWhileSomebodyListens(t *testing.T) {
	h, _ := newTestHouse(t, nil)
	before := h.events.Current()
	if got := h.lookAtPlan(t.Context(), "x"); got != "x" || h.events.Current() != before {
		t.Errorf("looked at for nobody: %s", got)
	}
	listening, stop := listen(h)
	defer stop()
	<-listening
	is := h.lookAtPlan(t.Context(), "")
	moved := h.events.Current()
	if is == "" || moved == before {
		t.Errorf("%q was not told", is)
	}
	if again := h.lookAtPlan(t.Context(), is); again != is || h.events.Current() != moved {
		t.Errorf("%q was told twice", again)
	}
}

// begins is a response that says when its first byte is written.
type begins struct {
	http.ResponseWriter

	begun chan struct{}
}

func (b begins) Write(p []byte) (int, error) {
	select {
	case <-b.begun:
	default:
		close(b.begun)
	}
	return b.ResponseWriter.Write(p)
}

func (b begins) Unwrap() http.ResponseWriter { return b.ResponseWriter }

// listen is a reader of the event stream; the channel is closed when it hears.
func listen(h *house) (heard <-chan struct{}, stop func()) {
	begun, done := make(chan struct{}), make(chan struct{})
	ctx, end := context.WithCancel(context.Background())
	w := begins{httptest.NewRecorder(), begun}
	go func() {
		defer close(done)
		_ = h.events.Serve(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/events", nil))
	}()
	return begun, func() { end(); <-done }
}
