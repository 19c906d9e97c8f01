package web

import (
	"net/url"
	"slices"
	"strings"

	"holdfast/internal/problem"
)

// Base is the path under which the site lives, as a browser sees it. Every
// address that leaves the server is made by [Base.URL]. The zero Base is "/".
type Base struct{ inner string } // "" or "desk" or "a/desk": no slash at either end

// baseBytes may stand in a base: nothing that a cookie's path, a header or a
// proxy's configuration would read in a second way.
const baseBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~"

// ParseBase reads "/desk/", with or without its outer slashes. "" is "/".
func ParseBase(text string) (Base, error) {
	inner := strings.TrimSuffix(strings.TrimPrefix(text, "/"), "/")
	if inner == "" && (text == "" || text == "/") {
		return Base{}, nil
	}
	for segment := range strings.SplitSeq(inner, "/") {
		if !nameable(segment) || strings.Trim(segment, baseBytes) != "" {
			return Base{}, problem.New(problem.Usage, "base",
				"The base path %q is no plain path such as /desk/: letters, digits and -_.~ between single slashes.", text)
		}
	}
	return Base{inner}, nil
}

// String is the base with both of its slashes.
func (b Base) String() string {
	if b.inner == "" {
		return "/"
	}
	return "/" + b.inner + "/"
}

// URL is the address of a path under the base, each segment by its exact
// bytes. An empty last segment is the slash at the end. A segment that no
// address can name ("", ".", "..", or one with a slash or NUL inside) becomes
// one that the server answers with 404; a browser never gets to resolve it.
func (b Base) URL(segments ...string) string {
	escaped := make([]string, len(segments))
	for i, segment := range segments {
		switch {
		case nameable(segment):
			escaped[i] = url.PathEscape(segment)
		case segment == "" && i > 0 && i == len(segments)-1:
		default:
			escaped[i] = "%00"
		}
	}
	return b.String() + strings.Join(escaped, "/")
}

// segments is the base's own, none for "/".
func (b Base) segments() []string {
	if b.inner == "" {
		return nil
	}
	return strings.Split(b.inner, "/")
}

// strip takes the base off a path. A path without it is one whose proxy has
// taken it off. bare is the base without its last slash.
func (b Base) strip(path []string) (rest []string, bare bool) {
	own := b.segments()
	if len(own) == 0 || len(path) < len(own) || !slices.Equal(path[:len(own)], own) {
		return path, false
	}
	rest = path[len(own):]
	return rest, len(rest) == 0
}
