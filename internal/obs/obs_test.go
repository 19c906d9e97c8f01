package obs

import (
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// Red when a label is not quoted: a route holds braces, and no path may break
// the format.
func TestMetricsAreInThePrometheusFormat(t *testing.T) {
	m := NewMetrics()
	for range 2 {
		m.Request(`GET /b/{booth}/{item...}`, 200, time.Second)
	}
	m.Request("GET /\"\\\n", 404, time.Second)
	m.Set(`booths{state="kept"}`, 4)
	m.Set(`booths{state="kept"}`, 3)
	w := httptest.NewRecorder()
	m.Write(w)
	for _, line := range []string{
		`holdfast_http_requests_total{route="GET /b/{booth}/{item...}",status="200"} 2`,
		`holdfast_http_requests_total{route="GET /\"\\\n",status="404"} 1`,
		`holdfast_http_request_seconds_count{route="GET /b/{booth}/{item...}"} 2`,
		`booths{state="kept"} 3`,
	} {
		if !strings.Contains(w.Body.String(), line+"\n") {
			t.Errorf("there is no line %s", line)
		}
	}
	if got := w.Header().Get("Content-Type"); !strings.HasPrefix(got, "text/plain; version=0.0.4") {
		t.Errorf("%q", got)
	}
}

// Red when two sets share a counter: each server counts its own.
func TestSetsAreApart(t *testing.T) {
	a, b := NewMetrics(), NewMetrics()
	a.Request("GET /x", 200, time.Second)
	w := httptest.NewRecorder()
	b.Write(w)
	if strings.Contains(w.Body.String(), "holdfast_http_requests_total") {
		t.Error("one server counts another's requests")
	}
}

// Red when the log writes what it is given as it stands: one event is one line.
func TestAnEventIsOneLine(t *testing.T) {
	var out strings.Builder
	log := Logger(&out, slog.LevelWarn)
	log.Info("not this")
	log.Warn("one\ntwo", "path", "a\nlevel=ERROR msg=forged")
	if got := out.String(); strings.Count(got, "\n") != 1 || strings.Contains(got, "not this") || strings.Contains(got, " level=ERROR") && !strings.Contains(got, `\nlevel=ERROR`) {
		t.Errorf("%q", got)
	}
}
