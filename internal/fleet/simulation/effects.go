package simulation

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"holdfast/internal/fleet/box/intent"
	"holdfast/internal/fleet/order"
	"holdfast/internal/fleet/receipt"
)

// do does an effect in the world.
func (w *World) do(s intent.Subject, e intent.Effect) intent.Event {
	switch e := e.(type) {
	case intent.Check:
		return w.check(e.At, s)
	case intent.Match:
		return w.match(s)
	case intent.Commit:
		return w.commit(e.Row, e.Identity)
	case intent.Raise:
		return w.raise(s)
	case intent.Spawn:
		p := &process{pid: len(w.procs), instance: s.Instance, incarnation: s.Incarnation, launch: e.Launch, life: w.root.life, alive: true, boot: w.boot, wedged: w.chance(3)}
		if w.chance(40) {
			return intent.NotSpawned{Step: "shim-start", Reason: "It did not come to its gate."}
		}
		w.procs = append(w.procs, p)
		return intent.Waiting{Identity: p.identity()}
	case intent.Release:
		return w.release(s)
	case intent.Drop:
		if p := w.gated(s); p != nil {
			p.alive, p.life = false, 0
		}
		return intent.NeverWent{}
	case intent.Find:
		return w.find(s)
	case intent.Look:
		return w.look(s)
	case intent.End:
		return w.end(s)
	case intent.CommitReceipt:
		return w.commitReceipt(e)
	case intent.Put:
		return w.put(s)
	case intent.Answer:
		return w.answer(s, e.Answer)
	case intent.Pause:
		delete(w.allowed, s.Operation)
		return intent.Again{}
	case intent.Finished:
		return intent.Done{}
	}
	panic("simulation: unknown effect")
}

func (w *World) check(site intent.Site, s intent.Subject) intent.Event {
	if w.down || w.root.session == 0 {
		return intent.Unreachable{Why: "down"}
	}
	if w.root.old {
		// What it has forgotten it cannot refuse either.
		return intent.Unreachable{Why: "old journal"}
	}
	w.verified()
	if w.bug == LaunchUnchecked && site == intent.AtLaunch {
		return intent.Allowed{}
	}
	a := intent.Authority{Roster: w.roster, Enrollment: enrollment, Installer: w.root.pinned}
	if c, ok := w.claims[s.Instance]; ok {
		a.Claim = &c
	}
	ev := intent.Judge(site, s, a, w.here(s.Instance))
	if ev == (intent.Allowed{}) && site == intent.AtLaunch {
		w.allowed[s.Operation] = true
	}
	return ev
}

func (w *World) here(instance string) []intent.Installation {
	var list []intent.Installation
	seen := map[uint64]bool{}
	for _, i := range w.journal.inventory {
		if i.Instance == instance {
			f, fenced := w.journal.fences[at(instance, i.Incarnation)]
			list = append(list, intent.Installation{Subject: i.Subject, Fenced: fenced, Receipted: fenced && f.receipt != nil, Identified: i.identity != nil})
			seen[i.Incarnation] = true
		}
	}
	for _, f := range w.journal.fences {
		if f.Instance == instance && !seen[f.Incarnation] {
			list = append(list, intent.Installation{
				Subject: intent.Subject{Instance: instance, Incarnation: f.Incarnation, Session: f.Session, Stamp: f.Binding},
				Fenced:  true, Receipted: f.receipt != nil,
			})
		}
	}
	return list
}

func (w *World) match(s intent.Subject) intent.Event {
	key := at(s.Instance, s.Incarnation)
	if f, ok := w.journal.fences[key]; ok && f.Operation != s.Operation {
		if f.receipt == nil {
			return intent.Undecided{Why: "being stopped"}
		}
		return intent.Answered{Receipt: ref(*f.receipt)}
	}
	i, ok := w.journal.inventory[key]
	switch {
	case !ok && !w.sure():
		return intent.Undecided{Why: "old journal"}
	case ok && (i.Session != s.Session || !i.Stamp.Same(s.Stamp)):
		return intent.Denied{Step: "target", Reason: "differs"}
	}
	return intent.Matched{}
}

// commit writes a row, and what belongs to its phase.
func (w *World) commit(row intent.Row, identity []byte) intent.Event {
	if w.full {
		if row.Kind != intent.KindStop || !w.journal.reserve {
			return intent.Full{}
		}
		w.journal.reserve = false
	}
	if w.bug == StopUnfenced && row.Phase == intent.Fenced || w.bug == RefusedUnknown && row.Phase == intent.Refused {
		return intent.Committed{}
	}
	if w.bug == LaunchUnknown {
		identity = nil
	}
	w.writeRow(row)
	w.root.owes = w.root.owes || row.Phase.Raises() && w.root.session == 0
	if row.Phase.Raises() && w.sure() {
		// An old copy stays one: its generation never reaches that of the store.
		w.journal.generation++
	}
	key := at(row.Instance, row.Incarnation)
	switch row.Phase {
	case intent.Installed:
		w.journal.inventory[key] = installation{Subject: row.Subject, launch: row.Launch}
	case intent.Spawned:
		w.journal.inventory[key] = installation{Subject: row.Subject, launch: row.Launch, identity: identity, boot: w.boot}
	case intent.Fenced:
		actor, _ := w.roster.Actor(enrollment)
		numeral := w.journal.memory
		if w.bug == StopNumeral {
			numeral = w.roster.Revision + 1
		}
		w.journal.fences[key] = fence{Target: receipt.Target{
			Operation: row.Operation, BoxID: actor.BoxID, Enrollment: enrollment, Instance: row.Instance, Incarnation: row.Incarnation,
			Session: row.Session, Binding: row.Stamp, RosterRevision: numeral,
		}}
	case intent.Refused:
		if i, ok := w.journal.inventory[key]; ok && i.Operation == row.Operation {
			i.identity = nil
			w.journal.inventory[key] = i
		}
	case intent.Ordered, intent.Intended, intent.Running, intent.Proved, intent.Handed:
	}
	return intent.Committed{}
}

func (w *World) writeRow(row intent.Row) {
	for i, r := range w.journal.rows {
		if r.Operation == row.Operation {
			w.journal.rows[i] = row
			return
		}
	}
	w.journal.rows = append(w.journal.rows, row)
}

func (w *World) raise(s intent.Subject) intent.Event {
	stop := w.stopping(s.Operation)
	switch {
	case w.down || w.root.session == 0:
		return intent.Unreachable{Why: "down"}
	case w.session.id != w.root.session:
		w.root.superseded = true
		return intent.Superseded{}
	case w.root.old && stop:
		return intent.Raised{}
	case w.root.old:
		return intent.Superseded{}
	}
	w.session.generation = max(w.session.generation, w.journal.generation)
	return intent.Raised{}
}

func (w *World) stopping(op string) bool {
	return slices.ContainsFunc(w.root.acts, func(a *running) bool {
		return a.row.Operation == op && kindOf(a.act) == intent.KindStop
	})
}

// gated is the shim that waits at a gate of this root.
func (w *World) gated(s intent.Subject) *process {
	for _, p := range w.procs {
		if p.life == w.root.life && p.alive && !p.went && p.instance == s.Instance && p.incarnation == s.Incarnation {
			return p
		}
	}
	return nil
}

func (w *World) release(s intent.Subject) intent.Event {
	p := w.gated(s)
	if p == nil {
		return intent.NeverWent{}
	}
	if !w.allowed[s.Operation] && w.bug != LaunchUnchecked {
		w.broken("%s is let through by what was allowed before it waited", s.Operation)
	}
	if i := w.journal.inventory[at(s.Instance, s.Incarnation)]; !bytes.Equal(i.identity, p.identity()) {
		w.broken("%s is let through, and the journal does not know it", s.Operation)
	}
	p.life = 0
	if w.chance(30) {
		p.alive = false
		return intent.NotSpawned{Step: "work-start", Reason: "There is no such program."}
	}
	p.went, p.work = true, true
	return intent.Went{}
}

// recorded is the process whose identity the journal has, nil where there is none now.
func (w *World) recorded(s intent.Subject) *process {
	i := w.journal.inventory[at(s.Instance, s.Incarnation)]
	for _, p := range w.procs {
		if i.identity != nil && bytes.Equal(p.identity(), i.identity) {
			return p
		}
	}
	return nil
}

func (w *World) find(s intent.Subject) intent.Event {
	p := w.recorded(s)
	if p == nil {
		w.broken("%s looks for what was never spawned", s.Operation)
		return intent.NeverWent{}
	}
	if p.went && w.bug != LaunchTwice {
		return intent.Went{}
	}
	return intent.NeverWent{}
}

func (w *World) look(s intent.Subject) intent.Event {
	i := w.journal.inventory[at(s.Instance, s.Incarnation)]
	p := w.recorded(s)
	switch {
	case p != nil && p.alive && p.boot == w.boot:
		return intent.Alive{}
	case !w.sure():
		return intent.Undecided{Why: "old journal, or not known yet"}
	case i.identity == nil:
		return intent.Gone{Proof: receipt.NothingStarted{}, Exit: receipt.Unknown{Why: "nothing ran"}}
	case i.boot != w.boot:
		if w.down || w.session.id != w.root.session {
			return intent.Undecided{Why: "session not held"}
		}
		return intent.Gone{Proof: receipt.Reboot{}, Exit: receipt.Unknown{Why: "reboot"}}
	}
	return intent.Gone{Proof: receipt.Namespace{}, Exit: p.exit}
}

func (w *World) end(s intent.Subject) intent.Event {
	p := w.recorded(s)
	if _, fenced := w.journal.fences[at(s.Instance, s.Incarnation)]; !fenced {
		w.broken("%s is signalled before its fence", s.Operation)
	}
	if w.bug == StopEarly {
		return intent.Gone{Proof: receipt.Namespace{}, Exit: receipt.Signalled{Signal: 15}}
	}
	if p.wedged && !w.calm {
		return intent.Undecided{Why: "does not die"}
	}
	p.alive, p.work = false, false
	p.exit = receipt.Signalled{Signal: 15}
	return intent.Gone{Proof: receipt.Namespace{}, Exit: p.exit}
}

func ref(r receipt.Receipt) receipt.Ref {
	key, err := receipt.Key(r.Target)
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256([]byte(r.Made))
	return receipt.Ref{Key: key.String(), SHA256: hex.EncodeToString(sum[:])}
}

func (w *World) commitReceipt(e intent.CommitReceipt) intent.Event {
	key := at(e.Row.Instance, e.Row.Incarnation)
	if w.full && !w.journal.reserve {
		// The room that the fence had is the receipt's too, in a world of such few bytes.
		if w.chance(2) {
			return intent.Full{}
		}
	}
	f := w.journal.fences[key]
	if f.Operation == "" {
		w.broken("%s is ended without a fence", e.Row.Operation)
		return intent.Full{}
	}
	if f.RosterRevision == 0 || f.RosterRevision > w.roster.Revision {
		w.broken("a receipt with the numeral %d", f.RosterRevision)
	}
	r := receipt.Receipt{Target: f.Target, Made: e.Made, Proof: e.Proof, Exit: e.Exit}
	f.receipt = &r
	w.journal.fences[key] = f
	row := e.Row
	row.Receipt = ref(r)
	w.writeRow(row)
	return intent.Sealed{Receipt: row.Receipt}
}

func (w *World) put(s intent.Subject) intent.Event {
	if w.down {
		return intent.Unreachable{Why: "down"}
	}
	r := w.journal.fences[at(s.Instance, s.Incarnation)].receipt
	if w.bug == StopForgets {
		return intent.Done{}
	}
	was, there := w.receipts[ref(*r).Key]
	if there && was != *r {
		f := w.journal.fences[at(s.Instance, s.Incarnation)]
		f.receipt = &was
		w.journal.fences[at(s.Instance, s.Incarnation)] = f
		return intent.Sealed{Receipt: ref(was)}
	}
	w.receipts[ref(*r).Key] = *r
	if w.chance(8) {
		return intent.Unreachable{Why: "the answer was lost"}
	}
	return intent.Done{}
}

func (w *World) answer(s intent.Subject, a order.Answer) intent.Event {
	if w.down {
		return intent.Unreachable{Why: "down"}
	}
	if strings.HasPrefix(s.Operation, "box-") {
		return intent.Done{}
	}
	if w.root.session == 0 {
		return intent.Unreachable{Why: "no session"}
	}
	if w.session.id != w.root.session {
		return intent.Superseded{}
	}
	w.acks[s.Operation] = a
	if w.chance(8) {
		return intent.Unreachable{Why: "the answer was lost"}
	}
	return intent.Done{}
}
