package app

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/internal/booth"
)

// What one scrape says adds up, whoever else asks. Red when Set and Write are not
// done in one go.
func TestScrapesDoNotMix(t *testing.T) {
	h, _ := newTestHouse(t, nil)
	var all sync.WaitGroup
	for _, c := range []struct {
		census booth.Census
		says   []string
	}{
		{booth.Census{Kept: 7, Counting: 1, KeptAndOpen: 3}, []string{`state="kept",reason=""} 7`, `state="counting",reason=""} 1`, "kept_and_open 3"}},
		{booth.Census{Kept: 1, Counting: 7, KeptAndOpen: 0}, []string{`state="kept",reason=""} 1`, `state="counting",reason=""} 7`, "kept_and_open 0"}},
	} {
		all.Go(func() {
			for range 2000 {
				w := heldBack{ResponseWriter: httptest.NewRecorder()}
				h.scrape(c.census, &w)
				for _, line := range c.says {
					if !strings.Contains(w.body.String(), line+"\n") {
						t.Errorf("%q is not in\n%s", line, w.body.String())
						return
					}
				}
			}
		})
	}
	all.Wait()
}

// reading is a client that is not done before after is.
type reading struct {
	*httptest.ResponseRecorder

	after func()
}

func (r reading) Write(b []byte) (int, error) { r.after(); return r.ResponseRecorder.Write(b) }

// Red when a scrape is written to its client before others have their turn.
func TestASlowScrapeKeepsNobodyWaiting(t *testing.T) {
	h, _ := newTestHouse(t, nil)
	done := make(chan error, 1)
	var second error
	slow := reading{httptest.NewRecorder(), func() {
		second = h.serveMetrics(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	}}
	go func() {
		done <- h.serveMetrics(slow, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	}()
	select {
	case err := <-done:
		if err != nil || second != nil || !strings.Contains(slow.Body.String(), `holdfast_booths{state="counting",reason=""} 2`) {
			t.Errorf("%v, %v\n%s", err, second, slow.Body)
		}
	case <-time.After(guard):
		t.Fatal("the second scrape waits for the client of the first")
	}
}
