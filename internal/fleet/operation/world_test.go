package operation_test

import (
	"fmt"
	"testing"
	"time"

	"holdfast/internal/bucket"
	"holdfast/internal/fleet/claim"
	"holdfast/internal/fleet/operation"
	"holdfast/internal/fleet/order"
	"holdfast/internal/fleet/receipt"
	"holdfast/internal/fleet/roster"
)

const (
	fleetID   = "66666666666666666666666666666666"
	enrolled1 = "11111111111111111111111111111111"
	enrolled2 = "22222222222222222222222222222222"
	binding1  = "1111111111111111111111111111111111111111111111111111111111111111"
	digest1   = "dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func stamp() roster.Stamp {
	s, err := roster.ParseStamp(binding1)
	if err != nil {
		panic(err)
	}
	return s
}

// box is what the world knows of a box: a root that keeps to the contract.
type box struct {
	id, enrollment string
	session        int // which life of root
	running        map[uint64]bool
	answered       map[string]order.Answer // by operation: its journal
	started        map[string]bool
	refuse         bool // refuse the next run
	receipts       map[uint64]receipt.Ref
	fencedBy       map[uint64]string
}

func (b *box) sessionID() string { return fmt.Sprintf("%s%031d", b.enrollment[:1], b.session) }

// world is all that consoles and boxes share, in memory, of the one instance "web".
type world struct {
	exists     bool
	claim      claim.Claim
	holds      map[string]bool
	activating bool // the roster refuses holds
	docs       map[string]operation.Operation
	orders     map[string]order.Order // by box session and operation
	acks       map[string]order.Ack
	boxes      map[string]*box // by enrollment
	claims     []claim.Claim   // every version
}

func newWorld() *world {
	w := &world{
		holds: map[string]bool{}, docs: map[string]operation.Operation{}, orders: map[string]order.Order{},
		acks: map[string]order.Ack{}, boxes: map[string]*box{},
	}
	for i, e := range []string{enrolled1, enrolled2} {
		w.boxes[e] = &box{
			id: fmt.Sprintf("box-%d", i+1), enrollment: e, running: map[uint64]bool{}, answered: map[string]order.Answer{},
			started: map[string]bool{}, receipts: map[uint64]receipt.Ref{}, fencedBy: map[uint64]string{},
		}
	}
	return w
}

// noteRun notes a run on the claim as it is now.
func (w *world) noteRun(key, enrollment string) operation.Operation {
	o := operation.Operation{
		Schema: operation.Schema, Bucket: fleetID, Key: key, Kind: order.Run, Console: "main", Epoch: 1, Instance: "web",
		BoxID: w.boxes[enrollment].id, Enrollment: enrollment,
		BaseSession: w.claim.Session, Session: w.claim.Session + 1, Incarnation: w.claim.Incarnation + 1,
		Binding: stamp(), Work: &order.Work{Command: []string{"true"}, Env: map[string]string{}}, BegunAt: noon,
	}
	w.docs[key] = o
	return o
}

// noteStop notes a stop of the claim as it is now.
func (w *world) noteStop(key string) operation.Operation {
	c := w.claim
	o := operation.Operation{
		Schema: operation.Schema, Bucket: fleetID, Key: key, Kind: order.Stop, Console: "main", Epoch: 1, Instance: "web",
		BoxID: c.BoxID, Enrollment: c.Enrollment, BaseSession: c.Session, Session: c.Session, Incarnation: c.Incarnation,
		Binding: c.Binding, GraceNS: int64(time.Second), BegunAt: noon,
	}
	w.docs[key] = o
	return o
}

func (w *world) change(c bucket.Change[claim.Claim]) operation.Event {
	next, err := c(w.claim, w.exists)
	switch err {
	case nil:
		if bad := next.Check(); bad != nil {
			panic(bad)
		}
		w.claim, w.exists = next, true
		w.claims = append(w.claims, next)
	case bucket.ErrUnchanged:
	default:
		return operation.Broken{Step: "claim", Reason: err.Error()}
	}
	return operation.ClaimIs{Claim: w.claim, Exists: w.exists}
}

// do carries out an effect of a driver of o.
func (w *world) do(o operation.Operation, e operation.Effect) operation.Event {
	b := w.boxes[o.Enrollment]
	switch e := e.(type) {
	case operation.LookClaim:
		return operation.ClaimIs{Claim: w.claim, Exists: w.exists}
	case operation.Reserve:
		if w.activating && !w.holds[o.Key] {
			return operation.Refused{Step: "scope-activating", Reason: "box is being changed"}
		}
		w.holds[o.Key] = true
		return operation.Reserved{}
	case operation.Take:
		return w.change(o.Taking())
	case operation.Forgo:
		return w.change(o.Forgoing())
	case operation.Abandon:
		return w.change(o.Abandoning())
	case operation.ReleaseClaim:
		return w.change(o.Releasing(e.Noted))
	case operation.ReleaseHold:
		delete(w.holds, o.Key)
		return operation.HoldReleased{}
	case operation.ReadSession:
		return operation.SessionIs{ID: b.sessionID()}
	case operation.PutOrder:
		w.orders[e.Order.BoxSession+"/"+o.Key] = e.Order
		return operation.Ordered{}
	case operation.ReadAck:
		if a, ok := w.acks[o.Key]; ok {
			return operation.AckIs{Ack: a}
		}
		return operation.NoAck{}
	case operation.ReadReceipt:
		n := claim.Noted{Operation: e.Ref.Operation(o.Enrollment, o.Instance, o.Incarnation), Enrollment: o.Enrollment, Incarnation: o.Incarnation, Ref: e.Ref}
		return operation.Proved{Noted: n, Proof: "namespace", DirectoryRevision: "7", Binding: o.Binding}
	case operation.SettleRun:
		if w.docs[e.Operation].Outcome == nil {
			return operation.Unreachable{Why: "the run is still under way"} // others drive it
		}
		return operation.RunSettled{}
	case operation.Conclude:
		doc := w.docs[o.Key]
		next, err := o.Concluding(e.Outcome)(doc, true)
		if err == nil {
			w.docs[o.Key] = next
		}
		if next.Outcome == nil {
			return operation.TakenOver{Console: next.Console}
		}
		return operation.Concluded{Outcome: next.Outcome}
	case operation.Wait:
		return operation.Woken{}
	case operation.Done, operation.Stuck:
	}
	return nil
}

// root lets the boxes look at their orders once.
func (w *world) root() {
	for _, b := range w.boxes {
		for _, o := range w.orders {
			if o.Enrollment != b.enrollment || o.BoxSession != b.sessionID() {
				continue
			}
			answer, ok := b.answered[o.Operation]
			if !ok {
				answer = b.carryOut(w, o)
				b.answered[o.Operation] = answer
			}
			w.acks[o.Operation] = order.Ack{
				Bucket: fleetID, Enrollment: b.enrollment, BoxSession: b.sessionID(), Operation: o.Operation,
				Instance: o.Instance, Incarnation: o.Incarnation, Session: o.Session, Answer: answer,
			}
		}
	}
}

func (b *box) carryOut(w *world, o order.Order) order.Answer {
	if o.Kind == order.Stop {
		if ref, ok := b.receipts[o.Incarnation]; ok {
			return order.Stopped{Receipt: ref}
		}
		delete(b.running, o.Incarnation)
		b.receipts[o.Incarnation] = receipt.Ref{Key: fmt.Sprintf("evidence/%s/web/%d-%s.json", b.enrollment, o.Incarnation, o.Operation), SHA256: digest1}
		return order.Stopped{Receipt: b.receipts[o.Incarnation]}
	}
	c := w.claim
	_, stopped := b.receipts[o.Incarnation]
	switch {
	case b.refuse:
		return order.Refused{Step: "box-full", Reason: "it has no room"}
	case !w.exists || stopped || c.State != claim.Held || c.Enrollment != b.enrollment || c.Session != o.Session || c.Operation != o.Operation || c.Incarnation != o.Incarnation:
		return order.Refused{Step: "claim-moved", Reason: "the claim is not this one"}
	}
	b.running[o.Incarnation], b.started[o.Operation] = true, true
	return order.Running{}
}

// alive is how many incarnations run anywhere.
func (w *world) alive() int {
	n := 0
	for _, b := range w.boxes {
		n += len(b.running)
	}
	return n
}

// check is what must hold at every moment.
func (w *world) check(t interface{ Fatalf(string, ...any) }) {
	if n := w.alive(); n > 1 {
		t.Fatalf("%d incarnations of one instance are alive", n)
	}
	if w.exists && w.claim.State == claim.Released && w.alive() > 0 {
		t.Fatalf("the claim is released, and the instance is alive: %+v", w.claim)
	}
	for i, c := range w.claims[min(1, len(w.claims)):] {
		if was := w.claims[i]; c.Session < was.Session || c.Incarnation < was.Incarnation {
			t.Fatalf("the claim fell from %d to %d", was.Session, c.Session)
		}
	}
	for key, o := range w.docs {
		if err := o.Check(); err != nil {
			t.Fatalf("the document of %s: %v", key, err)
		}
		started := w.boxes[o.Enrollment].started[key]
		switch o.Outcome.(type) {
		case operation.Running:
			if !started {
				t.Fatalf("the run %s is running, and was never started", key)
			}
		case operation.Refusal:
			if o.Kind == order.Run && started {
				t.Fatalf("the run %s was refused (%v), and was started", key, o.Outcome)
			}
		case operation.Stopped:
			if w.boxes[o.Enrollment].running[o.Incarnation] {
				t.Fatalf("the stop %s is proved, and incarnation %d is alive", key, o.Incarnation)
			}
		}
	}
}

// drive takes a state to its end; the boxes look once after each effect. It returns the
// names of the effects.
func (w *world) drive(t *testing.T, s operation.State) (operation.Outcome, []string) {
	t.Helper()
	var trail []string
	for range 200 {
		e := s.Next()
		trail = append(trail, name(e))
		switch e := e.(type) {
		case operation.Done:
			return e.Outcome, trail
		case operation.Stuck:
			t.Fatalf("stuck after %v: %s: %s", trail, e.Step, e.Reason)
		}
		s = s.After(w.do(s.Operation(), e))
		w.root()
		w.check(t)
	}
	t.Fatalf("it goes on for ever: %v", trail[:min(40, len(trail))])
	return nil, nil
}

func name(v any) string { return fmt.Sprintf("%T", v)[len("operation."):] }
