package sweep

import (
	"bytes"
	"encoding/json"

	"holdfast/internal/booth"
	"holdfast/internal/plain"
)

// MarshalJSON writes the names as Unicode.
func (r Report) MarshalJSON() ([]byte, error) {
	type document Report
	d := document(r)
	d.Swept = make([]string, len(r.Swept))
	for i, name := range r.Swept {
		d.Swept[i] = plain.Unicode(name)
	}
	return encode(d)
}

// MarshalJSON writes the name as Unicode.
func (s Spared) MarshalJSON() ([]byte, error) {
	type document Spared
	return encode(document{plain.Unicode(s.Name), plain.Unicode(s.Why)})
}

// Document is the entry in JSON, for every surface.
func (t Trashed) Document() booth.Trashed {
	return booth.NewTrashed(t.ID, t.Name, t.At, t.By, t.Rule, t.Bytes, t.Purge, t.Trouble)
}

// encode leaves it to the caller's encoder whether HTML is escaped.
func encode(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return out.Bytes(), err
}
