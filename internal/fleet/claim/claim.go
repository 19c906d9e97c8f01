// Package claim is which box may run an instance, as a value.
//
// There is one Claim for each instance, under [Key]: which box has it, under which
// session and incarnation, and by which receipts earlier ones are known to have ended.
// It is written by consoles, signed, by compare-and-swap, and never removed: what is
// released stays as a tombstone, so that sessions and incarnations only grow.
//
// The writers ([Claim.Take], [Claim.Release], [Claim.Abandon]) are functions that change a
// Claim; each finds out by the key of its operation that it was made before, and answers
// [bucket.ErrUnchanged] then.
package claim

import (
	"holdfast/internal/bucket"
	"holdfast/internal/fleet/receipt"
	"holdfast/internal/fleet/roster"
)

// Schema names the format of a claim's bytes.
const Schema = "holdfast-claim/1"

// State says whether a box may run the instance.
type State string

const (
	Held     State = "held"     // the box may run it
	Released State = "released" // nobody may
)

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
	Operation   string `json:"operation"`
	Enrollment  string `json:"enrollment"`
	Incarnation uint64 `json:"incarnation"`
	receipt.Ref
}
