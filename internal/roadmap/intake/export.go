package intake

import (
	"bytes"

	"holdfast/internal/roadmap/event"
)

// tail is what a line of an export has after its envelope.
const tail = `,"type":"event"}`

// Line is an event as a line of an export: its envelope with a type.
func Line(e event.Envelope) []byte {
	return append(append(bytes.TrimSuffix(e.Bytes(), []byte("}")), tail...), '\n')
}

func (b *Batch) export(records []record) error {
	last := records[len(records)-1]
	var end struct {
		Events int `json:"events"`
	}
	if !last.is("end") {
		return refusal("The export is not whole: its last line is not of the type \"end\".")
	}
	if err := last.decode(&end); err != nil {
		return err
	}
	if end.Events != len(records)-1 {
		return refusal("The export is not whole: it had %d events, and has %d.", end.Events, len(records)-1)
	}
	if end.Events == 0 {
		return refusal("The export is of an empty plan.")
	}
	for _, r := range records[:len(records)-1] {
		data, ok := bytes.CutSuffix(r.data, []byte(tail))
		if !ok {
			return r.refuse("is no event of an export")
		}
		e, err := event.DecodeEnvelope(append(bytes.Clone(data), '}'))
		if err != nil {
			return r.refuse("is no event of an export: %s", err)
		}
		b.replay = append(b.replay, e)
	}
	return nil
}
