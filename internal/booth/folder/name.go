package folder

import (
	"path"
	"strings"

	"holdfast/internal/problem"
)

const (
	maxComponent = 255  // bytes of one component: what Linux file systems take
	maxPath      = 4096 // bytes of an item's path
	maxDepth     = 128  // components of an item's path; a survey goes no deeper
)

// Name is a booth's name: 1 to 255 bytes, no '/', no NUL, not beginning with a
// dot; any other bytes, valid UTF-8 or not. Only [ParseName] makes one; the
// zero Name names no booth.
type Name struct{ s string }

// ParseName checks a booth's name.
func ParseName(s string) (Name, error) {
	if why := badComponent(s); why != "" {
		return Name{}, problem.New(problem.Usage, "booth-name", "%q is no name for a booth: %s.", s, why)
	}
	return Name{s}, nil
}

// String is the name's exact bytes.
func (n Name) String() string { return n.s }

// ItemPath is the path of an item relative to its booth: components that a
// [Name] could be, joined by '/', at most 4096 bytes and 128 components. Only
// [ParseItem] and a survey make one; the zero ItemPath names no item.
type ItemPath struct{ s string }

// ParseItem checks an item's path. Nothing is cleaned: "a//b" and "./a" are
// refused.
func ParseItem(s string) (ItemPath, error) {
	if why := badPath(s); why != "" {
		return ItemPath{}, problem.New(problem.Usage, "item-name", "%.300q is no path of an item: %s.", s, why)
	}
	return ItemPath{s}, nil
}

// String is the path's exact bytes.
func (p ItemPath) String() string { return p.s }

// Base is the last component.
func (p ItemPath) Base() string { return p.s[strings.LastIndexByte(p.s, '/')+1:] }

// Ext is the extension of Base with its dot, "" where it has none.
func (p ItemPath) Ext() string { return path.Ext(p.s) }

func badPath(s string) string {
	if len(s) > maxPath {
		return "it is longer than 4096 bytes"
	}
	n := 0
	for c := range strings.SplitSeq(s, "/") {
		if why := badComponent(c); why != "" {
			return why
		}
		n++
	}
	if n > maxDepth {
		return "it is more than 128 folders deep"
	}
	return ""
}

// badComponent is why c cannot be one component of a visible path, "" if it can.
func badComponent(c string) string {
	switch {
	case c == "":
		return "a part is empty"
	case c[0] == '.':
		return "a part begins with a dot"
	case len(c) > maxComponent:
		return "a part is longer than 255 bytes"
	case strings.IndexByte(c, '/') >= 0:
		return "it has a slash"
	case strings.IndexByte(c, 0) >= 0:
		return "it has a NUL byte"
	default:
		return ""
	}
}

// Existing is the name of a booth that may be there: a name that no booth can
// have is as good as absent, Gone at step "booth".
func Existing(s string) (Name, error) {
	n, err := ParseName(s)
	if err != nil {
		return n, problem.New(problem.Gone, "booth", "There is no booth %q: a booth cannot have that name.", s)
	}
	return n, nil
}
