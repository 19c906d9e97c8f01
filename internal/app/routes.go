package app

import (
	"context"
	"io"
	"net/http"
	"time"

	"holdfast/internal/access"
	"holdfast/internal/booth"
	"holdfast/internal/booth/folder"
	"holdfast/internal/booth/lifetime"
	"holdfast/internal/web"
)

func (h *house) serveHealth(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, "ok\n")
	return nil
}

func (h *house) serveMetrics(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodHead {
		h.metrics.Write(w)
	}
	return nil
}

// serveLink makes a sign-in link. The answer is its path: under which name the
// asker reaches this desk, the asker knows.
func (h *house) serveLink(w http.ResponseWriter, _ *http.Request) error {
	return web.WriteJSON(w, http.StatusCreated, struct {
		Path string `json:"path"`
	}{h.auth.SignInPath(h.links.Mint(time.Now(), linkLife))})
}

// workerTokenLife is how long a worker's token is good.
const workerTokenLife = 7 * 24 * time.Hour

// serveWorkerToken makes a token with which a worker may publish into one booth.
func (h *house) serveWorkerToken(w http.ResponseWriter, r *http.Request) error {
	name, err := folder.ParseName(r.PathValue("booth"))
	if err != nil {
		return err
	}
	now := time.Now()
	token, err := h.key.WorkerToken(access.WorkerGrant{Booth: name.String(), Issued: now, Expires: now.Add(workerTokenLife)})
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusCreated, struct {
		Token   string    `json:"token"`
		Booth   string    `json:"booth"`
		Expires time.Time `json:"expires"`
	}{token, booth.Escape(name.String()), now.Add(workerTokenLife).UTC().Truncate(time.Second)})
}

// gauges are the lanes, counted when somebody asks.
func (h *house) gauges() {
	for _, kind := range []string{"kept", "held", "counting"} {
		h.metrics.Gauge(`holdfast_booths{state="`+kind+`"}`, func() float64 {
			looks, _, err := booth.List(context.Background(), h.data, time.Now(), h.config.TTL)
			if err != nil {
				return -1
			}
			n := 0
			for _, l := range looks {
				if lifetime.Kind(l.State) == kind {
					n++
				}
			}
			return float64(n)
		})
	}
}
