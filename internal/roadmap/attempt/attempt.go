// Package attempt is what binds a result to the claim that it was worked out under.
//
// An attempt is one try of a claim. Its name is its [Key], made of the claim and the
// number of the try, so that two who begin the same try begin one attempt and not two.
// It begins when its [Binding] is written, once, into the folder of that name. Whoever
// returns a result names the attempt, and the binding says which claim that is: no
// caller ever does, and a later claim cannot take the result of an earlier one.
//
// A binding has nothing that can be derived: not the attempt's name, which is the key
// of its claim and try, and not where the node stands. A folder whose name is another
// key than that of the binding in it binds nothing. A binding is never changed and
// never removed. One that is there but empty, torn, or no regular file is unreadable;
// only where there is none at all was nothing begun.
//
// What this is not: nothing runs here, nothing is alive or ended, and whether a result
// may be returned is decided by package history. A binding is the evidence of one home;
// another home with the same plan has none of its attempts.
package attempt

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"

	"holdfast/internal/canon"
	"holdfast/internal/problem"
	"holdfast/internal/roadmap/event"
)

// Schema names the format of a binding's bytes. A member more, or another meaning of
// one, is another schema.
const Schema = "holdfast-request-binding/1"

// maxBinding is the most that a binding's bytes may be.
const maxBinding = 4096

// Steps at which a result is refused for its attempt.
const (
	StepAttempt = "result-attempt" // nothing of that name was begun here
	StepBinding = "result-binding" // what binds it is unreadable, or of another attempt
)

// First is the number of a claim's first try.
const First = 1

// Key names a try of a claim: the first 16 hexadecimal digits of the SHA-256 of the
// claim's id, a slash, and the number of the try in decimal.
func Key(claim event.ID, try int) event.Attempt {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", claim, try))
	return event.Attempt(hex.EncodeToString(sum[:8]))
}

// keyShape is what a Key looks like, and what an event takes for an attempt.
var keyShape = regexp.MustCompile(`^[0-9a-f]{16}$`)

// Binding is what an attempt was begun under.
type Binding struct {
	Node   event.Node      // that it works on
	Claim  event.ID        // the event that claimed
	Try    int             // which try of that claim, from 1
	Holder event.Principal // who works on it, and alone returns its result
}

// Attempt is the name of the attempt that the binding is of.
func (b Binding) Attempt() event.Attempt { return Key(b.Claim, b.Try) }

// wire is a binding's members.
type wire struct {
	Schema string          `json:"schema"`
	Node   event.Node      `json:"node"`
	Claim  event.ID        `json:"claim"`
	Try    int             `json:"try"`
	Holder event.Principal `json:"holder"`
}

// Decode reads a binding's bytes, all of them.
func Decode(data []byte) (Binding, error) {
	if len(data) > maxBinding {
		return Binding{}, fmt.Errorf("it has over %d bytes", maxBinding)
	}
	var w wire
	if err := canon.Decode(data, &w); err != nil {
		return Binding{}, err
	}
	if w.Schema != Schema {
		return Binding{}, errors.New("its schema is not " + Schema)
	}
	b := Binding{Node: w.Node, Claim: w.Claim, Try: w.Try, Holder: w.Holder}
	return b, b.check()
}

// encode is a binding's bytes, which Decode takes.
func (b Binding) encode() ([]byte, error) {
	if err := b.check(); err != nil {
		return nil, err
	}
	return canon.Encode(wire{Schema: Schema, Node: b.Node, Claim: b.Claim, Try: b.Try, Holder: b.Holder})
}

// check says what is wrong with a binding, in a clause.
func (b Binding) check() error {
	_, node := event.ParseNode(string(b.Node))
	_, claim := event.ParseID(string(b.Claim))
	_, holder := event.ParsePrincipal(string(b.Holder))
	for _, err := range []error{node, claim, holder} {
		if err != nil {
			return errors.New(problem.Words(err))
		}
	}
	if b.Try < First {
		return fmt.Errorf("its try is %d, and tries are counted from %d", b.Try, First)
	}
	return nil
}
