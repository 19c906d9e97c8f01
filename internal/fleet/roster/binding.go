package roster

import (
	"errors"

	"holdfast/internal/canon"
	"holdfast/internal/problem"
)

// Fact is one thing that a box's binding is made of.
type Fact struct {
	Name  string
	Value any // a string, or an integer
}

// Facts are all that the work of a box is bound to, in the order in which they are
// digested. Nothing else is in it: no revision, hold, activation, attempt, console,
// region or other box, and of the box's own row no role, label, group, loss id or
// date. The list is frozen. A second list would stand beside it.
func (r *Roster) Facts(enrollment string) ([]Fact, bool) {
	b, ok := r.Boxes[enrollment]
	if !ok {
		return nil, false
	}
	return []Fact{
		{"bucket", r.Bucket},
		{"home_region", r.HomeRegion},
		{"request_limit_ns", r.RequestLimitNS},
		{"publication", r.Publication},
		{"floor_sha256", r.FloorSHA256},
		{"enrollment", enrollment},
		{"namespace", b.Namespace},
		{"box_id", b.BoxID},
		{"region", b.Region},
		{"pool", b.Pool},
		{"cloud", b.Cloud},
		{"evidence_sha256", b.EvidenceSHA256},
		{"state", b.State.String()},
		{"quarantine_revision", b.QuarantineRevision},
		{"census_public_key", b.CensusPublicKey},
	}, true
}

// binding is the SHA-256, in lower-case hexadecimal, of the canonical JSON list of
// the words holdfast.binding and v1 and of the values of [Facts].
func (r *Roster) binding(enrollment string) (string, bool) {
	facts, ok := r.Facts(enrollment)
	if !ok {
		return "", false
	}
	tuple := []any{"holdfast.binding", "v1"}
	for _, f := range facts {
		tuple = append(tuple, f.Value)
	}
	digest, err := canon.Digest(tuple)
	return digest, err == nil
}

// Fresh is the binding of a box in a roster that was read now. It cannot be
// stored: what is stored is a [Stamp] of it. The zero Fresh equals nothing.
type Fresh struct{ digest string }

// String is the digest, for people.
func (f Fresh) String() string { return f.digest }

// Stamp is f as it is stored with what was made under it.
func (f Fresh) Stamp() Stamp { return Stamp(f) }

// Pin is f as a process keeps it that started under it.
func (f Fresh) Pin() Pinned { return Pinned(f) }

var errStored = errors.New("a fresh or pinned binding is not stored: store its stamp")

// MarshalText refuses: what was fresh is not, once it is read again.
func (f Fresh) MarshalText() ([]byte, error) { return nil, errStored }

// Pinned is the binding that a process started with. It cannot be stored. The
// zero Pinned equals nothing.
type Pinned struct{ digest string }

// String is the digest, for people.
func (p Pinned) String() string { return p.digest }

// Stamp is p as it is stored with what is made under it.
func (p Pinned) Stamp() Stamp { return Stamp(p) }

// MarshalText refuses, as that of [Fresh].
func (p Pinned) MarshalText() ([]byte, error) { return nil, errStored }

// Stamp is a binding as it stands in a record. The zero Stamp equals nothing and
// is not written.
type Stamp struct{ digest string }

// ParseStamp reads 64 lower-case hexadecimal digits. A revision is none.
func ParseStamp(text string) (Stamp, error) {
	if !isHex(text, 64) {
		return Stamp{}, problem.Refusal("binding-format", "A binding is 64 lower-case hexadecimal digits; %q is none.", text)
	}
	return Stamp{text}, nil
}

func (s Stamp) String() string { return s.digest }

// MarshalText is the digest.
func (s Stamp) MarshalText() ([]byte, error) {
	if s.digest == "" {
		return nil, errors.New("an empty binding verifies nothing, and is not stored")
	}
	return []byte(s.digest), nil
}

// UnmarshalText is [ParseStamp].
func (s *Stamp) UnmarshalText(text []byte) error {
	parsed, err := ParseStamp(string(text))
	if err == nil {
		*s = parsed
	}
	return err
}

// Current is the fresh comparison: whether what was stamped s is bound to the
// facts of now. It is equality; bindings have no order.
func (s Stamp) Current(now Fresh) bool { return s.digest != "" && s.digest == now.digest }

// Same is the historical comparison, of one record with another. It asks nothing of
// the roster, and says nothing about now.
func (s Stamp) Same(other Stamp) bool { return s.digest != "" && s.digest == other.digest }

// Since is the historical comparison of a record with what this process started
// under.
func (s Stamp) Since(start Pinned) bool { return s.digest != "" && s.digest == start.digest }

// Actor is a roster as one box sees it, all of it from the same read. It is not
// stored; its [Bound] is.
type Actor struct {
	BoxID      string
	Enrollment string
	Region     string
	State      State
	Revision   uint64
	Binding    Fresh
}

// Actor is r as the box of an enrollment sees it.
func (r *Roster) Actor(enrollment string) (Actor, bool) {
	digest, ok := r.binding(enrollment)
	if !ok {
		return Actor{}, false
	}
	b := r.Boxes[enrollment]
	return Actor{b.BoxID, enrollment, b.Region, b.State, r.Revision, Fresh{digest}}, true
}

// Bound is an actor without the revision: all that must stay the same for work to
// go on, and nothing that may change under it.
type Bound struct {
	BoxID      string `json:"box_id"`
	Enrollment string `json:"enrollment"`
	Region     string `json:"region"`
	State      State  `json:"state"`
	Binding    Stamp  `json:"binding"`
}

// Bound drops the revision of a, and nothing else.
func (a Actor) Bound() Bound {
	return Bound{a.BoxID, a.Enrollment, a.Region, a.State, a.Binding.Stamp()}
}

// Bound is b itself, so that what was persisted compares with what was read.
func (b Bound) Bound() Bound { return b }

// SameBinding is the bound comparison: whether two actors, persisted or read, are
// the same but for the revision.
func SameBinding(a, b interface{ Bound() Bound }) bool {
	return a.Bound().Binding.Same(b.Bound().Binding) && a.Bound() == b.Bound()
}

// Move is a binding that a write moves. From is empty for a box that is new.
type Move struct{ BoxID, Enrollment, From, To string }

// Moves are the bindings that the step from prev to next moves, in the order of
// [Roster.Enrollments]: what is installed on these boxes is stranded by it.
func Moves(prev, next *Roster) []Move {
	var moves []Move
	for _, enrollment := range next.Enrollments() {
		from, _ := prev.binding(enrollment)
		to, _ := next.binding(enrollment)
		if from != to {
			moves = append(moves, Move{next.Boxes[enrollment].BoxID, enrollment, from, to})
		}
	}
	return moves
}
