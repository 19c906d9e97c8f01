// Package receipt is what is proved of a stop, as a value.
//
// A Receipt is signed by the box with its evidence key. It is made from the fence that
// was written down before anything was done to stop the instance ([Target]), by one of
// four constructors, all of which take what they say of the authority from that fence.
// A console believes it after [Verify] has found every check to hold.
//
// The numeral in a receipt, directory_revision, is text: the fence's roster revision in
// decimal. The binding stands beside it, for those who know of bindings; who does not
// can verify all else. Neither is ever taken for the other.
//
// The object is evidence/ENROLLMENT/INSTANCE/INCARNATION-OPERATION.json ([Key]), written
// once, by the box. The same fence and the same facts make the same bytes.
package receipt

import (
	"strconv"
	"strings"

	"holdfast/internal/bucket"
	"holdfast/internal/canon"
	"holdfast/internal/fleet/document"
	"holdfast/internal/fleet/roster"
	"holdfast/internal/sign"
)

const (
	purpose sign.Purpose = "application/vnd.holdfast.receipt.v1+json"

	stepReceipt = "receipt-format"
	stepTarget  = "fence-format"
)

// Schema names the format of a receipt's bytes.
const Schema = "holdfast-receipt/1"

// Ref is where a receipt is and what its bytes are.
type Ref struct {
	Key    string `json:"key"`
	SHA256 string `json:"sha256"`
}

// RefTo is where data is kept under key.
func RefTo(key bucket.Key, data []byte) Ref { return Ref{key.String(), document.SHA256(data)} }

// Is says whether data are the bytes that r means.
func (r Ref) Is(data []byte) bool { return r.SHA256 == document.SHA256(data) }

// Operation is that of the receipt of an incarnation that stands under r, or empty.
func (r Ref) Operation(enrollment, instance string, incarnation uint64) string {
	rest, under := strings.CutPrefix(r.Key, prefix(enrollment, instance, incarnation))
	operation, is := strings.CutSuffix(rest, suffix)
	if !under || !is {
		return ""
	}
	return operation
}

// Check complains to c unless r is the place of a receipt of an incarnation.
func (r Ref) Check(c *document.Checker, enrollment, instance string, incarnation uint64) {
	operation := r.Operation(enrollment, instance, incarnation)
	c.Must(document.IsOperation(operation), "the receipt's key is %.200q, which is none of %s, incarnation %d", r.Key, instance, incarnation)
	c.Digest("the receipt's digest", r.SHA256)
}

// Key is where the receipt of a fence is.
func Key(t Target) (bucket.Key, error) {
	if err := t.Check(); err != nil {
		return bucket.Key{}, err
	}
	return bucket.ParseKey(prefix(t.Enrollment, t.Instance, t.Incarnation) + t.Operation + suffix)
}

const suffix = ".json"

func prefix(enrollment, instance string, incarnation uint64) string {
	return "evidence/" + enrollment + "/" + instance + "/" + strconv.FormatUint(incarnation, 10) + "-"
}

// Target is a fence: what is to be stopped, and on what authority. It is durable before
// any effect of the stop, and every receipt is made from it.
type Target struct {
	Operation   string       `json:"operation"`
	BoxID       string       `json:"box_id"`
	Enrollment  string       `json:"enrollment"`
	Instance    string       `json:"instance"`
	Incarnation uint64       `json:"incarnation"`
	Session     uint64       `json:"session"` // of the claim
	Binding     roster.Stamp `json:"binding"` // that the installation is stamped with
	// RosterRevision is the highest that the box itself had verified when the fence was
	// begun. It is never 0, and never from a request.
	RosterRevision uint64 `json:"roster_revision"`
}

// Check refuses a fence that no receipt could be made from.
func (t Target) Check() error {
	c := document.Checker{Step: stepTarget}
	t.check(&c)
	return c.Err()
}

func (t Target) check(c *document.Checker) {
	c.Operation("operation", t.Operation)
	c.Names("box_id", t.BoxID)
	c.ID("enrollment", t.Enrollment)
	c.Names("instance", t.Instance)
	c.Count("incarnation", t.Incarnation)
	c.Count("session", t.Session)
	c.Stamp("binding", t.Binding)
	c.Count("roster_revision", t.RosterRevision)
}

// Encode is the fence as a journal keeps it: canonical JSON.
func (t Target) Encode() ([]byte, error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	return canon.Encode(t)
}

// Decode reads what [Target.Encode] wrote.
func Decode(data []byte) (Target, error) {
	var t Target
	if err := document.Decode(data, &t, stepTarget); err != nil {
		return Target{}, err
	}
	return t, t.Check()
}

// Same says whether t and other are the same stop under the same authority. When the
// roster was last read plays no part: who asks again gets the fence that stands.
func (t Target) Same(other Target) bool {
	if !t.Binding.Same(other.Binding) {
		return false
	}
	t.RosterRevision = other.RosterRevision
	return t == other
}
