package order

import (
	"encoding/json"
	"fmt"

	"holdfast/internal/bucket"
	"holdfast/internal/fleet/document"
	"holdfast/internal/fleet/receipt"
	"holdfast/internal/problem"
)

// Answer is how far a box is with an order.
//
//sumtype:decl
type Answer interface{ answer() }

type (
	// Running: the work was started.
	Running struct{}
	// Refused for good: nothing was started by this order, and nothing will be.
	Refused struct {
		Step   string `json:"step"`
		Reason string `json:"reason"`
	}
	// Stopping: the fence stands, and it is not proved yet that all has ended.
	Stopping struct {
		Why string `json:"why"`
	}
	// Stopped: the receipt is there.
	Stopped struct {
		Receipt receipt.Ref `json:"receipt"`
	}
)

func (Running) answer()  {}
func (Refused) answer()  {}
func (Stopping) answer() {}
func (Stopped) answer()  {}

// Ack is the box's answer to an order, by compare-and-swap, under [AckKey].
type Ack struct {
	Bucket      string
	Enrollment  string
	BoxSession  string // of the root that said it
	Operation   string
	Instance    string
	Incarnation uint64
	Session     uint64
	Answer      Answer
	bucket.History
}

// Same says whether a and other say the same, in whichever write and session of the box.
func (a Ack) Same(other Ack) bool {
	return a.Bucket == other.Bucket && a.Enrollment == other.Enrollment && a.Operation == other.Operation && a.Instance == other.Instance &&
		a.Incarnation == other.Incarnation && a.Session == other.Session && a.Answer == other.Answer
}

// AckKey is where the box of an enrollment answers the order of an operation.
func AckKey(enrollment, operation string) (bucket.Key, error) {
	if err := document.CheckOperation(operation); err != nil {
		return bucket.Key{}, err
	}
	return boxKey(enrollment, "acks/"+operation)
}

func boxKey(enrollment, name string) (bucket.Key, error) {
	if err := document.CheckID("enrollment", enrollment); err != nil {
		return bucket.Key{}, err
	}
	return bucket.ParseKey("boxes/" + enrollment + "/" + name + ".json")
}

// The phases, as they are written, and the most bytes of a reason.
const (
	phaseRunning  = "running"
	phaseRefused  = "refused"
	phaseStopping = "stopping"
	phaseStopped  = "stopped"

	maxReason = 2 << 10
	stepAck   = "ack-format"
)

// Phase is what an answer is called: running, refused, stopping or stopped.
func Phase(a Answer) string {
	switch a.(type) {
	case Running:
		return phaseRunning
	case Refused:
		return phaseRefused
	case Stopping:
		return phaseStopping
	case Stopped:
		return phaseStopped
	}
	return ""
}

func decodeAnswer(raw json.RawMessage) (Answer, error) {
	phase, members, err := document.DecodeArm("phase", raw)
	if err != nil {
		return nil, err
	}
	switch phase {
	case phaseRunning:
		return document.ReadArm[Running](members)
	case phaseRefused:
		return document.ReadArm[Refused](members)
	case phaseStopping:
		return document.ReadArm[Stopping](members)
	case phaseStopped:
		return document.ReadArm[Stopped](members)
	}
	return nil, fmt.Errorf("%.80q is no phase", phase)
}

// Check refuses an answer that does not hold together. The history is not looked at.
func (a Ack) Check() error {
	c := document.Checker{Step: stepAck}
	c.ID("bucket", a.Bucket)
	c.ID("enrollment", a.Enrollment)
	c.ID("box_session", a.BoxSession)
	c.Operation("operation", a.Operation)
	c.Names("instance", a.Instance)
	c.Count("incarnation", a.Incarnation)
	c.Count("session", a.Session)
	switch s := a.Answer.(type) {
	case Running:
	case Refused:
		c.StepName("step", s.Step)
		c.Line("reason", s.Reason, maxReason)
	case Stopping:
		c.Line("why", s.Why, maxReason)
	case Stopped:
		s.Receipt.Check(&c, a.Enrollment, a.Instance, a.Incarnation)
	default:
		c.Must(false, "it has no answer")
	}
	return c.Err()
}

// ackWire is an answer as it is written.
type ackWire struct {
	Schema      string          `json:"schema"`
	Bucket      string          `json:"bucket"`
	Enrollment  string          `json:"enrollment"`
	BoxSession  string          `json:"box_session"`
	Operation   string          `json:"operation"`
	Instance    string          `json:"instance"`
	Incarnation uint64          `json:"incarnation"`
	Session     uint64          `json:"session"`
	Answer      json.RawMessage `json:"answer"`
	bucket.History
}

func (a Ack) wire() (ackWire, error) {
	if err := a.Check(); err != nil {
		return ackWire{}, err
	}
	answer, err := document.EncodeArm("phase", Phase(a.Answer), a.Answer)
	return ackWire{
		AckSchema, a.Bucket, a.Enrollment, a.BoxSession, a.Operation, a.Instance, a.Incarnation, a.Session, answer, a.History,
	}, err
}

func decodeAck(payload []byte) (Ack, error) {
	var w ackWire
	if err := document.Decode(payload, &w, stepAck); err != nil {
		return Ack{}, err
	}
	if w.Schema != AckSchema {
		return Ack{}, problem.Refusal(stepAck, "The schema %.80q is not %q.", w.Schema, AckSchema)
	}
	answer, err := decodeAnswer(w.Answer)
	if err != nil {
		return Ack{}, problem.Refusal(stepAck, "The answer is none: %v.", err)
	}
	a := Ack{w.Bucket, w.Enrollment, w.BoxSession, w.Operation, w.Instance, w.Incarnation, w.Session, answer, w.History}
	if err := a.History.Check(); err != nil {
		return Ack{}, problem.Refusal(stepAck, "The history is none: %v.", err)
	}
	return a, a.Check()
}
