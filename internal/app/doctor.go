package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"holdfast/internal/app/config"
	"holdfast/internal/plain"
	"holdfast/internal/problem"
	"holdfast/internal/roadmap"
	"holdfast/internal/roadmap/carrier"
	"holdfast/internal/roadmap/git"
)

// Check is one thing that was looked at.
type Check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	Hint   string `json:"hint,omitempty"`
}

// Doctor looks at what a home needs in order to work. It changes nothing but what
// is remembered of the plan, which it reads anew.
func Doctor(ctx context.Context, c *config.Config, log *slog.Logger) []Check {
	checks := []Check{}
	for _, look := range []func(context.Context, *config.Config, *slog.Logger) []Check{
		checkFolder, checkServed, checkGit, checkPlan, checkFleet,
	} {
		checks = append(checks, look(ctx, c, log)...)
	}
	return checks
}

func ill(name string, err error) Check {
	p := problem.From(err, err.Error())
	return Check{Name: name, Detail: p.Reason, Hint: p.Hint}
}

func well(name, format string, args ...any) Check {
	return Check{Name: name, OK: true, Detail: fmt.Sprintf(format, args...)}
}

func checkFolder(_ context.Context, c *config.Config, _ *slog.Logger) []Check {
	if err := mayPrepare(c); err != nil {
		return []Check{ill("home", err)}
	}
	if isMissing(c.Home) {
		return []Check{well("home", "%s is not there yet; the first start makes it", c.Home)}
	}
	return []Check{well("home", "%s can be written to", c.Home)}
}

func checkServed(ctx context.Context, c *config.Config, _ *slog.Logger) []Check {
	if isMissing(c.Home) {
		return nil
	}
	at, _, err := OperatorsDesk(ctx, c)
	switch {
	case err != nil:
		return []Check{ill("desk", err)}
	case at == nil:
		return []Check{well("desk", "nobody serves this home")}
	default:
		return []Check{well("desk", "served at %s", at)}
	}
}

func checkGit(ctx context.Context, _ *config.Config, _ *slog.Logger) []Check {
	version, err := git.Version(ctx)
	if err != nil {
		return []Check{{Name: "git", Detail: "the git program cannot be run: " + problem.Words(err), Hint: "install git: the plan is kept in it"}}
	}
	return []Check{well("git", "%s", version)}
}

func checkPlan(ctx context.Context, c *config.Config, log *slog.Logger) []Check {
	p, err := OpenPlan(ctx, c, log)
	if errors.Is(err, carrier.ErrNoPlan) || isMissing(c.Home) {
		return []Check{well("plan", "there is none in this home yet")}
	}
	if err != nil {
		return []Check{ill("plan", err)}
	}
	defer p.Close()
	health, err := p.Health(ctx)
	if err != nil {
		return []Check{ill("plan", err)}
	}
	return append([]Check{remoteCheck(health)}, storedChecks(health)...)
}

func remoteCheck(h roadmap.Health) Check {
	where := "the home itself"
	if h.Remote != "" {
		where = h.Remote
	}
	switch {
	case h.Problem != "":
		return Check{Name: "plan", Detail: "kept at " + where + ": " + h.Problem, Hint: h.Hint}
	case h.Refused > 0:
		return Check{Name: "plan", Detail: fmt.Sprintf("kept at %s: %s of the log cannot be read", where, plain.Count(h.Refused, "part")), Hint: "holdfast roadmap list"}
	default:
		return well("plan", "kept at %s, %s, at %.12s", where, plain.Count(int(h.Events), "event"), h.Commit)
	}
}

func storedChecks(h roadmap.Health) []Check {
	checks := []Check{}
	for _, s := range h.Stored {
		checks = append(checks, well("objects", "%s: %s and %s, %s", s.Name, plain.Count(s.Loose, "loose object"), plain.Count(s.Packs, "pack"), plain.Size(s.Bytes)))
	}
	queue := well("queue", "%s to be published", plain.Count(h.Waiting, "command"))
	if h.Late > 0 || h.Damaged > 0 {
		queue.OK, queue.Hint = false, "holdfast roadmap queue"
		queue.Detail = fmt.Sprintf("%d waiting, %d refused after they had waited, %d that cannot be read", h.Waiting, h.Late, h.Damaged)
	}
	snapshots := well("snapshots", "%d open, %d whose owner is gone, %d of which that cannot be told", h.Alive, h.Gone, h.Unknown)
	if h.Gone > 0 || h.Unknown > 0 {
		snapshots.OK, snapshots.Hint = false, "holdfast roadmap snapshots"
	}
	return append(checks, queue, snapshots)
}
