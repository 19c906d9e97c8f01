package booth

import (
	"net/url"
	"strings"
	"time"

	"holdfast/internal/booth/lifetime"
	"holdfast/internal/plain"
)

// Summary is a booth in JSON, the same from the command line and over HTTP.
// Times are RFC 3339 in UTC, sizes in bytes. Name is the exact name where it is
// valid UTF-8; URL always is the exact name, escaped for a URL.
type Summary struct {
	Name       string `json:"name"`
	URL        string `json:"url"`
	Kind       string `json:"kind"`
	Title      string `json:"title"`
	Items      int    `json:"items"`
	Bytes      int64  `json:"bytes"`
	Open       int    `json:"open"`
	State      State  `json:"state"`
	Newest     Newest `json:"newest"`
	MarksError string `json:"marks_error"`
}

// Booths is every booth in JSON, by name.
type Booths struct {
	Booths []Summary `json:"booths"`
}

// State is a lifetime in JSON. Until is there only while counting.
type State struct {
	Kind   string `json:"kind"`
	Reason string `json:"reason"`
	Detail string `json:"detail"`
	Until  string `json:"until"`
	Line   string `json:"line"`
}

// Newest is the stamp that the age is counted from. Clock says what kind of
// time it is.
type Newest struct {
	Path  string `json:"path"`
	At    string `json:"at"`
	Clock string `json:"clock"`
}

// Explanation is a summary with the rule that decided it, and when the booth
// would expire if nothing held it.
type Explanation struct {
	Summary
	Rule        string `json:"rule"`
	WouldExpire string `json:"would_expire"`
}

// Listing is a summary with what is inside.
type Listing struct {
	Summary
	Files    []FileEntry     `json:"files"`
	Unserved []UnservedEntry `json:"unserved"`
}

// FileEntry is one item in JSON.
type FileEntry struct {
	Path  string `json:"path"`
	URL   string `json:"url"` // exact path, escaped
	Bytes int64  `json:"bytes"`
	At    string `json:"at"`
	Clock string `json:"clock"`
}

// UnservedEntry is something in the folder that is not served, and why.
type UnservedEntry struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// Summary is the look in JSON.
func (l Look) Summary() Summary {
	return Summary{
		Name:       text(l.Name.String()),
		URL:        Escape(l.Name.String()),
		Kind:       l.Kind.String(),
		Title:      text(l.Manifest.Title),
		Items:      len(l.Items),
		Bytes:      l.Survey.Bytes,
		Open:       l.Marks.Open(),
		State:      l.stateJSON(),
		Newest:     l.newestJSON(),
		MarksError: text(l.Marks.Why()),
	}
}

func (l Look) stateJSON() State {
	s := State{Kind: lifetime.Kind(l.State), Line: text(l.Line())}
	switch v := l.State.(type) {
	case lifetime.Kept:
		s.Detail = text(v.Why)
	case lifetime.Held:
		s.Reason, s.Detail = v.Reason.String(), text(v.Detail)
	case lifetime.Counting:
		s.Until = stamp(v.Until)
	}
	return s
}

func (l Look) newestJSON() Newest {
	n := l.Newest()
	if n.Clock == 0 {
		return Newest{}
	}
	return Newest{Path: text(n.Path), At: stamp(n.At), Clock: n.Clock.String()}
}

// Explain is the summary with its rule.
func (l Look) Explain() Explanation {
	e := Explanation{Summary: l.Summary(), Rule: text(lifetime.Rule(l.State, l.TTL))}
	if until, ok := lifetime.Expiry(l.Facts, l.TTL); ok {
		e.WouldExpire = stamp(until)
	}
	return e
}

// Listing is the summary with what is inside, in the order of the page.
func (l Look) Listing() Listing {
	out := Listing{Summary: l.Summary(), Files: []FileEntry{}, Unserved: []UnservedEntry{}}
	for _, it := range l.Items {
		out.Files = append(out.Files, FileEntry{
			Path: text(it.Path.String()), URL: Escape(it.Path.String()),
			Bytes: it.Size, At: stamp(it.Stamp.At), Clock: it.Stamp.Clock.String(),
		})
	}
	for _, u := range l.Survey.Unserved {
		out.Unserved = append(out.Unserved, UnservedEntry{text(u.Path), u.Why.String()})
	}
	return out
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

func text(s string) string { return plain.Unicode(s) }

// Escape writes a path for a URL, its slashes kept.
func Escape(path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return strings.Join(parts, "/")
}

// Missing is the document for a booth that is not there.
type Missing struct {
	Name  string `json:"name"`
	URL   string `json:"url"`
	State State  `json:"state"`
}

// NewMissing names a booth that is not there; line says so in words.
func NewMissing(name, line string) Missing {
	return Missing{text(name), Escape(name), State{Kind: "gone", Line: line}}
}
