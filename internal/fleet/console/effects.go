package console

import (
	"context"
	"errors"
	"fmt"

	"holdfast/internal/bucket"
	"holdfast/internal/fleet/claim"
	"holdfast/internal/fleet/operation"
	"holdfast/internal/fleet/order"
	"holdfast/internal/fleet/receipt"
	"holdfast/internal/fleet/roster"
	"holdfast/internal/problem"
)

// lookClaim reads the claim.
func (d *driver) lookClaim(ctx context.Context) operation.Event {
	v, err := d.Roster.Read(ctx)
	if err != nil {
		return trouble(err)
	}
	c, err := d.claim(ctx, v.Roster, d.doc.Instance)
	if errors.Is(err, errAbsent) {
		return operation.ClaimIs{}
	}
	if err != nil {
		return trouble(err)
	}
	return operation.ClaimIs{Claim: c, Exists: true}
}

// claim is that of an instance, or errAbsent.
func (o *Ops) claim(ctx context.Context, r *roster.Roster, instance string) (claim.Claim, error) {
	key, err := claim.Key(instance)
	if err != nil {
		return claim.Claim{}, err
	}
	data, err := o.get(ctx, key)
	if err != nil {
		return claim.Claim{}, err
	}
	return claim.Read(data, r, instance)
}

// changeClaim changes the claim, and says what it is then.
func (d *driver) changeClaim(ctx context.Context, change bucket.Change[claim.Claim]) operation.Event {
	v, err := d.Roster.Read(ctx)
	if err != nil {
		return trouble(err)
	}
	key, err := claim.Key(d.doc.Instance)
	if err != nil {
		return trouble(err)
	}
	done, err := bucket.Update(ctx, d.Bucket, key, claim.Codec(v.Roster, d.Name, d.Key, d.doc.Instance), change)
	if err != nil {
		return trouble(err)
	}
	return operation.ClaimIs{Claim: done.Value, Exists: done.Revision > 0}
}

// reserve holds the box. A hold of the operation's key is its own, whichever console
// reserved it.
func (d *driver) reserve(ctx context.Context) operation.Event {
	var refused *problem.Error
	hold := d.doc.Hold()
	_, err := d.Roster.Update(ctx, d.Key, func(r *roster.Roster) error {
		refused = nil
		if h, held := r.Holds[d.doc.Key]; held && h.Instance == hold.Instance && h.Scope == hold.Scope {
			return roster.ErrUnchanged
		}
		err := r.ReserveHold(d.doc.Key, hold)
		if !errors.Is(err, roster.ErrUnchanged) {
			errors.As(err, &refused)
		}
		return err
	})
	switch {
	case err == nil:
		return operation.Reserved{}
	case refused != nil && errors.Is(err, refused):
		return operation.Refused{Step: refused.Step, Reason: refused.Reason}
	}
	return trouble(err)
}

// releaseHold ends the hold, whichever console reserved it.
func (d *driver) releaseHold(ctx context.Context) operation.Event {
	if err := d.cancelHold(ctx, d.doc.Key); err != nil {
		return trouble(err)
	}
	return operation.HoldReleased{}
}

func (o *Ops) cancelHold(ctx context.Context, key string) error {
	_, err := o.Roster.Update(ctx, o.Key, func(r *roster.Roster) error { return r.CancelHold(key) })
	return err
}

func (d *driver) readSession(ctx context.Context) operation.Event {
	v, err := d.Roster.Read(ctx)
	if err != nil {
		return trouble(err)
	}
	b, err := d.box(ctx, v.Roster, d.doc.Enrollment)
	if err != nil {
		return trouble(err)
	}
	s, err := d.session(ctx, b)
	if errors.Is(err, errAbsent) {
		return operation.NoSession{}
	}
	if err != nil {
		return trouble(err)
	}
	return operation.SessionIs{ID: s.ID}
}

func (d *driver) readAck(ctx context.Context) operation.Event {
	v, err := d.Roster.Read(ctx)
	if err != nil {
		return trouble(err)
	}
	b, err := d.box(ctx, v.Roster, d.doc.Enrollment)
	if err != nil {
		return trouble(err)
	}
	a, err := d.ack(ctx, b, d.doc.Key)
	if errors.Is(err, errAbsent) {
		return operation.NoAck{}
	}
	if err != nil {
		return trouble(err)
	}
	return operation.AckIs{Ack: a}
}

// putOrder writes the order, once. What the store answers is where it starts: the object
// that is there then says what came of it.
func (d *driver) putOrder(ctx context.Context, said order.Order) operation.Event {
	v, err := d.Roster.Read(ctx)
	if err != nil {
		return trouble(err)
	}
	key, err := said.Key()
	if err != nil {
		return trouble(err)
	}
	data, err := said.Seal(d.Key)
	if err != nil {
		return trouble(err)
	}
	var sent error
	switch e := d.Bucket.Put(ctx, key, data, bucket.Absent{}).(type) {
	case bucket.Done:
		return operation.Ordered{}
	case bucket.Failed:
		return trouble(e.Cause)
	case bucket.Refused:
		sent = e.Cause
	case bucket.Unknown:
		sent = e.Cause
	}
	there, err := d.get(ctx, key)
	if errors.Is(err, errAbsent) {
		return operation.Unknown{Why: problem.Words(sent)}
	}
	if err != nil {
		return trouble(err)
	}
	found, err := order.Read(there, v.Roster)
	if err != nil {
		return trouble(err)
	}
	// Another console that drove this before may have signed it.
	if found.BoxSession != said.BoxSession || !found.Same(said) {
		return operation.Refused{Step: "operation-conflict", Reason: fmt.Sprintf("In the place of the order of %s there is one for something else.", d.doc.Key)}
	}
	return operation.Ordered{}
}

// conclude notes the outcome, unless there is one.
func (d *driver) conclude(ctx context.Context, out operation.Outcome) operation.Event {
	v, err := d.Roster.Read(ctx)
	if err != nil {
		return trouble(err)
	}
	key, err := operation.Key(d.doc.Key)
	if err != nil {
		return trouble(err)
	}
	done, err := bucket.Update(ctx, d.Bucket, key, operation.Codec(v.Roster, d.Key, d.doc.Key), d.doc.Concluding(out))
	switch {
	case err != nil:
		return trouble(err)
	case done.Revision == 0:
		return operation.Broken{Step: "operation-gone", Reason: "The document of the operation " + d.doc.Key + " is not in the store any more."}
	case done.Value.Outcome == nil:
		return operation.TakenOver{Console: done.Value.Console}
	}
	return operation.Concluded{Outcome: done.Value.Outcome}
}

// readReceipt reads a receipt and puts every question to it.
func (d *driver) readReceipt(ctx context.Context, ref receipt.Ref) operation.Event {
	e := d.examine(ctx, d.doc, ref)
	switch {
	case errors.Is(e.err, errAbsent):
		return operation.NoReceipt{}
	case e.err != nil:
		return trouble(e.err)
	case !e.good():
		check := e.failed()
		return operation.Unproved{Check: check.Name, Detail: check.Detail}
	}
	return operation.Proved{
		Noted: claim.Noted{Operation: e.got.Operation, Enrollment: e.got.Enrollment, Incarnation: e.got.Incarnation, Ref: ref},
		Proof: receipt.Kind(e.got.Proof), DirectoryRevision: fmt.Sprint(e.got.RosterRevision), Binding: e.got.Binding,
	}
}
