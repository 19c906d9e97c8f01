package operation

import (
	"fmt"

	"holdfast/internal/fleet/claim"
	"holdfast/internal/fleet/order"
	"holdfast/internal/fleet/receipt"
)

// Stop is a stop under way: order it, hear that it is proved, verify that, note it in
// the claim, conclude.
type Stop struct {
	course
	at      stopStep
	settled bool        // no run that began the incarnation is under way any more
	runKey  string      // the run that has the claim
	ref     receipt.Ref // of the receipt
	noted   claim.Noted // what the claim notes of it, or is to
	known   bool        // the claim notes it already
}

type stopStep uint8

const (
	stopLook     stopStep = iota + 1 // where is the claim?
	stopSettle                       // the box has it: was the run that gave it ended?
	stopSession                      // which session has the box?
	stopOrder                        // order under it
	stopAck                          // did the box answer?
	stopReceipt                      // it says where the receipt is: does every check hold?
	stopRelease                      // it is proved: note it, release the claim
	stopConclude                     // and say so
	stopDone
)

// BeginStop is the state of a stop of which only the document is known.
func BeginStop(o Operation) Stop {
	s := Stop{course: course{doc: o}, at: stopLook}
	if o.Outcome != nil {
		s.at, s.outcome = stopDone, o.Outcome
	}
	return s
}

// Next is the one thing to do now.
func (s Stop) Next() Effect {
	if e, ok := s.halted(); ok {
		return e
	}
	return s.doing()
}

func (s Stop) doing() Effect {
	switch s.at {
	case stopLook:
		return LookClaim{}
	case stopSettle:
		return SettleRun{s.runKey}
	case stopSession:
		return ReadSession{}
	case stopOrder:
		return PutOrder{s.doc.Order(s.session)}
	case stopAck:
		return ReadAck{}
	case stopReceipt:
		return ReadReceipt{s.ref}
	case stopRelease:
		return ReleaseClaim{s.noted}
	case stopConclude:
		return Conclude{s.outcome}
	case stopDone:
		return Done{s.outcome}
	}
	return Stuck{"operation-astray", fmt.Sprintf("The stop %s is at no step.", s.doc.Key)}
}

// After is the state when Next was done, and e came of it.
func (s Stop) After(e Event) State { return s.after(e) }

func (s Stop) after(e Event) Stop {
	if _, ended := s.Next().(Done); ended || s.stuck != nil {
		return s
	}
	if s.waiting != "" {
		return s.woken(e)
	}
	if next, ok := s.came(e); ok {
		return next
	}
	s.course = s.astray(s.doing(), e)
	return s
}

// came goes on after e, if that is what comes of the effect.
func (s Stop) came(e Event) (Stop, bool) {
	switch e := e.(type) {
	case ClaimIs:
		if s.at == stopRelease {
			return s.released(e), true
		}
		return s.looked(e), s.at == stopLook
	case RunSettled:
		s.settled = true
		return s.to(stopLook), s.at == stopSettle // the box may have refused the run
	case SessionIs:
		return s.heard(e.ID), s.at == stopSession
	case NoSession:
		return s.wait(s.silent()), s.at == stopSession
	case Ordered:
		return s.to(stopAck), s.at == stopOrder
	case AckIs:
		return s.answered(e.Ack), s.at == stopAck
	case NoAck:
		return s.wait(s.unanswered()), s.at == stopAck
	case Proved:
		return s.proved(e), s.at == stopReceipt
	case Unproved:
		s.outcome = refusal("receipt-refused", "The receipt %s is not believed: %s (%s). The claim is as it was, and nothing was released.", s.ref.Key, e.Check, e.Detail)
		return s.to(stopConclude), s.at == stopReceipt
	case NoReceipt:
		return s.wait("the receipt " + s.ref.Key + " is not there yet"), s.at == stopReceipt
	case Concluded:
		s.outcome = e.Outcome // that of whoever was first
		return s.to(stopDone), s.at == stopConclude
	case TakenOver:
		return s.wait(e.words()), s.at == stopConclude
	case Unreachable:
		return s.wait(e.words()), true
	case Unknown:
		return s.wait(e.words()), true
	case Broken:
		s.course = s.contradicted(e.Step, "%s", e.Reason)
		return s, true
	case Refused, Reserved, HoldReleased, Woken:
	}
	return s, false
}

func (s Stop) to(at stopStep) Stop {
	s.at = at
	return s
}

func (s Stop) wait(why string) Stop {
	s.waiting = why
	return s
}

// woken goes on after a wait: where it was for the box, with the claim, as another stop
// of the same may have ended meanwhile, and the box have another session.
func (s Stop) woken(e Event) Stop {
	if _, ok := e.(Woken); !ok {
		s.course = s.astray(Wait{s.waiting}, e)
		return s
	}
	s.waiting = ""
	if s.at == stopAck || s.at == stopSession {
		return s.to(stopLook)
	}
	return s
}

// looked goes on by what the claim is.
func (s Stop) looked(e ClaimIs) Stop {
	switch s.doc.stop(e.Claim, e.Exists) {
	case ours:
		if !s.settled {
			s.runKey = e.Claim.Operation
			return s.to(stopSettle)
		}
		return s.to(stopSession)
	case proved:
		s.noted, _ = s.doc.noted(e.Claim)
		s.ref, s.known = s.noted.Ref, true
		return s.to(stopReceipt)
	case past:
		s.outcome = refusal("instance-not-running", "Incarnation %d of %s has no box any more, and no receipt: box %s never started it.", s.doc.Incarnation, s.doc.Instance, s.doc.BoxID)
		return s.to(stopConclude)
	case free, forgone, lost:
	}
	s.course = s.contradicted("claim-rollback", "The claim of %s is at session %d, and the stop %s was noted at session %d: the store has lost writes. Nothing was changed.",
		s.doc.Instance, e.Claim.Session, s.doc.Key, s.doc.Session)
	return s
}

// heard goes on with the session that the box has.
func (s Stop) heard(session string) Stop {
	if session == s.session {
		return s.to(stopAck)
	}
	s.session = session
	return s.to(stopOrder)
}

// answered goes on with what the box says.
func (s Stop) answered(a order.Ack) Stop {
	if s.foreign(a) {
		s.course = s.stray(a)
		return s
	}
	switch answer := a.Answer.(type) {
	case order.Stopping:
		return s.wait("box " + s.doc.BoxID + " is stopping it: " + answer.Why)
	case order.Stopped:
		s.ref = answer.Receipt
		return s.to(stopReceipt)
	case order.Refused:
		s.outcome = refusal(answer.Step, "%s", answer.Reason)
		return s.to(stopConclude)
	case order.Running:
	}
	s.course = s.stray(a)
	return s
}

// proved goes on with a receipt of which every check held.
func (s Stop) proved(e Proved) Stop {
	n := e.Noted
	if n.Enrollment != s.doc.Enrollment || n.Incarnation != s.doc.Incarnation || n.Ref != s.ref {
		s.course = s.contradicted("receipt-foreign", "The receipt %s was verified as one of incarnation %d on %s, and is asked for as one of incarnation %d on %s.",
			s.ref.Key, n.Incarnation, n.Enrollment, s.doc.Incarnation, s.doc.Enrollment)
		return s
	}
	s.noted = n
	s.outcome = Stopped{Receipt: s.ref, Proof: e.Proof, DirectoryRevision: e.DirectoryRevision, Binding: e.Binding}
	if s.known {
		return s.to(stopConclude)
	}
	return s.to(stopRelease)
}

// released goes on after the claim was released, by this or by another stop.
func (s Stop) released(e ClaimIs) Stop {
	switch s.doc.stop(e.Claim, e.Exists) {
	case proved, past:
		// Past: the run that had the claim gave it back meanwhile, since the fence kept the
		// box from starting it. The receipt holds all the same.
		return s.to(stopConclude)
	case ours, free, forgone, lost:
	}
	s.course = s.contradicted("claim-unmoved", "The claim of %s at session %d was to note the receipt %s, and does not.", s.doc.Instance, e.Claim.Session, s.ref.Key)
	return s
}
