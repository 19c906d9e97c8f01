package event

import (
	"bytes"
	"encoding/json"
	"time"
)

// CommandSchema names the format of a command's bytes.
const CommandSchema = "holdfast-command/1"

// Command is an event that somebody wants in the log, before it is known what it
// will build on. It waits in a queue in this form: canonical JSON with the
// members of an event, but parents, and key and expect beside them.
type Command struct {
	Key    Key
	Node   Node
	Author Principal
	At     time.Time
	// Expect is the heads that the node must still have; empty: whatever it has.
	Expect []ID
	Body   Body
}

// Seal makes the event, on top of the given events of its node.
func (c Command) Seal(parents []ID) (Event, error) {
	return Draft{Node: c.Node, Author: c.Author, Parents: parents, At: c.At, Body: c.Body}.Seal()
}

// Check says whether the command can become an event at all. The error is a
// [*Fault].
func (c Command) Check() error {
	var ck checker
	if !keyShape.MatchString(string(c.Key)) {
		ck.refuse("key", "is no operation key")
	}
	ck.ids("expect", c.Expect)
	c.asDraft().checkMembers(&ck)
	if fault := ck.fault(); fault != nil {
		fault.Node = c.Node
		return fault
	}
	return nil
}

func (c Command) asDraft() Draft {
	return Draft{Node: c.Node, Author: c.Author, At: c.At, Body: c.Body}
}

// Same says whether two commands ask for the same: time plays no part, nor
// what either expected.
func (c Command) Same(other Command) bool {
	return c.Node == other.Node && c.Author == other.Author && Same(c.Body, other.Body)
}

// Bytes is the command's canonical form. It must be one that Check accepts.
func (c Command) Bytes() []byte {
	c.At = c.At.UTC().Truncate(time.Millisecond)
	w := c.asDraft().wire()
	w.Schema, w.Parents, w.Key, w.Expect = CommandSchema, nil, string(c.Key), asStrings(c.Expect)
	return w.canonical()
}

// DecodeCommand reads the canonical bytes of a command. The error is a [*Fault].
func DecodeCommand(data []byte) (Command, error) {
	c, fault := decodeCommand(data)
	if fault != nil {
		return Command{}, fault.in(data)
	}
	return c, nil
}

func decodeCommand(data []byte) (Command, *Fault) {
	if len(data) > MaxBytes {
		return Command{}, tooLarge(len(data))
	}
	var w wire
	if err := json.Unmarshal(data, &w); err != nil {
		return Command{}, explain(data)
	}
	d, fault := w.draft(CommandSchema)
	if fault != nil {
		return Command{}, fault
	}
	c := Command{Key: Key(w.Key), Node: d.Node, Author: d.Author, At: d.At, Expect: asIDs(w.Expect), Body: d.Body}
	if err := c.Check(); err != nil {
		return Command{}, &Fault{Step: StepEvent, Reason: err.Error()}
	}
	if !bytes.Equal(c.Bytes(), data) {
		return Command{}, explain(data)
	}
	return c, nil
}

func asStrings(list []ID) []string {
	out := make([]string, len(list))
	for i, id := range list {
		out[i] = string(id)
	}
	return out
}

func asIDs(list []string) []ID {
	out := make([]ID, len(list))
	for i, s := range list {
		out[i] = ID(s)
	}
	return out
}
