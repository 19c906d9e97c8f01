// Package agent is the part of a box that carries: it sees to it that a root runs, hands
// root the orders that stand in the store for its session, and puts finished pieces of
// the work's output into the store.
//
// It decides nothing and is believed nothing: an order is bytes to it, which root
// verifies. What it adds is what the box was bound to when it started, its pin, under
// which root installs what it hands on. When the box's binding moves, the agent goes on
// under its pin, and root refuses what is new, until the agent is started anew; it does
// that itself once root has nothing under way.
package agent

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"holdfast/internal/bucket"
	"holdfast/internal/failpoint"
	"holdfast/internal/fleet/box/root"
	"holdfast/internal/fleet/order"
	"holdfast/internal/fleet/roster"
	"holdfast/internal/fleet/rosterstore"
	"holdfast/internal/problem"
)

// What an agent does that a crash may come between, as tests of crashes name it.
const (
	SeesSession = "agent.session"
	HandsOn     = "agent.hand"
)

// Config is what an agent works with.
type Config struct {
	Path       string // the box's folder
	Store      bucket.Store
	Roster     *rosterstore.Store
	Enrollment string
	Version    string
	// Start starts a root that outlives this process.
	Start func() error
	// Hint says that something may have been written under a prefix of the store; nil
	// where nothing tells. It only saves waiting.
	Hint func(ctx context.Context, prefix string) <-chan struct{}
	// Every is how often the store is looked at, at the least.
	Every time.Duration
	Log   *slog.Logger
}

// Agent is an agent under way.
type Agent struct {
	Config
	client  *root.Client
	pin     roster.Pinned
	pinned  bool
	session string
	handed  map[bucket.Key]bool // orders of the session that root has taken or refused
	stored  map[string]bool     // pieces of output that are in the store
	trouble string              // that was logged last
	started time.Time           // when a root was started last
	backoff time.Duration
}

// New is an agent that has done nothing yet.
func New(c Config) *Agent {
	return &Agent{Config: c, handed: map[bucket.Key]bool{}, stored: map[string]bool{}, backoff: time.Second}
}

// Run works until ctx is done. What goes wrong is logged, once while it lasts.
func (a *Agent) Run(ctx context.Context) {
	defer a.letGo()
	for ctx.Err() == nil {
		hint := a.hint(ctx)
		if err := a.Look(ctx); err != nil && ctx.Err() == nil {
			a.tell(err)
		} else {
			a.trouble = ""
		}
		pause := a.Every/2 + rand.N(a.Every)
		select {
		case <-ctx.Done():
		case <-hint:
		case <-time.After(pause):
		}
	}
}

func (a *Agent) letGo() {
	if a.client != nil {
		a.client.Close()
		a.client = nil
	}
}

func (a *Agent) tell(err error) {
	if text := err.Error(); text != a.trouble {
		a.trouble = text
		a.Log.Error("the box", "err", err)
	}
}

func (a *Agent) hint(ctx context.Context) <-chan struct{} {
	if a.Hint == nil || a.session == "" {
		return nil
	}
	prefix, err := order.Under(a.Enrollment, a.session)
	if err != nil {
		return nil
	}
	return a.Hint(ctx, prefix)
}

// Look does one round: it sees to root, and carries what there is to carry.
func (a *Agent) Look(ctx context.Context) error {
	s, err := a.root(ctx)
	if err != nil {
		return err
	}
	if err := a.remember(ctx, s); err != nil {
		return err
	}
	return errors.Join(a.orders(ctx, s), a.output(ctx, s))
}

// root is how the root of this version is. One that does not run is started, one of
// another version is asked to end first.
func (a *Agent) root(ctx context.Context) (root.Status, error) {
	if a.client == nil {
		client, err := root.Dial(a.Path)
		if err != nil && !errors.Is(err, root.ErrNoRoot) {
			return root.Status{}, err
		}
		a.client = client
	}
	if a.client != nil {
		s, err := a.client.Status(ctx, 0)
		switch {
		case err == nil && s.Version == a.Version:
			a.backoff = time.Second
			return s, nil
		case err == nil:
			a.Log.Info("asks the root of another version to end", "version", s.Version, "ours", a.Version)
			return s, errors.Join(a.client.End(ctx), errNotYet)
		case !errors.Is(err, root.ErrNoRoot):
			return s, err
		}
	}
	return root.Status{}, a.start()
}

var errNotYet = problem.New(problem.Failed, "root-starting", "The box's root is being started.")

// start starts a root, and waits longer each time that it did not stay.
func (a *Agent) start() error {
	if time.Since(a.started) < a.backoff {
		return errNotYet
	}
	if !a.started.IsZero() {
		a.backoff = min(2*a.backoff, 30*time.Second)
	}
	a.started = time.Now()
	if err := a.Start(); err != nil {
		return problem.New(problem.Failed, "root-start", "The box's root cannot be started: %s.", problem.Words(err)).Because(err)
	}
	a.Log.Info("started the box's root")
	return errNotYet
}

// remember pins what the box is bound to, at the start, and anew when that moved and root
// has nothing under way.
func (a *Agent) remember(ctx context.Context, s root.Status) error {
	if s.Session != a.session {
		failpoint.Here(SeesSession + failpoint.Before)
		defer failpoint.Here(SeesSession + failpoint.After)
		a.session = s.Session
		clear(a.handed)
	}
	v, err := a.Roster.Read(ctx)
	if err != nil {
		return err
	}
	actor, ok := v.Actor(a.Enrollment)
	if !ok {
		return problem.Refusal("box-unknown", "This machine is not in the roster.")
	}
	if a.pinned && !a.pin.Stamp().Current(actor.Binding) && len(s.Intents) > 0 {
		return nil // goes on under what it started with
	}
	a.pin, a.pinned = actor.Binding.Pin(), true
	return nil
}

// orders hands root what stands in the store for its session.
func (a *Agent) orders(ctx context.Context, s root.Status) error {
	if s.Session == "" {
		return problem.New(problem.Failed, "box-"+string(s.Mode), "This box takes no orders: %s.", s.Why)
	}
	prefix, err := order.Under(a.Enrollment, s.Session)
	if err != nil {
		return err
	}
	keys, err := a.Store.List(ctx, prefix)
	if err != nil {
		return err
	}
	var troubles []error
	for _, key := range keys {
		if a.handed[key] {
			continue
		}
		if err := a.hand(ctx, key); err != nil {
			troubles = append(troubles, err)
		}
	}
	return errors.Join(troubles...)
}

// hand hands one order on. What root refuses is not asked again under this session.
func (a *Agent) hand(ctx context.Context, key bucket.Key) error {
	reading, err := a.Store.Get(ctx, key)
	if err != nil {
		return err
	}
	found, ok := reading.(bucket.Found)
	if !ok {
		return nil
	}
	failpoint.Here(HandsOn + failpoint.Before)
	taken, err := a.client.Order(ctx, bytes.NewReader(found.Data), a.pin.Stamp())
	failpoint.Here(HandsOn + failpoint.After)
	switch problem.KindOf(err) {
	case problem.Refused, problem.Usage:
		a.handed[key] = true
		a.Log.Warn("an order was refused", "order", key.String(), "because", problem.Words(err))
		return nil
	case problem.Failed, problem.Gone, problem.Unknown:
	}
	if err == nil {
		a.handed[key] = true
		a.Log.Info("handed an order on", "operation", taken.Operation)
	}
	return err
}

// output puts finished pieces of the work's output into the store.
func (a *Agent) output(context.Context, root.Status) error { return nil }
