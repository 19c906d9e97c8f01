package intake

import (
	"bytes"
	"encoding/json"
	"fmt"

	"holdfast/internal/canon"
	"holdfast/internal/problem"
)

// split finds the objects: the entries of an array, one object, or one a line.
func split(data []byte) ([]record, error) {
	trimmed := bytes.TrimSpace(data)
	if trimmed[0] == '[' {
		return entries(trimmed)
	}
	if canon.Scan(trimmed) == nil {
		return []record{{"It", trimmed}}, object("It", trimmed)
	}
	var out []record
	for i, line := range bytes.Split(data, []byte("\n")) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		where := fmt.Sprintf("Line %d", i+1)
		if err := canon.Scan(line); err != nil {
			return nil, refusal("%s is no JSON, or torn: %s.", where, problem.Words(err))
		}
		if err := object(where, line); err != nil {
			return nil, err
		}
		out = append(out, record{where, line})
	}
	return out, nil
}

func object(where string, data []byte) error {
	if data[0] != '{' {
		return refusal("%s is no JSON object.", where)
	}
	return nil
}

func entries(data []byte) ([]record, error) {
	if err := canon.Scan(data); err != nil {
		return nil, refusal("It is no JSON, or torn: %s.", problem.Words(err))
	}
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, refusal("It is no JSON array: %s.", problem.Words(err))
	}
	if len(list) == 0 {
		return nil, refusal("It is an array with nothing in it.")
	}
	out := make([]record, len(list))
	for i, raw := range list {
		where := fmt.Sprintf("Entry %d", i+1)
		if err := object(where, raw); err != nil {
			return nil, err
		}
		out[i] = record{where, raw}
	}
	return out, nil
}
