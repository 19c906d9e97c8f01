// Package intent is what a box's root does in more than one step, as pure step functions:
// to launch an incarnation of an instance ([Launch]), and to stop one ([Stop]).
//
// An act is a value. Next says the one thing to be done now, an [Effect]; the driver
// (package root, or a simulator) does it and hands what came of it, an [Event], to After,
// which is the act from then on. What of an act must outlast a crash is its [Row], which
// the driver writes to the journal with a [Commit], together with what the commit says of
// the inventory and the fence. All else in an act is lost in a crash, and found out again:
// [Resume] makes the act anew from its row, and goes on by the same functions.
//
// The promises, for any order of crashes, and any events:
//
//   - Nothing is released through its gate before its identity is in the journal, and
//     before a fresh reading of roster and claim allowed it.
//   - Nothing is signalled before its fence is in the journal.
//   - A receipt is made only of an end that was seen, or is proved by what was recorded.
//   - An order that was refused is in the journal as refused before anybody hears of it.
//   - Before anything is let through or refused, the journal's generation is raised and the
//     store knows it; before anything is signalled it is raised. So a copy of the journal
//     from before that is known to be old.
//
// It knows no clock, no store and no process.
package intent

import (
	"holdfast/internal/fleet/order"
	"holdfast/internal/fleet/receipt"
	"holdfast/internal/fleet/roster"
)

// Kind is what an act does.
type Kind string

const (
	KindLaunch Kind = "launch"
	KindStop   Kind = "stop"
)

// Phase is how far an act is, as the journal knows it.
type Phase string

const (
	// Ordered: nothing of it is in the journal.
	Ordered Phase = ""

	// Of a launch.
	Intended  Phase = "intended"  // it is to be installed
	Installed Phase = "installed" // it is in the inventory
	Spawned   Phase = "spawned"   // its shim waits at the gate, or was let through
	Running   Phase = "running"   // it was let through; settled

	// Of a stop.
	Fenced Phase = "fenced" // nothing new of it is started, and it is to be ended
	Proved Phase = "proved" // the receipt is in the journal
	Handed Phase = "handed" // and in the store; settled

	// Of both, settled.
	Refused Phase = "refused" // by a verified reason, before anything was started or stopped
)

// Settled says whether nothing is left to do but to answer who asks again.
func (p Phase) Settled() bool { return p == Running || p == Handed || p == Refused }

// Raises says whether the journal's generation is raised by writing the phase: what comes
// next cannot be taken back, and a journal that does not know of it must be known as old.
// One that is known as old already is never raised again, or it would pass for a new one.
func (p Phase) Raises() bool { return p == Spawned || p == Fenced || p == Refused }

// Subject is what an act is about, as its order says.
type Subject struct {
	Operation   string
	Instance    string
	Incarnation uint64
	Session     uint64 // of the claim
	Stamp       roster.Stamp
}

// Row is an act as it stands in the journal.
type Row struct {
	Kind Kind
	Subject
	Phase Phase
	// Launch counts the shims that were started for the incarnation, from 1.
	Launch uint64
	// Why is the reason of one that was refused.
	Why order.Refused
	// Receipt is that of a stop which is proved.
	Receipt receipt.Ref
}

// Act is a launch or a stop under way.
//
//sumtype:decl
type Act interface {
	// Next is the one thing to be done now.
	Next() Effect
	// After is the act after the event that Next's effect came to.
	After(Event) Act
	act()
}

// Resume is the act of a row that a crash left in the journal, or that an order asks
// about again.
func Resume(r Row) Act {
	if r.Kind == KindStop {
		return Stop{row: r, resumed: true}
	}
	return Launch{row: r, resumed: true}
}

// Effect is one thing that a driver does for an act.
//
//sumtype:decl
type Effect interface{ effect() }

type (
	// Check asks the authority, freshly: the roster, and the claim. At names which of its
	// rules are asked. Comes to Allowed, Denied, Moved or Unreachable.
	Check struct{ At Site }
	// Match compares the order of a stop with the inventory, record to record. Comes to
	// Matched, Denied, Answered, or Undecided while another act stops it or the journal is an
	// old copy.
	Match struct{}
	// Commit writes the row to the journal, and with it what belongs to the phase: at
	// Installed the inventory; at Spawned the identity, which is dropped at Refused; at Fenced
	// the fence; and where the phase raises it, a raised generation. Comes to Committed or
	// Full.
	Commit struct {
		Row      Row
		Identity []byte // at Spawned
	}
	// Raise makes the journal's generation known to the store, under the box's session.
	// Comes to Raised, Superseded or Unreachable.
	Raise struct{}
	// Spawn starts the shim of a launch, which waits at its gate. Comes to Waiting or
	// NotSpawned.
	Spawn struct{ Launch uint64 }
	// Release lets it through. Comes to Went, NeverWent, Undecided or, where the program of
	// the work could not be started at all and the shim has ended, NotSpawned.
	Release struct{}
	// Find looks for the shim that an earlier root started, whose gate ended with that root:
	// comes to Went, NeverWent or Undecided.
	Find struct{}
	// Drop closes the gate that a shim waits at, and waits for its end. Comes to NeverWent
	// or Undecided.
	Drop struct{}
	// Look looks whether anything of the incarnation is alive: comes to Alive, Gone or
	// Undecided.
	Look struct{}
	// End ends it: TERM, the grace, KILL; comes to Gone, or Undecided when something does
	// not die.
	End struct{}
	// CommitReceipt makes the receipt from the fence, and writes it to the journal. Comes
	// to Sealed or Full.
	CommitReceipt struct {
		Row   Row
		Made  receipt.Made
		Proof receipt.Proof
		Exit  receipt.Exit
	}
	// Put puts the receipt into the store. Comes to Done or Unreachable; or to Sealed, if one
	// of the same fence is there that this box signed, and that this journal has lost: then
	// that is the receipt.
	Put struct{}
	// Answer tells the console how far it is. Comes to Done, Superseded or Unreachable.
	Answer struct{ Answer order.Answer }
	// Pause: nothing can be done now; try again later. Comes to Again. What is shown to
	// people meanwhile is Why.
	Pause struct{ Why string }
	// Finished: there is nothing left to do.
	Finished struct{}
)

func (Check) effect()         {}
func (Match) effect()         {}
func (Commit) effect()        {}
func (Raise) effect()         {}
func (Spawn) effect()         {}
func (Release) effect()       {}
func (Find) effect()          {}
func (Drop) effect()          {}
func (Look) effect()          {}
func (End) effect()           {}
func (CommitReceipt) effect() {}
func (Put) effect()           {}
func (Answer) effect()        {}
func (Pause) effect()         {}
func (Finished) effect()      {}

// Site is a place at which the authority is asked.
type Site string

const (
	// AtInventory: may this incarnation be installed? Also that of no other incarnation
	// of the instance anything may be alive here.
	AtInventory Site = "inventory"
	// AtLaunch: may what is installed be started? The inventory agrees with the act,
	// record to record, before roster and claim are asked.
	AtLaunch Site = "launch"
)

// Event is what came of an effect.
//
//sumtype:decl
type Event interface{ event() }

type (
	Allowed struct{}
	// Denied for good, by a verified reason.
	Denied struct{ Step, Reason string }
	// Moved: the box's binding, verified, is another than the act's stamp.
	Moved struct{ Facts string }
	// Unreachable: the store, or what it says cannot be believed. Nothing is known.
	Unreachable struct{ Why string }

	// Matched: the inventory has it as the order says, or never had it, by a journal that
	// is whole.
	Matched struct{}
	// Answered: it has a receipt already, by the row of another operation.
	Answered struct{ Receipt receipt.Ref }

	Committed struct{}
	Full      struct{} // the disk; nothing was written
	Sealed    struct{ Receipt receipt.Ref }

	Raised     struct{}
	Superseded struct{} // another root took the box's session, or the journal is an old copy

	Waiting    struct{ Identity []byte } // at the gate
	NotSpawned struct{ Step, Reason string }
	Went       struct{}
	NeverWent  struct{} // and never will: it is gone

	Alive struct{}
	// Gone: nothing of it is alive, and why that is known.
	Gone struct {
		Proof receipt.Proof
		Exit  receipt.Exit
	}
	Undecided struct{ Why string }

	Done  struct{}
	Again struct{}
)

func (Allowed) event()     {}
func (Denied) event()      {}
func (Moved) event()       {}
func (Unreachable) event() {}
func (Matched) event()     {}
func (Sealed) event()      {}
func (Answered) event()    {}
func (Committed) event()   {}
func (Full) event()        {}
func (Raised) event()      {}
func (Superseded) event()  {}
func (Waiting) event()     {}
func (NotSpawned) event()  {}
func (Went) event()        {}
func (NeverWent) event()   {}
func (Alive) event()       {}
func (Gone) event()        {}
func (Undecided) event()   {}
func (Done) event()        {}
func (Again) event()       {}

// Name is what an effect of an act is called: where a crash is made in tests, and what a
// log says. Each place at which something durable or external is done has its own.
func Name(k Kind, e Effect) string {
	name := string(k) + "."
	switch e := e.(type) {
	case Check:
		return name + "check-" + string(e.At)
	case Match:
		return name + "match"
	case Commit:
		return name + "commit-" + string(e.Row.Phase)
	case Raise:
		return name + "raise"
	case Spawn:
		return name + "spawn"
	case Release:
		return name + "release"
	case Find:
		return name + "find"
	case Drop:
		return name + "drop"
	case Look:
		return name + "look"
	case End:
		return name + "end"
	case CommitReceipt:
		return name + "commit-receipt"
	case Put:
		return name + "put"
	case Answer:
		return name + "answer-" + order.Phase(e.Answer)
	case Pause:
		return name + "pause"
	case Finished:
		return name + "finished"
	}
	panic("intent: an effect without a name")
}
