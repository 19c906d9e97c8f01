package receipt

import (
	"encoding/json"
	"strconv"
	"time"

	"holdfast/internal/fleet/document"
	"holdfast/internal/fleet/roster"
	"holdfast/internal/sign"
)

// Receipt is the proof that an incarnation of an instance has ended. Only the
// constructors and [Read] make one that can be sealed.
type Receipt struct {
	Bucket string
	Target
	Made      Made
	Proof     Proof
	Exit      Exit
	Isolation string // what kept the work away from the home: "namespace" or "none"
	Result    string // the work's own word about its result; empty where it said none
	StoppedAt time.Time
}

// Seen is what a box says of an end besides the fence and the proof.
type Seen struct {
	Bucket    string
	Exit      Exit
	Isolation string
	Result    string
	At        time.Time
}

// NewNormal is the receipt of a stop that the box saw to its end. The proof is
// [Namespace] or [Weak].
func NewNormal(t Target, p Proof, s Seen) (Receipt, error) { return from(t, Normal, p, s) }

// NewRecovered is the same, where a fence was gone on with after a crash.
func NewRecovered(t Target, p Proof, s Seen) (Receipt, error) { return from(t, Recovered, p, s) }

// NewNamespaceGone is the receipt of an init that was found to be gone in the boot in
// which it ran.
func NewNamespaceGone(t Target, p Namespace, s Seen) (Receipt, error) {
	return from(t, NamespaceGone, p, s)
}

// NewNoProcess is the receipt of what cannot have a process. The proof is [Reboot] or
// [NothingStarted].
func NewNoProcess(t Target, p Proof, s Seen) (Receipt, error) { return from(t, NoProcess, p, s) }

// from is the one source of receipts: what it says of the authority is the fence's.
func from(t Target, m Made, p Proof, s Seen) (Receipt, error) {
	r := Receipt{s.Bucket, t, m, p, s.Exit, s.Isolation, s.Result, document.Stamp(s.At)}
	return r, r.Check()
}

// maxResult is the most bytes of the work's word about its result.
const maxResult = 4 << 10

// Check refuses a receipt that does not hold together.
func (r Receipt) Check() error {
	c := document.Checker{Step: stepReceipt}
	r.check(&c)
	return c.Err()
}

func (r Receipt) check(c *document.Checker) {
	c.ID("bucket", r.Bucket)
	r.Target.check(c)
	c.OneOf("made", string(r.Made), string(Normal), string(Recovered), string(NamespaceGone), string(NoProcess))
	checkProof(c, r.Made, r.Proof)
	checkExit(c, r.Proof, r.Exit)
	c.OneOf("isolation", r.Isolation, "namespace", "none")
	c.Text("result", r.Result, maxResult)
	c.Time("stopped_at", r.StoppedAt)
}

// What a receipt does not say, which each says of itself.
const (
	limit     = "Work that was handed to a daemon outside of the namespace is not covered."
	limitWeak = "A descendant that hid from the scan is not covered, and work that was handed to a daemon is not."
)

func limitOf(p Proof) string {
	if _, weak := p.(Weak); weak {
		return limitWeak
	}
	return limit
}

// Limit is what r does not cover, in a sentence.
func (r Receipt) Limit() string { return limitOf(r.Proof) }

// wire is a receipt as it is written.
type wire struct {
	Schema      string `json:"schema"`
	Bucket      string `json:"bucket"`
	Operation   string `json:"operation"`
	BoxID       string `json:"box_id"`
	Enrollment  string `json:"enrollment"`
	Instance    string `json:"instance"`
	Incarnation uint64 `json:"incarnation"`
	Fence       uint64 `json:"fence"`
	// DirectoryRevision is the numeral, as text: older readers want it so.
	DirectoryRevision string          `json:"directory_revision"`
	Binding           roster.Stamp    `json:"binding"`
	Made              Made            `json:"made"`
	Proof             json.RawMessage `json:"proof"`
	Exit              json.RawMessage `json:"exit"`
	Isolation         string          `json:"isolation"`
	Result            string          `json:"result"`
	Limit             string          `json:"limit"`
	StoppedAt         time.Time       `json:"stopped_at"`
}

// Seal signs the receipt with the box's evidence key.
func (r Receipt) Seal(evidence sign.Key) ([]byte, error) {
	w, err := r.wire()
	if err != nil {
		return nil, err
	}
	return document.Seal(purpose, w, evidence)
}

func (r Receipt) wire() (wire, error) {
	if err := r.Check(); err != nil {
		return wire{}, err
	}
	proof, err := encodeProof(r.Proof)
	if err != nil {
		return wire{}, err
	}
	exit, err := encodeExit(r.Exit)
	if err != nil {
		return wire{}, err
	}
	return wire{
		Schema, r.Bucket, r.Operation, r.BoxID, r.Enrollment, r.Instance, r.Incarnation, r.Session,
		strconv.FormatUint(r.RosterRevision, 10), r.Binding, r.Made, proof, exit, r.Isolation, r.Result, limitOf(r.Proof), r.StoppedAt,
	}, nil
}

// Read reads a receipt that a box signed with the evidence key whose public half is
// given. It says nothing of whether it is the one that was wanted: [Verify] does.
func Read(data []byte, evidence sign.Public) (Receipt, error) {
	e, err := sign.Read(data, purpose)
	if err != nil {
		return Receipt{}, err
	}
	payload, err := e.Verify(evidence)
	if err != nil {
		return Receipt{}, err
	}
	return read(payload)
}

func read(payload []byte) (Receipt, error) {
	r, numeral, err := decode(payload)
	if err != nil {
		return Receipt{}, err
	}
	r.RosterRevision, err = parseNumeral(numeral)
	return r, err
}

// decode reads a payload, all of it but the numeral, which it returns as it stands.
func decode(payload []byte) (Receipt, string, error) {
	var w wire
	if err := document.Decode(payload, &w, stepReceipt); err != nil {
		return Receipt{}, "", err
	}
	c := document.Checker{Step: stepReceipt}
	proof, err := decodeProof(w.Proof)
	c.Must(err == nil, "its proof is none: %v", err)
	exit, err := decodeExit(w.Exit)
	c.Must(err == nil, "its exit is none: %v", err)
	r := Receipt{
		w.Bucket,
		Target{w.Operation, w.BoxID, w.Enrollment, w.Instance, w.Incarnation, w.Fence, w.Binding, 1},
		w.Made, proof, exit, w.Isolation, w.Result, w.StoppedAt,
	}
	c.Must(w.Schema == Schema, "its schema is %.80q, not %q", w.Schema, Schema)
	r.check(&c)
	c.Must(w.Limit == limitOf(proof), "it does not say what it does not cover")
	return r, w.DirectoryRevision, c.Err()
}

// parseNumeral reads a roster's revision in decimal. A binding is none.
func parseNumeral(text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 53)
	c := document.Checker{Step: stepReceipt}
	c.Must(err == nil && n > 0 && strconv.FormatUint(n, 10) == text, "directory_revision is %.80q, which is no revision of a roster", text)
	return n, c.Err()
}
