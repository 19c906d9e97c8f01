package app

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"holdfast/internal/app/config"
	"holdfast/internal/booth/folder"
	"holdfast/internal/booth/ledger"
	"holdfast/internal/booth/sweep"
	"holdfast/internal/durable"
)

// Sweepable is what a sweeper works on, and who it is.
type Sweepable struct {
	Data   *folder.Data
	Desk   *durable.Dir
	Ledger *ledger.Ledger
	Log    *slog.Logger
	Holder string
}

// sweeperPatience is how long a sweeper waits for another that is about to end: a
// command has the data folder only for as long as it runs.
const sweeperPatience = 3 * time.Second

// OpenSweeper opens the sweeper of a home, with what its configuration says.
func OpenSweeper(ctx context.Context, c *config.Config, on Sweepable) (*sweep.Sweeper, error) {
	ctx, cancel := context.WithTimeout(ctx, sweeperPatience)
	defer cancel()
	for {
		s, err := sweep.Open(ctx, sweep.Config{
			Data: on.Data, Desk: on.Desk, Ledger: on.Ledger, Log: on.Log, Holder: on.Holder,
			TTL: c.TTL, Tick: c.Tick, TrashTTL: c.TrashTTL, Clock: sweep.SystemClock(),
		})
		var held *durable.Held
		if !errors.As(err, &held) {
			return s, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(lookPause):
		}
	}
}

// sweep ticks until ctx is done; the channel is closed then. The first tick is
// at once, so that booths which came while no desk ran are known to have come.
func (h *house) sweep(ctx context.Context) <-chan struct{} {
	done := make(chan struct{})
	ticker := time.NewTicker(h.config.Tick)
	go func() {
		defer close(done)
		defer ticker.Stop()
		for {
			h.tick(ctx)
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
		}
	}()
	return done
}

func (h *house) tick(ctx context.Context) {
	report, err := h.sweeper.Tick(ctx)
	if err != nil && ctx.Err() == nil {
		h.log.Error("the sweep did not finish; what it did is in sweep.jsonl", "err", err)
	}
	for _, name := range report.Swept {
		h.desk.Changed(name)
	}
}
