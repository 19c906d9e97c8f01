// Package document is what the signed documents of the fleet have in common: one
// spelling, members that are checked one by one, and an envelope.
//
// A document is canonical JSON of exactly the members that its type has. [Seal] writes
// it into an envelope, [Decode] reads it and refuses what it would not write again.
// Whose signature it needs, the document itself says or its place does; [ByConsole]
// is for those that a console signs.
//
// A value that is one of several kinds is written as an object that names its kind and
// has exactly the members of that kind ([EncodeArm], [DecodeArm]).
//
// [Checker] keeps the first complaint about a document, for a refusal whose step is the
// document's own.
package document

import (
	"bytes"
	"encoding/json"

	"holdfast/internal/canon"
	"holdfast/internal/fleet/roster"
	"holdfast/internal/problem"
	"holdfast/internal/sign"
)

// Seal signs v for the purpose p.
func Seal(p sign.Purpose, v any, keys ...sign.Key) ([]byte, error) {
	payload, err := canon.Encode(v)
	if err != nil {
		return nil, err
	}
	return sign.Seal(p, payload, keys...)
}

// Decode reads a document that has one spelling into v. Its refusals have the step.
func Decode(payload []byte, v any, step string) error {
	if err := canon.Decode(payload, v); err != nil {
		return problem.Refusal(step, "The document cannot be read: %s.", problem.Words(err)).Because(err)
	}
	if again, err := canon.Encode(v); err != nil || !bytes.Equal(again, payload) {
		return problem.Refusal(step, "The document is not spelt canonically.").Because(err)
	}
	return nil
}

// ByConsole believes an envelope that the console of r called name signed, and nobody
// else. Its refusals have the step console-unknown and those of [sign.Envelope.Verify].
func ByConsole(e sign.Envelope, r *roster.Roster, name string) error {
	c, ok := r.Consoles[name]
	if !ok {
		return problem.Refusal("console-unknown", "It is signed in the name of %q, which is no console of the fleet.", name)
	}
	public, err := sign.ParsePublic(c.PublicKey)
	if err != nil {
		return err
	}
	_, err = e.Verify(public)
	return err
}

// EncodeArm writes v, a struct, with its kind as the member called tag.
func EncodeArm(tag, kind string, v any) (json.RawMessage, error) {
	data, err := canon.Encode(v)
	if err != nil {
		return nil, err
	}
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, err
	}
	if members[tag], err = canon.Encode(kind); err != nil {
		return nil, err
	}
	return canon.Encode(members)
}

// DecodeArm is the kind that the object raw names as the member called tag, and the
// other members, for [ReadArm].
func DecodeArm(tag string, raw json.RawMessage) (kind string, members json.RawMessage, err error) {
	var all map[string]json.RawMessage
	if err := canon.Decode(raw, &all); err != nil {
		return "", nil, err
	}
	named, ok := all[tag]
	if !ok {
		return "", nil, &canon.Error{Path: "$." + tag, Reason: "the member is missing"}
	}
	if err := canon.Decode(named, &kind); err != nil {
		return "", nil, err
	}
	delete(all, tag)
	members, err = canon.Encode(all)
	return kind, members, err
}

// ReadArm reads the members of one kind: all that it has, and no others.
func ReadArm[T any](members json.RawMessage) (T, error) {
	var v T
	err := canon.Decode(members, &v)
	return v, err
}
