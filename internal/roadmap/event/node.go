package event

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"holdfast/internal/canon"
)

// nodeIn is the node that bytes which are no event are about, as far as that can
// be told: it stands in the named members, and the bytes may end too early. It is
// empty where node is named twice, or in another case: such bytes must not put the
// blame on a node of their choice.
func nodeIn(data []byte, members ...string) Node {
	if len(data) > 16*MaxEnvelope {
		return ""
	}
	s := &search{dec: json.NewDecoder(bytes.NewReader(data)), way: append(members, "node")}
	s.value(nil)
	if len(s.found) != 1 || !isNode(s.found[0]) {
		return ""
	}
	return Node(s.found[0])
}

// NodeOf is the node that bytes which are no envelope are about, as far as that
// can be told.
func NodeOf(envelope []byte) Node { return nodeIn(envelope, "event") }

// search walks over a document until it ends or is none.
type search struct {
	dec   *json.Decoder
	way   []string // the members that lead to what is looked for
	found []string
}

// value reads the value at a path. It is false at the end of what can be read.
func (s *search) value(path []string) bool {
	t, err := s.dec.Token()
	if err != nil || len(path) > canon.MaxDepth {
		return false
	}
	if slices.EqualFunc(path, s.way, strings.EqualFold) {
		text, _ := t.(string)
		s.found = append(s.found, text)
	}
	switch t {
	case json.Delim('{'):
		return s.inside(path, s.name)
	case json.Delim('['):
		return s.inside(path, func() (string, bool) { return "[]", true })
	}
	return true
}

// inside reads what an object or a list holds.
func (s *search) inside(path []string, name func() (string, bool)) bool {
	for s.dec.More() {
		n, ok := name()
		if !ok || !s.value(append(slices.Clip(path), n)) {
			return false
		}
	}
	_, err := s.dec.Token()
	return err == nil
}

func (s *search) name() (string, bool) {
	t, err := s.dec.Token()
	n, ok := t.(string)
	return n, ok && err == nil
}
