package simulation

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"holdfast/internal/bucket"
	"holdfast/internal/fleet/claim"
	"holdfast/internal/fleet/operation"
	"holdfast/internal/fleet/order"
	"holdfast/internal/fleet/receipt"
	"holdfast/internal/fleet/roster"
)

// consoles are two consoles, which take each other's operations over.
type consoles struct {
	operations map[string]operation.Operation // in the store, by key
	drivers    []*driver
	stuck      string // the first operation that would have to go on with a guess
}

// driver is somebody who drives an operation: it may crash, and it may come late.
type driver struct {
	console string
	state   operation.State
	waits   string
}

func (d *driver) key() string { return d.state.Operation().Key }

var names = []string{"main", "attic"}

// stepConsole begins an operation, lets somebody drive one, or goes on with one; it says
// whether anything was done but waiting.
func (w *World) stepConsole() bool {
	switch n := w.rng.IntN(40); {
	case w.calm:
		w.everyOneIsDriven()
	case n < 3:
		w.beginOperation()
		return true
	case n < 5 && len(w.operations) > 0:
		w.drive(w.anOperation(), names[w.rng.IntN(len(names))])
		return true
	case n < 6 && len(w.drivers) > 0:
		w.drivers = slices.Delete(w.drivers, 0, 1) // crashes
		return true
	case n < 7:
		return w.recoverHolds()
	}
	if len(w.drivers) == 0 {
		return w.calm && w.recoverHolds()
	}
	return w.goOn(w.drivers[w.rng.IntN(len(w.drivers))])
}

func (w *World) anOperation() string {
	keys := slices.Sorted(maps.Keys(w.operations))
	return keys[w.rng.IntN(len(keys))]
}

// drive makes a driver for an operation, of a console that takes it over if need be.
func (w *World) drive(key, console string) {
	o := w.operations[key]
	if o.Console != console {
		w.change(key, operation.TakingOver(console))
		o = w.operations[key]
	}
	w.drivers = append(w.drivers, &driver{console: console, state: operation.Begin(o)})
}

func (w *World) everyOneIsDriven() {
	for _, key := range slices.Sorted(maps.Keys(w.operations)) {
		if w.operations[key].Outcome == nil && !slices.ContainsFunc(w.drivers, func(d *driver) bool { return d.key() == key }) {
			w.drive(key, w.operations[key].Console)
		}
	}
}

// beginOperation notes a run, or a stop.
func (w *World) beginOperation() {
	_, row, _ := w.roster.Live("one")
	if w.down || w.session.id == 0 {
		return
	}
	instance := []string{"a", "b"}[w.rng.IntN(2)]
	actor, _ := w.roster.Actor(enrollment)
	c := w.claims[instance]
	o := operation.Operation{
		Schema: operation.Schema, Bucket: "bucket", Key: fmt.Sprintf("op%d", len(w.operations)), Console: names[w.rng.IntN(2)], Epoch: 1,
		Instance: instance, BoxID: "one", Enrollment: enrollment, BegunAt: time.Unix(1, 0).UTC(),
	}
	switch {
	case c.State == claim.Held:
		o.Kind, o.BaseSession, o.Session, o.Incarnation, o.Binding = order.Stop, c.Session, c.Session, c.Incarnation, c.Binding
	case row.State != roster.Active:
		return
	default:
		o.Kind, o.BaseSession, o.Session, o.Incarnation, o.Binding = order.Run, c.Session, c.Session+1, c.Incarnation+1, actor.Binding.Stamp()
		o.Work = &order.Work{Command: []string{"work"}, Env: map[string]string{}}
	}
	w.say("%s: %s %s", o.Key, o.Kind, at(instance, o.Incarnation))
	w.operations[o.Key] = o
	w.drive(o.Key, o.Console)
}

// goOn does one effect of an operation.
func (w *World) goOn(d *driver) bool {
	e := d.state.Next()
	if _, over := e.(operation.Done); over {
		w.leave(d)
		return true
	}
	if stuck, is := e.(operation.Stuck); is {
		if w.stuck == "" {
			w.stuck = d.key() + ": " + stuck.Reason
		}
		w.leave(d)
		return true
	}
	if wait, is := e.(operation.Wait); is {
		again := d.waits == wait.Why
		d.waits = wait.Why
		d.state = d.state.After(operation.Woken{})
		return !again
	}
	if w.down || w.chance(12) {
		d.state = d.state.After(operation.Unreachable{Why: "down"})
		return !w.calm
	}
	ev := w.effect(d, e)
	w.did[fmt.Sprintf("console-%s.%s", d.state.Operation().Kind, strings.TrimPrefix(fmt.Sprintf("%T", e), "operation."))]++
	w.say("%s by %s: %T → %T%+v", d.key(), d.console, e, ev, ev)
	w.watch()
	if w.chance(12) {
		ev = operation.Unknown{Why: "the answer was lost"}
	}
	if w.chance(30) {
		w.leave(d) // crashes
		return true
	}
	_, idle := ev.(operation.NoAck)
	d.state = d.state.After(ev)
	return !idle
}

func (w *World) leave(d *driver) {
	w.drivers = slices.DeleteFunc(w.drivers, func(one *driver) bool { return one == d })
}

// effect does an effect of an operation in the world.
func (w *World) effect(d *driver, e operation.Effect) operation.Event {
	o := d.state.Operation()
	switch e := e.(type) {
	case operation.LookClaim:
		return w.claimIs(o.Instance)
	case operation.Reserve:
		return w.reserve(o)
	case operation.Take:
		return w.changeClaim(o, o.Taking())
	case operation.Forgo:
		return w.changeClaim(o, o.Forgoing())
	case operation.Abandon:
		return w.changeClaim(o, o.Abandoning())
	case operation.ReleaseClaim:
		return w.changeClaim(o, o.Releasing(e.Noted))
	case operation.ReleaseHold:
		w.cancelHold(o.Key)
		return operation.HoldReleased{}
	case operation.ReadSession:
		return operation.SessionIs{ID: sessionName(w.session.id)}
	case operation.PutOrder:
		return w.putOrder(e.Order)
	case operation.ReadAck:
		return w.readAck(o)
	case operation.ReadReceipt:
		return w.readReceipt(e.Ref)
	case operation.SettleRun:
		return operation.RunSettled{}
	case operation.Conclude:
		w.change(o.Key, o.Concluding(e.Outcome))
		if is := w.operations[o.Key]; is.Outcome == nil {
			return operation.TakenOver{Console: is.Console}
		}
		return operation.Concluded{Outcome: w.operations[o.Key].Outcome}
	case operation.Wait, operation.Done, operation.Stuck:
	}
	panic("simulation: unknown effect")
}

func (w *World) change(key string, change bucket.Change[operation.Operation]) {
	was, exists := w.operations[key]
	next, err := change(was, exists)
	if err == nil {
		w.operations[key] = next
	} else if !errors.Is(err, bucket.ErrUnchanged) {
		w.broken("%s: %v", key, err)
	}
}

func (w *World) claimIs(instance string) operation.Event {
	c, exists := w.claims[instance]
	return operation.ClaimIs{Claim: c, Exists: exists}
}

func (w *World) changeClaim(o operation.Operation, change bucket.Change[claim.Claim]) operation.Event {
	was, exists := w.claims[o.Instance]
	was.Receipts = slices.Clone(was.Receipts)
	next, err := change(was, exists)
	if err == nil {
		w.claims[o.Instance] = next
	} else if !errors.Is(err, bucket.ErrUnchanged) {
		w.broken("%s changes the claim of %s: %v", o.Key, o.Instance, err)
	}
	return w.claimIs(o.Instance)
}

func (w *World) rewrite(change func(*roster.Roster) error) error {
	next := w.roster.Clone()
	next.Revision++
	if err := change(next); err != nil {
		return err
	}
	w.roster = next
	return nil
}

func (w *World) reserve(o operation.Operation) operation.Event {
	err := w.rewrite(func(r *roster.Roster) error {
		if _, held := r.Holds[o.Key]; held {
			return roster.ErrUnchanged
		}
		return r.ReserveHold(o.Key, o.Hold())
	})
	if err != nil && !errors.Is(err, roster.ErrUnchanged) {
		return operation.Refused{Step: "hold", Reason: err.Error()}
	}
	return operation.Reserved{}
}

func (w *World) cancelHold(key string) {
	if w.bug == HoldForgotten {
		return
	}
	if err := w.rewrite(func(r *roster.Roster) error { return r.CancelHold(key) }); err != nil && !errors.Is(err, roster.ErrUnchanged) {
		w.broken("the hold of %s: %v", key, err)
	}
}

// recoverHolds ends the holds of operations that are over.
func (w *World) recoverHolds() (moved bool) {
	for _, key := range slices.Sorted(maps.Keys(w.roster.Holds)) {
		if !w.down && w.operations[key].Outcome != nil && w.bug != HoldForgotten {
			w.cancelHold(key)
			moved = true
		}
	}
	return moved
}

func (w *World) putOrder(o order.Order) operation.Event {
	for _, is := range w.orders {
		if is.Operation == o.Operation && is.BoxSession == o.BoxSession {
			if !is.Same(o) {
				w.broken("two orders of %s", o.Operation)
			}
			return operation.Ordered{}
		}
	}
	w.orders = append(w.orders, o)
	return operation.Ordered{}
}

func (w *World) readAck(o operation.Operation) operation.Event {
	a, answered := w.acks[o.Key]
	if w.bug == AbandonedEarly && o.Kind == order.Run && !answered {
		a, answered = order.Refused{Step: "late", Reason: "it took too long"}, true
	}
	if _, is := a.(order.Stopping); is && w.bug == ReleasedEarly {
		c := w.claims[o.Instance]
		c.State = claim.Released
		w.claims[o.Instance] = c
	}
	if !answered {
		return operation.NoAck{}
	}
	return operation.AckIs{Ack: order.Ack{
		Bucket: o.Bucket, Enrollment: enrollment, Operation: o.Key, Instance: o.Instance, Incarnation: o.Incarnation, Session: o.Session, Answer: a,
	}}
}

func (w *World) readReceipt(ref receipt.Ref) operation.Event {
	r, there := w.receipts[ref.Key]
	if !there {
		return operation.NoReceipt{}
	}
	return operation.Proved{
		Noted: claim.Noted{Operation: r.Operation, Enrollment: r.Enrollment, Incarnation: r.Incarnation, Ref: ref},
		Proof: receipt.Kind(r.Proof), DirectoryRevision: fmt.Sprint(r.RosterRevision), Binding: r.Binding,
	}
}

// watchClaims looks at what must hold of claims at every moment.
func (w *World) watchClaims() {
	for _, p := range w.procs {
		if c := w.claims[p.instance]; p.work && (c.State != claim.Held || c.Incarnation != p.incarnation) {
			w.broken("%s is alive, and its claim is %s at incarnation %d", at(p.instance, p.incarnation), c.State, c.Incarnation)
		}
	}
}

func (w *World) idle() bool { return len(w.drivers) == 0 && len(w.root.acts) == 0 }

func (w *World) finalConsoles() {
	if w.stuck != "" {
		w.broken("it would have to be guessed: %s", w.stuck)
	}
	for _, key := range slices.Sorted(maps.Keys(w.operations)) {
		switch out := w.operations[key].Outcome.(type) {
		case nil:
			w.broken("%s is never over", key)
		case operation.Running:
			if !w.wentBy(key) {
				w.broken("%s is said to run, and never did", key)
			}
		case operation.Stopped:
			if _, there := w.receipts[out.Receipt.Key]; !there {
				w.broken("%s is said to be stopped, without a receipt", key)
			}
		case operation.Refusal:
			if w.wentBy(key) && !strings.Contains(out.Reason, "receipt") {
				w.broken("%s is said to be refused, and ran: %s", key, out.Reason)
			}
		}
	}
	for key := range w.roster.Holds {
		w.broken("the hold of %s is left", key)
	}
}
