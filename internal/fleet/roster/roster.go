// Package roster is the list of boxes as a value: what stands in it, which change
// of it is one that a writer may make, and what of it a box's work is bound to.
//
// A [Roster] is one version of the list. Each has the revision of the one before
// plus one, whatever changed, so that no two versions have the same bytes: with
// hold and release alone a store would otherwise show the first version's tag
// again, and a stale swap would succeed. It names the last 64 writes, by which a
// writer whose answer was lost finds out whether it was done.
//
// Each writer (enroll, quarantine, reserve a hold, …) is a function that changes a
// Roster. [Transition] then judges the whole step from one version to the next by
// rules that know nothing of writers. A writer that finds its work done already
// returns [ErrUnchanged].
//
// The [Binding] of a box is the digest of the facts that its work depends on, and
// of nothing else: see [Facts]. What is installed carries it as a [Stamp]; a
// roster that was read now gives a [Fresh] one; what a process started with is
// [Pinned]. They are types of their own so that a comparison that means nothing
// does not compile.
//
// The bytes of a roster are canonical JSON (RFC 8785) of the format [Schema]. They
// are decoded whole: an unknown member, a missing one, a second spelling is
// refused. Signing and storing them is the work of package rosterstore.
package roster

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"holdfast/internal/canon"
	"holdfast/internal/problem"
)

// Schema names the format of a roster's bytes.
const Schema = "holdfast-roster/1"

// maxWrites is how many writes a roster names.
const maxWrites = 64

// Roster is one version of the list. Times are UTC and to the millisecond; they
// are shown, and decide nothing.
type Roster struct {
	Schema   string `json:"schema"`
	Revision uint64 `json:"revision"` // of this version: 1, 2, 3, …
	// Writes are the random ids of the writes that made the last versions, the
	// newest last: Writes[len-1] made this one, the one before made Revision-1.
	Writes    []string  `json:"writes"`
	WrittenAt time.Time `json:"written_at"`
	// PrevSHA256 is the digest of the version before: of its payload, not of its
	// envelope. The first version has none.
	PrevSHA256 string `json:"prev_sha256,omitempty"`

	// The facts of the deployment.
	Bucket         string `json:"bucket"`                 // which store this is the roster of: its random name
	HomeRegion     string `json:"home_region,omitempty"`  // where new work goes if nothing else is said; set once
	RequestLimitNS int64  `json:"request_limit_ns"`       // the deadline of one call of the store
	Publication    string `json:"publication,omitempty"`  // the floor that is in force, or about to be
	FloorSHA256    string `json:"floor_sha256,omitempty"` // the digest of that floor's payload, once it is published

	Boxes              map[string]Box        `json:"boxes"`               // by enrollment
	Holds              map[string]Hold       `json:"holds"`               // by key of the operation
	Activations        map[string]Activation `json:"activations"`         // by key of the operation
	EnrollmentAttempts map[string]Attempt    `json:"enrollment_attempts"` // by the enrollment that it would be
	Consoles           map[string]Console    `json:"consoles"`            // by name
	Regions            map[string]Region     `json:"regions"`             // by name
}

// Box is a box's row. A row is never removed: what a retired box signed can still
// be verified. Of the rows of one box id at most one is not retired.
type Box struct {
	BoxID     string `json:"box_id"`
	Namespace string `json:"namespace"`
	Region    string `json:"region"`
	Pool      string `json:"pool"`
	Cloud     string `json:"cloud"`
	// EvidenceSHA256 is the digest of the public key that the box signs evidence
	// with.
	EvidenceSHA256 string `json:"evidence_sha256"`
	State          State  `json:"state"`
	// QuarantineRevision counts how often the box was quarantined, and never
	// falls.
	QuarantineRevision uint64 `json:"quarantine_revision"`
	// LossIDs are the quarantines that gave the box up for lost.
	LossIDs         []string  `json:"loss_ids"`
	CensusPublicKey string    `json:"census_public_key,omitempty"` // set once
	Role            string    `json:"role,omitempty"`
	Label           string    `json:"label,omitempty"`
	Group           string    `json:"group,omitempty"`
	Invitation      string    `json:"invitation"` // by which it came in
	EnrolledAt      time.Time `json:"enrolled_at"`
}

// Hold keeps a part of the fleet from being changed under an operation that is
// on its way.
type Hold struct {
	Console    string    `json:"console"` // whose operation it is
	Instance   string    `json:"instance,omitempty"`
	Scope      Scope     `json:"scope"`
	ReservedAt time.Time `json:"reserved_at"`
}

// Activation is the change of a part of the fleet: its scope overlaps that of no
// hold and of no other activation.
type Activation struct {
	Console    string    `json:"console"`
	Scope      Scope     `json:"scope"`
	ReservedAt time.Time `json:"reserved_at"`
}

// Attempt is an enrollment that was begun by an invitation good for several.
type Attempt struct {
	Invitation     string    `json:"invitation"`
	BoxID          string    `json:"box_id"`
	EvidenceSHA256 string    `json:"evidence_sha256"`
	BegunAt        time.Time `json:"begun_at"`
}

// Console may write the roster and order work: its key is under a grant of the
// root key.
type Console struct {
	PublicKey string `json:"public_key"` // 64 hexadecimal digits
	// Grant is the envelope in which the root key says so; see package rosterstore.
	Grant      string    `json:"grant"`
	EnrolledAt time.Time `json:"enrolled_at"`
}

// Region is a place where boxes stand.
type Region struct {
	Label        string    `json:"label,omitempty"`
	ConfiguredAt time.Time `json:"configured_at"`
}

// Decode reads the bytes of a roster. What it returns is valid and would be
// written as the same bytes. Its refusals have the step roster-format.
func Decode(data []byte) (*Roster, error) {
	var r Roster
	if err := canon.Decode(data, &r); err != nil {
		return nil, malformed("%s", problem.Words(err)).Because(err)
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	again, err := canon.Encode(&r)
	if err != nil || !bytes.Equal(again, data) {
		return nil, malformed("it is not spelt canonically").Because(err)
	}
	return &r, nil
}

// Encode writes a valid roster as its bytes.
func (r *Roster) Encode() ([]byte, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	return canon.Encode(r)
}

// Clone is a copy that shares nothing with r.
func (r *Roster) Clone() *Roster {
	c := *r
	c.Writes = slices.Clone(r.Writes)
	c.Boxes = maps.Clone(r.Boxes)
	for id, b := range c.Boxes {
		b.LossIDs = slices.Clone(b.LossIDs)
		c.Boxes[id] = b
	}
	c.Holds = maps.Clone(r.Holds)
	c.Activations = maps.Clone(r.Activations)
	c.EnrollmentAttempts = maps.Clone(r.EnrollmentAttempts)
	c.Consoles = maps.Clone(r.Consoles)
	c.Regions = maps.Clone(r.Regions)
	return &c
}

// Advance makes r, a changed copy of a version, the version after it: prev is
// the digest of that version's bytes, write the random id of this write.
func (r *Roster) Advance(prev, write string, at time.Time) {
	writes := append(slices.Clone(r.Writes), write)
	r.Follow(prev, writes[max(0, len(writes)-maxWrites):], r.Revision+1, at)
}

// Follow makes r a version that follows the one whose digest is prev, with these
// writes and this revision.
func (r *Roster) Follow(prev string, writes []string, revision uint64, at time.Time) {
	r.PrevSHA256, r.Writes, r.Revision, r.WrittenAt = prev, writes, revision, stamp(at)
}

// Live is the row of the box called id that is not retired, and its enrollment.
func (r *Roster) Live(id string) (enrollment string, b Box, ok bool) {
	for enrollment, b := range r.Boxes {
		if b.BoxID == id && b.State != Retired {
			return enrollment, b, true
		}
	}
	return "", Box{}, false
}

// Enrollments are the rows in the order in which lists show them: by box id, then
// by time and enrollment.
func (r *Roster) Enrollments() []string {
	return slices.SortedFunc(maps.Keys(r.Boxes), func(a, b string) int {
		x, y := r.Boxes[a], r.Boxes[b]
		return cmpOr(compare(x.BoxID, y.BoxID), x.EnrolledAt.Compare(y.EnrolledAt), compare(a, b))
	})
}

// stamp is a time as it is written.
func stamp(at time.Time) time.Time { return at.UTC().Truncate(time.Millisecond) }
