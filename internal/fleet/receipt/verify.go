package receipt

import (
	"fmt"
	"slices"

	"holdfast/internal/fleet/roster"
	"holdfast/internal/problem"
	"holdfast/internal/sign"
)

// Want is what a receipt must be of, as the claim and the operation say.
type Want struct {
	Operation   string
	BoxID       string
	Enrollment  string
	Instance    string
	Incarnation uint64
	Session     uint64 // of the claim: the receipt's fence
	Binding     roster.Stamp
	// AllowedProofs are those that the floor counts; nil where no floor is given.
	AllowedProofs []string
}

// Check is one question that was put to a receipt.
type Check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

// checks are the questions, in their order. All are always answered.
var checks = []string{
	"key", "envelope", "signature", "format", "bucket", "operation", "box", "enrollment", "instance", "incarnation", "fence",
	"binding", "directory_revision", "proof",
}

// Verify puts every question to a receipt: whether the key is that of the box's row in
// r, whether the box signed these bytes, and whether it says what is wanted. What a
// failed check has made meaningless was not looked at, and says so; it is not OK.
// A receipt is believed if all are OK ([Holds]).
func Verify(data []byte, want Want, r *roster.Roster, evidence sign.Public) []Check {
	v := verification{}
	v.run(data, want, r, evidence)
	for _, name := range checks[len(v):] {
		v = append(v, Check{name, false, "not looked at"})
	}
	return v
}

// Holds says whether every check holds.
func Holds(list []Check) bool {
	return len(list) == len(checks) && !slices.ContainsFunc(list, func(c Check) bool { return !c.OK })
}

// verification is the answers so far.
type verification []Check

// put answers the next question, and says whether it is OK.
func (v *verification) put(ok bool, good, bad string) bool {
	detail := good
	if !ok {
		detail = bad
	}
	*v = append(*v, Check{checks[len(*v)], ok, detail})
	return ok
}

// try is put, where err is the trouble.
func (v *verification) try(err error, good string) bool {
	bad := ""
	if err != nil {
		bad = problem.Words(err)
	}
	return v.put(err == nil, good, bad)
}

// equal is put, where a member must be what is wanted.
func (v *verification) equal(have, want any) {
	v.put(have == want, fmt.Sprint(have), fmt.Sprintf("it says %.80q, and %.80q is wanted", fmt.Sprint(have), fmt.Sprint(want)))
}

// run goes on as long as what was looked at means something.
func (v *verification) run(data []byte, want Want, r *roster.Roster, evidence sign.Public) {
	row, ok := r.Boxes[want.Enrollment]
	if !v.put(ok && evidence.ID() == row.EvidenceSHA256, "the key is that of the row", "the key is not the one whose digest stands in the row of the box's enrollment") {
		return
	}
	e, err := sign.Read(data, purpose)
	if !v.try(err, "an envelope of a receipt") {
		return
	}
	payload, err := e.Verify(evidence)
	if !v.try(err, "the box signed these bytes") {
		return
	}
	got, numeral, err := decode(payload)
	if !v.try(err, Schema) {
		return
	}
	v.equal(got.Bucket, r.Bucket)
	v.equal(got.Operation, want.Operation)
	v.equal(got.BoxID, want.BoxID)
	v.equal(got.Enrollment, want.Enrollment)
	v.equal(got.Instance, want.Instance)
	v.equal(got.Incarnation, want.Incarnation)
	v.equal(got.Session, want.Session)
	v.put(got.Binding.Same(want.Binding), got.Binding.String(), "it was not installed under the claim's binding")
	n, err := parseNumeral(numeral)
	if err == nil && n > r.Revision {
		err = problem.Refusal(stepReceipt, "the revision %d is above that of the roster, %d", n, r.Revision)
	}
	v.try(err, numeral)
	v.proof(got.Proof, want.AllowedProofs)
}

// proof says whether a proof counts by the floor. That there is no process at all needs
// no word of the floor: it is a proof of nothing that ran here.
func (v *verification) proof(p Proof, allowed []string) {
	kind := Kind(p)
	switch p.(type) {
	case Reboot, NothingStarted:
		v.put(true, kind, "")
	case Namespace, Weak:
		v.put(allowed == nil || slices.Contains(allowed, kind), kind, fmt.Sprintf("the floor does not count the proof %q", kind))
	}
}
