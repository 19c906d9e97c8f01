// Package marks reads what people and workers have said in a booth: notes, flags
// and picks (questions), from the bytes of its .marks.json.
//
// The document is
//
//	{"schema":"holdfast.marks/v1","rev":N,"marks":[…]}
//
// and is the one open document of the house: members that this version does not
// know are allowed and mean nothing to it. Duplicate members, duplicate mark ids
// and an entry that does not hydrate are damage.
//
// [Parse] gives one answer to both questions that are asked of a read: what can
// be shown (leniently, the entries that hydrate) and whether the whole could be
// read (strictly, Damage is empty). A page shows the first; a decision to delete
// needs the second.
package marks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"holdfast/internal/canon"
)

// File is the document's name in a booth.
const File = ".marks.json"

// Schema names the format that this package reads.
const Schema = "holdfast.marks/v1"

// MaxSize is the most that a document may hold, in bytes.
const MaxSize = 4 << 20

// maxBroken is how many broken entries are told one by one.
const maxBroken = 10

// Reading is the outcome of one read. Marks holds what hydrated; Damage is one
// sentence for each thing that did not, empty when the whole was read.
type Reading struct {
	Rev    int64
	Marks  []Mark
	Damage []string
}

// Whole says that nothing in the document failed to be read.
func (r Reading) Whole() bool { return len(r.Damage) == 0 }

// Why joins the damage into one line, empty when there is none.
func (r Reading) Why() string { return strings.Join(r.Damage, "; ") }

// Open counts the picks that still owe an answer.
func (r Reading) Open() int {
	n := 0
	for _, m := range r.Marks {
		if p, ok := m.(Pick); ok && p.Open() {
			n++
		}
	}
	return n
}

// Damaged is the reading of a document of which nothing can be read.
func Damaged(format string, args ...any) Reading {
	return Reading{Damage: []string{fmt.Sprintf(format, args...)}}
}

// document is the outer shape; entries hydrate one by one, so that one bad
// entry does not hide its neighbours.
type document struct {
	Schema *string            `json:"schema"`
	Rev    *int64             `json:"rev"`
	Marks  *[]json.RawMessage `json:"marks"`
}

// Parse reads a document that is there. Empty and blank bytes are damage: no
// writer of ours makes such a file, so something went wrong.
func Parse(data []byte) Reading {
	if len(data) > MaxSize {
		return Damaged("it holds more than %d bytes", MaxSize)
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return Damaged("it is %s", map[bool]string{true: "empty", false: "blank"}[len(data) == 0])
	}
	if err := canon.Scan(data); err != nil {
		return Damaged("%s", reason(err))
	}
	var doc document
	if err := canon.DecodeOpen(data, &doc); err != nil {
		return Damaged("it is no marks document: %s", reason(err))
	}
	switch {
	case doc.Schema == nil || doc.Rev == nil || doc.Marks == nil:
		return Damaged("it is no marks document: schema, rev or marks is missing")
	case *doc.Schema != Schema:
		return Damaged("its schema %q is not one that this version reads", *doc.Schema)
	case *doc.Rev < 0:
		return Damaged("its rev %d is negative", *doc.Rev)
	}
	r := Reading{Rev: *doc.Rev}
	seen, broken := map[string]bool{}, 0
	for i, raw := range *doc.Marks {
		m, err := hydrate(raw)
		if err == nil && seen[m.ID()] {
			err = fmt.Errorf("its id %q is taken by an earlier one", m.ID())
		}
		if err != nil {
			broken++
			if broken <= maxBroken {
				r.Damage = append(r.Damage, fmt.Sprintf("mark %d cannot be read: %s", i+1, reason(err)))
			}
			continue
		}
		seen[m.ID()] = true
		r.Marks = append(r.Marks, m)
	}
	if broken > maxBroken {
		r.Damage = append(r.Damage, fmt.Sprintf("and %d more", broken-maxBroken))
	}
	return r
}

// reason is the part of an error that says what is wrong with the bytes.
func reason(err error) string {
	var bad *json.UnmarshalTypeError
	if errors.As(err, &bad) {
		return fmt.Sprintf("%s is a %s", orThe(bad.Field), bad.Value)
	}
	return err.Error()
}

func orThe(field string) string {
	if field == "" {
		return "it"
	}
	return field
}
