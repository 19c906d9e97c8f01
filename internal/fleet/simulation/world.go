// Package simulation runs the acts of a box's root, and the operations of consoles, in a
// world that is in memory: a store, a disk, a machine with processes. What crashes, fails,
// comes late or is set back is chosen by chance from a seed, at every effect. After each
// step the world looks whether a promise is broken.
//
// The acts are those of package intent, and so is what they are judged by; only what
// drives them is another than in package root.
package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"holdfast/internal/fleet/box/intent"
	"holdfast/internal/fleet/claim"
	"holdfast/internal/fleet/order"
	"holdfast/internal/fleet/receipt"
	"holdfast/internal/fleet/roster"
)

// Bug is a defect that is planted, to see that a broken promise is found.
type Bug string

const enrollment = "0123456789abcdef0123456789abcdef"

// World is one history.
type World struct {
	seed    uint64
	rng     *rand.Rand
	bug     Bug
	trace   []string
	allowed map[string]bool // launches that were allowed since they last waited
	did     map[string]int  // how often each effect was done, by its name
	fault   string          // the promise that was broken

	// The store.
	roster   *roster.Roster
	claims   map[string]claim.Claim
	session  session
	orders   []order.Order
	acks     map[string]order.Answer // by operation
	receipts map[string]receipt.Receipt
	down     bool

	// The machine.
	boot    int
	procs   []*process
	full    bool
	journal journal
	old     *journal // a copy that may come back
	root    *root
	lives   int

	consoles
	calm bool // nothing fails any more
}

// session is the box's session in the store.
type session struct {
	id         int
	generation uint64
}

// process is a shim and what it runs.
type process struct {
	pid         int
	instance    string
	incarnation uint64
	launch      uint64
	life        int // of the root that holds its gate; 0: let through
	went        bool
	alive       bool // the shim
	work        bool // the work
	boot        int
	wedged      bool // it cannot be ended
	exit        receipt.Exit
}

func (p *process) identity() []byte {
	return fmt.Appendf(nil, "process %d", p.pid)
}

// journal is what is on the box's disk. Rows are values; a copy of the maps is a copy.
type journal struct {
	generation uint64
	memory     uint64 // highest revision of the roster that was verified
	reserve    bool
	rows       []intent.Row // in the order in which they were begun
	inventory  map[string]installation
	fences     map[string]fence
}

type installation struct {
	intent.Subject
	identity []byte
	launch   uint64
	boot     int
}

type fence struct {
	receipt.Target
	receipt *receipt.Receipt
}

func (j journal) clone() journal {
	j.rows = slices.Clone(j.rows)
	inventory, fences := map[string]installation{}, map[string]fence{}
	for k, v := range j.inventory {
		inventory[k] = v
	}
	for k, v := range j.fences {
		fences[k] = v
	}
	j.inventory, j.fences = inventory, fences
	return j
}

func at(instance string, incarnation uint64) string {
	return fmt.Sprintf("%s/%d", instance, incarnation)
}

func (w *World) say(format string, args ...any) {
	if len(w.trace) < 4000 {
		w.trace = append(w.trace, fmt.Sprintf(format, args...))
	}
}

// broken notes the first promise that is broken.
func (w *World) broken(format string, args ...any) {
	if w.fault == "" {
		w.fault = fmt.Sprintf(format, args...)
		w.say("BROKEN: %s", w.fault)
	}
}

// chance is true once in n times, and never in the calm.
func (w *World) chance(n int) bool { return !w.calm && w.rng.IntN(n) == 0 }

// watch looks at what must hold at every moment.
func (w *World) watch() {
	live := map[string]int{}
	for _, p := range w.procs {
		if !p.work {
			continue
		}
		live[p.instance]++
		if live[p.instance] > 1 {
			w.broken("two live processes of %s", p.instance)
		}
		if f, ok := w.journal.fences[at(p.instance, p.incarnation)]; ok && f.receipt != nil {
			w.broken("%s is alive and has a receipt", at(p.instance, p.incarnation))
		}
		for _, r := range w.receipts {
			if r.Instance == p.instance && r.Incarnation == p.incarnation {
				w.broken("%s is alive and its receipt is in the store", at(p.instance, p.incarnation))
			}
		}
	}
	w.watchClaims()
	for op, a := range w.acks {
		if _, no := a.(order.Refused); no && w.wentBy(op) {
			w.broken("%s was refused, and started something", op)
		}
	}
}

func (w *World) wentBy(op string) bool {
	for _, o := range w.orders {
		if o.Operation == op && o.Kind == order.Run {
			return slices.ContainsFunc(w.procs, func(p *process) bool {
				return p.went && p.instance == o.Instance && p.incarnation == o.Incarnation
			})
		}
	}
	return false
}
