package event

import (
	"encoding/json"
	"fmt"
	"strconv"

	"holdfast/internal/canon"
)

// Envelope is an event as the log carries it. On the wire it is canonical JSON
// with the members event, id, key and seq; there are no signatures, and a member
// more is refused.
type Envelope struct {
	Seq   int64 // its place in the log, from 1
	Key   Key   // of the operation that appended it
	Event Event
}

// MaxSeq is the last place that canonical JSON can name.
const MaxSeq = 1<<53 - 1

// MaxEnvelope is the most that an envelope's bytes may be.
const MaxEnvelope = MaxBytes + 1024

// wireEnvelope is an envelope's members, in their order.
type wireEnvelope struct {
	Event json.RawMessage `json:"event"`
	ID    string          `json:"id"`
	Key   string          `json:"key"`
	Seq   int64           `json:"seq"`
}

// Bytes is the envelope's canonical form, without a line's end.
func (e Envelope) Bytes() []byte {
	b := make([]byte, 0, len(e.Event.bytes)+256)
	b = append(b, `{"event":`...)
	b = append(b, e.Event.bytes...)
	b = append(b, `,"id":"`...)
	b = append(b, e.Event.id...)
	b = append(b, `","key":"`...)
	b = append(b, e.Key...)
	b = append(b, `","seq":`...)
	b = strconv.AppendInt(b, e.Seq, 10)
	return append(b, '}')
}

// DecodeEnvelope reads an envelope and the event in it. The id is computed anew.
// The error is a [*Fault].
func DecodeEnvelope(data []byte) (Envelope, error) {
	env, fault := decodeEnvelope(data)
	if fault != nil {
		return Envelope{}, fault.in(data, "event")
	}
	return env, nil
}

func decodeEnvelope(data []byte) (Envelope, *Fault) {
	if len(data) > MaxEnvelope {
		return Envelope{}, tooLarge(len(data))
	}
	var w wireEnvelope
	if err := json.Unmarshal(data, &w); err != nil {
		return Envelope{}, &Fault{Step: StepEnvelope, Reason: "it is no envelope: " + reason(data, err)}
	}
	e, fault := decode(w.Event)
	if fault != nil {
		return Envelope{}, fault
	}
	env := Envelope{Seq: w.Seq, Key: Key(w.Key), Event: e}
	switch {
	case w.ID != string(e.id):
		fault = &Fault{Step: StepIdentity, Reason: fmt.Sprintf("its id is %q, and that of its bytes is %s", clip(w.ID), e.id)}
	case !keyShape.MatchString(w.Key):
		fault = &Fault{Step: StepEnvelope, Reason: "its key is no operation key"}
	case w.Seq < 1 || w.Seq > MaxSeq:
		fault = &Fault{Step: StepEnvelope, Reason: "its seq is no place in a log: a whole number from 1"}
	case string(env.Bytes()) != string(data):
		fault = &Fault{Step: StepEnvelope, Reason: "its bytes are not the canonical ones: " + reason(data, nil)}
	}
	return env, fault
}

// reason is what is wrong with an envelope's bytes, as exactly as it can be told.
func reason(data []byte, err error) string {
	var w wireEnvelope
	if strict := canon.Decode(data, &w); strict != nil {
		return strict.Error()
	}
	if err != nil {
		return err.Error()
	}
	return "another order or spelling"
}
