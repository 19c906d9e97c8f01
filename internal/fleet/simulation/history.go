package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"holdfast/internal/fleet/claim"
	"holdfast/internal/fleet/operation"
	"holdfast/internal/fleet/order"
	"holdfast/internal/fleet/receipt"
	"holdfast/internal/fleet/roster"
)

// The defects that can be planted.
const (
	None            Bug = ""
	LaunchUnchecked Bug = "launch: started without asking again"
	LaunchUnknown   Bug = "launch: let through before its identity is in the journal"
	LaunchTwice     Bug = "launch: what an earlier root let through is started again"
	RefusedUnknown  Bug = "launch: refused without the journal"
	StopUnfenced    Bug = "stop: ended before the fence is in the journal"
	StopEarly       Bug = "stop: a receipt as soon as it was told to end"
	StopNumeral     Bug = "stop: the numeral from the request"
	AbandonedEarly  Bug = "run: given up because no answer came in time"
	ReleasedEarly   Bug = "stop: the claim is released before a receipt is there"
	HoldForgotten   Bug = "run: its hold is not released"
	SureEarly       Bug = "stop: what is absent counts before the session is there"
	StopForgets     Bug = "stop: answered before the receipt is in the store"
)

func sessionName(id int) string { return fmt.Sprintf("%032x", id) }

// New is a world with one box in it.
func New(seed uint64, bug Bug) *World {
	w := &World{
		seed: seed, bug: bug, rng: rand.New(rand.NewPCG(seed, 0)),
		claims: map[string]claim.Claim{}, acks: map[string]order.Answer{}, receipts: map[string]receipt.Receipt{},
		journal: journal{reserve: true, inventory: map[string]installation{}, fences: map[string]fence{}},
		boot:    1,
	}
	w.allowed = map[string]bool{}
	w.operations, w.did = map[string]operation.Operation{}, map[string]int{}
	r := roster.New("bucket", time.Second)
	r.Revision = 1
	at := time.Unix(1, 0).UTC()
	if err := r.ConfigureRegion("home", "", time.Second, at); err != nil {
		panic(err)
	}
	r.Boxes = map[string]roster.Box{enrollment: {BoxID: "one", Namespace: "default", Region: "home", Pool: "default", Cloud: "none", EvidenceSHA256: "e", State: roster.Active, EnrolledAt: at}}
	r.Consoles = map[string]roster.Console{}
	for _, name := range names {
		r.Consoles[name] = roster.Console{PublicKey: "p", Grant: "g", EnrolledAt: at}
	}
	w.roster = r
	return w
}

// Run lets so many things happen, and then goes on in the calm until nothing is left to
// do. It returns the promise that was broken, or "".
func (w *World) Run(steps int) string {
	for range steps {
		w.event()
		w.watch()
		if w.fault != "" {
			return w.fault
		}
	}
	w.settle()
	return w.fault
}

// Trace is what happened.
func (w *World) Trace() []string { return w.trace }

// event is one thing that happens.
func (w *World) event() {
	switch n := w.rng.IntN(100); {
	case n < 45 && w.root != nil:
		w.stepRoot()
	case n < 55:
		if w.root == nil {
			w.startRoot()
		} else {
			w.takeOrders()
		}
	case n < 87:
		w.stepConsole()
	case n < 88:
		w.end1()
	case n < 90:
		w.down = !w.down
	case n < 93:
		w.full = !w.full
	case n < 94 && w.root != nil:
		if w.rng.IntN(3) == 0 {
			w.downHere()
		} else {
			w.crash()
		}
	case n < 95:
		w.reboot()
	case n < 96:
		w.setBack()
		if w.old != nil && w.rng.IntN(4) == 0 {
			w.setBackAway()
		}
	case n < 98:
		w.churn()
	default:
		w.quarantine()
	}
}

// end1 lets some work end by itself.
func (w *World) end1() {
	for _, p := range w.procs {
		if p.work && w.rng.IntN(2) == 0 {
			p.alive, p.work, p.exit = false, false, receipt.Exited{Status: 0}
			w.say("%s ends by itself", at(p.instance, p.incarnation))
			return
		}
	}
}

func (w *World) reboot() {
	if w.root != nil {
		w.crash()
	}
	w.boot++
	w.say("the machine boots")
	for _, p := range w.procs {
		if p.alive {
			p.alive, p.work, p.exit = false, false, receipt.Unknown{Why: "reboot"}
		}
	}
}

// setBack keeps a copy of the journal, or brings one back while no root is there.
func (w *World) setBack() {
	switch {
	case w.old == nil:
		copied := w.journal.clone()
		w.old = &copied
	case w.root == nil && w.rng.IntN(4) == 0:
		w.say("the journal is set back from generation %d to %d", w.journal.generation, w.old.generation)
		w.journal, w.old = *w.old, nil
	}
}

// setBackAway is the worst moment for it: the store is away, and somebody stops what is here.
func (w *World) setBackAway() {
	if w.root != nil {
		w.crash()
	}
	w.say("the journal is set back from generation %d to %d, while the store is away", w.journal.generation, w.old.generation)
	w.journal, w.old, w.down = *w.old, nil, true
	w.startRoot()
	w.downHere()
}

// churn is writes of the roster that move nobody's binding: now and then an activation,
// while which the box cannot be held.
func (w *World) churn() {
	_ = w.rewrite(func(r *roster.Roster) error {
		switch {
		case len(r.Activations) > 0:
			return r.CancelActivation("change")
		case w.chance(3):
			return r.ReserveActivation("change", roster.Activation{Console: "main", Scope: roster.OneBox("one"), ReservedAt: time.Unix(1, 0).UTC()})
		}
		return nil
	}) // refused where a hold is
}

func (w *World) quarantine() {
	next := w.roster.Clone()
	next.Revision++
	_, b, _ := next.Live("one")
	var err error
	if b.State == roster.Active && w.rng.IntN(4) == 0 {
		err = next.Quarantine("one", "")
	} else if b.State == roster.Quarantined {
		err = next.Readmit("one")
	}
	if err != nil {
		panic(err)
	}
	w.roster = next
}

// settle ends all that fails, and goes on until nothing is left to do.
func (w *World) settle() {
	w.calm, w.down, w.full, w.journal.reserve = true, false, false, true
	if len(w.roster.Activations) > 0 {
		w.churn()
	}
	w.drivers = nil // somebody says the same again
	w.say("calm")
	if _, b, _ := w.roster.Live("one"); b.State == roster.Quarantined {
		w.quarantine()
	}
	if w.root != nil && w.rng.IntN(2) == 0 {
		w.crash()
	}
	for range 3000 {
		if w.fault != "" {
			return
		}
		if w.root == nil {
			w.startRoot()
		}
		w.takeOrders()
		moved := w.stepRoot()
		if w.stepConsole() {
			moved = true
		}
		w.watch()
		if !moved && w.idle() {
			break
		}
	}
	w.final()
}

// final looks at what must hold when nothing is left to do.
func (w *World) final() {
	if w.root.old {
		return // it starts and proves nothing more until it is enrolled anew
	}
	for _, o := range w.orders {
		if _, answered := w.acks[o.Operation]; !answered && w.operations[o.Operation].Outcome == nil {
			w.broken("%s is never answered", o.Operation)
		}
	}
	for op, a := range w.acks {
		if s, ok := a.(order.Stopping); ok {
			w.broken("%s is stopping for ever: %s", op, s.Why)
		}
		if s, ok := a.(order.Stopped); ok {
			if _, there := w.receipts[s.Receipt.Key]; !there {
				w.broken("%s is stopped by a receipt that is not there", op)
			}
		}
		if _, ok := a.(order.Running); ok && !w.wentBy(op) {
			w.broken("%s is acknowledged, and nothing of it ever ran", op)
		}
	}
	for _, row := range w.journal.rows {
		if !row.Phase.Settled() {
			w.broken("%s is left at %q", row.Operation, row.Phase)
		}
	}
	for _, p := range w.procs {
		if p.alive && w.recordedOf(p) == nil {
			w.broken("%s lives and nobody knows it", at(p.instance, p.incarnation))
		}
	}
	w.finalConsoles()
}

func (w *World) recordedOf(p *process) *installation {
	i, ok := w.journal.inventory[at(p.instance, p.incarnation)]
	if ok && slices.Equal(i.identity, p.identity()) {
		return &i
	}
	return nil
}
