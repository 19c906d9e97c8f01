package operation

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"holdfast/internal/bucket"
	"holdfast/internal/fleet/document"
	"holdfast/internal/fleet/order"
	"holdfast/internal/fleet/receipt"
	"holdfast/internal/fleet/roster"
	"holdfast/internal/problem"
	"holdfast/internal/sign"
)

const purpose sign.Purpose = "application/vnd.holdfast.operation.v1+json"

// stepOperation is the step of what is no operation.
const stepOperation = "operation-format"

// Under is what the keys of all operations begin with.
const Under = "control/operations/"

// Key is where the operation of a key is.
func Key(key string) (bucket.Key, error) {
	if err := document.CheckOperation(key); err != nil {
		return bucket.Key{}, err
	}
	if document.OfBox(key) {
		return bucket.Key{}, problem.New(problem.Usage, "operation-key", "%.64q begins as the keys do that boxes make themselves. Nothing was changed.", key).WithHint("choose another key")
	}
	return bucket.ParseKey(Under + key + ".json")
}

// maxReason is the most bytes of a refusal's reason.
const maxReason = 4 << 10

// Check refuses an operation that does not hold together. The history is not looked at.
func (o Operation) Check() error {
	c := document.Checker{Step: stepOperation}
	c.Must(o.Schema == Schema, "its schema is %.80q, not %q", o.Schema, Schema)
	c.ID("bucket", o.Bucket)
	c.Operation("key", o.Key)
	c.Names("console", o.Console)
	c.Count("epoch", o.Epoch)
	c.Names("instance", o.Instance)
	c.Names("box_id", o.BoxID)
	c.ID("enrollment", o.Enrollment)
	c.Count("session", o.Session)
	c.Count("incarnation", o.Incarnation)
	c.Stamp("binding", o.Binding)
	c.Time("begun_at", o.BegunAt)
	switch o.Kind {
	case order.Run:
		c.Must(o.Session == o.BaseSession+1, "a run under session %d is based on session %d", o.Session, o.BaseSession)
	case order.Stop:
		c.Must(o.Session == o.BaseSession, "a stop of session %d is based on session %d", o.Session, o.BaseSession)
	}
	if err := c.Err(); err != nil {
		return err
	}
	// What nobody could order is not noted.
	const anyBoxSession = "00000000000000000000000000000000"
	if err := o.Order(anyBoxSession).Check(); err != nil {
		return err
	}
	o.checkOutcome(&c)
	return c.Err()
}

func (o Operation) checkOutcome(c *document.Checker) {
	switch out := o.Outcome.(type) {
	case nil:
	case Running:
		c.Must(o.Kind == order.Run, "a %s ended as running", o.Kind)
	case Refusal:
		c.StepName("step", out.Step)
		c.Line("reason", out.Reason, maxReason)
	case Stopped:
		c.Must(o.Kind == order.Stop, "a %s ended as stopped", o.Kind)
		out.Receipt.Check(c, o.Enrollment, o.Instance, o.Incarnation)
		c.StepName("proof", out.Proof)
		c.Stamp("binding", out.Binding)
		n, err := strconv.ParseUint(out.DirectoryRevision, 10, 53)
		c.Must(err == nil && n > 0 && strconv.FormatUint(n, 10) == out.DirectoryRevision, "directory_revision is %.80q, which is no revision", out.DirectoryRevision)
	}
}

// The kinds of outcome, as they are written.
const (
	kindRunning = "running"
	kindRefused = "refused"
	kindStopped = "stopped"
)

type refusedWire struct {
	Step   string `json:"step"`
	Reason string `json:"reason"`
}

type stoppedWire struct {
	Receipt           receipt.Ref  `json:"receipt"`
	Proof             string       `json:"proof"`
	DirectoryRevision string       `json:"directory_revision"`
	Binding           roster.Stamp `json:"binding"`
}

func encodeOutcome(o Outcome) (json.RawMessage, error) {
	switch o := o.(type) {
	case Running:
		return document.EncodeArm("kind", kindRunning, struct{}{})
	case Refusal:
		return document.EncodeArm("kind", kindRefused, refusedWire(o))
	case Stopped:
		return document.EncodeArm("kind", kindStopped, stoppedWire(o))
	}
	return nil, nil
}

func decodeOutcome(raw json.RawMessage) (Outcome, error) {
	if raw == nil {
		return nil, nil
	}
	kind, members, err := document.DecodeArm("kind", raw)
	if err != nil {
		return nil, err
	}
	switch kind {
	case kindRunning:
		_, err := document.ReadArm[struct{}](members)
		return Running{}, err
	case kindRefused:
		w, err := document.ReadArm[refusedWire](members)
		return Refusal(w), err
	case kindStopped:
		w, err := document.ReadArm[stoppedWire](members)
		return Stopped(w), err
	}
	return nil, fmt.Errorf("%.80q is no outcome", kind)
}

// wire is an operation as it is written. What is absent has no member: the outcome
// while it is under way, the work of a stop, a grace of 0.
type wire struct {
	Schema      string          `json:"schema"`
	Bucket      string          `json:"bucket"`
	Key         string          `json:"key"`
	Kind        order.Kind      `json:"kind"`
	Console     string          `json:"console"`
	Epoch       uint64          `json:"epoch"`
	Instance    string          `json:"instance"`
	BoxID       string          `json:"box_id"`
	Enrollment  string          `json:"enrollment"`
	BaseSession uint64          `json:"base_session"`
	Session     uint64          `json:"session"`
	Incarnation uint64          `json:"incarnation"`
	Binding     roster.Stamp    `json:"binding"`
	Work        *order.Work     `json:"work,omitempty"`
	GraceNS     int64           `json:"grace_ns,omitempty"`
	BegunAt     time.Time       `json:"begun_at"`
	Outcome     json.RawMessage `json:"outcome,omitempty"`
	bucket.History
}

// Read reads the operation of a key, which the console of r whose it is has signed. Its
// refusals have the steps operation-format, console-unknown, those of an order and those
// of an envelope.
func Read(data []byte, r *roster.Roster, key string) (Operation, error) {
	e, err := sign.Read(data, purpose)
	if err != nil {
		return Operation{}, err
	}
	var w wire
	if err := document.Decode(e.Claimed(), &w, stepOperation); err != nil {
		return Operation{}, err
	}
	if err := document.ByConsole(e, r, w.Console); err != nil {
		return Operation{}, err
	}
	if w.Bucket != r.Bucket || w.Key != key {
		return Operation{}, problem.Refusal(stepOperation, "The operation is one of another fleet, or has another key than %.80s.", key)
	}
	outcome, err := decodeOutcome(w.Outcome)
	if err != nil {
		return Operation{}, problem.Refusal(stepOperation, "The outcome is none: %v.", err)
	}
	if err := w.History.Check(); err != nil {
		return Operation{}, problem.Refusal(stepOperation, "The operation's history is none: %v.", err)
	}
	o := Operation{
		w.Schema, w.Bucket, w.Key, w.Kind, w.Console, w.Epoch, w.Instance, w.BoxID, w.Enrollment,
		w.BaseSession, w.Session, w.Incarnation, w.Binding, w.Work, w.GraceNS, w.BegunAt, outcome, w.History,
	}
	if err := o.Check(); err != nil {
		return Operation{}, err
	}
	return o, nil
}

// Codec is how a console writes an operation of its own, for [bucket.Update].
func Codec(r *roster.Roster, key sign.Key, operation string) bucket.Codec[Operation] {
	return codec{r, key, operation}
}

type codec struct {
	roster    *roster.Roster
	key       sign.Key
	operation string
}

func (k codec) Decode(data []byte) (Operation, bucket.History, error) {
	o, err := Read(data, k.roster, k.operation)
	return o, o.History, err
}

func (k codec) Encode(o Operation, h bucket.History) ([]byte, error) {
	o.History = h
	if err := o.Check(); err != nil {
		return nil, err
	}
	outcome, err := encodeOutcome(o.Outcome)
	if err != nil {
		return nil, err
	}
	data, err := document.Seal(purpose, wire{
		o.Schema, o.Bucket, o.Key, o.Kind, o.Console, o.Epoch, o.Instance, o.BoxID, o.Enrollment,
		o.BaseSession, o.Session, o.Incarnation, o.Binding, o.Work, o.GraceNS, o.BegunAt, outcome, o.History,
	}, k.key)
	if err != nil {
		return nil, err
	}
	// Every reader must believe it: this also asks whether the key is the console's.
	if _, err := Read(data, k.roster, k.operation); err != nil {
		return nil, err
	}
	return data, nil
}

// Noting is the change that notes o, if there is none of its key. What is noted already
// is left as it is.
func (o Operation) Noting() bucket.Change[Operation] {
	return func(noted Operation, exists bool) (Operation, error) {
		if exists {
			return noted, bucket.ErrUnchanged
		}
		return o, nil
	}
}

// TakingOver makes the operation that of another console, unless it is over.
func TakingOver(console string) bucket.Change[Operation] {
	return func(o Operation, exists bool) (Operation, error) {
		if !exists || o.Outcome != nil || o.Console == console {
			return o, bucket.ErrUnchanged
		}
		o.Console, o.Epoch = console, o.Epoch+1
		return o, nil
	}
}

// Concluding notes the outcome of o, unless one is noted or another console has taken o
// over; what the document is then says which.
func (o Operation) Concluding(out Outcome) bucket.Change[Operation] {
	return func(noted Operation, exists bool) (Operation, error) {
		if !exists || noted.Outcome != nil || noted.Epoch != o.Epoch {
			return noted, bucket.ErrUnchanged
		}
		noted.Outcome = out
		return noted, nil
	}
}
