package console

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"holdfast/internal/bucket"
	"holdfast/internal/fleet/document"
	"holdfast/internal/fleet/operation"
	"holdfast/internal/fleet/order"
	"holdfast/internal/fleet/receipt"
	"holdfast/internal/fleet/roster"
	"holdfast/internal/problem"
)

// examined is a receipt after every question was put to it.
type examined struct {
	err    error // it could not be asked at all; errAbsent if it is not there
	checks []receipt.Check
	got    receipt.Receipt // where all checks hold
}

// good says whether every check holds.
func (e examined) good() bool { return e.err == nil && e.failed() == receipt.Check{} }

// failed is the first check that does not hold.
func (e examined) failed() receipt.Check {
	for _, c := range e.checks {
		if !c.OK {
			return c
		}
	}
	return receipt.Check{}
}

// examine reads the receipt of a stop under ref. The stop that made it may be an earlier
// one of the same than o: a box answers with the receipt that it has.
func (o *Ops) examine(ctx context.Context, doc operation.Operation, ref receipt.Ref) examined {
	v, err := o.Roster.Read(ctx) // fresh: the numeral may not be above it
	if err != nil {
		return examined{err: err}
	}
	key, err := bucket.ParseKey(ref.Key)
	if err != nil {
		return examined{err: err}
	}
	b, err := o.box(ctx, v.Roster, doc.Enrollment)
	if err != nil {
		return examined{err: err}
	}
	allowed, err := o.proofs(ctx, v)
	if err != nil {
		return examined{err: err}
	}
	by, ok, err := o.madeBy(ctx, v.Roster, doc, ref)
	if err != nil {
		return examined{err: err}
	}
	data, err := o.get(ctx, key)
	if err != nil {
		return examined{err: err}
	}
	want := receipt.Want{
		Operation: by, BoxID: doc.BoxID, Enrollment: doc.Enrollment, Instance: doc.Instance, Incarnation: doc.Incarnation,
		Session: doc.Session, Binding: doc.Binding, AllowedProofs: allowed,
	}
	e := examined{checks: []receipt.Check{
		{Name: "stop", OK: ok, Detail: detail(ok, "made by the stop "+by, "no stop of this incarnation was noted under the key in the receipt's name")},
		{Name: "sha256", OK: ref.Is(data), Detail: detail(ref.Is(data), ref.SHA256, "the bytes are not those that were meant")},
	}}
	e.checks = append(e.checks, receipt.Verify(data, want, v.Roster, b.Evidence())...)
	if e.good() {
		e.got, e.err = receipt.Read(data, b.Evidence())
	}
	return e
}

func detail(ok bool, good, bad string) string {
	if ok {
		return good
	}
	return bad
}

// madeBy is the stop that the receipt under ref is of, and whether it is noted as one of
// the same incarnation as doc.
func (o *Ops) madeBy(ctx context.Context, r *roster.Roster, doc operation.Operation, ref receipt.Ref) (string, bool, error) {
	by := ref.Operation(doc.Enrollment, doc.Instance, doc.Incarnation)
	if by == doc.Key || by == "" || document.OfBox(by) { // a box that was told to, where it stands, stops by itself
		return by, by != "", nil
	}
	other, err := o.noted(ctx, r, by)
	if errors.Is(err, errAbsent) {
		return by, false, nil
	}
	same := other.Kind == order.Stop && other.Instance == doc.Instance && other.Enrollment == doc.Enrollment &&
		other.Session == doc.Session && other.Incarnation == doc.Incarnation
	return by, same, err
}

// Verification is every question that was put to a receipt, and what it answered.
type Verification struct {
	OK     bool            `json:"ok"`
	Checks []receipt.Check `json:"checks"`
}

// Verify puts every question to the receipt that stands under key.
func (o *Ops) Verify(ctx context.Context, key string) (Verification, error) {
	v, err := o.Roster.Read(ctx)
	if err != nil {
		return Verification{}, err
	}
	at, err := bucket.ParseKey(key)
	if err != nil {
		return Verification{}, err
	}
	data, err := o.get(ctx, at)
	if errors.Is(err, errAbsent) {
		return Verification{}, problem.New(problem.Gone, "receipt-unknown", "No receipt stands under %s.", key)
	}
	if err != nil {
		return Verification{}, err
	}
	by, ok := stopOf(key)
	if !ok {
		return Verification{}, problem.New(problem.Usage, "receipt-key", "%.200q is no key of a receipt.", key).
			WithHint("holdfast stop prints it: evidence/ENROLLMENT/INSTANCE/INCARNATION-OPERATION.json")
	}
	doc, err := o.stopBy(ctx, v.Roster, by, parts(key))
	if errors.Is(err, errAbsent) {
		return Verification{}, problem.New(problem.Gone, "operation-unknown", "No stop is noted under the key %s, so it is not known what the receipt should say.", by)
	}
	if err != nil {
		return Verification{}, err
	}
	e := o.examine(ctx, doc, receipt.RefTo(at, data))
	if e.err != nil {
		return Verification{}, e.err
	}
	noted, err := o.notes(ctx, v.Roster, doc, key)
	if err != nil {
		return Verification{}, err
	}
	if noted != "" { // what the console saw when it released the claim
		same := noted == receipt.RefTo(at, data).SHA256
		e.checks = append(e.checks, receipt.Check{Name: "claim", OK: same, Detail: detail(same, "the claim notes it", "the claim notes other bytes under this key: "+noted)})
	}
	return Verification{e.good(), e.checks}, nil
}

// stopBy is the stop of a key, as the receipt in a place should be of it. Of one that the box
// began by itself nothing is noted but the claim: then it is a stop of what that has.
func (o *Ops) stopBy(ctx context.Context, r *roster.Roster, by string, place [4]string) (operation.Operation, error) {
	if !document.OfBox(by) {
		return o.noted(ctx, r, by)
	}
	c, err := o.claim(ctx, r, place[2])
	if err != nil {
		return operation.Operation{}, err
	}
	incarnation, _, _ := strings.Cut(place[3], "-")
	if c.Enrollment != place[1] || fmt.Sprint(c.Incarnation) != incarnation {
		return operation.Operation{}, errAbsent
	}
	return operation.Operation{
		Key: by, Kind: order.Stop, Instance: c.Instance, BoxID: c.BoxID, Enrollment: c.Enrollment,
		Session: c.Session, Incarnation: c.Incarnation, Binding: c.Binding,
	}, nil
}

// notes is the digest that the claim notes for the receipt under key, empty if it notes
// none.
func (o *Ops) notes(ctx context.Context, r *roster.Roster, doc operation.Operation, key string) (string, error) {
	c, err := o.claim(ctx, r, doc.Instance)
	if err != nil && !errors.Is(err, errAbsent) {
		return "", err
	}
	for _, n := range c.Receipts {
		if n.Key == key {
			return n.SHA256, nil
		}
	}
	return "", nil
}

// stopOf is the stop in the name of a receipt:
// evidence/ENROLLMENT/INSTANCE/INCARNATION-OPERATION.json.
func stopOf(key string) (string, bool) {
	place := parts(key)
	_, rest, cut := strings.Cut(place[3], "-")
	by, is := strings.CutSuffix(rest, ".json")
	return by, place[0] == "evidence" && cut && is
}

// parts are the four parts of a receipt's key, all empty where it is none.
func parts(key string) (place [4]string) {
	if all := strings.Split(key, "/"); len(all) == len(place) {
		copy(place[:], all)
	}
	return place
}
