package fleet

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"slices"
	"time"

	"golang.org/x/mod/semver"

	"holdfast/internal/fleet/box/agent"
	"holdfast/internal/fleet/box/intent"
	"holdfast/internal/fleet/box/root"
	"holdfast/internal/fleet/box/shim"
	"holdfast/internal/fleet/roster"
	"holdfast/internal/problem"
	"holdfast/internal/sign"
)

// Running is what a box's root and agent are told beside what its folder says.
type Running struct {
	Home    string // the home, which the work does not see
	Release string // the version of holdfast, such as v1.4.0
	Build   string // which build of it this is
	// AllowWeak and AllowRoot let work start where a stop could be proved only weakly, and
	// as uid 0; User is who it runs as, "" for this user.
	AllowWeak, AllowRoot bool
	User                 string
	Log                  *slog.Logger
	// Now and Host are for tests: another clock, and another machine.
	Now  func() time.Time
	Host func(*shim.Host)
}

// OpenRoot opens the root of this machine's box: see package root. It returns what lets go
// of all that root was given, to be called after root's own Close. A home that is no box is
// [ErrNoBox].
func OpenRoot(ctx context.Context, h Home, c Running) (*root.Root, func(), error) {
	b, err := openBox(h)
	if err != nil {
		return nil, nil, err
	}
	evidence, err := sign.ReadKey(b.dir, evidenceKey)
	if errors.Is(err, fs.ErrNotExist) {
		err = problem.Refusal("evidence-key", "The box's key %q in %q is gone. Nothing was changed.", evidenceKey, b.dir.Name()).
			WithHint("put back a copy; without it this machine has to join by a new invitation")
	}
	if err != nil {
		b.Close()
		return nil, nil, err
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	r, err := root.Open(ctx, root.Config{
		Dir: b.dir, Path: h.Box, Home: c.Home, Store: b.bucket, Roster: b.roster, Memory: b.memory,
		Bucket: b.place.Bucket, Enrollment: b.place.Enrollment, Evidence: evidence, Version: c.Build,
		Floor: func(ctx context.Context, v *roster.Roster, proof string) (*intent.Denied, error) {
			return b.below(ctx, v, c.Release, proof)
		},
		AllowWeak: c.AllowWeak, AllowRoot: c.AllowRoot, User: c.User, Log: c.Log, Now: c.Now, Host: c.Host,
	})
	if err != nil {
		b.Close()
		return nil, nil, err
	}
	return r, b.Close, nil
}

// below says why the floor in force keeps a box of this release, with this proof of its
// stops, from starting anything.
func (p *party) below(ctx context.Context, r *roster.Roster, release, proof string) (*intent.Denied, error) {
	f, err := p.readFloor(ctx, r)
	if err != nil || f == nil {
		return nil, err
	}
	switch {
	case !slices.Contains(f.AllowedProofs, proof):
		return &intent.Denied{Step: "floor-proof", Reason: "The floor " + f.Publication + " does not allow the proof of a stop that this box has, " + proof + ". Nothing was started."}, nil
	case !semver.IsValid(release) || semver.Compare(release, f.MinVersion) < 0:
		return &intent.Denied{Step: "floor-version", Reason: "The floor " + f.Publication + " wants at least " + f.MinVersion + ", and this box has " + release + ". Nothing was started."}, nil
	}
	return nil, nil
}

// RunAgent is the agent of this machine's box, until ctx is done: see package agent. Start
// starts a root that outlives this process. A home that is no box is [ErrNoBox].
func RunAgent(ctx context.Context, h Home, c Running, every time.Duration, start func() error) error {
	b, err := openBox(h)
	if err != nil {
		return err
	}
	defer b.Close()
	agent.New(agent.Config{
		Path: h.Box, Store: b.bucket, Folder: h.storeFolder(b.place.Store), Roster: b.roster, Enrollment: b.place.Enrollment, Version: c.Build,
		Start: start, Every: every, Log: c.Log,
	}).Run(ctx)
	return nil
}

// DialRoot is a client of the root of this machine's box. A home that is no box is
// [ErrNoBox].
func DialRoot(h Home) (*root.Client, error) {
	b, err := openBox(h)
	if err != nil {
		return nil, err
	}
	b.Close()
	return root.Dial(h.Box)
}

// Means tries what this machine can give to the work of its box. A home that is no box is
// [ErrNoBox].
func Means(ctx context.Context, h Home) (shim.Means, error) {
	b, err := openBox(h)
	if err != nil {
		return shim.Means{}, err
	}
	defer b.Close()
	return shim.NewHost(b.dir).Probe(ctx)
}
