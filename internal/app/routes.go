package app

import (
	"bytes"
	"io"
	"net/http"
	"time"

	"holdfast/internal/booth"
	"holdfast/internal/web"
)

func (h *house) serveHealth(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, "ok\n")
	return nil
}

// serveMetrics counts the lanes in one read of every booth, so that they add up.
func (h *house) serveMetrics(w http.ResponseWriter, r *http.Request) error {
	looks, err := booth.List(r.Context(), h.data, booth.Terms{Now: time.Now(), TTL: h.config.TTL, Records: h.ledger.Records()})
	if err != nil {
		return err
	}
	page := heldBack{ResponseWriter: w}
	h.scrape(booth.NewCensus(looks), &page)
	if r.Method != http.MethodHead {
		_, _ = page.body.WriteTo(w)
	}
	return nil
}

// scrape sets the lanes and writes them, and nobody else's meanwhile.
func (h *house) scrape(census booth.Census, w http.ResponseWriter) {
	h.scraping.Lock()
	defer h.scraping.Unlock()
	h.metrics.Set(`holdfast_booths{state="kept",reason=""}`, float64(census.Kept))
	h.metrics.Set(`holdfast_booths{state="counting",reason=""}`, float64(census.Counting))
	h.metrics.Set(`holdfast_booths_kept_and_open`, float64(census.KeptAndOpen))
	for reason, n := range census.Held {
		h.metrics.Set(`holdfast_booths{state="held",reason="`+reason+`"}`, float64(n))
	}
	h.metrics.Write(w)
}

// heldBack is an answer whose body waits: a client that reads slowly keeps no other
// scrape waiting.
type heldBack struct {
	http.ResponseWriter

	body bytes.Buffer
}

func (h *heldBack) Write(b []byte) (int, error) { return h.body.Write(b) }

// serveLink makes a sign-in link. The answer is its path: under which name the
// asker reaches this desk, the asker knows.
func (h *house) serveLink(w http.ResponseWriter, _ *http.Request) error {
	return web.WriteJSON(w, http.StatusCreated, struct {
		Path string `json:"path"`
	}{h.auth.SignInPath(h.links.Mint(time.Now(), linkLife))})
}
