package root

import (
	"context"
	"errors"
	"io/fs"
	"strconv"
	"time"

	"holdfast/internal/bucket"
	"holdfast/internal/fleet/box/intent"
	"holdfast/internal/fleet/box/journal"
	"holdfast/internal/fleet/claim"
	"holdfast/internal/fleet/order"
	"holdfast/internal/fleet/receipt"
	"holdfast/internal/problem"
)

// brief is ctx for a call of the store: what it does not answer by then it does later, and
// is asked again.
func brief(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, 30*time.Second)
}

// do does one effect of an act, and says what came of it. All but the end of the work, which
// has its grace, are brief.
func (r *Root) do(ctx context.Context, t *task, e intent.Effect) intent.Event {
	if _, long := e.(intent.End); !long {
		var done context.CancelFunc
		ctx, done = brief(ctx)
		defer done()
	}
	switch e := e.(type) {
	case intent.Check:
		return r.check(ctx, t, e.At)
	case intent.Match:
		return r.match(t)
	case intent.Commit:
		return r.commit(ctx, t, e)
	case intent.Raise:
		return r.raise(ctx, t.Kind)
	case intent.Spawn:
		return r.spawn(ctx, t)
	case intent.Release:
		return r.release(ctx, t)
	case intent.Drop:
		t.gate.drop()
		t.gate = nil
		return intent.NeverWent{}
	case intent.Find:
		return r.find(ctx, t)
	case intent.Look:
		return r.look(ctx, t)
	case intent.End:
		return r.end(ctx, t)
	case intent.CommitReceipt:
		return r.commitReceipt(ctx, t, e)
	case intent.Put:
		return r.put(ctx, t)
	case intent.Answer:
		return r.answer(ctx, t, e.Answer)
	case intent.Pause, intent.Finished:
	}
	panic("root: an effect that the lane does itself")
}

// check asks the authority, freshly.
func (r *Root) check(ctx context.Context, t *task, at intent.Site) intent.Event {
	s := r.standing()
	if s.mode != Ready {
		return intent.Unreachable{Why: s.why}
	}
	if err := r.book.journal.TakeReserve(); err != nil {
		return intent.Unreachable{Why: "the room that is kept for stops cannot be had, and nothing new is started without it: " + problem.Words(err)}
	}
	v, err := r.Roster.Read(ctx)
	if err != nil {
		return intent.Unreachable{Why: "the roster cannot be read: " + problem.Words(err)}
	}
	a := intent.Authority{Roster: v.Roster, Enrollment: r.Enrollment, Installer: t.Installer}
	key, err := claim.Key(t.Instance)
	if err != nil {
		return intent.Denied{Step: "claim", Reason: problem.Words(err)}
	}
	reading, err := r.Store.Get(ctx, key)
	if err != nil {
		return intent.Unreachable{Why: "the claim cannot be read: " + problem.Words(err)}
	}
	if is, found := reading.(bucket.Found); found {
		c, err := claim.Read(is.Data, v.Roster, t.Instance)
		if err != nil {
			return intent.Unreachable{Why: "the claim cannot be believed: " + problem.Words(err)}
		}
		a.Claim = &c
	}
	if a.Floor, err = r.Floor(ctx, v.Roster, r.ability.proof); err != nil {
		return intent.Unreachable{Why: "the floor cannot be read: " + problem.Words(err)}
	}
	if no := r.unable(t); no != nil {
		return *no
	}
	here, err := r.book.here(t.Instance)
	if err != nil {
		return intent.Unreachable{Why: problem.Words(err)}
	}
	return intent.Judge(at, t.subject(), a, here)
}

// unable says why this machine does not start the work, whoever orders it.
func (r *Root) unable(t *task) *intent.Denied {
	switch {
	case r.ability.broken != "":
		return &intent.Denied{Step: "box-unable", Reason: r.ability.broken}
	case r.ability.proof != proofNamespace && !r.AllowWeak:
		return &intent.Denied{Step: "proof-weak", Reason: "A stop could be proved only weakly on this box: " + r.ability.why + ". Nothing was started."}
	}
	return asRoot(r.Config)
}

// match compares the order of a stop with the inventory, record to record.
func (r *Root) match(t *task) intent.Event {
	f, i, err := r.book.at(t.Instance, t.Incarnation)
	switch {
	case err != nil:
		return intent.Undecided{Why: problem.Words(err)}
	case f != nil && f.target.Operation != t.Operation && f.receipt == nil:
		return intent.Undecided{Why: "it is being stopped by " + f.target.Operation}
	case f != nil && f.target.Operation != t.Operation:
		return intent.Answered{Receipt: f.ref}
	case i == nil && r.standing().mode != Ready:
		return intent.Undecided{Why: "the journal does not know it, and may be an older copy of itself: " + r.standing().why}
	case i != nil && (i.Session != t.Session || !i.Stamp.Same(t.Stamp)):
		return intent.Denied{Step: "stop-target", Reason: "What is installed as incarnation " + strconv.FormatUint(t.Incarnation, 10) + " of " + t.Instance + " is bound otherwise than the order says. Nothing was stopped."}
	}
	return intent.Matched{}
}

// commit writes the act's row, and what belongs to its phase.
func (r *Root) commit(ctx context.Context, t *task, e intent.Commit) intent.Event {
	next := t.record
	next.take(e.Row)
	var target *receipt.Target
	if e.Row.Phase == intent.Fenced {
		made, err := r.fence(t)
		if err != nil {
			return intent.Undecided{Why: problem.Words(err)}
		}
		target = &made
	}
	raise := r.standing().mode == Ready
	err := r.book.commit(ctx, entry{record: next, identity: e.Identity, target: target, raise: raise && e.Row.Phase.Raises()})
	switch {
	case errors.Is(err, journal.ErrFull) && e.Row.Kind == intent.KindStop && r.giveUpReserve():
		return r.commit(ctx, t, e) // the room that was kept for this
	case errors.Is(err, journal.ErrFull):
		return intent.Full{}
	case err != nil:
		return r.unwritten(err)
	}
	if e.Row.Phase.Raises() && !raise {
		r.owes.Store(true)
	}
	t.record = next
	return intent.Committed{}
}

// fence is the target of a stop: what is installed, under the highest revision that this
// box itself has verified.
func (r *Root) fence(t *task) (receipt.Target, error) {
	revision, _, err := r.Memory.Highest()
	if err != nil {
		return receipt.Target{}, err
	}
	if revision == 0 {
		return receipt.Target{}, problem.Refusal("roster-unread", "This box has verified no roster yet. Nothing was stopped.")
	}
	target := receipt.Target{
		Operation: t.Operation, BoxID: t.BoxID, Enrollment: r.Enrollment, Instance: t.Instance, Incarnation: t.Incarnation,
		Session: t.Session, Binding: t.Stamp, RosterRevision: revision,
	}
	return target, target.Check()
}

// commitReceipt makes the receipt from the fence, and writes it down.
func (r *Root) commitReceipt(ctx context.Context, t *task, e intent.CommitReceipt) intent.Event {
	f, i, err := r.book.at(t.Instance, t.Incarnation)
	if err != nil || f == nil {
		return intent.Undecided{Why: "the fence cannot be read"}
	}
	seen := receipt.Seen{Bucket: r.Bucket, Exit: e.Exit, Isolation: isolationNone, At: r.Now()}
	if i != nil && i.identity != nil {
		seen.Isolation = i.identity.Shim.Isolation
	}
	made, err := construct(f.target, e, seen)
	var data []byte
	if err == nil {
		data, err = made.Seal(r.Evidence)
	}
	if err != nil {
		return intent.Undecided{Why: "no receipt can be made: " + problem.Words(err)}
	}
	key, err := receipt.Key(f.target)
	if err != nil {
		return intent.Undecided{Why: problem.Words(err)}
	}
	return r.sealed(ctx, t, e.Row, receipt.RefTo(key, data), data)
}

// sealed writes a receipt to the journal.
func (r *Root) sealed(ctx context.Context, t *task, row intent.Row, ref receipt.Ref, data []byte) intent.Event {
	next := t.record
	next.take(row)
	next.Receipt = &ref
	err := r.book.commit(ctx, entry{record: next, receipt: data})
	switch {
	case errors.Is(err, journal.ErrFull) && r.giveUpReserve():
		return r.sealed(ctx, t, row, ref, data)
	case errors.Is(err, journal.ErrFull):
		return intent.Full{}
	case err != nil:
		return r.unwritten(err)
	}
	t.record = next
	return intent.Sealed{Receipt: ref}
}

// unwritten is a journal that does not take what it is given: nothing goes on without it.
// Where it cannot tell whether it took it, this root ends, and the next finds out.
func (r *Root) unwritten(err error) intent.Event {
	r.Log.Error("the journal cannot be written", "err", err)
	if problem.KindOf(err) == problem.Unknown {
		r.quit()
	}
	return intent.Undecided{Why: "the journal cannot be written: " + problem.Words(err)}
}

// giveUpReserve makes room for a stop on a full disk, once.
func (r *Root) giveUpReserve() bool {
	if !r.book.journal.Reserve() {
		return false
	}
	if err := r.book.journal.GiveUpReserve(); err != nil {
		r.Log.Error("the reserve cannot be given up", "err", err)
		return false
	}
	r.Log.Warn("the disk is full: nothing new is started, and the room that was kept for stops is used now")
	return true
}

func construct(f receipt.Target, e intent.CommitReceipt, seen receipt.Seen) (receipt.Receipt, error) {
	switch e.Made {
	case receipt.Normal:
		return receipt.NewNormal(f, e.Proof, seen)
	case receipt.Recovered:
		return receipt.NewRecovered(f, e.Proof, seen)
	case receipt.NamespaceGone:
		if p, ok := e.Proof.(receipt.Namespace); ok {
			return receipt.NewNamespaceGone(f, p, seen)
		}
	case receipt.NoProcess:
		return receipt.NewNoProcess(f, e.Proof, seen)
	}
	return receipt.Receipt{}, problem.New(problem.Failed, problem.StepInternal, "No receipt is made %s of that proof.", e.Made)
}

// put puts the receipt into the store. Another that this box signed for the same fence is
// the receipt: this journal has lost it.
func (r *Root) put(ctx context.Context, t *task) intent.Event {
	f, _, err := r.book.at(t.Instance, t.Incarnation)
	if err != nil || f == nil || f.receipt == nil {
		return intent.Unreachable{Why: "the receipt cannot be read from the journal"}
	}
	key, err := bucket.ParseKey(f.ref.Key)
	if err != nil {
		return intent.Unreachable{Why: problem.Words(err)}
	}
	ending := r.Store.Put(ctx, key, f.receipt, bucket.Absent{})
	if _, done := ending.(bucket.Done); done {
		return intent.Done{}
	}
	if failed, is := ending.(bucket.Failed); is {
		return intent.Unreachable{Why: "the receipt cannot be put into the store: " + problem.Words(failed.Cause)}
	}
	found, err := bucket.Read(ctx, r.Store, key)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return intent.Unreachable{Why: "the receipt is not in the store yet"}
	case err != nil:
		return intent.Unreachable{Why: problem.Words(err)}
	case f.ref.Is(found):
		return intent.Done{}
	}
	was, err := receipt.Read(found, r.Evidence.Public())
	if err != nil || !was.Target.Same(f.target) {
		return intent.Unreachable{Why: f.ref.Key + " is taken by something that this box did not write"}
	}
	return r.sealed(ctx, t, t.row(), receipt.RefTo(key, found), found)
}

// answer tells the console how far it is. What nobody ordered is told nobody.
func (r *Root) answer(ctx context.Context, t *task, a order.Answer) intent.Event {
	if t.Local {
		return intent.Done{}
	}
	mine, err := r.holds(ctx)
	switch {
	case err != nil:
		return intent.Unreachable{Why: "the box's session cannot be read: " + problem.Words(err)}
	case !mine && r.standing().mode == Starting:
		return intent.Unreachable{Why: r.standing().why}
	case !mine:
		return intent.Superseded{}
	}
	key, err := order.AckKey(r.Enrollment, t.Operation)
	if err != nil {
		return intent.Unreachable{Why: problem.Words(err)}
	}
	s := r.standing()
	says := order.Ack{
		Bucket: r.Bucket, Enrollment: r.Enrollment, BoxSession: s.id, Operation: t.Operation,
		Instance: t.Instance, Incarnation: t.Incarnation, Session: t.Session, Answer: a,
	}
	_, err = bucket.Update(ctx, r.Store, key, s.box.Acks(r.Evidence, t.Operation), func(was order.Ack, exists bool) (order.Ack, error) {
		if exists && was.Same(says) {
			return was, bucket.ErrUnchanged
		}
		return says, nil
	})
	if err != nil {
		return intent.Unreachable{Why: "the answer cannot be written: " + problem.Words(err)}
	}
	return intent.Done{}
}
