package reach

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"time"

	"holdfast/internal/booth/sweep"
	"holdfast/internal/durable"
)

// counted is a sweeper that counts how often it was let go.
type counted struct {
	*sweep.Sweeper
	closed int
}

func (c *counted) Close() error { c.closed++; return nil }

// home is a home with one booth, demo, and a way to it.
type home struct {
	path   string
	bin    *counted
	arrive func()
	reach  actors
}

// both is a home each for the two ways.
func both(t *testing.T) map[string]home {
	t.Helper()
	out := map[string]home{}
	for _, way := range []string{"local", "remote"} {
		data, path := openData(t)
		known, arrive := newLedger(t, data)
		desk, err := durable.OpenDir(t.TempDir())
		check(t, err)
		t.Cleanup(func() { desk.Close() })
		s, err := sweep.Open(context.Background(), sweep.Config{
			Data: data, Desk: desk, Ledger: known, TTL: ttl, Tick: time.Hour, TrashTTL: ttl, Clock: sweep.SystemClock(),
			Log: slog.New(slog.DiscardHandler), Holder: "a test",
		})
		check(t, err)
		t.Cleanup(func() { s.Close() })
		b := &counted{Sweeper: s}
		local := Local{Data: data, Ledger: known, TTL: ttl, By: "principal:local/h/u", Acts: Acts{Open: func(context.Context) (Sweeper, error) { return b, nil }}}
		h := home{path: path, bin: b, arrive: arrive, reach: local}
		if way == "remote" {
			h.reach = remoteWith(t, data, known, s)
		}
		check(t, os.MkdirAll(path+"/demo", 0o755))
		check(t, os.WriteFile(path+"/demo/a.png", []byte("png"), 0o644))
		out[way] = h
	}
	return out
}

// never is a clock on which nothing ever comes; asked is told what it was asked
// for.
func never(asked chan<- time.Duration) func(time.Duration) <-chan time.Time {
	return func(d time.Duration) <-chan time.Time {
		asked <- d
		return nil
	}
}
