// Package intake turns what other trackers write out into statements for the plan.
//
// [Read] takes bytes: GitHub's issues (an array, or one object a line, from its REST
// API or from "gh issue list --json"), the lines that trackers kept in git write, and
// the plan's own export. All of it is read before anything comes of it; a line that is
// torn or no JSON is an error that names the line.
//
// [Batch.Against] makes commands of it, against what the log has. Each command's key
// is derived from the source's own ids, so that what was imported before is found
// again and not stated twice, under whatever name the node got; what has changed in
// the source since is said, and left alone. Blockers come before what waits for
// them. The commands for a new node each expect the event before, so that a name
// which somebody else takes meanwhile gets nothing of it.
//
// The author is whoever imports: who wrote what, and when, is said in the texts.
// Nobody is claimed for, since who holds a node is for them to say. What cannot be
// carried over is counted. Only the plan's own export keeps authors, times and keys:
// it is the same log again.
package intake

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"holdfast/internal/canon"
	"holdfast/internal/problem"
	"holdfast/internal/roadmap/event"
)

// Formats that can be named. Without a name it is told from the bytes.
const (
	GitHub = "github"
	JSONL  = "jsonl"
)

// Batch is what was read of a source.
type Batch struct {
	From   string // which format it was: github, tracker or export
	items  []item
	replay []event.Envelope // of an export, in the log's order
	left   Left
}

// Size is how many units of work, or events of an export, were read.
func (b Batch) Size() int { return len(b.items) + len(b.replay) }

// Left counts what was not carried over, by what it was.
type Left map[string]int

// Count is one of what was not carried over.
type Count struct {
	What  string `json:"what"`
	Count int    `json:"count"`
}

// Counts is all of it, by what it was.
func (l Left) Counts() []Count {
	out := []Count{}
	for _, what := range slices.Sorted(maps.Keys(l)) {
		out = append(out, Count{what, l[what]})
	}
	return out
}

// item is one unit of work of another tracker.
type item struct {
	source   string // what it is called there; unique
	title    string
	body     string
	labels   []string
	priority event.Priority
	comments []comment
	links    []link
	end      event.Body // where it stands, if not open
}

type comment struct {
	source string // unique within the item
	body   string
}

type link struct {
	relation event.Relation
	to       string // the source of another item
}

// Read reads a whole source. It is all of it, or an error.
func Read(format string, data []byte) (Batch, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return Batch{}, refusal("It is empty.")
	}
	records, err := split(data)
	if err != nil {
		return Batch{}, err
	}
	b := Batch{left: Left{}}
	switch {
	case format != "" && format != GitHub && format != JSONL:
		return Batch{}, problem.New(problem.Usage, "import", "%q is no format that can be imported: %s or %s.", format, GitHub, JSONL)
	case format == GitHub, format == "" && records[0].has("number"):
		b.From, err = "github", b.github(records)
	case records[0].is("event"), records[0].is("end"):
		b.From, err = "export", b.export(records)
	default:
		b.From, err = "tracker", b.tracker(records)
	}
	if err != nil {
		return Batch{}, err
	}
	return b, b.unique()
}

func refusal(format string, args ...any) error {
	return problem.Refusal("import", format+" Nothing was imported.", args...)
}

// record is one JSON object, and where it stands.
type record struct {
	where string
	data  []byte
}

func (r record) refuse(format string, args ...any) error {
	return refusal("%s %s.", r.where, fmt.Sprintf(format, args...))
}

// decode reads the members that v names.
func (r record) decode(v any) error {
	if err := canon.DecodeOpen(r.data, v); err != nil {
		return r.refuse("cannot be read: %s", problem.Words(err))
	}
	return nil
}

// has says whether a member is there.
func (r record) has(name string) bool {
	var members map[string]any
	return canon.DecodeOpen(r.data, &members) == nil && members[name] != nil
}

// is says which type of line it is.
func (r record) is(kind string) bool {
	var line struct {
		Type string `json:"type"`
	}
	return canon.DecodeOpen(r.data, &line) == nil && line.Type == kind
}

// unique refuses a source that has one thing twice.
func (b Batch) unique() error {
	seen := map[string]bool{}
	for _, it := range b.items {
		if seen[it.source] {
			return refusal("It has %s twice.", it.source)
		}
		seen[it.source] = true
	}
	return nil
}

// key is the operation key of one statement about an item.
func key(from, source, part string) event.Key {
	sum := sha256.Sum256([]byte(from + "\x00" + source + "\x00" + part))
	return event.Key("import-" + hex.EncodeToString(sum[:16]))
}

// name is the name of an imported comment.
func name(k event.Key) event.Comment {
	return event.Comment("i-" + strings.TrimPrefix(string(k), "import-"))
}
