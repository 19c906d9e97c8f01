// Package problem is the one vocabulary for what went wrong.
//
// An [Error] carries a kind (what a script branches on), a step (the stable,
// hyphenated name of where it stopped) and a reason (a sentence for the person
// who gets it: what happened and what was not changed). The command line turns
// the kind into an exit status, the web server turns kind and step into an HTTP
// status, and both show the same three members.
//
// Only the words in an Error are public. The cause that it wraps is for logs.
package problem

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// Kind says how an operation ended when it did not end well. Its names and
// exit statuses are a promise to scripts.
type Kind uint8

const (
	// Failed: something broke; what was asked for may be half done only where
	// the reason says so.
	Failed Kind = iota + 1
	// Usage: the request itself is malformed.
	Usage
	// Gone: the thing that was named is not there.
	Gone
	// Refused: nothing was changed; step and reason say why.
	Refused
	// Unknown: whether it took effect cannot be told; asking again with the
	// same key is safe.
	Unknown
)

// String is the kind's public name.
func (k Kind) String() string {
	switch k {
	case Failed:
		return "failed"
	case Usage:
		return "usage"
	case Gone:
		return "gone"
	case Refused:
		return "refused"
	case Unknown:
		return "unknown"
	default:
		return fmt.Sprintf("invalid-kind-%d", uint8(k))
	}
}

// Exit is the exit status that the command line ends with.
func (k Kind) Exit() int {
	switch k {
	case Failed:
		return 1
	case Usage:
		return 2
	case Gone:
		return 6
	case Refused:
		return 8
	case Unknown:
		return 9
	default:
		return 1
	}
}

// ParseKind reads a kind's public name, as it arrives in a response.
func ParseKind(name string) (Kind, bool) {
	for _, k := range []Kind{Failed, Usage, Gone, Refused, Unknown} {
		if k.String() == name {
			return k, true
		}
	}
	return 0, false
}

// Steps that more than one package needs to agree on. Any other step is named
// by the place that refuses.
const (
	StepInternal    = "internal"      // failed: our fault; the log has the cause
	StepNotOperator = "not-operator"  // refused: only the operator may do this
	StepNotSignedIn = "not-signed-in" // refused: no credential, or one that is no longer good
	StepHost        = "host"          // refused: the Host header names no address of ours
	StepOrigin      = "origin"        // refused: a write that another site began
	StepTooLarge    = "too-large"     // refused: over a stated limit
	StepNoSpace     = "no-space"      // failed: the disk is full
	StepMethod      = "method"        // usage: this address does not take this method
	StepNotFound    = "not-found"     // gone: nothing at this address
)

// Error is a failure in public words. Make one with [New] or a constructor of
// its kind.
type Error struct {
	Kind   Kind
	Step   string // stable, lower case, hyphenated
	Reason string // one or two sentences, safe to show to anyone who may ask
	Hint   string // what to do next; empty where nothing helps

	cause error
}

// New makes an error of kind k. The format makes the reason, and must not
// include the text of an error that was not written for people.
func New(k Kind, step, format string, args ...any) *Error {
	return &Error{Kind: k, Step: step, Reason: fmt.Sprintf(format, args...)}
}

// Refusal is an error after which nothing has changed.
func Refusal(step, format string, args ...any) *Error {
	return New(Refused, step, format, args...)
}

// WithHint returns a copy of e that says what to do next.
func (e *Error) WithHint(format string, args ...any) *Error {
	c := *e
	c.Hint = fmt.Sprintf(format, args...)
	return &c
}

// Because returns a copy of e that wraps cause, for logs and errors.Is.
func (e *Error) Because(cause error) *Error {
	c := *e
	c.cause = cause
	return &c
}

// Error is the text for a log or a terminal: step, reason, and the cause where
// there is one.
func (e *Error) Error() string {
	if e.cause != nil {
		return e.Step + ": " + e.Reason + " (" + e.cause.Error() + ")"
	}
	return e.Step + ": " + e.Reason
}

func (e *Error) Unwrap() error { return e.cause }

// From finds the public words in err's chain. An error that has none becomes
// Failed at [StepInternal] with fallback as its reason, and wraps err.
func From(err error, fallback string) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return New(Failed, StepInternal, "%s", fallback).Because(err)
}

// KindOf is the kind of err, Failed where it has none of its own.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Failed
}

// Words is what is wrong, to be part of another sentence: the public words where
// err has some, else the cause without the path that the reader already knows.
func Words(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return strings.TrimSuffix(e.Reason, ".")
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}
