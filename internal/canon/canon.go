// Package canon reads JSON strictly and writes it canonically.
//
// A document is one JSON value in UTF-8 without a byte order mark, at most
// [MaxDepth] deep, in which no object names a member twice and no string holds
// half a surrogate pair. [Scan] checks that much and nothing else: it is for
// open documents, whose unknown members a reader keeps.
//
// [Decode] is total on top of that: every member of the document has a field
// and every field has a member, spelt alike to the letter; null stands only
// where the type has a place for it; numbers fit. A document that decodes says
// all that its type asks for and nothing that it does not know.
//
// [Encode] writes RFC 8785 (JSON Canonicalization Scheme): members sorted by
// UTF-16, the one spelling of each number and string, no white space. It
// refuses what it could only write as something else: text that is not UTF-8,
// NaN and infinities, integers beyond a double's, nil lists. What Decode
// accepted, Encode writes, and writes the same again after a second reading.
//
// Numbers. Canonical JSON knows doubles only, so integers go from −(2⁵³−1) to
// 2⁵³−1; beyond, keep them in a string. An integer is written in digits alone
// (1.0 and 1e2 are not integers). A whole number that a double cannot hold is
// refused even where a float is wanted; a fraction is rounded. Negative zero is
// refused when read, since canonical JSON writes it as 0.
//
// The types that Decode fills are structs, maps, slices, arrays, pointers,
// strings, booleans, numbers, [encoding/json.RawMessage], any, and types with
// an UnmarshalJSON or UnmarshalText of their own. A field is required unless
// its tag has omitempty or omitzero, a pointer too. Embedded structs count as
// their fields. The tag option string, embedded pointers, two fields of one
// name and other interfaces are refused as types, whatever the document.
package canon

import (
	"errors"
	"strconv"
	"strings"
)

// MaxDepth is how many arrays and objects may stand inside each other.
const MaxDepth = 64

// What an [*Error] wraps when there was no document at all. A file that exists
// and holds nothing is unreadable; it is not an absent one.
var (
	ErrEmpty = errors.New("the document is empty: it has no bytes at all")
	ErrBlank = errors.New("the document is blank: it has nothing but white space")
)

// Error says where in a document or a value the trouble is, and what it is.
type Error struct {
	Path   string // from the root $, such as $.marks[3].id
	Reason string // a clause, safe to show to whoever wrote the document

	cause error
}

// Error is the path and the reason.
func (e *Error) Error() string { return e.Path + ": " + e.Reason }

func (e *Error) Unwrap() error { return e.cause }

// path is a place in a document, from the innermost step outwards. The root is
// nil.
type path struct {
	outer *path
	name  string
	index int // an element's place, −1 for a member
}

func (p *path) member(name string) *path { return &path{outer: p, name: name, index: -1} }

func (p *path) element(i int) *path { return &path{outer: p, index: i} }

// String writes p as in the manual of Error. A name that is no plain word is
// quoted in brackets.
func (p *path) String() string {
	switch {
	case p == nil:
		return "$"
	case p.index >= 0:
		return p.outer.String() + "[" + strconv.Itoa(p.index) + "]"
	case plain(p.name):
		return p.outer.String() + "." + p.name
	default:
		return p.outer.String() + "[" + shown(p.name) + "]"
	}
}

// plain reports whether name can be written after a dot.
func plain(name string) bool {
	return name != "" && len(name) <= 64 && strings.IndexFunc(name, func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) < 0
}

// shown quotes text of the document for an error, and no more than a line of it.
func shown(text string) string {
	const most = 64
	if len(text) > most {
		return strconv.QuoteToASCII(text[:most]) + "…"
	}
	return strconv.QuoteToASCII(text)
}

// refuse makes an error at p.
func (p *path) refuse(reason string) *Error { return &Error{Path: p.String(), Reason: reason} }

// because makes an error at p out of what someone else said. An *Error from a
// type that decodes itself keeps its own place, below p.
func (p *path) because(err error) *Error {
	var inner *Error
	if errors.As(err, &inner) {
		return &Error{Path: p.String() + strings.TrimPrefix(inner.Path, "$"), Reason: inner.Reason, cause: err}
	}
	return &Error{Path: p.String(), Reason: err.Error(), cause: err}
}
