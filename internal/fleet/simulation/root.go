package simulation

import (
	"fmt"

	"holdfast/internal/fleet/box/intent"
	"holdfast/internal/fleet/order"
	"holdfast/internal/fleet/roster"
)

// root is one life of a box's root.
type root struct {
	life       int
	session    int // 0 before it is taken
	superseded bool
	old        bool // its journal is an old copy, as far as is known
	owes       bool // it did not raise a generation that it should have
	pinned     roster.Stamp
	acts       []*running
}

// running is an act under way.
type running struct {
	row intent.Row
	act intent.Act
}

// startRoot finds what was left, and takes the session if the store is there.
func (w *World) startRoot() {
	actor, ok := w.roster.Actor(enrollment)
	if !ok {
		return
	}
	w.lives++
	r := &root{life: w.lives, pinned: actor.Binding.Stamp()}
	for _, row := range w.journal.rows {
		if !row.Phase.Settled() {
			r.acts = append(r.acts, &running{row, intent.Resume(row)})
		}
	}
	w.root = r
	w.say("root %d starts", r.life)
	w.takeSession()
}

// takeSession takes the session, and finds out whether the journal is an old copy.
func (w *World) takeSession() {
	r := w.root
	if w.down || r.session != 0 {
		return
	}
	r.old = w.journal.generation < w.session.generation
	w.session.id++
	r.session = w.session.id
	w.verified()
	if r.owes && !r.old {
		w.journal.generation++
	}
	w.session.generation = max(w.session.generation, w.journal.generation)
	w.say("root %d has session %d, old journal %t", r.life, r.session, r.old)
}

// sure says whether the root may conclude something from what is not there.
func (w *World) sure() bool {
	return (w.root.session != 0 || w.bug == SureEarly) && !w.root.old
}

// downHere stops what is installed, as the box's own operations.
func (w *World) downHere() {
	for _, i := range w.here("a") {
		if i.Fenced || i.Operation == "" {
			continue
		}
		s := i.Subject
		s.Operation = fmt.Sprintf("box-%d", len(w.journal.rows)+len(w.root.acts))
		w.say("down: %s stops %s", s.Operation, at(s.Instance, s.Incarnation))
		w.root.acts = append(w.root.acts, &running{intent.Row{Kind: intent.KindStop, Subject: s}, intent.NewStop(s)})
	}
}

func (w *World) verified() { w.journal.memory = max(w.journal.memory, w.roster.Revision) }

// crash ends the root: the gates that it held are closed.
func (w *World) crash() {
	w.say("root %d crashes", w.root.life)
	for _, p := range w.procs {
		if p.life == w.root.life && p.alive {
			p.alive, p.life = false, 0
		}
	}
	w.root = nil
}

// takeOrders is the agent: it hands root what is there under its session.
func (w *World) takeOrders() {
	w.takeSession()
	if w.root.session == 0 {
		return
	}
	for _, o := range w.orders {
		if o.BoxSession == sessionName(w.root.session) && !w.root.has(o.Operation) {
			w.take(o)
		}
	}
}

func (r *root) has(op string) bool {
	for _, a := range r.acts {
		if a.row.Operation == op {
			return true
		}
	}
	return false
}

func (w *World) take(o order.Order) {
	if _, acked := w.acks[o.Operation]; acked && !w.chance(4) {
		return // an answer is there; now and then it is asked again all the same
	}
	s := intent.Subject{Operation: o.Operation, Instance: o.Instance, Incarnation: o.Incarnation, Session: o.Session, Stamp: o.Binding}
	var a intent.Act = intent.NewLaunch(s)
	if o.Kind == order.Stop {
		a = intent.NewStop(s)
	}
	row := intent.Row{Subject: s}
	for _, known := range w.journal.rows {
		if known.Operation == o.Operation {
			row, a = known, intent.Resume(known)
		}
	}
	w.root.acts = append(w.root.acts, &running{row, a})
}

// stepRoot does one effect of one act. Acts of one instance go one after the other.
func (w *World) stepRoot() bool {
	busy := map[string]bool{}
	var free []*running
	for _, a := range w.root.acts {
		if !busy[a.row.Instance] {
			free = append(free, a)
		}
		busy[a.row.Instance] = true
	}
	if len(free) == 0 {
		return false
	}
	a := free[w.rng.IntN(len(free))]
	e := a.act.Next()
	if _, paused := e.(intent.Pause); paused && w.aside(a) {
		return true
	}
	if w.chance(25) {
		w.crash()
		return true
	}
	ev := w.do(a.row.Subject, e)
	w.did[intent.Name(kindOf(a.act), e)]++
	w.say("%s %s: %T%+v → %T%+v", a.row.Operation, a.row.Instance, e, e, ev, ev)
	w.watch()
	if w.chance(25) {
		w.crash()
		return true
	}
	if _, over := e.(intent.Finished); over {
		w.root.drop(a)
		return true
	}
	a.act = a.act.After(ev)
	return true
}

func kindOf(a intent.Act) intent.Kind {
	if _, stop := a.(intent.Stop); stop {
		return intent.KindStop
	}
	return intent.KindLaunch
}

// aside puts a launch that can do nothing now behind the others of its instance, so that
// it keeps no stop waiting. It is gone on with from its row.
func (w *World) aside(a *running) bool {
	l, launch := a.act.(intent.Launch)
	if !launch || !w.root.others(a) {
		return false
	}
	if p := w.gated(a.row.Subject); p != nil {
		p.alive, p.life = false, 0
	}
	w.root.drop(a)
	if l.Row().Phase != intent.Ordered {
		w.root.acts = append(w.root.acts, &running{l.Row(), intent.Resume(l.Row())})
	}
	return true
}

func (r *root) others(a *running) bool {
	for _, one := range r.acts {
		if one != a && one.row.Instance == a.row.Instance {
			return true
		}
	}
	return false
}

func (r *root) drop(a *running) {
	for i, one := range r.acts {
		if one == a {
			r.acts = append(r.acts[:i:i], r.acts[i+1:]...)
			return
		}
	}
}
