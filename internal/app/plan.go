package app

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"

	"holdfast/internal/app/config"
	"holdfast/internal/roadmap"
	"holdfast/internal/roadmap/carrier"
)

// PlanHome is where the home's plan lives.
func PlanHome(c *config.Config, log *slog.Logger) carrier.Home {
	return carrier.Home{Plan: c.Plan(), Embedded: c.EmbeddedPlan(), Log: log}
}

// OpenPlan opens the plan of a home that has one. It creates nothing.
func OpenPlan(ctx context.Context, c *config.Config, log *slog.Logger) (*roadmap.Plan, error) {
	if err := checkHome(c); err != nil {
		return nil, err
	}
	if isMissing(c.Plan()) {
		return nil, carrier.ErrNoPlan
	}
	return roadmap.Open(ctx, PlanHome(c, log))
}

// InitPlan gives a home its plan: kept at the remote url, or in the home itself
// where url is empty. It makes the home, if that has the default's place.
func InitPlan(ctx context.Context, c *config.Config, url string, log *slog.Logger) (roadmap.Begun, error) {
	if err := mayPrepare(c); err != nil {
		return roadmap.Begun{}, err
	}
	if err := prepareHome(c); err != nil {
		return roadmap.Begun{}, err
	}
	if err := preparePlan(c); err != nil {
		return roadmap.Begun{}, err
	}
	return roadmap.Begin(ctx, PlanHome(c, log), url)
}

// openOrBegin is the plan of a home that is served: one that has none gets one in
// the home itself.
func openOrBegin(ctx context.Context, c *config.Config, log *slog.Logger) (*roadmap.Plan, error) {
	p, err := OpenPlan(ctx, c, log)
	if !errors.Is(err, carrier.ErrNoPlan) {
		return p, err
	}
	if err := preparePlan(c); err != nil {
		return nil, err
	}
	if _, err := roadmap.Begin(ctx, PlanHome(c, log), ""); err != nil {
		return nil, err
	}
	return OpenPlan(ctx, c, log)
}

func preparePlan(c *config.Config) error {
	if err := writable(c.Plan()); err != nil {
		return err
	}
	if err := os.Mkdir(c.Plan(), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return unwritable(c.Plan(), err)
	}
	return nil
}
