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
	r := Parse(data)
	if !r.Whole() {
		return nil, RefuseDamaged(r)
	}
	return &Document{content: read(data)}, nil
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
func (d *Document) Reading() Reading {
	r := Reading{Rev: d.rev}
	for _, e := range d.entries {
		r.Marks = append(r.Marks, e.mark)
	}
	return r
}

// Encode writes the document, a mark to a line. More than [MaxSize] is refused.
func (d *Document) Encode() ([]byte, error) {
	var out bytes.Buffer
	schema, err := compact(Schema)
	if err != nil {
		return nil, err
	}
	d.members["schema"] = schema
	out.WriteByte('{')
	for _, name := range slices.Sorted(maps.Keys(d.members)) {
		if name == "rev" || name == "marks" {
			continue
		}
		key, err := compact(name)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&out, "%s:%s,", key, d.members[name])
	}
	fmt.Fprintf(&out, "\"rev\":%d,\"marks\":[", d.rev)
	for i, e := range d.entries {
		line, err := compact(e.raw)
		if err != nil {
			return nil, err
		}
		out.WriteString(map[bool]string{true: "\n", false: ",\n"}[i == 0])
		out.Write(line)
	}
	out.WriteString("\n]}\n")
	if out.Len() > MaxSize {
		return nil, problem.Refusal(problem.StepTooLarge, "The marks of this booth would hold more than %d bytes. Nothing was changed.", MaxSize)
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

// touch raises rev, once for all that one edit does.
func (d *Document) touch() int64 {
	if !d.changed {
		d.changed = true
		d.rev++
	}
	return d.rev
}

// put writes members of entry i, nil to take one away, and reads it anew: what is
// written is what a reader will find.
func (d *Document) put(i int, members map[string]any) error {
	raw := maps.Clone(d.entries[i].raw)
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
	return nil
}

// nextID is a fresh id: a letter for the shape and a number beyond every one
// that the document has.
func (d *Document) nextID(letter string) string {
	most := 0
	for _, e := range d.entries {
		if digits, ok := strings.CutPrefix(e.mark.ID(), letter); ok {
			if n, err := strconv.Atoi(digits); err == nil && n < 1<<31 {
				most = max(most, n)
			}
		}
	}
	return letter + strconv.Itoa(most+1)
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
	raw := d.entries[i].raw
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
