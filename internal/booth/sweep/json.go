package sweep

import (
	"bytes"
	"encoding/json"
	"strings"
)

// MarshalJSON writes the names as Unicode.
func (r Report) MarshalJSON() ([]byte, error) {
	type document Report
	d := document(r)
	d.Swept = make([]string, len(r.Swept))
	for i, name := range r.Swept {
		d.Swept[i] = text(name)
	}
	return encode(d)
}

// MarshalJSON writes the name as Unicode.
func (s Spared) MarshalJSON() ([]byte, error) {
	type document Spared
	return encode(document{text(s.Name), text(s.Why)})
}

// text makes exact bytes fit for JSON as package booth does.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// encode leaves it to the caller's encoder whether HTML is escaped.
func encode(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return out.Bytes(), err
}
