package receipt

import "holdfast/internal/canon"

// ReadPayload is Read without the envelope: signing is slow, and chance to a fuzzer.
var ReadPayload = read

// Payload is what Seal signs.
func (r Receipt) Payload() ([]byte, error) {
	w, err := r.wire()
	if err != nil {
		return nil, err
	}
	return canon.Encode(w)
}
