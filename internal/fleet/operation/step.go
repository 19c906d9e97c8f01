package operation

import (
	"holdfast/internal/fleet/claim"
	"holdfast/internal/fleet/order"
	"holdfast/internal/fleet/receipt"
	"holdfast/internal/fleet/roster"
)

// State is an operation and what its driver has seen of it: a [Run] or a [Stop]. A
// crash loses it, and [Begin] makes it anew.
type State interface {
	// Next is the one thing to do now.
	Next() Effect
	// After is the state when that was done, and e came of it.
	After(e Event) State
	// Operation is the document that it began with.
	Operation() Operation
}

// Begin is the state of an operation of which only the document is known.
func Begin(o Operation) State {
	if o.Kind == order.Stop {
		return BeginStop(o)
	}
	return BeginRun(o)
}

// Effect is something to do, and what may come of it. Besides what is said at each,
// any of them may end as [Unreachable], [Unknown] or [Broken].
//
//sumtype:decl
type Effect interface{ effect() }

type (
	// LookClaim reads the claim: ClaimIs.
	LookClaim struct{}
	// Reserve holds the box in the roster, under the operation's key: Reserved, Refused.
	Reserve struct{}
	// Take takes the claim ([Operation.Taking]): ClaimIs.
	Take struct{}
	// Forgo uses up the claim's turn, if it is this operation's still
	// ([Operation.Forgoing]): ClaimIs.
	Forgo struct{}
	// Abandon gives the claim back: the box refused, and nothing was started
	// ([Operation.Abandoning]): ClaimIs.
	Abandon struct{}
	// ReleaseClaim notes a receipt in the claim, and releases it
	// ([Operation.Releasing]): ClaimIs.
	ReleaseClaim struct{ Noted claim.Noted }
	// ReleaseHold ends the hold, whoever reserved it: HoldReleased.
	ReleaseHold struct{}
	// ReadSession reads the session of the box: SessionIs, NoSession.
	ReadSession struct{}
	// PutOrder writes the order, create-only: Ordered, also where the same order is
	// there already; Refused where another is.
	PutOrder struct{ Order order.Order }
	// ReadAck reads the box's answer: AckIs, NoAck.
	ReadAck struct{}
	// ReadReceipt reads and verifies a receipt: Proved, Unproved, NoReceipt.
	ReadReceipt struct{ Ref receipt.Ref }
	// SettleRun drives the run that holds the claim as far as it goes without waiting, if
	// one is under way under this key: RunSettled. One that waits keeps no stop waiting.
	SettleRun struct{ Operation string }
	// Conclude notes the outcome, unless one is noted: Concluded, TakenOver.
	Conclude struct{ Outcome Outcome }
	// Wait waits a while: Woken. Why is for people.
	Wait struct{ Why string }
	// Done: it is over. Nothing comes of it.
	Done struct{ Outcome Outcome }
	// Stuck: it is not over, and going on would be on a guess. Somebody has to look.
	// Nothing comes of it.
	Stuck struct{ Step, Reason string }
)

func (LookClaim) effect()    {}
func (Reserve) effect()      {}
func (Take) effect()         {}
func (Forgo) effect()        {}
func (Abandon) effect()      {}
func (ReleaseClaim) effect() {}
func (ReleaseHold) effect()  {}
func (ReadSession) effect()  {}
func (PutOrder) effect()     {}
func (ReadAck) effect()      {}
func (ReadReceipt) effect()  {}
func (SettleRun) effect()    {}
func (Conclude) effect()     {}
func (Wait) effect()         {}
func (Done) effect()         {}
func (Stuck) effect()        {}

// Event is what came of an effect.
//
//sumtype:decl
type Event interface{ event() }

type (
	// ClaimIs: the claim now, after what was done to it; the zero Claim where there is
	// none.
	ClaimIs struct {
		Claim  claim.Claim
		Exists bool
	}
	// Reserved: the hold stands, by this driver or another.
	Reserved struct{}
	// HoldReleased: no hold has the operation's key.
	HoldReleased struct{}
	// SessionIs: the box's present session is called ID.
	SessionIs struct{ ID string }
	// NoSession: the box has none.
	NoSession struct{}
	// Ordered: the order is there.
	Ordered struct{}
	// AckIs: the box answered, with its signature.
	AckIs struct{ Ack order.Ack }
	// NoAck: it did not, so far.
	NoAck struct{}
	// Proved: each check of the receipt held.
	Proved struct {
		Noted             claim.Noted
		Proof             string
		DirectoryRevision string
		Binding           roster.Stamp
	}
	// Unproved: a check did not hold.
	Unproved struct{ Check, Detail string }
	// NoReceipt: it is not there.
	NoReceipt struct{}
	// RunSettled: no run is under way under that key.
	RunSettled struct{}
	// Concluded: the operation's outcome, noted by this driver or another.
	Concluded struct{ Outcome Outcome }
	// TakenOver: none is noted, and the operation is another console's by now.
	TakenOver struct{ Console string }
	// Woken: the wait is over.
	Woken struct{}
	// Refused: what was to be written may not be, and was not.
	Refused struct{ Step, Reason string }
	// Unreachable: nobody could be asked, and nothing was written.
	Unreachable struct{ Why string }
	// Unknown: whether it was written cannot be told.
	Unknown struct{ Why string }
	// Broken: what was read is not what it should be, and asking again mends nothing.
	Broken struct{ Step, Reason string }
)

func (ClaimIs) event()      {}
func (Reserved) event()     {}
func (HoldReleased) event() {}
func (SessionIs) event()    {}
func (NoSession) event()    {}
func (Ordered) event()      {}
func (AckIs) event()        {}
func (NoAck) event()        {}
func (Proved) event()       {}
func (Unproved) event()     {}
func (NoReceipt) event()    {}
func (RunSettled) event()   {}
func (Concluded) event()    {}
func (TakenOver) event()    {}
func (Woken) event()        {}
func (Refused) event()      {}
func (Unreachable) event()  {}
func (Unknown) event()      {}
func (Broken) event()       {}
