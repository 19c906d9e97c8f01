package app

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"holdfast/internal/app/config"
	"holdfast/internal/fleet"
	"holdfast/internal/fleet/box/root"
	"holdfast/internal/obs"
	"holdfast/internal/problem"
)

// Build is which holdfast this is.
type Build struct{ Release, Revision string }

// running is what the box of a home is told.
func running(c *config.Config, b Build, log io.Writer) fleet.Running {
	return fleet.Running{
		Home: c.Home, Release: b.Release, Build: b.Release + " " + b.Revision,
		AllowWeak: c.BoxAllowWeak, AllowRoot: c.BoxAllowRoot, User: c.BoxUser, Log: obs.Logger(log, c.LogLevel),
	}
}

// BoxRoot serves this machine's box as its root, until ctx is done or somebody asks it to
// end over its socket. What runs goes on.
func BoxRoot(ctx context.Context, c *config.Config, b Build, log io.Writer) error {
	if err := checkHome(c); err != nil {
		return err
	}
	// The terminal of whoever started it is not its own.
	signal.Ignore(syscall.SIGHUP)
	r, done, err := fleet.OpenRoot(ctx, FleetHome(c), running(c, b, log))
	if err != nil {
		return err
	}
	defer done()
	defer r.Close()
	return r.Serve(ctx)
}

// BoxAgent carries for this machine's box until ctx is done, and sees to it that its root
// runs.
func BoxAgent(ctx context.Context, c *config.Config, b Build, log io.Writer) error {
	if err := checkHome(c); err != nil {
		return err
	}
	return fleet.RunAgent(ctx, FleetHome(c), running(c, b, log), agentPause, func() error { return startRoot(c) })
}

// agentPause is how often the store is looked at for orders. What is written into a store in
// a folder is noticed before.
const agentPause = time.Second

// RootStatus is how the root of this machine's box is, nil where none runs.
func RootStatus(ctx context.Context, c *config.Config) (*root.Status, error) {
	client, err := fleet.DialRoot(FleetHome(c))
	if err == nil {
		defer client.Close()
		var s root.Status
		if s, err = client.Status(ctx, 0); err == nil {
			return &s, nil
		}
	}
	if errors.Is(err, root.ErrNoRoot) {
		return nil, nil
	}
	return nil, err
}

// OpenOutput finds what an instance has written.
func OpenOutput(ctx context.Context, c *config.Config, instance string) (*fleet.Source, error) {
	if err := checkHome(c); err != nil {
		return nil, err
	}
	return fleet.OpenOutput(ctx, FleetHome(c), instance)
}

// Attach opens the terminal of an instance on this machine's box.
func Attach(ctx context.Context, c *config.Config, instance string) (*fleet.Attached, error) {
	if err := checkHome(c); err != nil {
		return nil, err
	}
	return fleet.Attach(ctx, FleetHome(c), instance)
}

// startRoot starts the box's root in a session of its own, so that it outlives this
// process. What it has to say goes to root.log in the box's folder.
func startRoot(c *config.Config) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(filepath.Join(c.Box(), "root.log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	cmd := exec.Command(program, "--home", c.Home, "box", "root")
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	go cmd.Wait() // no zombie, while this process lives
	return nil
}

// boxed serves the box that the home is, if it is one, until ctx is done; the channel is
// closed then. A home may become a box meanwhile. What goes wrong here is logged.
func (h *house) boxed(ctx context.Context, b Build) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		trouble := ""
		for ctx.Err() == nil && !h.config.NoBox {
			err := fleet.RunAgent(ctx, FleetHome(h.config), fleet.Running{
				Home: h.config.Home, Release: b.Release, Build: b.Release + " " + b.Revision, Log: h.log,
			}, agentPause, func() error { return startRoot(h.config) })
			if err != nil && !errors.Is(err, fleet.ErrNoBox) && err.Error() != trouble {
				trouble = err.Error()
				h.log.Error("the box of this home cannot be served", "err", problem.Words(err))
			}
			select {
			case <-ctx.Done():
			case <-time.After(h.boxesPause()):
			}
		}
	}()
	return done
}
