// Package claim is which box may run an instance, as a value.
//
// There is one Claim for each instance, under [Key]: which box has it, under which
// session and incarnation, and by which receipts earlier ones are known to have ended.
// It is written by consoles, signed, by compare-and-swap, and never removed: what is
// released stays as a tombstone, so that sessions and incarnations only grow.
//
// The writers ([Claim.Take], [Claim.Release], [Claim.Abandon]) are functions that change a
// Claim; each finds out by the key of its operation that it was made before, and answers
// [bucket.ErrUnchanged] then. A refusal leaves the Claim as it is.
package claim

import (
	"slices"

	"holdfast/internal/bucket"
	"holdfast/internal/fleet/document"
	"holdfast/internal/fleet/receipt"
	"holdfast/internal/fleet/roster"
	"holdfast/internal/problem"
)

// Schema names the format of a claim's bytes.
const Schema = "holdfast-claim/1"

// State says whether a box may run the instance.
type State string

const (
	Held     State = "held"     // the box may run it
	Released State = "released" // nobody may
)

// maxReceipts is how many receipts a claim names.
const maxReceipts = 64

// Claim is a version of what is known of an instance's place.
type Claim struct {
	Schema   string `json:"schema"`
	Bucket   string `json:"bucket"` // which fleet: the store's random name
	Instance string `json:"instance"`
	Console  string `json:"console"` // whose key signed this version
	State    State  `json:"state"`
	// Operation is the key of the operation that made it so.
	Operation  string `json:"operation"`
	BoxID      string `json:"box_id"`
	Enrollment string `json:"enrollment"`
	// Session is raised each time that a box is given the instance, and never falls:
	// what was done under an older one is provably older.
	Session     uint64       `json:"session"`
	Incarnation uint64       `json:"incarnation"`
	Binding     roster.Stamp `json:"binding"` // under which it was given
	// Receipts are the last stops that were proved, the newest last.
	Receipts []Noted `json:"receipts"`
	bucket.History
}

// Noted is a receipt that a console verified.
type Noted struct {
	// Operation is that of the stop that the receipt is of. A later one may have been
	// answered with it.
	Operation   string `json:"operation"`
	Enrollment  string `json:"enrollment"`
	Incarnation uint64 `json:"incarnation"`
	receipt.Ref
}

// Key is where the claim of an instance is.
func Key(instance string) (bucket.Key, error) {
	if err := roster.CheckName("instance", instance); err != nil {
		return bucket.Key{}, err
	}
	return bucket.ParseKey(Under + instance + ".json")
}

// Under is what the keys of all claims begin with.
const Under = "control/claims/"

const stepClaim = "claim-format"

// Check refuses a claim that does not hold together. The history is not looked at.
func (c Claim) Check() error {
	k := document.Checker{Step: stepClaim}
	k.Must(c.Schema == Schema, "its schema is %.80q, not %q", c.Schema, Schema)
	k.ID("bucket", c.Bucket)
	k.Names("instance", c.Instance)
	k.Names("console", c.Console)
	k.OneOf("state", string(c.State), string(Held), string(Released))
	k.Operation("operation", c.Operation)
	k.Names("box_id", c.BoxID)
	k.ID("enrollment", c.Enrollment)
	k.Count("session", c.Session)
	k.Count("incarnation", c.Incarnation)
	k.Stamp("binding", c.Binding)
	k.Must(c.Receipts != nil && len(c.Receipts) <= maxReceipts, "it has no list of receipts, or names over %d", maxReceipts)
	for i, n := range c.Receipts {
		n.check(&k, c)
		k.Must(!slices.ContainsFunc(c.Receipts[:i], func(m Noted) bool { return m.Key == n.Key }), "it names the receipt %.200q twice", n.Key)
	}
	return k.Err()
}

func (n Noted) check(k *document.Checker, c Claim) {
	k.Operation("the operation of a receipt", n.Operation)
	k.ID("the enrollment of a receipt", n.Enrollment)
	k.Count("the incarnation of a receipt", n.Incarnation)
	k.Must(n.Incarnation <= c.Incarnation, "it names a receipt of incarnation %d, which there was not yet", n.Incarnation)
	n.Ref.Check(k, n.Enrollment, c.Instance, n.Incarnation)
	k.Must(n.Ref.Operation(n.Enrollment, c.Instance, n.Incarnation) == n.Operation, "the receipt %.200q is not that of the operation %s", n.Key, n.Operation)
}

// Taking is to whom an instance is given, by which operation.
type Taking struct {
	Bucket     string
	Instance   string
	Console    string
	Operation  string
	BoxID      string
	Enrollment string
	Binding    roster.Stamp
	// BaseSession is the claim's session when the operation was noted, 0 where there was
	// no claim. One that was given and released since is not given by an operation that
	// comes late.
	BaseSession uint64
}

// Take gives the instance to a box, as a new incarnation under a new session. Its
// refusals have the steps instance-claimed (a box has it), operation-over (it was given
// to somebody since the operation was noted) and operation-conflict.
func (c *Claim) Take(exists bool, t Taking) error {
	switch {
	case exists && (c.Bucket != t.Bucket || c.Instance != t.Instance):
		return refuse("claim-instance", "The claim is that of %s, and %s is to be taken.", c.Instance, t.Instance)
	case exists && c.Operation == t.Operation && c.Session == t.BaseSession+1 && c.State == Held:
		if c.BoxID != t.BoxID || c.Enrollment != t.Enrollment || !c.Binding.Same(t.Binding) {
			return refuse("operation-conflict", "The operation %s has given %s to box %s already, under other terms.", t.Operation, c.Instance, c.BoxID)
		}
		return bucket.ErrUnchanged
	case exists && c.State == Held:
		return refuse("instance-claimed", "%s is claimed for box %s, since the operation %s.", c.Instance, c.BoxID, c.Operation).
			WithHint("holdfast stop %s", c.Instance)
	case c.Session != t.BaseSession:
		return refuse("operation-over", "%s has had session %d since the operation %s was noted at session %d: the operation is over.", t.Instance, c.Session, t.Operation, t.BaseSession)
	}
	receipts := slices.Clone(c.Receipts)
	if receipts == nil {
		receipts = []Noted{}
	}
	*c = Claim{
		Schema: Schema, Bucket: t.Bucket, Instance: t.Instance, Console: t.Console, State: Held, Operation: t.Operation,
		BoxID: t.BoxID, Enrollment: t.Enrollment, Session: c.Session + 1, Incarnation: c.Incarnation + 1, Binding: t.Binding,
		Receipts: receipts, History: c.History,
	}
	return nil
}

// Release takes the instance from the box that has it, since the receipt n proves that it
// ended there. Who calls it has verified the receipt. Its refusal has the step
// receipt-other.
func (c *Claim) Release(operation string, n Noted) error {
	if slices.Contains(c.Receipts, n) {
		return bucket.ErrUnchanged
	}
	if c.State != Held || n.Enrollment != c.Enrollment || n.Incarnation != c.Incarnation {
		return refuse("receipt-other", "The receipt is of incarnation %d of %s at the enrollment %s, and the claim is %s, of incarnation %d at %s.",
			n.Incarnation, c.Instance, n.Enrollment, c.State, c.Incarnation, c.Enrollment)
	}
	receipts := append(slices.Clone(c.Receipts), n)
	c.State, c.Operation, c.Receipts = Released, operation, receipts[max(0, len(receipts)-maxReceipts):]
	return nil
}

// Abandon takes the instance back that the operation gave: its order was refused, and so
// nothing was started. Its refusal has the step operation-over.
func (c *Claim) Abandon(operation string) error {
	if c.Operation != operation {
		return refuse("operation-over", "The claim of %s was made what it is by the operation %s, and %s cannot abandon it.", c.Instance, c.Operation, operation)
	}
	if c.State == Released {
		return bucket.ErrUnchanged
	}
	c.State = Released
	return nil
}

// Want is what the receipt of a stop must be of, for which the claim is to be released.
func (c Claim) Want(operation string) receipt.Want {
	return receipt.Want{
		Operation: operation, BoxID: c.BoxID, Enrollment: c.Enrollment, Instance: c.Instance,
		Incarnation: c.Incarnation, Session: c.Session, Binding: c.Binding,
	}
}

func refuse(step, format string, args ...any) *problem.Error {
	return problem.Refusal(step, format+" The claim was not changed.", args...)
}
