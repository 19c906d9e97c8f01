package order

import (
	"time"

	"holdfast/internal/bucket"
	"holdfast/internal/fleet/document"
	"holdfast/internal/problem"
	"holdfast/internal/sign"
)

const purposeBeat sign.Purpose = "application/vnd.holdfast.beat.v1+json"

// BeatSchema names the format of a beat's bytes.
const BeatSchema = "holdfast-beat/1"

// MaxBeat is how many instances a beat names.
const MaxBeat = 10_000

const stepBeat = "beat-format"

// What a box says of an instance in a beat.
const (
	BeatInstalled = "installed" // it is there, and was not started yet
	BeatRunning   = "running"
	BeatStopping  = "stopping" // its fence stands
	BeatExited    = "exited"   // it ended by itself, and no stop of it was asked for
	BeatStopped   = "stopped"  // its end is proved, by a stop that no console ordered
)

// Beat is what a box shows of itself now and then, by compare-and-swap, under [BeatKey].
// It is display: nothing is ever decided by it.
type Beat struct {
	Schema     string    `json:"schema"`
	Bucket     string    `json:"bucket"`
	Enrollment string    `json:"enrollment"`
	BoxSession string    `json:"box_session"`
	At         time.Time `json:"at"` // by the box's own clock
	// Instances are those that the box has, by name and incarnation.
	Instances []Beating `json:"instances"`
	bucket.History
}

// Beating is one incarnation that a box has.
type Beating struct {
	Instance    string    `json:"instance"`
	Incarnation uint64    `json:"incarnation"`
	Session     uint64    `json:"session"` // of the claim
	State       string    `json:"state"`
	Started     time.Time `json:"started,omitzero"`
	Exit        string    `json:"exit,omitempty"` // how it ended, for people
}

// Of is what b says of an incarnation.
func (b Beat) Of(instance string, incarnation, session uint64) (Beating, bool) {
	for _, i := range b.Instances {
		if i.Instance == instance && i.Incarnation == incarnation && i.Session == session {
			return i, true
		}
	}
	return Beating{}, false
}

// Check refuses a beat that does not hold together. The history is not looked at.
func (b Beat) Check() error {
	c := document.Checker{Step: stepBeat}
	c.Must(b.Schema == BeatSchema, "its schema is %.80q, not %q", b.Schema, BeatSchema)
	c.ID("bucket", b.Bucket)
	c.ID("enrollment", b.Enrollment)
	c.ID("box_session", b.BoxSession)
	c.Time("at", b.At)
	c.Must(b.Instances != nil && len(b.Instances) <= MaxBeat, "it has no list of instances, or names over %d", MaxBeat)
	for n, i := range b.Instances {
		c.Names("instance", i.Instance)
		c.Count("incarnation", i.Incarnation)
		c.Count("session", i.Session)
		c.OneOf("state", i.State, BeatInstalled, BeatRunning, BeatStopping, BeatExited, BeatStopped)
		if !i.Started.IsZero() {
			c.Time("started", i.Started)
		}
		if i.Exit != "" {
			c.Line("exit", i.Exit, maxReason)
		}
		if n > 0 {
			was := b.Instances[n-1]
			c.Must(was.Instance < i.Instance || was.Instance == i.Instance && was.Incarnation < i.Incarnation, "%s stands behind %s", i.Instance, was.Instance)
		}
	}
	return c.Err()
}

// ReadBeat reads the box's beat.
func (b Box) ReadBeat(data []byte) (Beat, error) {
	payload, err := b.open(data, purposeBeat)
	if err != nil {
		return Beat{}, err
	}
	var beat Beat
	if err := document.Decode(payload, &beat, stepBeat); err != nil {
		return Beat{}, err
	}
	if err := beat.History.Check(); err != nil {
		return Beat{}, problem.Refusal(stepBeat, "The history is none: %v.", err)
	}
	if err := beat.Check(); err != nil {
		return Beat{}, err
	}
	return beat, b.place(stepBeat, beat.Bucket, beat.Enrollment, true)
}

// Beats is how the box itself writes its beat, with its evidence key.
func (b Box) Beats(evidence sign.Key) bucket.Codec[Beat] { return beatCodec{b, evidence} }

type beatCodec struct {
	box      Box
	evidence sign.Key
}

func (k beatCodec) Decode(data []byte) (Beat, bucket.History, error) {
	b, err := k.box.ReadBeat(data)
	return b, b.History, err
}

func (k beatCodec) Encode(b Beat, h bucket.History) ([]byte, error) {
	b.History = h
	if err := k.box.place(stepBeat, b.Bucket, b.Enrollment, true); err != nil {
		return nil, err
	}
	if err := b.Check(); err != nil {
		return nil, err
	}
	return document.Seal(purposeBeat, b, k.evidence)
}
