// Package marks is what people and workers have said in a booth: notes, flags
// and picks (questions) with their answers, as the bytes of its .marks.json.
//
// The document is
//
//	{"schema":"holdfast.marks/v1","rev":N,"marks":[…]}
//
// and is the one open document of the house: members that this version does not
// know are allowed, mean nothing to it and outlast a rewrite. Duplicate members,
// duplicate mark ids and an entry that does not hydrate are damage.
//
// [Parse] gives one answer to both questions that are asked of a read: what can
// be shown (leniently, the entries that hydrate) and whether the whole could be
// read (strictly, Damage is empty). A page shows the first; a decision to delete
// needs the second.
//
// [Edit] opens an undamaged document for a change: its methods ask, answer,
// withdraw, note and flag, each whole or not at all, and raise rev at most once
// for all of them. [Mend] makes a whole document of a damaged one.
//
// Nothing here reads a clock, a file or who asks: the caller says.
package marks

import (
	"fmt"
	"strings"
	"time"
)

// File is the document's name in a booth.
const File = ".marks.json"

// Schema names the format that this package reads and writes.
const Schema = "holdfast.marks/v1"

// MaxSize is the most that a document may hold, in bytes.
const MaxSize = 4 << 20

// Reading is the outcome of one read. Marks holds what hydrated, in the order of
// the document; Damage is one sentence for each thing that did not, empty when
// the whole was read.
type Reading struct {
	Rev    int64
	Marks  []Mark
	Damage []string
}

// Whole says that nothing in the document failed to be read.
func (r Reading) Whole() bool { return len(r.Damage) == 0 }

// Why joins the damage into one line, empty when there is none.
func (r Reading) Why() string { return strings.Join(r.Damage, "; ") }

// Picks are the questions, in the order of the document.
func (r Reading) Picks() []Pick {
	var picks []Pick
	for _, m := range r.Marks {
		if p, ok := m.(Pick); ok {
			picks = append(picks, p)
		}
	}
	return picks
}

// Open counts the picks that still owe an answer.
func (r Reading) Open() int {
	n := 0
	for _, p := range r.Picks() {
		if p.Open() {
			n++
		}
	}
	return n
}

// Oldest is when the question that has been open longest was asked; false where
// none is open, or none says when.
func (r Reading) Oldest() (time.Time, bool) {
	var oldest time.Time
	for _, p := range r.Picks() {
		if p.Open() && p.At != nil && (oldest.IsZero() || p.At.Before(oldest)) {
			oldest = *p.At
		}
	}
	return oldest, !oldest.IsZero()
}

// Pick finds a question by its id.
func (r Reading) Pick(id string) (Pick, bool) {
	for _, p := range r.Picks() {
		if p.MarkID == id {
			return p, true
		}
	}
	return Pick{}, false
}

// Asked are those of the ids that are questions here.
func (r Reading) Asked(ids []string) []string {
	var asked []string
	for _, id := range ids {
		if _, ok := r.Pick(id); ok {
			asked = append(asked, id)
		}
	}
	return asked
}

// Damaged is the reading of a document of which nothing can be read.
func Damaged(format string, args ...any) Reading {
	return Reading{Damage: []string{fmt.Sprintf(format, args...)}}
}

// Parse reads a document that is there. Empty and blank bytes are damage: no
// writer of ours makes such a file, so something went wrong.
func Parse(data []byte) Reading {
	if len(data) > MaxSize {
		return Damaged("it holds more than %d bytes", MaxSize)
	}
	c := read(data)
	return c.reading()
}
