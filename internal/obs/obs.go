// Package obs is what an operator looks at when something is wrong: the log and
// the metrics.
//
// The log is structured, one event a line. Metrics are in the Prometheus text
// format. Neither ever holds a credential.
package obs

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/VictoriaMetrics/metrics"
)

// Logger writes events of a level and above to w.
func Logger(w io.Writer, level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
}

// Metrics is one server's set of metrics. It is safe for concurrent use.
type Metrics struct{ set *metrics.Set }

// NewMetrics makes an empty set.
func NewMetrics() *Metrics { return &Metrics{metrics.NewSet()} }

// Request counts one answered request. Route is a pattern, never a path, so that
// the number of series stays bounded.
func (m *Metrics) Request(route string, status int, took time.Duration) {
	m.set.GetOrCreateCounter(fmt.Sprintf(`holdfast_http_requests_total{route=%q,status="%d"}`, route, status)).Inc()
	m.set.GetOrCreateHistogram(fmt.Sprintf(`holdfast_http_request_seconds{route=%q}`, route)).Update(took.Seconds())
}

// Set sets a value. The name may carry labels, as in booths{state="kept"}.
func (m *Metrics) Set(name string, value float64) { m.set.GetOrCreateGauge(name, nil).Set(value) }

// Write writes the set and the process's own metrics.
func (m *Metrics) Write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	m.set.WritePrometheus(w)
	metrics.WriteProcessMetrics(w)
}
