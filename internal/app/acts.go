package app

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net/url"

	"holdfast/internal/access"
	"holdfast/internal/app/config"
	"holdfast/internal/booth/folder"
	"holdfast/internal/booth/ledger"
	"holdfast/internal/booth/sweep"
	"holdfast/internal/durable"
	"holdfast/internal/obs"
	"holdfast/internal/problem"
)

// Operator names whom the operator's acts are put down to.
func Operator(c *config.Config) string { return principal(c) }

// OperatorsDesk is the desk that serves a home, and the credential with which its
// operator's commands reach it; nil where none does. The address ends with a
// slash. A desk of which that cannot be told is an error: what deletes must not
// go past it.
func OperatorsDesk(ctx context.Context, c *config.Config) (*url.URL, string, error) {
	free, err := unserved(ctx, c)
	if free || err != nil {
		return nil, "", err
	}
	s, err := whoServes(ctx, c)
	if err != nil {
		return nil, "", err
	}
	at, err := url.Parse(s.URL + "/")
	if err != nil {
		return nil, "", err
	}
	key, err := access.LoadKey(c.DeskDir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", problem.Refusal("key-gone", "The operator's key of %s is gone, while the desk still serves with it. Nothing was changed.", c.Home).
			WithHint("restart the desk; it makes a new one, which signs everybody out")
	}
	if err != nil {
		return nil, "", err
	}
	return at, key.OperatorToken(), nil
}

// unserved says that nobody serves a home.
func unserved(ctx context.Context, c *config.Config) (bool, error) {
	if err := checkHome(c); err != nil {
		return false, err
	}
	dir, err := durable.OpenDir(c.DeskDir())
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, problem.Refusal("lock", "Whether a desk serves the home %s cannot be told. Nothing was changed.", c.Home).Because(err)
	}
	defer dir.Close()
	held, err := probe(ctx, dir)
	return held == nil, err
}

// HomeSweeper is the sweeper of a home, for one command.
type HomeSweeper struct {
	*sweep.Sweeper

	desk *durable.Dir
}

// SweepHome opens the sweeper of a home that no desk serves. What it warns of
// goes to log.
func SweepHome(ctx context.Context, c *config.Config, data *folder.Data, log io.Writer) (*HomeSweeper, error) {
	if err := mayPrepare(c); err != nil {
		return nil, err
	}
	if err := prepareHome(c); err != nil {
		return nil, err
	}
	desk, err := durable.OpenDir(c.DeskDir())
	if err != nil {
		return nil, problem.Refusal("home", "%s cannot be opened. Nothing was changed.", c.DeskDir()).Because(err)
	}
	s, err := OpenSweeper(ctx, c, Sweepable{
		Data: data, Desk: desk, Ledger: ledger.New(desk), Log: obs.Logger(log, slog.LevelWarn), Holder: "holdfast booth",
	})
	if err != nil {
		desk.Close()
		return nil, err
	}
	return &HomeSweeper{s, desk}, nil
}

// Close lets the home go.
func (h *HomeSweeper) Close() error {
	err := h.Sweeper.Close()
	h.desk.Close()
	return err
}
