package operation

import (
	"fmt"

	"holdfast/internal/fleet/claim"
	"holdfast/internal/fleet/order"
)

// Run is a run under way: hold the box, take the claim, order, hear what the box says,
// let go of the hold, conclude.
type Run struct {
	course
	at      runStep
	forgone bool // the claim had its turn by this run, and was given up
}

type runStep uint8

const (
	runLook     runStep = iota + 1 // where is the claim?
	runReserve                     // the claim is free: hold the box
	runTake                        // the box is held: take the claim
	runForgo                       // the box cannot be held: use up the turn, or find that another driver has it
	runSession                     // the claim is ours: which session has the box?
	runOrder                       // order under it
	runAck                         // did the box answer?
	runOver                        // the claim is not ours any more: what did the box answer then?
	runAbandon                     // the box refused: give the claim back
	runLetGo                       // all is done but to release the hold
	runConclude                    // and to say so
	runDone
)

// BeginRun is the state of a run of which only the document is known.
func BeginRun(o Operation) Run {
	r := Run{course: course{doc: o}, at: runLook}
	if o.Outcome != nil {
		// Somebody finished it. A driver that came late may have reserved its hold again.
		r.at, r.outcome = runLetGo, o.Outcome
	}
	return r
}

// Next is the one thing to do now.
func (r Run) Next() Effect {
	if e, ok := r.halted(); ok {
		return e
	}
	return r.doing()
}

func (r Run) doing() Effect {
	switch r.at {
	case runLook:
		return LookClaim{}
	case runReserve:
		return Reserve{}
	case runTake:
		return Take{}
	case runForgo:
		return Forgo{}
	case runSession:
		return ReadSession{}
	case runOrder:
		return PutOrder{r.doc.Order(r.session)}
	case runAck, runOver:
		return ReadAck{}
	case runAbandon:
		return Abandon{}
	case runLetGo:
		return ReleaseHold{}
	case runConclude:
		return Conclude{r.outcome}
	case runDone:
		return Done{r.outcome}
	}
	return Stuck{"operation-astray", fmt.Sprintf("The run %s is at no step.", r.doc.Key)}
}

// After is the state when Next was done, and e came of it.
func (r Run) After(e Event) State { return r.after(e) }

func (r Run) after(e Event) Run {
	if _, ended := r.Next().(Done); ended || r.stuck != nil {
		return r
	}
	if r.waiting != "" {
		return r.woken(e)
	}
	if next, ok := r.came(e); ok {
		return next
	}
	r.course = r.astray(r.doing(), e)
	return r
}

// came goes on after e, if that is what comes of the effect.
func (r Run) came(e Event) (Run, bool) {
	switch e := e.(type) {
	case ClaimIs:
		return r.claimed(e), r.at == runLook || r.at == runTake || r.at == runForgo || r.at == runAbandon
	case Reserved:
		return r.to(runTake), r.at == runReserve
	case Refused:
		// No driver of this has the claim, as far as was seen. Another may have, since.
		r.outcome = refusal(e.Step, "%s", e.Reason)
		return r.to(runForgo), r.at == runReserve
	case SessionIs:
		return r.heard(e.ID), r.at == runSession
	case NoSession:
		return r.wait(r.silent()), r.at == runSession
	case Ordered:
		return r.to(runAck), r.at == runOrder
	case AckIs:
		if r.at == runOver {
			return r.recalled(e.Ack), true
		}
		return r.answered(e.Ack), r.at == runAck
	case NoAck:
		if r.at == runOver {
			return r.to(runLetGo), true // with the outcome that the claim gave
		}
		return r.wait(r.unanswered()), r.at == runAck
	case HoldReleased:
		if r.doc.Outcome != nil {
			return r.to(runDone), r.at == runLetGo
		}
		return r.to(runConclude), r.at == runLetGo
	case Concluded:
		r.outcome = e.Outcome // that of whoever was first
		return r.to(runDone), r.at == runConclude
	case TakenOver:
		return r.wait(e.words()), r.at == runConclude
	case Unreachable:
		return r.wait(e.words()), true
	case Unknown:
		return r.wait(e.words()), true
	case Broken:
		r.course = r.contradicted(e.Step, "%s", e.Reason)
		return r, true
	case Proved, Unproved, NoReceipt, RunSettled, Woken:
	}
	return r, false
}

func (r Run) to(at runStep) Run {
	r.at = at
	return r
}

func (r Run) wait(why string) Run {
	r.waiting = why
	return r
}

// woken goes on after a wait: where it was for the box, with the claim, as the instance may
// have been stopped meanwhile, and the box have another session and know nothing of the order.
func (r Run) woken(e Event) Run {
	if _, ok := e.(Woken); !ok {
		r.course = r.astray(Wait{r.waiting}, e)
		return r
	}
	r.waiting = ""
	if r.at == runAck || r.at == runSession {
		return r.to(runLook)
	}
	return r
}

// claimed goes on by what the claim is.
func (r Run) claimed(e ClaimIs) Run {
	switch is := r.doc.run(e.Claim, e.Exists); is {
	case free:
		if r.at == runLook {
			return r.to(runReserve)
		}
	case ours:
		if r.at != runAbandon {
			r.outcome = nil
			return r.to(runSession)
		}
	case forgone:
		if r.at == runAbandon {
			return r.to(runLetGo)
		}
		if r.outcome == nil {
			r.outcome = refusal("operation-over", "The run was given up before it was ordered.")
		}
		r.forgone = true
		return r.to(runOver)
	case past:
		if r.at == runAbandon {
			return r.to(runLetGo)
		}
		r.outcome = r.lostTo(e.Claim)
		return r.to(runOver)
	case lost:
		r.course = r.contradicted("claim-rollback", "The claim of %s is at session %d, and the run %s was noted at session %d: the store has lost writes. Nothing was changed.",
			r.doc.Instance, e.Claim.Session, r.doc.Key, r.doc.BaseSession)
		return r
	case proved:
	}
	r.course = r.contradicted("claim-unmoved", "The claim of %s at session %d was to be changed by the run %s, and was not.", r.doc.Instance, e.Claim.Session, r.doc.Key)
	return r
}

// lostTo is the outcome of a run whose claim went to somebody else.
func (r Run) lostTo(c claim.Claim) Outcome {
	if n, stopped := r.doc.noted(c); stopped {
		return refusal("stopped-since", "The instance %s was stopped by the operation %s before its box said whether this run had started it; the receipt %s says how it ended.", r.doc.Instance, n.Operation, n.Key)
	}
	if c.State == claim.Held {
		return refusal("instance-claimed", "Box %s has the instance %s since the operation %s.", c.BoxID, c.Instance, c.Operation)
	}
	return refusal("operation-over", "The instance %s was given to another operation since this one was noted, %s, and is released.", c.Instance, c.Operation)
}

// heard goes on with the session that the box has.
func (r Run) heard(session string) Run {
	if session == r.session {
		return r.to(runAck)
	}
	r.session = session
	return r.to(runOrder)
}

// answered goes on with what the box says while the claim is the run's.
func (r Run) answered(a order.Ack) Run {
	if r.foreign(a) {
		r.course = r.stray(a)
		return r
	}
	switch answer := a.Answer.(type) {
	case order.Running:
		r.outcome = Running{}
		return r.to(runLetGo)
	case order.Refused:
		r.outcome = refusal(answer.Step, "%s", answer.Reason)
		return r.to(runAbandon)
	case order.Stopping, order.Stopped:
	}
	r.course = r.stray(a)
	return r
}

// recalled goes on with what the box once said, where the claim has moved since.
func (r Run) recalled(a order.Ack) Run {
	if _, started := a.Answer.(order.Running); started && r.forgone && !r.foreign(a) {
		r.course = r.contradicted("claim-forgone", "Box %s says that it started %s for the operation %s, which gave the claim back. Nothing was concluded from it.", r.doc.BoxID, r.doc.Instance, r.doc.Key)
		return r
	}
	if r = r.answered(a); r.at == runAbandon {
		return r.to(runLetGo) // there is nothing to give back
	}
	return r
}
