package marks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"holdfast/internal/problem"
)

// Mended is what could be made of a damaged document.
type Mended struct {
	Data []byte   // a whole document with what hydrated
	Kept int      // how many marks that is
	Lost []string // a sentence for each thing that could not be read, or has no room
}

// Mend makes a whole document of a damaged one: what hydrates stays, as it was
// written. Its rev is another one than before, where that could be read, so that
// whoever waits sees it. The first few of many losses are told one by one.
//
// A document of another version of the format is not damaged, and is refused:
// its open questions would be taken for lost.
func Mend(data []byte) (Mended, error) {
	c := read(data)
	if v, other := c.otherVersion(); other {
		return Mended{}, problem.Refusal("marks-version", "The marks of this booth are of another version (%s), which this program does not read. Nothing was changed.", v).
			WithHint("use the version of holdfast that wrote them")
	}
	if c.members == nil {
		c.members = map[string]json.RawMessage{}
	}
	d := &Document{content: c}
	d.touch()
	if err := d.shrink(); err != nil {
		return Mended{}, err
	}
	out, err := d.Encode()
	return Mended{out, len(d.entries), d.damage}, err
}

// otherVersion says whether a document is one of another version of the format.
func (c *content) otherVersion() (string, bool) {
	var schema string
	if json.Unmarshal(c.members["schema"], &schema) != nil {
		return "", false
	}
	return schema, schema != Schema && strings.HasPrefix(schema, "holdfast.marks/v")
}

// shrink takes away what [MaxSize] has no room for, what matters least before
// the rest: members that mean nothing here, then notes and flags, then questions
// that are settled, then open ones; of a kind, what comes later.
func (d *Document) shrink() error {
	room := MaxSize - 256 // the braces, schema and rev
	var entries [3][]int  // their places, by how much they matter
	sizes := make([]int, len(d.entries))
	for i, e := range d.entries {
		var line bytes.Buffer
		if err := e.write(&line); err != nil {
			return err
		}
		sizes[i] = line.Len() + len(",\n")
		rank := 2
		if p, ok := e.mark.(Pick); ok && p.Open() {
			rank = 0
		} else if ok {
			rank = 1
		}
		entries[rank] = append(entries[rank], i)
	}
	var stay []int
	var lost []string
	for _, i := range slices.Concat(entries[:]...) {
		if sizes[i] > room {
			lost = append(lost, fmt.Sprintf("mark %.100q has no room", d.entries[i].mark.ID()))
			continue
		}
		room -= sizes[i]
		stay = append(stay, i)
	}
	d.damagedEach(lost)
	slices.Sort(stay)
	kept := make([]entry, 0, len(stay))
	for _, i := range stay {
		kept = append(kept, d.entries[i])
	}
	d.entries = kept
	return d.shrinkMembers(room)
}

func (d *Document) shrinkMembers(room int) error {
	var lost []string
	for _, name := range slices.Sorted(maps.Keys(d.members)) {
		key, err := compact(name)
		if err != nil {
			return err
		}
		size := len(key) + len(d.members[name]) + len(":,")
		if size > room {
			lost = append(lost, fmt.Sprintf("the member %.100q has no room", name))
			delete(d.members, name)
			continue
		}
		room -= size
	}
	d.damagedEach(lost)
	return nil
}
