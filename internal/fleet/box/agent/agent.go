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
	"slices"
	"sync"
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
	Folder     string // the store's, where it is one on this machine: changes in it are noticed
	Roster     *rosterstore.Store
	Enrollment string
	Version    string
	// Start starts a root that outlives this process.
	Start func() error
	// Every is how often the store is looked at for orders.
	Every time.Duration
	Log   *slog.Logger
}

// Agent is an agent under way: it looks after root, carries orders, and carries output, side
// by side.
type Agent struct {
	Config
	hints *hints

	// Of what looks after root.
	started time.Time // when a root was started last
	backoff time.Duration

	// Of what carries orders.
	pin     roster.Pinned
	pinned  bool
	session string
	handed  map[bucket.Key]bool // orders of the session that root has taken or refused

	mu     sync.Mutex
	client *root.Client
	status root.Status   // the last; its mode is "" while there is no root
	moved  chan struct{} // closed and made anew when status is another
}

// New is an agent that has done nothing yet.
func New(c Config) *Agent {
	return &Agent{Config: c, handed: map[bucket.Key]bool{}, backoff: time.Second, moved: make(chan struct{})}
}

// Run works until ctx is done. What goes wrong is logged, once while it lasts.
func (a *Agent) Run(ctx context.Context) {
	var work sync.WaitGroup
	if a.hints = newHints(a.Folder); a.hints != nil {
		work.Go(func() { a.hints.serve(ctx) })
	}
	work.Go(func() { a.follow(ctx) })
	work.Go(func() { a.carry(ctx) })
	a.takeOrders(ctx)
	work.Wait()
	if a.client != nil {
		a.client.Close()
	}
}

// tell logs what goes wrong, unless that is what was logged last, and returns it. What only
// has to be waited for is no error.
func (a *Agent) tell(ctx context.Context, last string, err error) string {
	if err == nil || ctx.Err() != nil {
		return ""
	}
	text := err.Error()
	if text == last {
		return text
	}
	switch p := problem.From(err, "something broke"); p.Step {
	case stepStarting, "root-ending":
		a.Log.Info("the box waits", "for", p.Reason)
	case stepTakesNone:
		if last != awaited+text {
			return awaited + text // every root begins so: said if it stays so
		}
		a.Log.Warn("the box waits", "for", p.Reason)
	default:
		a.Log.Error("the box", "err", err)
	}
	return text
}

// awaited stands before what was seen once, and not logged.
const awaited = "awaited: "

const (
	stepStarting  = "root-starting"
	stepTakesNone = "box-starting"
)

// jitter is about d, so that not all look at the same moment.
func jitter(d time.Duration) time.Duration { return d*3/4 + rand.N(d/2) }

// How long a root is left alone between two questions, and at most waits with its answer.
const (
	followEvery = 250 * time.Millisecond
	followMost  = 30 * time.Second
)

// follow sees to it that a root runs, and knows how it is, until ctx is done.
func (a *Agent) follow(ctx context.Context) {
	trouble := ""
	for ctx.Err() == nil {
		s, err := a.root(ctx)
		a.learn(s)
		trouble = a.tell(ctx, trouble, err)
		select {
		case <-ctx.Done():
		case <-time.After(followEvery):
		}
	}
}

// known is the last that root said, and what is closed when it says something else.
func (a *Agent) known() (root.Status, <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.status, a.moved
}

func (a *Agent) learn(s root.Status) {
	a.mu.Lock()
	defer a.mu.Unlock()
	same := s.Session == a.status.Session && s.Changes == a.status.Changes && s.Mode == a.status.Mode
	a.status = s
	if !same {
		close(a.moved)
		a.moved = make(chan struct{})
	}
}

// dialled is a client of root, nil where there never was one.
func (a *Agent) dialled() (*root.Client, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.client == nil {
		client, err := root.Dial(a.Path)
		if err != nil && !errors.Is(err, root.ErrNoRoot) {
			return nil, err
		}
		a.client = client
	}
	return a.client, nil
}

// root is how the root of this version is, once that is another than was known. One that
// does not run is started, one of another version is asked to end first.
func (a *Agent) root(ctx context.Context) (root.Status, error) {
	client, err := a.dialled()
	if err != nil {
		return root.Status{}, err
	}
	if client != nil {
		var s root.Status
		if was, _ := a.known(); was.Mode == "" {
			s, err = client.Status(ctx, 0)
		} else {
			s, err = client.Follow(ctx, was, followMost)
		}
		switch {
		case err == nil && s.Version == a.Version:
			a.backoff = time.Second
			return s, nil
		case err == nil:
			a.Log.Info("asks the root of another version to end", "version", s.Version, "ours", a.Version)
			return root.Status{}, errors.Join(client.End(ctx), errNotYet)
		case problem.KindOf(err) == problem.Unknown:
			return root.Status{}, errNotYet // it ended while it was asked
		case !errors.Is(err, root.ErrNoRoot):
			return root.Status{}, err
		}
	}
	return root.Status{}, a.start()
}

var errNotYet = problem.New(problem.Failed, stepStarting, "The box's root, which is being started.")

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
	return errNotYet
}

// takeOrders hands root the orders of its session until ctx is done.
func (a *Agent) takeOrders(ctx context.Context) {
	trouble := ""
	for ctx.Err() == nil {
		s, moved := a.known()
		var hint <-chan struct{}
		var err error
		if s.Mode != "" {
			hint, err = a.orders(ctx, s)
			trouble = a.tell(ctx, trouble, err)
		}
		if s.Session == a.session && s.Mode == root.Ready {
			moved = nil // nothing that it does concerns orders, but a session of its own
		}
		select {
		case <-ctx.Done():
		case <-moved:
		case <-hint:
		case <-time.After(jitter(a.Every)):
		}
	}
}

// orders hands root what stands in the store for its session, and says what tells of more.
func (a *Agent) orders(ctx context.Context, s root.Status) (<-chan struct{}, error) {
	if s.Session == "" {
		return nil, problem.New(problem.Failed, "box-"+string(s.Mode), "This box takes no orders: %s.", s.Why)
	}
	if s.Session != a.session {
		failpoint.Here(SeesSession + failpoint.Before)
		defer failpoint.Here(SeesSession + failpoint.After)
		a.session = s.Session
		clear(a.handed)
		a.Log.Info("the box takes orders", "session", s.Session, "proof", s.Proof, "isolation", s.Isolation)
	}
	prefix, err := order.Under(a.Enrollment, s.Session)
	if err != nil {
		return nil, err
	}
	hint := a.hints.on(prefix) // before the look, so that nothing falls between them
	keys, err := a.Store.List(ctx, prefix)
	if err != nil {
		return hint, err
	}
	keys = slices.DeleteFunc(keys, func(k bucket.Key) bool { return a.handed[k] })
	var troubles []error
	if len(keys) > 0 || !a.pinned {
		if err := a.remember(ctx); err != nil && !a.pinned {
			return hint, err
		} else if err != nil {
			troubles = append(troubles, err) // it goes on under what it started with: stops ask for no more
		}
	}
	for _, key := range keys {
		if err := a.hand(ctx, key); err != nil {
			troubles = append(troubles, err)
		}
	}
	return hint, errors.Join(troubles...)
}

// remember pins what the box is bound to, at the start, and anew when that moved and root
// has nothing under way.
func (a *Agent) remember(ctx context.Context) error {
	v, err := a.Roster.Read(ctx)
	if err != nil {
		return err
	}
	actor, ok := v.Actor(a.Enrollment)
	if !ok {
		return problem.Refusal("box-unknown", "This machine is not in the roster.")
	}
	if a.pinned && a.pin.Stamp().Current(actor.Binding) {
		return nil
	}
	if a.pinned {
		s, err := a.client.Status(ctx, 0)
		if err != nil || len(s.Intents) > 0 {
			return err // goes on under what it started with
		}
	}
	a.pin, a.pinned = actor.Binding.Pin(), true
	return nil
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
