package marks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/internal/problem"
)

// Document is an undamaged document that is being changed. It is for one
// goroutine; whoever changes one that lies in a booth has the booth's lock.
type Document struct {
	content

	changed bool
	added   bool // something was asked or remarked, not only answered
}

// Who is the author of a change, as the caller knows them.
type Who struct {
	By  string // the operator's principal, or who the worker says it is
	Via string // page, cli or token
	At  time.Time
}

// Edit opens a document for a change; nil bytes are a booth without marks. One
// that is damaged is refused: what cannot be read cannot be kept whole.
func Edit(data []byte) (*Document, error) {
	if data == nil {
		return &Document{content: content{members: map[string]json.RawMessage{}}}, nil
	}
	if len(data) > MaxSize {
		return nil, RefuseDamaged(Parse(data))
	}
	c := read(data)
	if r := c.reading(); !r.Whole() {
		return nil, RefuseDamaged(r)
	}
	return &Document{content: c}, nil
}

// StepDamaged refuses a change of marks that cannot be read whole.
const StepDamaged = "marks-damaged"

// RefuseDamaged says that marks which cannot be read are not written over.
func RefuseDamaged(r Reading) *problem.Error {
	return problem.Refusal(StepDamaged, "The marks of this booth cannot be read: %s. Nothing was changed.", r.Why()).
		WithHint("holdfast booth repair NAME keeps the damaged file and writes back what can be read")
}

// Changed says whether there is anything to write.
func (d *Document) Changed() bool { return d.changed }

// Reading is the document as it now is.
func (d *Document) Reading() Reading { return d.reading() }

// answerRoom is what a document keeps free for answers, in bytes: without room for
// one, a question would hold its booth for ever.
const answerRoom = 512 << 10

// Encode writes the document, a mark to a line. More than [MaxSize] is refused; to
// what is asked and remarked, what answers need is no room.
func (d *Document) Encode() ([]byte, error) {
	var out bytes.Buffer
	schema, err := compact(Schema)
	if err != nil {
		return nil, err
	}
	d.members["schema"] = schema
	out.WriteByte('{')
	for _, name := range slices.Sorted(maps.Keys(d.members)) {
		key, err := compact(name)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&out, "%s:%s,", key, d.members[name])
	}
	fmt.Fprintf(&out, "\"rev\":%d,\"marks\":[", d.rev)
	for i, e := range d.entries {
		out.WriteString(map[bool]string{true: "\n", false: ",\n"}[i == 0])
		if err := e.write(&out); err != nil {
			return nil, err
		}
	}
	out.WriteString("\n]}\n")
	most := MaxSize
	if d.added {
		most -= answerRoom
	}
	if out.Len() > most {
		return nil, problem.Refusal(problem.StepTooLarge, "The marks of this booth would hold more than %d bytes. Nothing was changed.", most)
	}
	return out.Bytes(), nil
}

func compact(v any) (json.RawMessage, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSpace(out.Bytes()), err
}

// next is the rev that the document has after this edit. It begins again after
// the largest: whoever waits asks for another one, not for a larger one.
func (d *Document) next() int64 {
	if d.changed {
		return d.rev
	}
	return d.rev%maxRev + 1
}

// touch raises rev, once for all that one edit does.
func (d *Document) touch() { d.rev, d.changed = d.next(), true }

// put writes members of entry i, nil to take one away, and reads it anew: what is
// written is what a reader will find.
func (d *Document) put(i int, members map[string]any) error {
	raw, err := d.entries[i].members()
	if err != nil {
		return err
	}
	for name, v := range members {
		if v == nil {
			delete(raw, name)
			continue
		}
		value, err := compact(v)
		if err != nil {
			return err
		}
		raw[name] = value
	}
	e, err := entryOf(raw)
	if err != nil {
		return err
	}
	d.entries[i] = e
	d.touch()
	return nil
}

func entryOf(raw map[string]json.RawMessage) (entry, error) {
	line, err := compact(raw)
	if err != nil {
		return entry{}, err
	}
	return newEntry(line)
}

// append adds a mark of its own shape.
func (d *Document) append(shape string, m Mark) error {
	line, err := compact(m)
	if err != nil {
		return err
	}
	raw := map[string]json.RawMessage{}
	if err := json.Unmarshal(line, &raw); err != nil {
		return err
	}
	raw["shape"] = json.RawMessage(strconv.Quote(shape))
	e, err := entryOf(raw)
	if err != nil {
		return err
	}
	d.entries = append(d.entries, e)
	d.added = true
	d.touch()
	return nil
}

// nextID is a fresh id: a letter for the shape and a number beyond those that
// the document has.
func (d *Document) nextID(letter string) string {
	taken, most := map[string]bool{}, uint64(0)
	for _, e := range d.entries {
		taken[e.mark.ID()] = true
		if digits, ok := strings.CutPrefix(e.mark.ID(), letter); ok {
			if n, err := strconv.ParseUint(digits, 10, 32); err == nil {
				most = max(most, n)
			}
		}
	}
	for { // one round, unless ids that are no numbers of ours follow
		most++
		if id := letter + strconv.FormatUint(most, 10); !taken[id] {
			return id
		}
	}
}

// pick finds a question.
func (d *Document) pick(id string) (int, Pick, error) {
	for i, e := range d.entries {
		if p, ok := e.mark.(Pick); ok && p.MarkID == id {
			return i, p, nil
		}
	}
	return 0, Pick{}, problem.New(problem.Gone, StepPick, "There is no question %q in this booth.", id)
}

// StepPick: no question has the id that was named.
const StepPick = "pick"

func (w Who) ident(id string) Ident {
	at := w.At.UTC().Truncate(time.Millisecond)
	return Ident{MarkID: id, By: w.By, At: &at}
}

// supersede is what entry i has superseded, its present answer with it, as they
// were written.
func (d *Document) supersede(i int, why string) ([]json.RawMessage, error) {
	var all []json.RawMessage
	raw, err := d.entries[i].members()
	if err != nil {
		return nil, err
	}
	if before, ok := raw["superseded"]; ok {
		if err := json.Unmarshal(before, &all); err != nil {
			return nil, err
		}
	}
	last, err := compact(struct {
		Answer json.RawMessage `json:"answer"`
		Why    string          `json:"why"`
	}{raw["answer"], why})
	return append(all, last), err
}
