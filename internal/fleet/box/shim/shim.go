// Package shim starts work on a box so that it is known what was started, finds it again
// after a crash, and ends it so that the end is proved.
//
// Each start has a folder of its own, which the caller made, and one shim (package main in
// program): a process that outlives its launcher. The shim is init of a PID namespace. When
// an init ends, the kernel ends every process in its namespace first, whatever it called
// itself and whose child it was; so the end of that one process, seen through a descriptor
// that can mean no other (pidfd), proves that nothing of the work is left. This is
// [Namespace]. Where a machine refuses namespaces there is only [Weak]: the shim is then the
// parent of all orphans, ends when it has no child, and proves nothing if it is killed.
//
// # Starting
//
// [Host.Start] writes down what is to be done and starts the shim, which prepares all,
// writes down its identity, and waits at a gate. The caller makes the identity durable where
// it keeps such things and says [Waiting.Go]; only then is anything of the work started, and
// the file went is on disk before. A crash of the caller closes the gate. So whatever
// happens there is no work, or a known shim has it.
//
// # Finding again
//
// [Host.Attach] compares a recorded [Identity] with what is there. A process that has its
// pid and is not it is never touched. The answers are a closed sum: [Alive], [Gone],
// [OtherBoot], [OtherMachine], [Unclear].
//
// # Not promised
//
// Work that was handed to a daemon outside of the namespace is not in it. With isolation the
// work does not see the home, by mistake; a hostile program of the same user has other ways
// to harm it. Outside of Linux everything here is refused (not-on-this-system).
package shim

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"holdfast/internal/canon"
	"holdfast/internal/durable"
	"holdfast/internal/fleet/box/shim/wire"
	"holdfast/internal/fleet/receipt"
	"holdfast/internal/problem"
)

// Launch is what is to be started.
type Launch struct {
	Argv []string // the program, by its path or to be found in Env's PATH, and its arguments
	Env  []string // NAME=VALUE, all of the environment
	Dir  string   // where it runs; absolute

	Home string   // is hidden from the work; empty: nothing is
	Keep []string // folders inside Home that it sees all the same

	Grace    time.Duration // how long it has to end after TERM
	Segments int           // how many MiB of output are kept; 0: 64
	Terminal bool          // it gets a terminal, which the socket attach in the folder leads to
	Limits   Limits
	User     *User // who it runs as, where the caller is uid 0; nil: as the caller

	AllowWeak bool // start it even where only weak proof can be had of its end
}

// Limits are the work's resource limits. Zero leaves one as it is; none can be raised.
type Limits = wire.Limits

// User is another user for the work.
type User struct{ UID, GID uint32 }

// Proof is what the end of a shim proves.
type Proof string

// The two proofs.
const (
	Namespace Proof = "namespace" // nothing that it started is alive
	Weak      Proof = "weak"      // nothing is that could be found, if it left its exit
)

// Identity is which process a shim is, and what it could arrange.
type Identity struct {
	BootID         string `json:"boot_id"`
	FreshProc      bool   `json:"fresh_proc"`    // the work's /proc shows the namespace alone
	Isolation      string `json:"isolation"`     // what keeps the work away from the home: "namespace" or "none"
	IsolationWhy   string `json:"isolation_why"` // there is none
	MachineID      string `json:"machine_id"`
	Namespace      uint64 `json:"namespace"`       // inode of the PID namespace that it is in
	OuterNamespace uint64 `json:"outer_namespace"` // inode of the one in which PID is meant
	PID            int    `json:"pid"`
	Proof          Proof  `json:"proof"`
	Protocol       uint64 `json:"protocol"`
	Start          uint64 `json:"start"` // field 22 of its stat: clock ticks since the boot
}

// maxFile bounds what is read of a file that a shim wrote.
const maxFile = 16 << 10

// ReadIdentity reads the identity in the folder of a launch. Where there is none the error is
// an fs.ErrNotExist, and nothing was ever started there.
func ReadIdentity(dir *durable.Dir) (Identity, error) {
	data, err := dir.ReadFile(wire.IdentityFile, maxFile)
	if err != nil {
		return Identity{}, err
	}
	return DecodeIdentity(data)
}

// DecodeIdentity reads what [Identity.Encode] wrote.
func DecodeIdentity(data []byte) (Identity, error) {
	var version struct {
		Protocol uint64 `json:"protocol"`
	}
	if err := canon.DecodeOpen(data, &version); err != nil {
		return Identity{}, damaged(err)
	}
	if version.Protocol > wire.Protocol {
		return Identity{}, problem.Refusal("shim-version",
			"A running process was started by a newer holdfast (protocol %d, this one knows %d). It was not touched.",
			version.Protocol, wire.Protocol).WithHint("Run the newer holdfast on this box.")
	}
	var id Identity
	if err := canon.Decode(data, &id); err != nil {
		return Identity{}, damaged(err)
	}
	if id.PID < 1 || id.Start == 0 || id.Namespace == 0 || id.Proof != Namespace && id.Proof != Weak {
		return Identity{}, damaged(errors.New("a member has no meaning"))
	}
	return id, nil
}

func damaged(cause error) error {
	return problem.New(problem.Failed, "identity-damaged",
		"The identity of a started process cannot be read. It was not touched.").Because(cause)
}

// Encode writes id for a journal.
func (id Identity) Encode() ([]byte, error) { return canon.Encode(id) }

// Went reports whether the work in dir was ever let go. False, once the shim is known to be
// gone, proves that nothing of it ever ran.
func Went(dir *durable.Dir) (bool, error) {
	mode, err := dir.Mode(wire.WentFile)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && mode == 0, err
}

// Exit is how the first process of the work in dir ended. It means something only once the
// shim is known to be gone: as long as it lives there may be no word yet.
func Exit(dir *durable.Dir) (receipt.Exit, error) {
	data, err := dir.ReadFile(wire.ExitFile, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return receipt.Unknown{Why: "it ended without leaving word of its exit"}, nil
	}
	if err != nil {
		return nil, err
	}
	exit, err := decodeExit(data)
	if err != nil {
		return receipt.Unknown{Why: "the word that it left of its exit is damaged"}, nil //nolint:nilerr // damage is an answer
	}
	return exit, nil
}

func decodeExit(data []byte) (receipt.Exit, error) {
	var arm struct {
		Kind string `json:"kind"`
	}
	if err := canon.DecodeOpen(data, &arm); err != nil {
		return nil, err
	}
	switch arm.Kind {
	case "exited":
		var e struct {
			Kind   string `json:"kind"`
			Status int    `json:"status"`
		}
		err := canon.Decode(data, &e)
		return receipt.Exited{Status: e.Status}, err
	case "signalled":
		var e struct {
			Kind   string `json:"kind"`
			Signal int    `json:"signal"`
		}
		err := canon.Decode(data, &e)
		return receipt.Signalled{Signal: e.Signal}, err
	case "unknown":
		var e struct {
			Kind string `json:"kind"`
			Why  string `json:"why"`
		}
		err := canon.Decode(data, &e)
		return receipt.Unknown{Why: e.Why}, err
	default:
		return nil, fmt.Errorf("no such kind: %q", arm.Kind)
	}
}

// Means is what a machine can give to work.
type Means struct {
	Proof        Proof
	ProofWhy     string // it is weak
	Isolation    string // as in [Identity]
	IsolationWhy string
	FreshProc    bool
}

// Found is what became of a recorded shim.
//
//sumtype:decl
type Found interface{ found() }

type (
	// Alive: it is there, and has not ended.
	Alive struct{ Handle *Handle }
	// Gone: in this boot of this machine it has ended, and all of its work with it.
	Gone struct{ Went bool } // its work was let go, before
	// OtherBoot: the machine has been started anew since.
	OtherBoot struct{ Was, Is string }
	// OtherMachine: it was started on another machine, or on a copy of this one.
	OtherMachine struct{ Was, Is string }
	// Unclear: what there is proves neither that it lives nor that it ended.
	Unclear struct{ Why string }
)

func (Alive) found()        {}
func (Gone) found()         {}
func (OtherBoot) found()    {}
func (OtherMachine) found() {}
func (Unclear) found()      {}

// Machine is where a process runs.
type Machine struct{ ID, Boot string }

// check refuses what no shim could do as it is written.
func (l *Launch) check() error {
	bad := func(format string, args ...any) error {
		return problem.New(problem.Usage, "launch", format+" Nothing was started.", args...)
	}
	texts := slices.Concat(l.Argv, l.Env, l.Keep, []string{l.Dir, l.Home})
	switch {
	case len(l.Argv) == 0 || l.Argv[0] == "":
		return bad("There is no command to start.")
	case slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, "\x00") }):
		return bad("A NUL stands in the command, the environment or a path.")
	case slices.ContainsFunc(l.Env, func(s string) bool { return strings.Index(s, "=") < 1 }):
		return bad("The environment has an entry that is no NAME=VALUE.")
	case !filepath.IsAbs(l.Dir) || l.Home != "" && !filepath.IsAbs(l.Home) ||
		slices.ContainsFunc(l.Keep, func(s string) bool { return !filepath.IsAbs(s) }):
		return bad("A folder is not named by an absolute path.")
	case l.Grace < 0 || l.Segments < 0 || l.Limits.Nice < 0 || l.Limits.Nice > 19:
		return bad("A number is out of its range (nice goes from 0 to 19, all others from 0).")
	}
	return nil
}

// wire is l as the shim reads it.
func (l *Launch) wire(at Machine, outer uint64) *wire.Launch {
	w := &wire.Launch{
		Argv: l.Argv, Env: l.Env, Dir: l.Dir, Home: l.Home, Keep: l.Keep,
		Grace: uint64(l.Grace.Milliseconds()), Segments: uint64(l.Segments), Terminal: l.Terminal, Limits: l.Limits,
		MachineID: at.ID, BootID: at.Boot, Outer: outer,
	}
	if l.Segments == 0 {
		w.Segments = 64
	}
	if l.User != nil {
		w.Drop, w.UID, w.GID = true, l.User.UID, l.User.GID
	}
	return w
}
