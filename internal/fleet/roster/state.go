package roster

import (
	"cmp"
	"fmt"
	"strings"

	"holdfast/internal/problem"
)

// State says what a box may do.
type State uint8

// The zero State is none.
const (
	Active      State = iota + 1 // it may do new work
	Quarantined                  // it may finish and stop what it has
	Retired                      // it may do nothing more, for good
)

var states = []string{Active: "active", Quarantined: "quarantined", Retired: "retired"}

// String is the state's public name.
func (s State) String() string {
	if s == 0 || int(s) >= len(states) {
		return fmt.Sprintf("State(%d)", uint8(s))
	}
	return states[s]
}

// MarshalText is the public name.
func (s State) MarshalText() ([]byte, error) {
	if s == 0 || int(s) >= len(states) {
		return nil, fmt.Errorf("no state of a box: %d", uint8(s))
	}
	return []byte(states[s]), nil
}

// UnmarshalText reads a public name.
func (s *State) UnmarshalText(text []byte) error {
	for i, name := range states {
		if name != "" && name == string(text) {
			*s = State(i)
			return nil
		}
	}
	return fmt.Errorf("%q is no state of a box", text)
}

// Scope is the part of the fleet that a hold or an activation is about. The zero
// Scope is none. As text it is all, region/NAME or box/ID.
type Scope struct{ kind, name string }

// All is the whole fleet.
func All() Scope { return Scope{"all", ""} }

// InRegion is every box of a region.
func InRegion(name string) Scope { return Scope{"region", name} }

// OneBox is the box called id.
func OneBox(id string) Scope { return Scope{"box", id} }

// ParseScope reads a scope's text.
func ParseScope(text string) (Scope, error) {
	kind, name, _ := strings.Cut(text, "/")
	s := Scope{kind, name}
	if s.String() != text || !(s == All() || (kind == "region" || kind == "box") && isName(name)) {
		return Scope{}, problem.New(problem.Usage, "scope", "A scope is all, region/NAME or box/ID; %q is none.", text)
	}
	return s, nil
}

// String is the scope's text.
func (s Scope) String() string {
	if s.name == "" {
		return s.kind
	}
	return s.kind + "/" + s.name
}

// MarshalText is the scope's text.
func (s Scope) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText is [ParseScope].
func (s *Scope) UnmarshalText(text []byte) error {
	parsed, err := ParseScope(string(text))
	if err == nil {
		*s = parsed
	}
	return err
}

// overlap says whether some box is in both scopes.
func (r *Roster) overlap(a, b Scope) bool {
	switch {
	case a == b, a == All(), b == All():
		return true
	case a.kind == b.kind:
		return false
	case a.kind == "region":
		return r.stands(b.name, a.name)
	default:
		return r.stands(a.name, b.name)
	}
}

// stands says whether the live box called id stands in a region.
func (r *Roster) stands(id, region string) bool {
	_, b, ok := r.Live(id)
	return ok && b.Region == region
}

func compare(a, b string) int { return strings.Compare(a, b) }

func cmpOr(list ...int) int { return cmp.Or(list...) }
