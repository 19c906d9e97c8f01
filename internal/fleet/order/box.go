package order

import (
	"time"

	"holdfast/internal/bucket"
	"holdfast/internal/fleet/document"
	"holdfast/internal/fleet/roster"
	"holdfast/internal/problem"
	"holdfast/internal/sign"
)

// Session is one life of a box's root, taken by compare-and-swap at its start.
type Session struct {
	Schema     string `json:"schema"`
	Bucket     string `json:"bucket"`
	Enrollment string `json:"enrollment"`
	ID         string `json:"id"` // 32 hexadecimal digits of chance
	MachineID  string `json:"machine_id"`
	BootID     string `json:"boot_id"`
	// Generation is that of the root's journal. A journal with a lower one is an old copy.
	Generation     uint64    `json:"generation"`
	RosterRevision uint64    `json:"roster_revision"` // the highest that the box verified
	Version        string    `json:"version"`         // of holdfast
	Proof          string    `json:"proof"`           // what a stop can prove here: namespace or weak
	ProofWhy       string    `json:"proof_why,omitempty"`
	Isolation      string    `json:"isolation"` // namespace or none
	StartedAt      time.Time `json:"started_at"`
	bucket.History
}

// SessionKey is where the session of the box of an enrollment is.
func SessionKey(enrollment string) (bucket.Key, error) { return boxKey(enrollment, "session") }

// BeatKey is where the box of an enrollment shows how it is. A beat proves nothing.
func BeatKey(enrollment string) (bucket.Key, error) { return boxKey(enrollment, "beat") }

const stepSession = "session-format"

// Check refuses a session that is none. The history is not looked at.
func (s Session) Check() error {
	c := document.Checker{Step: stepSession}
	c.Must(s.Schema == SessionSchema, "its schema is %.80q, not %q", s.Schema, SessionSchema)
	c.ID("bucket", s.Bucket)
	c.ID("enrollment", s.Enrollment)
	c.ID("id", s.ID)
	c.Line("machine_id", s.MachineID, 128)
	c.Line("boot_id", s.BootID, 128)
	c.Must(s.Generation <= document.MaxCount, "generation is %d, which is above 2^53-1", s.Generation) // 0: nothing was begun yet
	c.Count("roster_revision", s.RosterRevision)
	c.Line("version", s.Version, 128)
	c.OneOf("proof", s.Proof, "namespace", "weak")
	if s.ProofWhy != "" {
		c.Line("proof_why", s.ProofWhy, maxReason)
	}
	c.OneOf("isolation", s.Isolation, "namespace", "none")
	c.Time("started_at", s.StartedAt)
	return c.Err()
}

func decodeSession(payload []byte) (Session, error) {
	var s Session
	if err := document.Decode(payload, &s, stepSession); err != nil {
		return Session{}, err
	}
	if err := s.History.Check(); err != nil {
		return Session{}, problem.Refusal(stepSession, "The history is none: %v.", err)
	}
	return s, s.Check()
}

// Box is a box as its words are verified. Only [NewBox] makes one.
type Box struct {
	bucket     string
	enrollment string
	evidence   sign.Public
}

// NewBox is the box of an enrollment, whose evidence key is public: as its identity says
// and its row in r confirms. Its refusal has the step evidence-key.
func NewBox(r *roster.Roster, enrollment string, public sign.Public) (Box, error) {
	row, ok := r.Boxes[enrollment]
	if !ok || public.ID() != row.EvidenceSHA256 {
		return Box{}, problem.Refusal("evidence-key", "The key is not the one whose digest stands in the row of the enrollment %.80s. Nothing was believed.", enrollment)
	}
	return Box{r.Bucket, enrollment, public}, nil
}

// Evidence is the key that the box signs with.
func (b Box) Evidence() sign.Public { return b.evidence }

// Enrollment is the box's.
func (b Box) Enrollment() string { return b.enrollment }

// open is the payload that the box signed for a purpose.
func (b Box) open(data []byte, p sign.Purpose) ([]byte, error) {
	e, err := sign.Read(data, p)
	if err != nil {
		return nil, err
	}
	return e.Verify(b.evidence)
}

// place refuses what the box said in another place.
func (b Box) place(step, in, enrollment string, same bool) error {
	if in != b.bucket || enrollment != b.enrollment || !same {
		return problem.Refusal(step, "The box signed it for another place than the one where it stands.")
	}
	return nil
}

// ReadAck reads the box's answer to the order of an operation.
func (b Box) ReadAck(data []byte, operation string) (Ack, error) {
	payload, err := b.open(data, purposeAck)
	if err != nil {
		return Ack{}, err
	}
	a, err := decodeAck(payload)
	if err == nil {
		err = b.place(stepAck, a.Bucket, a.Enrollment, a.Operation == operation)
	}
	if err != nil {
		return Ack{}, err
	}
	return a, nil
}

// ReadSession reads the box's session.
func (b Box) ReadSession(data []byte) (Session, error) {
	payload, err := b.open(data, purposeSession)
	if err != nil {
		return Session{}, err
	}
	s, err := decodeSession(payload)
	if err == nil {
		err = b.place(stepSession, s.Bucket, s.Enrollment, true)
	}
	if err != nil {
		return Session{}, err
	}
	return s, nil
}

// Acks is how the box itself writes its answer to the order of an operation, with
// its evidence key.
func (b Box) Acks(evidence sign.Key, operation string) bucket.Codec[Ack] {
	return ackCodec{b, evidence, operation}
}

// Sessions is how the box itself writes its session.
func (b Box) Sessions(evidence sign.Key) bucket.Codec[Session] { return sessionCodec{b, evidence} }

type ackCodec struct {
	box       Box
	evidence  sign.Key
	operation string
}

func (k ackCodec) Decode(data []byte) (Ack, bucket.History, error) {
	a, err := k.box.ReadAck(data, k.operation)
	return a, a.History, err
}

func (k ackCodec) Encode(a Ack, h bucket.History) ([]byte, error) {
	a.History = h
	if err := k.box.place(stepAck, a.Bucket, a.Enrollment, a.Operation == k.operation); err != nil {
		return nil, err
	}
	w, err := a.wire()
	if err != nil {
		return nil, err
	}
	return document.Seal(purposeAck, w, k.evidence)
}

type sessionCodec struct {
	box      Box
	evidence sign.Key
}

func (k sessionCodec) Decode(data []byte) (Session, bucket.History, error) {
	s, err := k.box.ReadSession(data)
	return s, s.History, err
}

func (k sessionCodec) Encode(s Session, h bucket.History) ([]byte, error) {
	s.History = h
	if err := k.box.place(stepSession, s.Bucket, s.Enrollment, true); err != nil {
		return nil, err
	}
	if err := s.Check(); err != nil {
		return nil, err
	}
	return document.Seal(purposeSession, s, k.evidence)
}
