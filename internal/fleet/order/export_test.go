package order

import "holdfast/internal/canon"

// The payloads without their envelopes: signing is slow, and chance to a fuzzer.
var (
	DecodeAck     = decodeAck
	DecodeSession = decodeSession
)

// Payload is what is signed of an answer.
func (a Ack) Payload() ([]byte, error) {
	w, err := a.wire()
	if err != nil {
		return nil, err
	}
	return canon.Encode(w)
}
