package marks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"holdfast/internal/canon"
)

// maxRev is the largest rev that every reader of JSON can hold.
const maxRev = 1<<53 - 1

// maxBroken is how many broken entries are told one by one.
const maxBroken = 10

// content is a document taken apart, as far as that could be done.
type content struct {
	members map[string]json.RawMessage // all but rev and marks
	rev     int64
	entries []entry
	damage  []string
}

// entry is a mark, and how it is written.
type entry struct {
	line json.RawMessage
	mark Mark
}

func (c *content) damaged(format string, args ...any) {
	c.damage = append(c.damage, fmt.Sprintf(format, args...))
}

// damagedEach says the first of many things, and how many more there are.
func (c *content) damagedEach(all []string) {
	c.damage = append(c.damage, all[:min(len(all), maxBroken)]...)
	if len(all) > maxBroken {
		c.damaged("and %d more", len(all)-maxBroken)
	}
}

// read takes a document apart. Of one that is damaged as a whole it takes what
// can be had.
func read(data []byte) content {
	var c content
	switch {
	case len(data) == 0:
		c.damaged("it is empty")
		return c
	case len(bytes.TrimSpace(data)) == 0:
		c.damaged("it is blank")
		return c
	}
	if err := canon.Scan(data); err != nil {
		c.damaged("%s", reason(err))
		c.salvage(data)
		return c
	}
	if err := json.Unmarshal(data, &c.members); err != nil {
		c.damaged("it is no marks document: %s", reason(err))
		return c
	}
	var doc struct {
		Schema *string            `json:"schema"`
		Rev    *int64             `json:"rev"`
		Marks  *[]json.RawMessage `json:"marks"`
	}
	if err := canon.DecodeOpen(data, &doc); err != nil {
		c.damaged("it is no marks document: %s", reason(err))
		c.salvage(data)
		return c
	}
	switch {
	case doc.Schema != nil && *doc.Schema != Schema:
		c.damaged("its schema %q is not one that this version reads", *doc.Schema)
	case doc.Schema == nil || doc.Rev == nil || doc.Marks == nil:
		c.damaged("it is no marks document: schema, rev or marks is missing")
	case *doc.Rev < 0:
		c.damaged("its rev %d is negative", *doc.Rev)
	case *doc.Rev > maxRev:
		c.damaged("its rev %d is too large", *doc.Rev)
	default:
		delete(c.members, "rev")
		delete(c.members, "marks")
		c.rev = *doc.Rev
		c.add(*doc.Marks)
		return c
	}
	c.salvage(data)
	return c
}

// reading is what a reader is told of it.
func (c *content) reading() Reading {
	r := Reading{Rev: c.rev, Damage: c.damage}
	for _, e := range c.entries {
		r.Marks = append(r.Marks, e.mark)
	}
	return r
}

// add hydrates entries one by one, so that one bad entry does not hide its
// neighbours.
func (c *content) add(all []json.RawMessage) {
	seen, broken := map[string]bool{}, []string{}
	for i, raw := range all {
		e, err := newEntry(raw)
		if err == nil && seen[e.mark.ID()] {
			err = fmt.Errorf("its id %q is taken by an earlier one", e.mark.ID())
		}
		if err != nil {
			broken = append(broken, fmt.Sprintf("mark %d cannot be read: %s", i+1, reason(err)))
			continue
		}
		seen[e.mark.ID()] = true
		c.entries = append(c.entries, e)
	}
	c.damagedEach(broken)
}

func newEntry(raw json.RawMessage) (entry, error) {
	if err := within(raw, 2); err != nil {
		return entry{}, err
	}
	m, err := hydrate(raw)
	if err != nil {
		return entry{}, err
	}
	return entry{line: raw, mark: m}, nil
}

// members are those that the mark is written with.
func (e entry) members() (map[string]json.RawMessage, error) {
	var members map[string]json.RawMessage
	err := json.Unmarshal(e.line, &members)
	return members, err
}

// write writes the mark as it was written, on one line.
func (e entry) write(out *bytes.Buffer) error { return json.Compact(out, e.line) }

// within refuses a value that is too deep to stand levels deep in a document.
func within(raw json.RawMessage, levels int) error {
	if bytes.Count(raw, []byte("{"))+bytes.Count(raw, []byte("["))+levels <= canon.MaxDepth {
		return nil
	}
	return canon.Scan(slices.Concat(bytes.Repeat([]byte("["), levels), raw, bytes.Repeat([]byte("]"), levels)))
}

// salvage takes what stands before the place where a document breaks off. Of a
// member that is there twice the first stays, but for the marks: all of them do.
// Those of another schema may mean something else, and none of them is taken.
func (c *content) salvage(data []byte) {
	dec := json.NewDecoder(bytes.NewReader(data))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return
	}
	c.members = map[string]json.RawMessage{}
	var found []json.RawMessage
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			break
		}
		if name, _ := t.(string); name == "marks" {
			found, err = salvageList(dec, found)
		} else {
			err = c.salvageMember(dec, name)
		}
		if err != nil {
			break
		}
	}
	if schema, said := c.members["schema"]; !said || string(schema) == strconv.Quote(Schema) {
		c.add(found)
	}
}

func (c *content) salvageMember(dec *json.Decoder, name string) error {
	var value json.RawMessage
	if err := dec.Decode(&value); err != nil {
		return err
	}
	if name == "rev" {
		rev, err := strconv.ParseInt(string(value), 10, 64)
		if err == nil && 0 <= rev && rev <= maxRev {
			c.rev = max(c.rev, rev)
		}
		return nil
	}
	if _, twice := c.members[name]; twice || canon.Scan(value) != nil || within(value, 1) != nil {
		return nil
	}
	c.members[name] = value
	return nil
}

func salvageList(dec *json.Decoder, found []json.RawMessage) ([]json.RawMessage, error) {
	if t, err := dec.Token(); err != nil || t != json.Delim('[') {
		return found, errors.Join(err, errors.New("marks is no list"))
	}
	for dec.More() {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return found, err
		}
		found = append(found, raw)
	}
	_, err := dec.Token()
	return found, err
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
