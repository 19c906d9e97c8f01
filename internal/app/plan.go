package app

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"holdfast/internal/app/config"
	"holdfast/internal/plain"
	"holdfast/internal/problem"
	"holdfast/internal/roadmap"
	"holdfast/internal/roadmap/carrier"
	"holdfast/internal/roadmap/event"
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
	url, err := remoteAt(url)
	if err != nil {
		return roadmap.Begun{}, err
	}
	return roadmap.Begin(ctx, PlanHome(c, log), url)
}

// remoteAt is the address of a remote, a path made whole: it is asked for later from
// other folders. What is a path is git's rule: no scheme, and no colon before the
// first slash, which would end the name of a machine.
func remoteAt(url string) (string, error) {
	before, _, _ := strings.Cut(url, "/")
	if url == "" || strings.Contains(before, ":") || filepath.IsAbs(url) {
		return url, nil
	}
	whole, err := filepath.Abs(url)
	if err != nil {
		return "", problem.Refusal("remote", "Where %s is cannot be told: %s. Nothing was begun.", plain.Text(url), problem.Words(err)).Because(err)
	}
	return whole, nil
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

// PlanOperator is whom the operator's events in the plan are put down to: as
// [Operator] says, a bare name being somebody on this machine. A name that no
// principal may have is refused, and not spelt anew: two people could become one.
func PlanOperator(c *config.Config) (event.Principal, error) {
	name := principal(c)
	if !strings.HasPrefix(name, "principal:") {
		name = onThisMachine(name)
	}
	p, err := event.ParsePrincipal(name)
	if err != nil {
		return "", problem.Refusal("principal", "You are %q here, and nobody in the plan can be called so. Nothing was changed.", name).
			WithHint(`say who you are in holdfast.toml: [desk] principal = "principal:local/studio/ada"`)
	}
	return p, nil
}

// PlanPrincipal is somebody in the plan: a principal, or a bare name, which is
// somebody beside the operator, in the same namespace.
func PlanPrincipal(c *config.Config, name string) (event.Principal, error) {
	if strings.HasPrefix(name, "principal:") || strings.Contains(name, "/") {
		return event.ParsePrincipal(name)
	}
	operator, err := PlanOperator(c)
	if err != nil {
		return "", err
	}
	p, err := event.ParsePrincipal(strings.TrimSuffix(string(operator), operator.Subject()) + name)
	if err != nil {
		return "", problem.New(problem.Usage, "principal", "%q names nobody: give a name of letters, digits and . _ @ + -, or a whole principal:AUTHORITY/NAMESPACE/SUBJECT.", name)
	}
	return p, nil
}

// PlanWorker is a worker in the plan: what it is called within the operator's
// namespace, under an authority of its own (attempt, worker, agent).
func PlanWorker(c *config.Config, authority, name string) (event.Principal, error) {
	operator, err := PlanOperator(c)
	if err != nil {
		return "", err
	}
	if name == "" {
		name = operator.Subject()
	}
	parts := strings.Split(string(operator), "/")
	whole := "principal:" + authority + "/" + parts[1] + "/" + name
	p, err := event.ParsePrincipal(whole)
	if err != nil {
		return "", problem.Refusal("principal", "This is the command line of %q, and nobody in the plan can be called so. Nothing was changed.", whole)
	}
	return p, nil
}
