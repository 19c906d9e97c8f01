// Package root is the part of a box that owns what runs on it: the inventory, the fences,
// the processes and the evidence.
//
// It drives the acts of package intent over the journal of the box, its shims and the
// store. It believes no order before it has verified it against its own reading of the
// roster, and starts nothing before it has read roster and claim afresh. What the agent
// hands it is bytes; what it answers is in the store, signed with the evidence key.
//
// One root runs for a box, for as long as it has the lock of its folder. At its start it
// takes the box's session in the store; orders for another session are refused. While it
// cannot (the store is away, the machine is a copy, the journal is an old one) nothing is
// started, and what runs can still be stopped here ([Root.Down]).
//
// Acts of one instance run one after the other, of different instances side by side. An
// act that a crash left is gone on with at the next start by the same functions.
package root

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/internal/bucket"
	"holdfast/internal/durable"
	"holdfast/internal/fleet/box/intent"
	"holdfast/internal/fleet/box/shim"
	"holdfast/internal/fleet/order"
	"holdfast/internal/fleet/roster"
	"holdfast/internal/fleet/rosterstore"
	"holdfast/internal/problem"
	"holdfast/internal/sign"
)

// Config is what a root works with.
type Config struct {
	Dir        *durable.Dir // the box's folder
	Path       string       // its absolute path, as the work sees its own folder inside
	Home       string       // the home, which the work does not see
	Store      bucket.Store
	Roster     *rosterstore.Store
	Memory     *rosterstore.Memory
	Bucket     string // the store's random name
	Enrollment string
	Evidence   sign.Key
	Version    string // of holdfast
	// Floor says why the floor that is in force keeps this box from starting anything, nil
	// where it does not. An error is that it could not be read.
	Floor func(ctx context.Context, r *roster.Roster, proof string) (*intent.Denied, error)
	// AllowWeak lets work start where a stop could be proved only weakly, AllowRoot where
	// it would run as uid 0. User is another user to run it as, "" for this one.
	AllowWeak, AllowRoot bool
	User                 string
	Log                  *slog.Logger
	Now                  func() time.Time
	// Host, unless nil, makes of this machine another, in tests.
	Host func(*shim.Host)
}

// Root is a root under way.
type Root struct {
	Config
	book     *book
	lock     *durable.Lock
	folder   *durable.Dir // root/ in the box's folder
	host     *shim.Host
	machine  shim.Machine
	ability  ability
	life     context.Context // ends when this root is to end
	quit     func()          // ends it
	owes     atomic.Bool     // a generation that was not raised, see settle
	asks     string          // the id of the session that this root asks for
	patience time.Duration   // between two tries of what cannot be done now

	mu      sync.Mutex
	session standing
	lanes   map[string]*lane
	exits   map[string]string // of what was seen to end, by the folder of its launch
	changed chan struct{}     // closed and made anew at each change of what Status says
	count   uint64            // of those changes
	ending  bool

	work sync.WaitGroup
}

// Mode is whether a box takes orders.
type Mode string

const (
	Starting   Mode = "starting"   // it has no session yet
	Ready      Mode = "ready"      // it takes orders
	OldJournal Mode = "old"        // its journal is an old copy: it starts nothing
	Copied     Mode = "copied"     // its folder was copied from another machine
	Superseded Mode = "superseded" // another root has taken the session
)

// standing is what is known of the box's session.
type standing struct {
	mode Mode
	why  string
	id   string // of the session, "" before it is taken
	box  order.Box
}

// Open takes the lock of the box's folder, opens the journal, and finds what an earlier
// root left. Nothing is done of it before Serve.
func Open(ctx context.Context, c Config) (*Root, error) {
	folder, err := c.Dir.MakeSub("root", 0o700)
	if err != nil {
		return nil, err
	}
	lock, err := folder.TryLock("lock", "holdfast box root")
	if err != nil {
		folder.Close()
		var held *durable.Held
		if errors.As(err, &held) {
			return nil, problem.Refusal("root-running", "Another root has this box: %v. Nothing was changed.", held).Because(err)
		}
		return nil, err
	}
	r := &Root{Config: c, folder: folder, lock: lock, host: shim.NewHost(c.Dir), lanes: map[string]*lane{}, exits: map[string]string{}, asks: randomID(), changed: make(chan struct{}), patience: time.Second}
	if c.Host != nil {
		c.Host(r.host)
	}
	r.session = standing{mode: Starting, why: "the store was not asked yet"}
	if r.machine, err = r.host.Machine(); err == nil {
		r.ability = probe(ctx, r.host)
		r.book, err = openBook(folder, c.Enrollment, c.Now)
	}
	if err != nil {
		lock.Release()
		folder.Close()
		return nil, err
	}
	return r, nil
}

// Close lets go of everything. What runs goes on.
func (r *Root) Close() {
	r.book.close()
	r.lock.Release()
	r.folder.Close()
}

// Serve goes on with what was left, takes the session, and answers on the socket, until ctx
// is done or somebody asks it there to end. Then it ends each act at its next step, and
// returns.
func (r *Root) Serve(ctx context.Context) error {
	r.life, r.quit = context.WithCancel(ctx)
	defer r.quit()
	ctx = r.life
	if err := errors.Join(r.resume(ctx), r.listen(ctx)); err != nil {
		r.quit()
		r.work.Wait()
		return err
	}
	r.begin(ctx)
	r.work.Go(func() { r.beats(ctx) })
	<-r.life.Done()
	r.mu.Lock()
	r.ending = true // no lane is begun any more
	r.mu.Unlock()
	r.work.Wait()
	return nil
}

// begin takes the session, again and again until that came to something.
func (r *Root) begin(ctx context.Context) {
	r.work.Go(func() {
		for ctx.Err() == nil {
			now := r.takeSession(ctx)
			r.stand(now)
			if now.mode == Ready {
				r.settle(ctx)
			}
			if now.mode != Starting {
				return
			}
			r.wait(ctx, nil)
		}
	})
}

// settle raises the generation for what was fenced while it could not be told whether the
// journal is an older copy: one of those must not be raised.
func (r *Root) settle(ctx context.Context) {
	if !r.owes.Swap(false) {
		return
	}
	if err := r.book.raise(ctx); err != nil {
		r.Log.Warn("the journal's generation cannot be raised", "err", err)
		return
	}
	ctx, done := brief(ctx)
	defer done()
	r.raise(ctx, intent.KindStop)
}

func (r *Root) wait(ctx context.Context, wake <-chan struct{}) {
	select {
	case <-ctx.Done():
	case <-wake:
	case <-time.After(r.patience):
	}
}

func (r *Root) standing() standing {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.session
}

func (r *Root) stand(s standing) {
	r.mu.Lock()
	moved := r.session.mode != s.mode || r.session.why != s.why
	r.session = s
	r.tell()
	lanes := make([]*lane, 0, len(r.lanes))
	for _, l := range r.lanes {
		lanes = append(lanes, l)
	}
	r.mu.Unlock()
	if moved {
		r.Log.Info("the box's session", "mode", s.mode, "session", s.id, "why", s.why)
	}
	for _, l := range lanes {
		l.poke()
	}
}

// tell wakes who waits for a change of the status. The caller has the lock.
func (r *Root) tell() {
	close(r.changed)
	r.changed = make(chan struct{})
	r.count++
}

// takeSession takes the box's session in the store, unless that would be to claim what is
// not this machine's, or what the journal does not know.
func (r *Root) takeSession(ctx context.Context) standing {
	ctx, done := brief(ctx)
	defer done()
	v, err := r.readRoster(ctx)
	if err != nil {
		return standing{mode: Starting, why: "the roster cannot be read: " + problem.Words(err)}
	}
	box, err := order.NewBox(v.Roster, r.Enrollment, r.Evidence.Public())
	if err != nil {
		return standing{mode: Starting, why: problem.Words(err)}
	}
	key, err := order.SessionKey(r.Enrollment)
	if err != nil {
		return standing{mode: Starting, why: problem.Words(err)}
	}
	mine := order.Session{
		Schema: order.SessionSchema, Bucket: r.Bucket, Enrollment: r.Enrollment, ID: r.asks, MachineID: r.machine.ID, BootID: r.machine.Boot,
		RosterRevision: v.Revision, Version: r.Version, Proof: r.ability.proof, ProofWhy: r.ability.why, Isolation: r.ability.isolation,
		StartedAt: r.Now().UTC().Truncate(time.Millisecond),
	}
	own, err := r.sessions()
	if err == nil {
		err = r.note(own, mine.ID)
	}
	if err != nil {
		return standing{mode: Starting, why: "the box's session cannot be noted: " + problem.Words(err)}
	}
	var copied, old, forked bool
	_, err = bucket.Update(ctx, r.Store, key, box.Sessions(r.Evidence), func(was order.Session, exists bool) (order.Session, error) {
		generation, err := r.book.generation()
		if err != nil {
			return order.Session{}, err
		}
		copied, old = exists && was.MachineID != mine.MachineID, generation < was.Generation
		forked = exists && !old && was.ID != mine.ID && !slices.Contains(own, was.ID)
		if copied || forked {
			return order.Session{}, bucket.ErrUnchanged
		}
		mine.Generation = max(generation, was.Generation)
		return mine, nil
	})
	switch {
	case err != nil:
		return standing{mode: Starting, why: "the box's session cannot be taken: " + problem.Words(err)}
	case copied:
		return standing{mode: Copied, box: box, why: "the box's folder was copied from another machine, or the machine has another machine-id than it had; to work here, move the folder box away and join by a new invitation"}
	case forked:
		return standing{mode: OldJournal, box: box, why: "another root has worked for this box since this one last did: the box's folder was copied, or set back, and what the other one started is not known here; stop what runs here (holdfast down), then move the folder box away and join by a new invitation"}
	case old:
		return standing{mode: OldJournal, box: box, id: mine.ID, why: "the journal is an older copy of itself: it may have forgotten what runs; stop what runs here, then retire the box, move the folder box away and join by a new invitation"}
	}
	return standing{mode: Ready, box: box, id: mine.ID}
}

// raise makes the generation of the journal known in the session.
func (r *Root) raise(ctx context.Context, kind intent.Kind) intent.Event {
	s := r.standing()
	switch {
	case s.mode == Starting:
		return intent.Unreachable{Why: s.why}
	case s.mode == OldJournal && kind == intent.KindStop:
		return intent.Raised{} // the store knows of more than this journal already
	case s.mode != Ready:
		return intent.Superseded{}
	}
	key, err := order.SessionKey(r.Enrollment)
	if err != nil {
		return intent.Unreachable{Why: problem.Words(err)}
	}
	_, err = bucket.Update(ctx, r.Store, key, s.box.Sessions(r.Evidence), func(was order.Session, exists bool) (order.Session, error) {
		generation, err := r.book.generation()
		switch {
		case err != nil:
			return was, err
		case !exists:
			return was, errGone
		case was.ID != s.id:
			return was, errSuperseded
		case was.Generation >= generation:
			return was, bucket.ErrUnchanged
		}
		was.Generation = generation
		return was, nil
	})
	switch {
	case errors.Is(err, errSuperseded):
		r.supersede()
		return intent.Superseded{}
	case errors.Is(err, errGone):
		r.lose(s)
		return intent.Unreachable{Why: errGone.Error()}
	case err != nil:
		return intent.Unreachable{Why: problem.Words(err)}
	}
	return intent.Raised{}
}

var errGone = errors.New("the box's session is not in the store any more")

// lose takes the session anew that is gone from the store: nobody else has it.
func (r *Root) lose(was standing) {
	r.mu.Lock()
	again := r.session.id == was.id && r.session.mode == was.mode && !r.ending
	if again {
		r.session = standing{mode: Starting, why: errGone.Error()}
		r.tell()
	}
	r.mu.Unlock()
	if again {
		r.Log.Warn("the box's session is gone from the store, and is taken again")
		r.begin(r.life)
	}
}

var errSuperseded = errors.New("the session in the store is another root's")

func (r *Root) supersede() {
	s := r.standing()
	s.mode, s.why = Superseded, "another root has taken this box's session: the box's folder was copied, or a second root serves it; to work here again, stop what runs here, move the folder box away and join by a new invitation"
	r.stand(s)
}

// holds says whether the session in the store is this root's, read now.
func (r *Root) holds(ctx context.Context) (bool, error) {
	s := r.standing()
	if s.mode != Ready && s.mode != OldJournal || s.id == "" {
		return false, nil
	}
	key, err := order.SessionKey(r.Enrollment)
	if err != nil {
		return false, err
	}
	found, err := bucket.Read(ctx, r.Store, key)
	if errors.Is(err, fs.ErrNotExist) {
		r.lose(s)
	}
	if err != nil {
		return false, err
	}
	now, err := s.box.ReadSession(found)
	if err != nil {
		return false, err
	}
	if now.ID != s.id {
		r.supersede()
	}
	return now.ID == s.id, nil
}
