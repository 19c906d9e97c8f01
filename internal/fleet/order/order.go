// Package order is what a console and a box say to each other, as values: an [Order] to
// run or to stop, the box's [Ack] to it, and the box's [Session], under which alone orders
// are good.
//
// Orders are signed by a console, the other two by the box's evidence key.
package order

import (
	"time"

	"holdfast/internal/bucket"
	"holdfast/internal/fleet/receipt"
	"holdfast/internal/fleet/roster"
)

// Kind says what is ordered.
type Kind string

const (
	Run  Kind = "run"  // install the incarnation, and start it
	Stop Kind = "stop" // fence it, end it, prove it
)

// Order is one order to one box, create-only, under [Key].
type Order struct {
	Schema     string `json:"schema"`
	Bucket     string `json:"bucket"`
	Console    string `json:"console"`
	Operation  string `json:"operation"`
	Kind       Kind   `json:"kind"`
	BoxID      string `json:"box_id"`
	Enrollment string `json:"enrollment"`
	// BoxSession is the session of the box that the order is for: no other takes it.
	BoxSession  string       `json:"box_session"`
	Instance    string       `json:"instance"`
	Incarnation uint64       `json:"incarnation"`
	Session     uint64       `json:"session"` // of the claim
	Binding     roster.Stamp `json:"binding"` // run: that of the box now; stop: that of the claim
	Work        *Work        `json:"work,omitempty"`
	GraceNS     int64        `json:"grace_ns,omitempty"` // stop: from TERM to the end
	IssuedAt    time.Time    `json:"issued_at"`
}

// Work is what an instance does.
type Work struct {
	Command []string          `json:"command"`
	Env     map[string]string `json:"env"`
	Dir     string            `json:"dir,omitempty"` // empty: a folder of its own
	TTY     bool              `json:"tty,omitempty"`
	Limits  Limits            `json:"limits"`
}

// Limits lower what a process may use; what is 0 is left as it is.
type Limits struct {
	Files        uint64 `json:"files,omitempty"`
	Processes    uint64 `json:"processes,omitempty"`
	FileSize     uint64 `json:"file_size,omitempty"`     // bytes
	AddressSpace uint64 `json:"address_space,omitempty"` // bytes
	CPUSeconds   uint64 `json:"cpu_seconds,omitempty"`
	Nice         int    `json:"nice,omitempty"`
}

// Answer is how far a box is with an order.
//
//sumtype:decl
type Answer interface{ answer() }

type (
	// Running: the work was started.
	Running struct{}
	// Refused for good: nothing was started by this order, and nothing will be.
	Refused struct{ Step, Reason string }
	// Stopping: the fence stands, and it is not proved yet that all has ended.
	Stopping struct{ Why string }
	// Stopped: the receipt is there.
	Stopped struct{ Receipt receipt.Ref }
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
