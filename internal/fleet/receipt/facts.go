package receipt

import (
	"encoding/json"
	"fmt"

	"holdfast/internal/fleet/document"
)

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
	Namespace struct {
		PID   uint64 `json:"pid"`
		Start uint64 `json:"start"`
		Inode uint64 `json:"inode"`
	}
	// Weak: all descendants that could be found were ended. One that hid is not excluded.
	Weak struct {
		PID   uint64 `json:"pid"`
		Start uint64 `json:"start"`
	}
	// Reboot: it ran in another boot of the same machine, whose box session the box holds.
	Reboot struct {
		Machine string `json:"machine"`
		Was     string `json:"was"`
		Boot    string `json:"boot"`
		Session string `json:"session"`
	}
	// NothingStarted: the box never let a process of it start, and never will.
	NothingStarted struct{}
)

func (Namespace) proof()      {}
func (Weak) proof()           {}
func (Reboot) proof()         {}
func (NothingStarted) proof() {}

// The kinds of proof and of exit, as they are written.
const (
	kindNamespace      = "namespace"
	kindWeak           = "weak"
	kindReboot         = "reboot"
	kindNothingStarted = "nothing-started"

	kindExited    = "exited"
	kindSignalled = "signalled"
	kindUnknown   = "unknown"
)

// Kind is what a proof is called: namespace, weak, reboot or nothing-started.
func Kind(p Proof) string {
	switch p.(type) {
	case Namespace:
		return kindNamespace
	case Weak:
		return kindWeak
	case Reboot:
		return kindReboot
	case NothingStarted:
		return kindNothingStarted
	}
	return ""
}

func encodeProof(p Proof) (json.RawMessage, error) { return document.EncodeArm("kind", Kind(p), p) }

func decodeProof(raw json.RawMessage) (Proof, error) {
	kind, members, err := document.DecodeArm("kind", raw)
	if err != nil {
		return nil, err
	}
	switch kind {
	case kindNamespace:
		return document.ReadArm[Namespace](members)
	case kindWeak:
		return document.ReadArm[Weak](members)
	case kindReboot:
		return document.ReadArm[Reboot](members)
	case kindNothingStarted:
		return document.ReadArm[NothingStarted](members)
	}
	return nil, fmt.Errorf("%.80q is no kind of proof", kind)
}

// maxID is the most bytes of what a system calls a machine or one of its boots.
const maxID = 128

func checkProof(c *document.Checker, made Made, p Proof) {
	switch p := p.(type) {
	case Namespace:
		c.Must(made != NoProcess, "a receipt made as %s has the proof of a process", made)
		c.Count("pid", p.PID)
		c.Count("start", p.Start)
		c.Count("inode", p.Inode)
	case Weak:
		// That the recorded process is gone says nothing of those that it left.
		c.Must(made == Normal || made == Recovered, "a receipt made as %s has a weak proof", made)
		c.Count("pid", p.PID)
		c.Count("start", p.Start)
	case Reboot:
		c.Must(made == NoProcess, "a receipt made as %s has the proof that it was rebooted", made)
		c.Line("machine", p.Machine, maxID)
		c.Line("was", p.Was, maxID)
		c.Line("boot", p.Boot, maxID)
		c.ID("session", p.Session)
		c.Must(p.Was != p.Boot, "it ran in the very boot that is to prove that it ended")
	case NothingStarted:
		c.Must(made == NoProcess, "a receipt made as %s has the proof that nothing was started", made)
	default:
		c.Must(false, "it has no proof")
	}
}

// Exit is how the instance's first process ended.
//
//sumtype:decl
type Exit interface{ exit() }

type (
	// Exited with a status.
	Exited struct {
		Status int `json:"status"`
	}
	// Signalled: ended by a signal.
	Signalled struct {
		Signal int `json:"signal"`
	}
	// Unknown: nobody was there to see, or nothing ran. It is neither success nor failure.
	Unknown struct {
		Why string `json:"why"`
	}
)

func (Exited) exit()    {}
func (Signalled) exit() {}
func (Unknown) exit()   {}

func encodeExit(e Exit) (json.RawMessage, error) {
	kind := ""
	switch e.(type) {
	case Exited:
		kind = kindExited
	case Signalled:
		kind = kindSignalled
	case Unknown:
		kind = kindUnknown
	}
	return document.EncodeArm("kind", kind, e)
}

func decodeExit(raw json.RawMessage) (Exit, error) {
	kind, members, err := document.DecodeArm("kind", raw)
	if err != nil {
		return nil, err
	}
	switch kind {
	case kindExited:
		return document.ReadArm[Exited](members)
	case kindSignalled:
		return document.ReadArm[Signalled](members)
	case kindUnknown:
		return document.ReadArm[Unknown](members)
	}
	return nil, fmt.Errorf("%.80q is no kind of exit", kind)
}

func checkExit(c *document.Checker, p Proof, e Exit) {
	_, nothing := p.(NothingStarted)
	switch e := e.(type) {
	case Exited:
		c.Must(!nothing, "nothing was started, and it has an exit")
		c.Must(e.Status >= 0 && e.Status <= 255, "status is %d, which is none", e.Status)
	case Signalled:
		c.Must(!nothing, "nothing was started, and it has an exit")
		c.Must(e.Signal >= 1 && e.Signal <= 127, "signal is %d, which is none", e.Signal)
	case Unknown:
		c.Line("why", e.Why, 512)
	default:
		c.Must(false, "it has no exit")
	}
}
