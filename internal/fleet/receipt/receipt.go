// Package receipt is what is proved of a stop, as a value.
//
// A Receipt is signed by the box with its evidence key. It is made from the fence that
// was written down before anything was done to stop the instance ([Target]), by one of
// four constructors, all of which take what they say of the authority from that fence.
// A console believes it after [Verify] has found every check to hold.
package receipt

import (
	"time"

	"holdfast/internal/fleet/roster"
)

// Schema names the format of a receipt's bytes.
const Schema = "holdfast-receipt/1"

// Ref is where a receipt is and what its bytes are.
type Ref struct {
	Key    string `json:"key"`
	SHA256 string `json:"sha256"`
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

// Made says by which of the constructors a receipt was made.
type Made string

const (
	Normal        Made = "normal"         // the box saw it end
	Recovered     Made = "recovered"      // the box went on with a fence after a crash, and saw it end
	NamespaceGone Made = "namespace-gone" // same boot, and the recorded init is gone
	NoProcess     Made = "no-process"     // another boot of the same machine, or nothing was ever started
)

// Proof is why nothing of the instance is alive.
//
//sumtype:decl
type Proof interface{ proof() }

type (
	// Namespace: its init, process PID since Start, ended; the kernel ends every member of the
	// namespace before.
	Namespace struct{ PID, Start, Inode uint64 }
	// Weak: all descendants that could be found were ended. One that hid is not excluded.
	Weak struct{ PID, Start uint64 }
	// Reboot: it ran in another boot of the same machine, whose box session the box holds.
	Reboot struct{ Machine, Was, Boot, Session string }
	// NothingStarted: the box never let a process of it start, and never will.
	NothingStarted struct{}
)

func (Namespace) proof()      {}
func (Weak) proof()           {}
func (Reboot) proof()         {}
func (NothingStarted) proof() {}

// Exit is how the instance's first process ended.
//
//sumtype:decl
type Exit interface{ exit() }

type (
	// Exited with a status.
	Exited struct{ Status int }
	// Signalled: ended by a signal.
	Signalled struct{ Signal int }
	// Unknown: nobody was there to see, or nothing ran. It is neither success nor failure.
	Unknown struct{ Why string }
)

func (Exited) exit()    {}
func (Signalled) exit() {}
func (Unknown) exit()   {}

// Receipt is the proof that an incarnation of an instance has ended.
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
