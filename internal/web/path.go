package web

import (
	"net/url"
	"strings"

	"holdfast/internal/problem"
)

// nameable says whether a path segment names something in one way only. A
// backslash does: here it is a byte like any other.
func nameable(segment string) bool {
	return segment != "" && segment != "." && segment != ".." && !strings.ContainsAny(segment, "/\x00")
}

// parsePath reads the path of a request into its segments, unescaped. A slash
// at the end is an empty last segment. Whatever could be read in two ways is
// refused, not cleaned: no rule is asked about a path before it has one
// spelling.
func parsePath(u *url.URL) ([]string, error) {
	// RawPath is what was sent wherever that differs from Path's own spelling.
	// EscapedPath would not do: where the sender escaped too little, it makes
	// a spelling from Path, in which an escaped slash has become a real one.
	sent := u.RawPath
	if sent == "" {
		sent = u.EscapedPath()
	}
	rest, found := strings.CutPrefix(sent, "/")
	if !found {
		return nil, notFound()
	}
	path := strings.Split(rest, "/")
	for i, escaped := range path {
		segment, err := url.PathUnescape(escaped)
		trailing := segment == "" && i == len(path)-1
		if err != nil || !trailing && !nameable(segment) {
			return nil, notFound()
		}
		path[i] = segment
	}
	return path, nil
}

// formatPath is the one spelling of a path that parsePath made.
func formatPath(path []string) *url.URL {
	escaped := make([]string, len(path))
	for i, segment := range path {
		escaped[i] = url.PathEscape(segment)
	}
	return &url.URL{Path: "/" + strings.Join(path, "/"), RawPath: "/" + strings.Join(escaped, "/")}
}

func notFound() error {
	return problem.New(problem.Gone, problem.StepNotFound, "There is nothing at this address.")
}
