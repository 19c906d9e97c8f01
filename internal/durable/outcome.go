package durable

import (
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"

	"holdfast/internal/problem"
)

// Step is one thing on the way of a write. Those that are effects on the disk
// can be made to fail by [Faults].
type Step string

// The steps that have an effect.
const (
	StepCreateTemporary Step = "create-temporary"
	StepWrite           Step = "write"
	StepSync            Step = "sync"
	StepRename          Step = "rename"
	StepLink            Step = "link"
	StepRemoveTemporary Step = "remove-temporary"
	StepSyncDir         Step = "sync-directory"
	StepMakeDir         Step = "make-directory"
	StepLock            Step = "lock"
	StepOpenJournal     Step = "open-journal"
	StepAppend          Step = "append"
	StepTruncate        Step = "truncate"
)

// The steps that only look.
const (
	StepName   Step = "file-name"
	StepEncode Step = "encode"
	StepCheck  Step = "check"
)

// Moment is a point at which a write can be cut off: before the effect of a step
// or after it.
type Moment struct {
	Step Step
	Done bool // the effect has happened
}

// Faults says how the effect at a moment fails; nil lets it be. An error before
// an effect keeps it from happening; an error after it makes a failure out of
// something that took effect. From a simulated crash on, it fails every moment.
type Faults func(Moment) error

// do has one effect on the disk.
func (d *Dir) do(step Step, effect func() error) error {
	if d.Faults == nil {
		return effect()
	}
	if err := d.Faults(Moment{Step: step}); err != nil {
		return err
	}
	if err := effect(); err != nil {
		return err
	}
	return d.Faults(Moment{Step: step, Done: true})
}

// Outcome is how a write ended.
type Outcome uint8

const (
	// Done: it is there and outlasts a crash.
	Done Outcome = iota + 1
	// Refused: nothing has changed.
	Refused
	// Unknown: it may or may not have taken effect, or may be undone by a crash.
	Unknown
)

// String is the outcome in one word.
func (o Outcome) String() string {
	switch o {
	case Done:
		return "done"
	case Refused:
		return "refused"
	case Unknown:
		return "unknown"
	default:
		return fmt.Sprintf("invalid-outcome-%d", uint8(o))
	}
}

// OutcomeOf is how the write that returned err ended. An error that says
// nothing of it leaves the outcome unknown.
func OutcomeOf(err error) Outcome {
	var e *WriteError
	switch {
	case err == nil:
		return Done
	case errors.As(err, &e):
		return e.Outcome
	default:
		return Unknown
	}
}

// WriteError is a write that did not end well: Refused or Unknown. Besides its
// cause it wraps a [*problem.Error] with the words for the person who asked.
type WriteError struct {
	Name    string // the file, inside its folder
	Step    Step   // where it stopped
	Outcome Outcome
	Err     error
}

// Error names the file, the step, the outcome and the cause.
func (e *WriteError) Error() string {
	return fmt.Sprintf("write %s: %s: outcome %s: %v", e.Name, e.Step, e.Outcome, e.Err)
}

func (e *WriteError) Unwrap() []error { return []error{e.public(), e.Err} }

// public is the error in public words.
func (e *WriteError) public() *problem.Error {
	switch {
	case e.Outcome == Unknown:
		return problem.New(problem.Unknown, string(e.Step),
			"Whether %s is safely written cannot be told: read it again.", e.Name)
	case fullDisk(e.Err):
		return problem.New(problem.Failed, problem.StepNoSpace, "There is no room to write %s. Nothing was changed.", e.Name)
	case errors.Is(e.Err, fs.ErrPermission), errors.Is(e.Err, unix.EROFS):
		return problem.Refusal("not-permitted", "%s may not be written by this service. Nothing was changed.", e.Name)
	case errors.Is(e.Err, fs.ErrExist):
		return problem.Refusal("exists", "%s is there already. Nothing was changed.", e.Name)
	default:
		return problem.New(problem.Failed, string(e.Step), "%s could not be written. Nothing was changed.", e.Name)
	}
}

// fullDisk reports whether err is the lack of room, by the disk, a quota or a
// limit.
func fullDisk(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG)
}

func refused(name string, step Step, err error) error {
	return &WriteError{Name: name, Step: step, Outcome: Refused, Err: err}
}

func unknown(name string, step Step, err error) error {
	return &WriteError{Name: name, Step: step, Outcome: Unknown, Err: err}
}
