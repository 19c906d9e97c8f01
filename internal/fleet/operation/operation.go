// Package operation is what a console does to run an instance, or to stop one, as a
// value and as steps.
//
// An [Operation] is a document, control/operations/KEY.json: what is to be done, and
// on which claim it is based, written down before anything else is. It says nothing of
// how far it is. That stands in the things themselves: in the roster's holds, in the
// claim, in the order, in what the box answers. Whoever goes on with an operation, for
// the first time or after a crash, begins with the document alone ([Begin]) and asks
// them.
//
// [Run] and [Stop] are that, as pure step functions. Next says what is to be done now;
// After is told what came of it. They know of no store, no clock and no chance.
//
// What makes it safe to come late, twice, or after a crash:
//
//   - Each effect is idempotent by the operation's key.
//   - The claim is the arbiter. An operation notes the session that the claim had
//     (BaseSession, 0 where there was none), and takes the claim only at that very
//     session. Sessions only grow, so of all who ever drive an operation none takes a
//     claim that was given on since.
//   - Before an operation ends as refused without having had the claim, it uses up the
//     claim's turn ([Forgo]): from then on no other driver of it takes the claim, and
//     none orders anything.
//   - Of two outcomes the first that was noted is the operation's, for everybody.
//
// A hold that a late driver reserved anew it releases itself, or recovery does, as the
// hold's key is that of an operation that is over.
package operation

import (
	"time"

	"holdfast/internal/bucket"
	"holdfast/internal/fleet/order"
	"holdfast/internal/fleet/receipt"
	"holdfast/internal/fleet/roster"
	"holdfast/internal/problem"
)

// Schema names the format of an operation's bytes.
const Schema = "holdfast-operation/1"

// Operation is one run or stop of one instance, asked for by a console.
type Operation struct {
	Schema string
	Bucket string // which fleet: the store's random name
	Key    string
	Kind   order.Kind
	// Console is whose operation it is: it signs the document. Epoch is raised each
	// time that another console takes it over.
	Console    string
	Epoch      uint64
	Instance   string
	BoxID      string
	Enrollment string
	// BaseSession is the claim's session when this was noted: for a run that of the
	// released claim, 0 where there was none; for a stop Session.
	BaseSession uint64
	// Session and Incarnation are, for a run, what the claim will have; for a stop, what
	// it had.
	Session     uint64
	Incarnation uint64
	Binding     roster.Stamp // run: that of the box when this was noted; stop: that of the claim
	Work        *order.Work  // run
	GraceNS     int64        // stop: from TERM to the end
	BegunAt     time.Time
	Outcome     Outcome // nil while it is under way
	bucket.History
}

// Outcome is how an operation ended.
//
//sumtype:decl
type Outcome interface{ outcome() }

type (
	// Running: the box started the work.
	Running struct{}
	// Refusal: nothing was started by the run, or the stop was not done.
	Refusal struct{ Step, Reason string }
	// Stopped: it is proved that nothing of the incarnation is alive, and the claim says so.
	Stopped struct {
		Receipt           receipt.Ref
		Proof             string // the kind
		DirectoryRevision string // a decimal number
		Binding           roster.Stamp
	}
)

func (Running) outcome() {}
func (Refusal) outcome() {}
func (Stopped) outcome() {}

// Asked is what somebody wants done under a key.
type Asked struct {
	Kind     order.Kind
	Instance string
	Box      string // by name; empty where it was left to placement
	Work     *order.Work
	GraceNS  int64
}

// Conflict refuses a key under which something else was asked for. Where the box was
// left to placement, the placement that was noted is the answer to that.
func (o Operation) Conflict(a Asked) error {
	differs := ""
	switch {
	case o.Kind != a.Kind:
		differs = "the " + string(o.Kind) + " of " + o.Instance
	case o.Instance != a.Instance:
		differs = "the instance " + o.Instance
	case a.Box != "" && a.Box != o.BoxID:
		differs = "the box " + o.BoxID
	case !sameWork(o.Work, a.Work) || o.GraceNS != a.GraceNS:
		differs = "other work"
		if o.Kind == order.Stop {
			differs = "another grace"
		}
	default:
		return nil
	}
	return problem.Refusal("operation-conflict", "The operation %s is noted already, and is for %s. Nothing was changed.", o.Key, differs).
		WithHint("choose another key, or leave it out")
}

// Order is what o orders of the box, while the box has the session called session. The
// same session gives the same order.
func (o Operation) Order(session string) order.Order {
	return order.Order{
		Schema: order.Schema, Bucket: o.Bucket, Console: o.Console, Operation: o.Key, Kind: o.Kind,
		BoxID: o.BoxID, Enrollment: o.Enrollment, BoxSession: session,
		Instance: o.Instance, Incarnation: o.Incarnation, Session: o.Session, Binding: o.Binding,
		Work: o.Work, GraceNS: o.GraceNS, IssuedAt: o.BegunAt,
	}
}

// Hold is what a run holds of the fleet while it is under way.
func (o Operation) Hold() roster.Hold {
	return roster.Hold{Console: o.Console, Instance: o.Instance, Scope: roster.OneBox(o.BoxID), ReservedAt: o.BegunAt}
}

func sameWork(a, b *order.Work) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Same(*b)
}
