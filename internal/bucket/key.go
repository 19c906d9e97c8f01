package bucket

import (
	"strings"

	"holdfast/internal/problem"
)

// StepKey is the step of what is no key.
const StepKey = "bucket-key"

const (
	maxKey     = 512 // bytes of a key
	maxElement = 128 // bytes of one element of it
)

// Key names an object: elements of A-Z, a-z, 0-9, dot, underscore and hyphen,
// with a slash between two of them, such as control/roster.json. No element is
// empty, begins with a dot or has more than 128 bytes; the whole has at most 512.
// Only [ParseKey] makes one.
type Key struct{ name string }

// ParseKey is the key called name, or a Usage error.
func ParseKey(name string) (Key, error) {
	if name == "" {
		return Key{}, badKey(name, "it is empty")
	}
	if len(name) > maxKey {
		return Key{}, badKey(name[:32]+"…", "it has more than 512 bytes")
	}
	for element := range strings.SplitSeq(name, "/") {
		if why := badElement(element); why != "" {
			return Key{}, badKey(name, why)
		}
	}
	return Key{name}, nil
}

// String is the name that was parsed.
func (k Key) String() string { return k.name }

// CheckPrefix is for stores: it refuses what no key begins with. The empty prefix
// is every key's.
func CheckPrefix(prefix string) error {
	if prefix == "" {
		return nil
	}
	// What a key begins with is a key, or one with a slash behind it.
	if _, err := ParseKey(strings.TrimSuffix(prefix, "/")); err != nil {
		return problem.New(problem.Usage, StepKey, "%.64q is not the beginning of a key", prefix).Because(err)
	}
	return nil
}

// badElement is what keeps element from being one of a key's, empty if nothing
// does.
func badElement(element string) string {
	switch {
	case element == "":
		return "an element of it is empty"
	case element[0] == '.':
		return "an element of it begins with a dot"
	case len(element) > maxElement:
		return "an element of it has more than 128 bytes"
	case strings.ContainsFunc(element, foreign):
		return "it has a character other than A-Z, a-z, 0-9, dot, underscore, hyphen and slash"
	}
	return ""
}

// foreign reports whether no element of a key has r.
func foreign(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' && r != '_' && r != '-'
}

func badKey(shown, why string) *problem.Error {
	return problem.New(problem.Usage, StepKey, "%q is no key: %s", shown, why)
}
