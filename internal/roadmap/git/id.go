package git

import (
	"errors"
	"fmt"
	"strings"

	"holdfast/internal/plain"
)

// Format is the hash that object ids are made with.
type Format uint8

const (
	SHA1   Format = iota + 1 // 40 hexadecimal digits
	SHA256                   // 64
)

// String is git's name of the format.
func (f Format) String() string {
	switch f {
	case SHA1:
		return "sha1"
	case SHA256:
		return "sha256"
	default:
		return fmt.Sprintf("invalid-format-%d", uint8(f))
	}
}

func parseFormat(name string) (Format, bool) {
	for _, f := range []Format{SHA1, SHA256} {
		if f.String() == name {
			return f, true
		}
	}
	return 0, false
}

// ID is an object's id. The zero ID is no object's, and stands for "nothing there"
// where an old value is asked for.
type ID struct{ hex string }

// ParseID reads an id as git writes it, of either format. What is all zeros is
// git's word for nothing, and no id.
func ParseID(s string) (ID, bool) {
	if len(s) != 40 && len(s) != 64 || strings.Trim(s, "0123456789abcdef") != "" || strings.Trim(s, "0") == "" {
		return ID{}, false
	}
	return ID{s}, true
}

// String is the id in lower-case hexadecimal, empty for none.
func (id ID) String() string { return id.hex }

// IsZero reports whether id is no object's.
func (id ID) IsZero() bool { return id.hex == "" }

// Ref is a ref by its full name, such as refs/heads/main, checked.
type Ref struct{ name string }

// ParseRef checks a full ref name by git's rules.
func ParseRef(name string) (Ref, error) {
	if err := checkRef(name); err != nil {
		return Ref{}, fmt.Errorf("%s is no ref: %w", plain.Text(name), err)
	}
	return Ref{name}, nil
}

// Branch is the ref of the branch called name.
func Branch(name string) (Ref, error) { return ParseRef("refs/heads/" + name) }

// OwnRef is the ref refs/holdfast/NAME: the only ones that are written here.
func OwnRef(name string) (Ref, error) { return ParseRef(ownPrefix + name) }

const ownPrefix = "refs/holdfast/"

// String is the full name.
func (r Ref) String() string { return r.name }

// IsZero reports whether r names nothing.
func (r Ref) IsZero() bool { return r.name == "" }

func (r Ref) own() bool { return strings.HasPrefix(r.name, ownPrefix) }

func checkRef(name string) error {
	switch {
	case !strings.HasPrefix(name, "refs/"):
		return errors.New("it does not begin with refs/")
	case strings.HasSuffix(name, "."), strings.Contains(name, ".."), strings.Contains(name, "@{"):
		return errors.New("it ends in a dot, or has two, or @{")
	case len(name) > 1000:
		return errors.New("it is longer than 1000 bytes")
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock") {
			return errors.New("a part of it is empty, begins with a dot or ends in .lock")
		}
	}
	if strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`~^:?*[\`, r) }) {
		return errors.New("it has a character that no ref may have")
	}
	return nil
}
