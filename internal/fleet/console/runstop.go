package console

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast/internal/bucket"
	"holdfast/internal/failpoint"
	"holdfast/internal/fleet/claim"
	"holdfast/internal/fleet/document"
	"holdfast/internal/fleet/operation"
	"holdfast/internal/fleet/order"
	"holdfast/internal/fleet/receipt"
	"holdfast/internal/fleet/roster"
	"holdfast/internal/fleet/rosterstore"
	"holdfast/internal/problem"
)

// RunRequest is what is to run, and where.
type RunRequest struct {
	Key        string // of the operation; empty: a new one
	Instance   string
	Wish       operation.Wish
	Work       order.Work
	AcceptWeak bool // a box of whose stops there is only weak proof may have it
}

// Ran is an instance that was started.
type Ran struct {
	Instance    string `json:"instance"`
	Box         string `json:"box"`
	Incarnation uint64 `json:"incarnation"`
	Session     uint64 `json:"session"`
	State       string `json:"state"`
	Key         string `json:"key"`
}

// Run runs an instance, and returns when its box has started it. A box that refuses is
// an error of kind Refused, in the box's words.
func (o *Ops) Run(ctx context.Context, req RunRequest) (Ran, error) {
	asked := operation.Asked{Kind: order.Run, Instance: req.Instance, Box: req.Wish.Box, Work: &req.Work}
	if err := errors.Join(roster.CheckName("instance", req.Instance), req.Work.Check()); err != nil {
		return Ran{}, problem.From(err, "it cannot be run")
	}
	doc, err := o.begin(ctx, req.Key, asked, func(v *rosterstore.Version) (operation.Operation, error) {
		return o.planRun(ctx, v, req)
	})
	if err != nil {
		return Ran{}, err
	}
	out, err := o.drive(ctx, doc, true)
	if err != nil {
		return Ran{}, err
	}
	return ran(doc, out)
}

func ran(doc operation.Operation, out operation.Outcome) (Ran, error) {
	switch out := out.(type) {
	case operation.Running:
		return Ran{doc.Instance, doc.BoxID, doc.Incarnation, doc.Session, order.BeatRunning, doc.Key}, nil
	case operation.Refusal:
		return Ran{}, problem.Refusal(out.Step, "%s", out.Reason)
	case operation.Stopped:
	}
	return Ran{}, fmt.Errorf("the run %s ended as %T", doc.Key, out)
}

// begin notes an operation, or finds it noted under its key. From then on it is never
// lost.
func (o *Ops) begin(ctx context.Context, key string, asked operation.Asked, plan func(*rosterstore.Version) (operation.Operation, error)) (operation.Operation, error) {
	if key == "" {
		key = NewKey()
	}
	v, err := o.Roster.Read(ctx)
	if err != nil {
		return operation.Operation{}, err
	}
	was, err := o.noted(ctx, v.Roster, key)
	if err == nil {
		return o.goesOn(ctx, was, asked)
	}
	if !errors.Is(err, errAbsent) {
		return operation.Operation{}, err
	}
	doc, err := plan(v)
	if err != nil {
		return operation.Operation{}, err
	}
	doc.Schema, doc.Bucket, doc.Key, doc.Kind, doc.Console, doc.Epoch = operation.Schema, v.Roster.Bucket, key, asked.Kind, o.Name, 1
	doc.Instance, doc.Work, doc.GraceNS, doc.BegunAt = asked.Instance, asked.Work, asked.GraceNS, document.Stamp(o.Now())
	at, err := operation.Key(key)
	if err != nil {
		return operation.Operation{}, err
	}
	failpoint.Here(operation.Noted(asked.Kind) + failpoint.Before)
	done, err := bucket.Update(ctx, o.Bucket, at, operation.Codec(v.Roster, o.Key, key), doc.Noting())
	failpoint.Here(operation.Noted(asked.Kind) + failpoint.After)
	if err != nil {
		return operation.Operation{}, noting(key, err)
	}
	// Somebody else may have been faster, under the same key.
	return o.goesOn(ctx, done.Value, asked)
}

// goesOn is an operation that is noted, as this console's, if it is for what is asked.
func (o *Ops) goesOn(ctx context.Context, was operation.Operation, asked operation.Asked) (operation.Operation, error) {
	if err := was.Conflict(asked); err != nil {
		return operation.Operation{}, err
	}
	doc, err := o.owned(ctx, was.Key)
	return doc, noting(was.Key, err)
}

// noting is err, or of an operation of which it cannot be told how it is noted, that.
func noting(key string, err error) error {
	var lost *bucket.Unsettled
	if errors.As(err, &lost) {
		return unsettled(key, "whether it was noted cannot be told").Because(err)
	}
	return err
}

// planRun is a run, placed, on the claim as it is now. Nothing is written.
func (o *Ops) planRun(ctx context.Context, v *rosterstore.Version, req RunRequest) (operation.Operation, error) {
	none := operation.Operation{}
	enrolled, err := operation.Place(v.Roster, req.Wish)
	if err != nil {
		return none, err
	}
	row := v.Boxes[enrolled]
	if v.Publication != "" && v.FloorSHA256 == "" {
		return none, problem.Refusal("floor-open", "The floor %s is announced and not fixed yet: nothing new starts. Nothing was begun.", v.Publication).
			WithHint("publish it again: holdfast fleet floor publish FILE")
	}
	if err := o.canProve(ctx, v, enrolled, req.AcceptWeak); err != nil {
		return none, err
	}
	c, err := o.claim(ctx, v.Roster, req.Instance)
	switch {
	case errors.Is(err, errAbsent):
	case err != nil:
		return none, err
	case c.State == claim.Held:
		return none, problem.Refusal("instance-claimed", "%s is claimed for box %s, since the operation %s. Nothing was begun.", req.Instance, c.BoxID, c.Operation).
			WithHint("holdfast stop %s", req.Instance)
	default:
		if err := o.provenHere(ctx, v, c, enrolled, req.AcceptWeak); err != nil {
			return none, err
		}
	}
	a, _ := v.Actor(enrolled)
	return operation.Operation{
		BoxID: row.BoxID, Enrollment: enrolled, BaseSession: c.Session, Session: c.Session + 1, Incarnation: c.Incarnation + 1,
		Binding: a.Binding.Stamp(),
	}, nil
}

// canProve refuses a box that was never heard of, or of whose stops there would be no
// proof that counts.
func (o *Ops) canProve(ctx context.Context, v *rosterstore.Version, enrolled string, weak bool) error {
	row := v.Boxes[enrolled]
	b, err := o.box(ctx, v.Roster, enrolled)
	if err != nil {
		return err
	}
	s, err := o.session(ctx, b)
	if errors.Is(err, errAbsent) {
		return problem.Refusal("box-silent", "Box %s was never started: no root of it has ever written a session. Nothing was begun.", row.BoxID).
			WithHint("on that machine: holdfast up")
	}
	if err != nil {
		return err
	}
	allowed, err := o.proofs(ctx, v)
	if err != nil {
		return err
	}
	return operation.Counts(row.BoxID, s.Proof, s.ProofWhy, weak, allowed)
}

// provenHere refuses to start elsewhere what was only weakly proved to have ended.
func (o *Ops) provenHere(ctx context.Context, v *rosterstore.Version, c claim.Claim, enrolled string, weak bool) error {
	last, ok := newest(c)
	if weak || !ok || last.Enrollment == enrolled {
		return nil
	}
	b, err := o.box(ctx, v.Roster, last.Enrollment)
	if err != nil {
		return err
	}
	key, err := bucket.ParseKey(last.Key)
	if err != nil {
		return err
	}
	data, err := o.get(ctx, key)
	if errors.Is(err, errAbsent) || err == nil && !last.Is(data) {
		return problem.Refusal("receipt-refused", "The receipt %s, by which %s ended on another box, is not what the claim notes. Nothing was begun.", last.Key, c.Instance)
	}
	if err != nil {
		return err
	}
	r, err := receipt.Read(data, b.Evidence())
	if err != nil {
		return err
	}
	if _, is := r.Proof.(receipt.Weak); !is {
		return nil
	}
	return problem.Refusal("proof-weak", "That %s has ended on box %s is proved only weakly: a process of it that hid may be alive there. Nothing was begun.", c.Instance, r.BoxID).
		WithHint("run it on the same box, or accept that: --accept-weak")
}

// newest is the last receipt that a claim notes.
func newest(c claim.Claim) (claim.Noted, bool) {
	if len(c.Receipts) == 0 {
		return claim.Noted{}, false
	}
	return c.Receipts[len(c.Receipts)-1], true
}

// StopRequest is what is to stop.
type StopRequest struct {
	Key      string // of the operation; empty: a new one
	Instance string
	Grace    time.Duration // from TERM to the end
}

// Stopped is a stop that was proved.
type Stopped struct {
	Receipt Proof  `json:"receipt"`
	Key     string `json:"key"`
}

// Proof is a receipt, and what it says.
type Proof struct {
	receipt.Ref
	Proof             string `json:"proof"`
	DirectoryRevision string `json:"directory_revision"`
	Binding           string `json:"binding"`
}

// Stop stops an instance, and returns when that is proved. What was stopped already is
// answered with its receipt.
func (o *Ops) Stop(ctx context.Context, req StopRequest) (Stopped, error) {
	if err := roster.CheckName("instance", req.Instance); err != nil {
		return Stopped{}, err
	}
	asked := operation.Asked{Kind: order.Stop, Instance: req.Instance, GraceNS: int64(req.Grace)}
	var before Stopped // what an earlier stop came to
	doc, err := o.begin(ctx, req.Key, asked, func(v *rosterstore.Version) (operation.Operation, error) {
		doc, was, err := o.planStop(ctx, v, req.Instance)
		before = was
		return doc, err
	})
	if errors.Is(err, errOver) {
		return before, nil
	}
	if err != nil {
		return Stopped{}, err
	}
	out, err := o.drive(ctx, doc, true)
	if err != nil {
		return Stopped{}, err
	}
	return stopped(doc, out)
}

// errOver: it is stopped already, and nothing is to be noted.
var errOver = errors.New("it is stopped already")

func stopped(doc operation.Operation, out operation.Outcome) (Stopped, error) {
	switch out := out.(type) {
	case operation.Stopped:
		return Stopped{Proof{out.Receipt, out.Proof, out.DirectoryRevision, out.Binding.String()}, doc.Key}, nil
	case operation.Refusal:
		return Stopped{}, problem.Refusal(out.Step, "%s", out.Reason)
	case operation.Running:
	}
	return Stopped{}, fmt.Errorf("the stop %s ended as %T", doc.Key, out)
}

// planStop is a stop of what the claim says now. Nothing is written. Neither quarantine
// nor retirement of the box is in its way.
func (o *Ops) planStop(ctx context.Context, v *rosterstore.Version, instance string) (operation.Operation, Stopped, error) {
	none := operation.Operation{}
	c, err := o.claim(ctx, v.Roster, instance)
	if errors.Is(err, errAbsent) {
		return none, Stopped{}, unknownInstance(instance)
	}
	if err != nil {
		return none, Stopped{}, err
	}
	doc := operation.Operation{
		BoxID: c.BoxID, Enrollment: c.Enrollment, BaseSession: c.Session, Session: c.Session, Incarnation: c.Incarnation, Binding: c.Binding,
	}
	if c.State == claim.Held {
		return doc, Stopped{}, nil
	}
	n, ok := newest(c)
	if !ok || n.Incarnation != c.Incarnation {
		return none, Stopped{}, problem.Refusal("instance-not-running", "Incarnation %d of %s was never started: box %s refused it. There is nothing to stop.", c.Incarnation, instance, c.BoxID)
	}
	doc.Key, doc.Instance = n.Operation, instance
	e := o.examine(ctx, doc, n.Ref)
	switch {
	case errors.Is(e.err, errAbsent):
		return none, Stopped{}, problem.Refusal("receipt-absent", "%s is stopped, by the receipt %s, which is not in the store any more.", instance, n.Key)
	case e.err != nil:
		return none, Stopped{}, e.err
	case !e.good():
		bad := e.failed()
		return none, Stopped{}, problem.Refusal("receipt-refused", "%s is stopped, and its receipt %s is not believed any more: %s (%s).", instance, n.Key, bad.Name, bad.Detail)
	}
	return none, Stopped{Proof{n.Ref, receipt.Kind(e.got.Proof), fmt.Sprint(e.got.RosterRevision), e.got.Binding.String()}, n.Operation}, errOver
}

func unknownInstance(instance string) error {
	return problem.New(problem.Gone, "instance-unknown", "No instance is called %.80q.", instance).WithHint("holdfast ps lists them")
}
