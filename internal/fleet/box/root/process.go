package root

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"holdfast/internal/durable"
	"holdfast/internal/fleet/box/intent"
	"holdfast/internal/fleet/box/shim"
	"holdfast/internal/fleet/receipt"
	"holdfast/internal/problem"
)

// Where the processes of a box have their folders:
// instances/INSTANCE/INCARNATION/work is the work's own, and shim-ID that of one launch.
const (
	instancesFolder = "instances"
	workFolder      = "work"
	shimFolder      = "shim-"
)

// endMargin is how long a process has to be gone after it was killed, before it counts as
// one that does not die.
const endMargin = 10 * time.Second

// startLimit is how long a shim has to come to its gate.
const startLimit = 30 * time.Second

// gate is a shim that waits.
type gate struct {
	waiting *shim.Waiting
	folder  string
	dir     *durable.Dir
}

// drop closes it, and waits until the shim is gone. Nothing of its work was started.
func (g *gate) drop() {
	ctx, done := context.WithTimeout(context.Background(), startLimit)
	defer done()
	_ = g.waiting.Cancel(ctx) // its gate is closed: whatever it does, it starts nothing
	g.dir.Close()
}

// spawn starts the shim of a launch, and brings it to its gate.
func (r *Root) spawn(ctx context.Context, t *task) intent.Event {
	ctx, done := context.WithTimeout(ctx, startLimit)
	defer done()
	g, err := r.toGate(ctx, t)
	if err != nil {
		p := problem.From(err, "The process that watches over the work could not be started. Nothing was started.")
		r.Log.Error("a shim did not come to its gate", "operation", t.Operation, "err", err)
		return intent.NotSpawned{Step: p.Step, Reason: p.Reason}
	}
	t.gate = g
	data, err := encodeIdentity(identified{g.folder, g.waiting.Identity(), r.Now().UTC().Truncate(time.Millisecond)})
	if err != nil {
		g.drop()
		t.gate = nil
		return intent.NotSpawned{Step: "identity", Reason: problem.Words(err)}
	}
	return intent.Waiting{Identity: data}
}

func (r *Root) toGate(ctx context.Context, t *task) (*gate, error) {
	of, err := r.incarnation(t.Instance, t.Incarnation)
	if err != nil {
		return nil, err
	}
	defer of.Close()
	work, err := of.MakeSub(workFolder, 0o700)
	if err != nil {
		return nil, err
	}
	defer work.Close()
	folder := shimFolder + randomID()
	dir, err := of.MakeSub(folder, 0o700)
	if err != nil {
		return nil, err
	}
	l, err := r.launch(t, filepath.Join(r.Path, instancesFolder, t.Instance, strconv.FormatUint(t.Incarnation, 10), workFolder))
	if err == nil {
		var w *shim.Waiting
		if w, err = r.host.Start(ctx, dir, l); err == nil {
			return &gate{w, folder, dir}, nil
		}
	}
	dir.Close()
	return nil, err
}

// incarnation is the folder of one, made if need be.
func (r *Root) incarnation(instance string, n uint64) (*durable.Dir, error) {
	all, err := r.Dir.MakeSub(instancesFolder, 0o700)
	if err != nil {
		return nil, err
	}
	defer all.Close()
	one, err := all.MakeSub(instance, 0o700)
	if err != nil {
		return nil, err
	}
	defer one.Close()
	return one.MakeSub(strconv.FormatUint(n, 10), 0o700)
}

// launch is the work as a shim is told it.
func (r *Root) launch(t *task, work string) (shim.Launch, error) {
	w := t.Work
	l := shim.Launch{
		Argv: w.Command, Dir: w.Dir, Home: r.Home, Keep: []string{work}, Terminal: w.TTY,
		Limits: shim.Limits(w.Limits), Grace: longestGrace, AllowWeak: r.AllowWeak,
	}
	if l.Dir == "" {
		l.Dir = work
	}
	env := map[string]string{
		"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": work, "LANG": "C.UTF-8",
		"HOLDFAST_INSTANCE": t.Instance, "HOLDFAST_INCARNATION": strconv.FormatUint(t.Incarnation, 10), "HOLDFAST_BOX": t.BoxID,
	}
	maps.Copy(env, w.Env)
	for _, name := range slices.Sorted(maps.Keys(env)) {
		l.Env = append(l.Env, name+"="+env[name])
	}
	who, err := lookUser(r.User)
	if err != nil {
		return l, err
	}
	l.User = who
	if who != nil {
		err = os.Chown(work, int(who.UID), int(who.GID))
	}
	return l, err
}

// longestGrace is what a shim gives its work of itself: the grace of a stop is the stop's,
// and root ends what is left after it.
const longestGrace = 24 * time.Hour

// release lets the shim at the gate through.
func (r *Root) release(ctx context.Context, t *task) intent.Event {
	g := t.gate
	t.gate = nil
	if g == nil {
		return r.find(ctx, t)
	}
	ctx, done := context.WithTimeout(ctx, startLimit)
	defer done()
	h, err := g.waiting.Go(ctx)
	g.dir.Close()
	switch {
	case err == nil:
		h.Close()
		r.attachOne(t.Instance, t.Incarnation)
		return intent.Went{}
	case problem.KindOf(err) == problem.Unknown:
		ev := r.find(ctx, t)
		if _, went := ev.(intent.Went); went {
			r.attachOne(t.Instance, t.Incarnation)
		}
		return ev
	}
	if why := r.stillThere(ctx, t); why != "" {
		return intent.Undecided{Why: why}
	}
	p := problem.From(err, "The work could not be started.")
	return intent.NotSpawned{Step: p.Step, Reason: p.Reason}
}

// stillThere waits for the end of a shim that said that it could not start its work, and
// says why that cannot be told. Only what is known to have ended is refused, since then
// nobody looks for it any more.
func (r *Root) stillThere(ctx context.Context, t *task) string {
	found, dir, err := r.recorded(t.Instance, t.Incarnation)
	if err != nil {
		return problem.Words(err)
	}
	defer dir.Close()
	switch f := found.(type) {
	case shim.Gone:
		return ""
	case shim.Alive:
		defer f.Handle.Close()
		if err := f.Handle.Ended(ctx); err != nil {
			return "the process that could not start the work does not end: " + problem.Words(err)
		}
		return ""
	case shim.Unclear:
		return f.Why
	case shim.OtherBoot, shim.OtherMachine:
	}
	return "the process that could not start the work is not found"
}

// find says what became of the shim that the journal names: whether its work was let go.
func (r *Root) find(ctx context.Context, t *task) intent.Event {
	for {
		found, dir, err := r.recorded(t.Instance, t.Incarnation)
		if err != nil {
			return intent.Undecided{Why: problem.Words(err)}
		}
		ev := finding(found, dir)
		if dir != nil {
			dir.Close()
		}
		if alive, is := found.(shim.Alive); is {
			if ev == nil {
				// At its gate, which is closed: it ends by itself, or goes if the word was on
				// its way.
				short, done := context.WithTimeout(ctx, 50*time.Millisecond)
				_ = alive.Handle.Ended(short)
				done()
			}
			alive.Handle.Close()
		}
		switch {
		case ev != nil:
			return ev
		case ctx.Err() != nil:
			return intent.Undecided{Why: "a process waits at a gate that is closed"}
		}
	}
}

// finding is what a recorded shim tells of its gate; nil where it is still at it.
func finding(found shim.Found, dir *durable.Dir) intent.Event {
	switch f := found.(type) {
	case shim.Alive:
		if went, err := shim.Went(dir); err == nil && went {
			return intent.Went{}
		}
		return nil
	case shim.Gone:
		return wentIf(f.Went)
	case shim.OtherBoot:
		went, err := shim.Went(dir)
		if err != nil {
			return intent.Undecided{Why: problem.Words(err)}
		}
		return wentIf(went)
	case shim.OtherMachine:
		return intent.Undecided{Why: "it was started on another machine"}
	case shim.Unclear:
		return intent.Undecided{Why: f.Why}
	}
	return intent.Undecided{Why: "it was not found"}
}

func wentIf(went bool) intent.Event {
	if went {
		return intent.Went{}
	}
	return intent.NeverWent{}
}

var errNoIdentity = errors.New("no process of it was ever let through")

// recorded looks for the shim whose identity the journal has, and opens its folder.
func (r *Root) recorded(instance string, incarnation uint64) (shim.Found, *durable.Dir, error) {
	_, i, err := r.book.at(instance, incarnation)
	if err != nil {
		return nil, nil, err
	}
	if i == nil || i.identity == nil {
		return nil, nil, errNoIdentity
	}
	return r.found(instance, incarnation, *i.identity)
}

// found looks for a shim by its identity, and opens its folder.
func (r *Root) found(instance string, incarnation uint64, who identified) (shim.Found, *durable.Dir, error) {
	of, err := r.incarnation(instance, incarnation)
	if err != nil {
		return nil, nil, err
	}
	defer of.Close()
	dir, err := of.Sub(who.Folder)
	if err != nil {
		return nil, nil, err
	}
	return r.host.Attach(dir, who.Shim), dir, nil
}

// look says whether anything of an incarnation is alive. From what is absent something is
// concluded only by the root that has the box's session: before that a journal may be an
// older copy of itself, which has forgotten what runs.
func (r *Root) look(ctx context.Context, t *task) intent.Event {
	found, dir, err := r.recorded(t.Instance, t.Incarnation)
	s := r.standing()
	switch {
	case errors.Is(err, errNoIdentity) && s.mode == Ready:
		return intent.Gone{Proof: receipt.NothingStarted{}, Exit: receipt.Unknown{Why: "nothing was started"}}
	case err != nil:
		return intent.Undecided{Why: problem.Words(err)}
	}
	defer dir.Close()
	switch f := found.(type) {
	case shim.Alive:
		f.Handle.Close()
		return intent.Alive{}
	case shim.Gone:
		if s.mode != Ready {
			return intent.Undecided{Why: "only what is seen to end is proved while this root has not got the box's session: " + s.why}
		}
		return r.gone(t, dir)
	case shim.OtherBoot:
		mine, err := r.holds(ctx)
		if err != nil || !mine || s.mode != Ready {
			return intent.Undecided{Why: "it ran before the machine was started anew, which proves its end only while this root has the box's session"}
		}
		return intent.Gone{
			Proof: receipt.Reboot{Machine: r.machine.ID, Was: f.Was, Boot: f.Is, Session: s.id},
			Exit:  receipt.Unknown{Why: "the machine was started anew"},
		}
	case shim.OtherMachine:
		return intent.Undecided{Why: "it was started on another machine: only a loss grant of a console ends it"}
	case shim.Unclear:
		return intent.Undecided{Why: f.Why}
	}
	return intent.Undecided{Why: "it was not found"}
}

// gone is the proof of an end that the shim's own end is, and its exit.
func (r *Root) gone(t *task, dir *durable.Dir) intent.Event {
	_, i, err := r.book.at(t.Instance, t.Incarnation)
	if err != nil || i == nil || i.identity == nil {
		return intent.Undecided{Why: "the inventory cannot be read"}
	}
	who := i.identity
	went, err := shim.Went(dir)
	if err != nil {
		return intent.Undecided{Why: problem.Words(err)}
	}
	if !went && r.standing().mode != Ready {
		return intent.Undecided{Why: "nothing was started by the process that the journal knows, and it may not know of another"}
	}
	if !went {
		return intent.Gone{Proof: receipt.NothingStarted{}, Exit: receipt.Unknown{Why: "nothing was started"}}
	}
	exit, err := shim.Exit(dir)
	if err != nil {
		return intent.Undecided{Why: problem.Words(err)}
	}
	if who.Shim.Proof == shim.Weak {
		return intent.Gone{Proof: receipt.Weak{PID: uint64(who.Shim.PID), Start: who.Shim.Start}, Exit: exit}
	}
	return intent.Gone{Proof: receipt.Namespace{PID: uint64(who.Shim.PID), Start: who.Shim.Start, Inode: who.Shim.Namespace}, Exit: exit}
}

// end ends what is alive of an incarnation: TERM, the grace, KILL. A root that is to end
// does not wait for it: the fence stands, and the next root goes on.
func (r *Root) end(look context.Context, t *task) intent.Event {
	found, dir, err := r.recorded(t.Instance, t.Incarnation)
	if err != nil {
		return intent.Undecided{Why: problem.Words(err)}
	}
	defer dir.Close()
	alive, is := found.(shim.Alive)
	if !is {
		return r.look(look, t)
	}
	defer alive.Handle.Close()
	grace := time.Duration(t.GraceNS)
	ctx, done := context.WithTimeout(r.life, grace+endMargin)
	defer done()
	if err := alive.Handle.Stop(ctx, grace); err != nil {
		why := problem.Words(err)
		switch {
		case r.life.Err() != nil:
			why = "this root ends, and the next goes on with it"
		case ctx.Err() != nil:
			why = fmt.Sprintf("process %d does not end, though it was killed: it may wait for a device or a file system", alive.Handle.Identity().PID)
		}
		return intent.Undecided{Why: why}
	}
	return r.gone(t, dir)
}
