package console

import (
	"context"
	"errors"
	"time"

	"holdfast/internal/bucket"
	"holdfast/internal/failpoint"
	"holdfast/internal/fleet/operation"
	"holdfast/internal/fleet/order"
	"holdfast/internal/problem"
)

// unsettled is the error of an operation that was not seen to its end.
func unsettled(key, format string, args ...any) *problem.Error {
	return problem.New(problem.Unknown, "operation-unsettled", "The operation %s is under way and was not seen to its end: "+format+". Nothing is lost.",
		append([]any{key}, args...)...).WithHint("say the same again with --key %s", key)
}

// errWaits is why a driver that does not wait left an operation.
type errWaits struct{ why string }

func (e errWaits) Error() string { return e.why }

// driver drives one operation.
type driver struct {
	*Ops
	doc     operation.Operation
	patient bool // or else it leaves, with errWaits, where it would have to wait
	why     string
	looks   int
}

// drive takes an operation to its end. It returns before only where ctx ends, or where
// going on would be on a guess: then the error is of kind Unknown.
func (o *Ops) drive(ctx context.Context, doc operation.Operation, patient bool) (operation.Outcome, error) {
	d := &driver{Ops: o, doc: doc, patient: patient}
	for s := operation.Begin(doc); ; {
		e := s.Next()
		if done, over := e.(operation.Done); over {
			return done.Outcome, nil
		}
		if stuck, is := e.(operation.Stuck); is {
			return nil, problem.New(problem.Unknown, stuck.Step, "%s The operation %s is not over.", sentence(stuck.Reason), doc.Key).
				WithHint("when that is mended, say the same again with --key %s", doc.Key)
		}
		if wait, is := e.(operation.Wait); is && !patient {
			return nil, errWaits{wait.Why}
		}
		// A crash, or an end, anywhere here: the document says all that is needed.
		name := operation.Name(doc.Kind, e)
		failpoint.Here(name + failpoint.Before)
		event := d.do(ctx, e)
		failpoint.Here(name + failpoint.After)
		if ctx.Err() != nil {
			why := d.why
			if why == "" {
				why = "the time was up"
			}
			return nil, unsettled(doc.Key, "%s", why).Because(context.Cause(ctx))
		}
		s = s.After(event)
	}
}

// do carries out one effect. Its arms are those of operation.Effect.
func (d *driver) do(ctx context.Context, e operation.Effect) operation.Event {
	switch e := e.(type) {
	case operation.LookClaim:
		return d.lookClaim(ctx)
	case operation.Reserve:
		return d.reserve(ctx)
	case operation.Take:
		return d.changeClaim(ctx, d.doc.Taking())
	case operation.Forgo:
		return d.changeClaim(ctx, d.doc.Forgoing())
	case operation.Abandon:
		return d.changeClaim(ctx, d.doc.Abandoning())
	case operation.ReleaseClaim:
		return d.changeClaim(ctx, d.doc.Releasing(e.Noted))
	case operation.ReleaseHold:
		return d.releaseHold(ctx)
	case operation.ReadSession:
		return d.readSession(ctx)
	case operation.PutOrder:
		return d.putOrder(ctx, e.Order)
	case operation.ReadAck:
		return d.readAck(ctx)
	case operation.ReadReceipt:
		return d.readReceipt(ctx, e.Ref)
	case operation.SettleRun:
		return d.settleRun(ctx, e.Operation)
	case operation.Conclude:
		return d.conclude(ctx, e.Outcome)
	case operation.Wait:
		return d.wait(ctx, e.Why)
	case operation.Done, operation.Stuck:
	}
	return operation.Broken{Step: "operation-astray", Reason: "nothing comes of what is over"}
}

// wait waits a while, or until ctx ends.
func (d *driver) wait(ctx context.Context, why string) operation.Event {
	if why != d.why {
		d.why = why
		if d.Progress != nil {
			d.Progress(d.doc.Key, why)
		}
	}
	pause := time.NewTimer(d.Waker(d.looks))
	defer pause.Stop()
	d.looks++
	select {
	case <-ctx.Done():
	case <-pause.C:
	}
	return operation.Woken{}
}

// trouble is the event of an error that says nothing about what was asked for: the
// store, or what stands in it.
func trouble(err error) operation.Event {
	var waits errWaits
	var unsettled *bucket.Unsettled
	p := problem.From(err, "something broke")
	switch {
	case errors.As(err, &waits):
		return operation.Unreachable{Why: waits.why}
	case errors.As(err, &unsettled):
		return operation.Unknown{Why: p.Reason}
	case p.Step == "bucket-contended":
		return operation.Unreachable{Why: p.Reason}
	}
	switch p.Kind {
	case problem.Refused, problem.Gone, problem.Usage:
		return operation.Broken{Step: p.Step, Reason: p.Reason}
	case problem.Unknown:
		return operation.Unknown{Why: p.Reason}
	case problem.Failed:
	}
	return operation.Unreachable{Why: p.Reason}
}

// settleRun drives the run that has the claim of a stop as far as it goes without waiting:
// what the box can start no more now (its disk is full, the authority cannot be read) can
// still be stopped.
func (d *driver) settleRun(ctx context.Context, key string) operation.Event {
	doc, err := d.owned(ctx, key)
	switch {
	case errors.Is(err, errAbsent), err == nil && doc.Kind != order.Run, err == nil && doc.Outcome != nil:
		return operation.RunSettled{}
	case err != nil:
		return trouble(err)
	}
	var waits errWaits
	if _, err := d.drive(ctx, doc, false); err != nil && !errors.As(err, &waits) {
		return trouble(err)
	}
	return operation.RunSettled{}
}

// owned is the operation of a key, as that of this console: if it is under way and
// another's, it is taken over.
func (o *Ops) owned(ctx context.Context, key string) (operation.Operation, error) {
	v, err := o.Roster.Read(ctx)
	if err != nil {
		return operation.Operation{}, err
	}
	doc, err := o.noted(ctx, v.Roster, key)
	if err != nil || doc.Outcome != nil || doc.Console == o.Name {
		return doc, err
	}
	at, err := operation.Key(key)
	if err != nil {
		return doc, err
	}
	done, err := bucket.Update(ctx, o.Bucket, at, operation.Codec(v.Roster, o.Key, key), operation.TakingOver(o.Name))
	return done.Value, err
}

// sentence ends text as a sentence.
func sentence(text string) string {
	if text != "" && text[len(text)-1] == '.' {
		return text
	}
	return text + "."
}
