package marks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"holdfast/internal/canon"
)

// maxBroken is how many broken entries are told one by one.
const maxBroken = 10

// content is a document taken apart, as far as that could be done.
type content struct {
	members map[string]json.RawMessage // all but rev and marks
	rev     int64
	entries []entry
	damage  []string
}

// entry is a mark and the members that it is written with.
type entry struct {
	raw  map[string]json.RawMessage
	mark Mark
}

func (c *content) damaged(format string, args ...any) {
	c.damage = append(c.damage, fmt.Sprintf(format, args...))
}

// read takes a document apart. Of one that is no document as a whole it takes
// the entries that come before the place where it breaks.
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
		return c
	}
	switch {
	case doc.Schema == nil || doc.Rev == nil || doc.Marks == nil:
		c.damaged("it is no marks document: schema, rev or marks is missing")
	case *doc.Schema != Schema:
		c.damaged("its schema %q is not one that this version reads", *doc.Schema)
	case *doc.Rev < 0:
		c.damaged("its rev %d is negative", *doc.Rev)
	default:
		c.rev = *doc.Rev
		c.add(*doc.Marks)
	}
	return c
}

// add hydrates entries one by one, so that one bad entry does not hide its
// neighbours.
func (c *content) add(all []json.RawMessage) {
	seen, broken := map[string]bool{}, 0
	for i, raw := range all {
		e, err := newEntry(raw)
		if err == nil && seen[e.mark.ID()] {
			err = fmt.Errorf("its id %q is taken by an earlier one", e.mark.ID())
		}
		if err != nil {
			if broken++; broken <= maxBroken {
				c.damaged("mark %d cannot be read: %s", i+1, reason(err))
			}
			continue
		}
		seen[e.mark.ID()] = true
		c.entries = append(c.entries, e)
	}
	if broken > maxBroken {
		c.damaged("and %d more", broken-maxBroken)
	}
}

func newEntry(raw json.RawMessage) (entry, error) {
	m, err := hydrate(raw)
	if err != nil {
		return entry{}, err
	}
	e := entry{mark: m}
	return e, json.Unmarshal(raw, &e.raw)
}

// salvage takes what stands before the place where a document breaks off.
func (c *content) salvage(data []byte) {
	dec := json.NewDecoder(bytes.NewReader(data))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return
	}
	var rev int64
	var found []json.RawMessage
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			break
		}
		switch name {
		case "rev":
			err = dec.Decode(&rev)
		case "marks":
			found, err = salvageList(dec)
		default:
			var other json.RawMessage
			err = dec.Decode(&other)
		}
		if err != nil {
			break
		}
	}
	c.rev = max(rev, 0)
	c.add(found)
}

func salvageList(dec *json.Decoder) (found []json.RawMessage, err error) {
	if t, err := dec.Token(); err != nil || t != json.Delim('[') {
		return nil, errors.Join(err, errors.New("marks is no list"))
	}
	for dec.More() {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return found, err
		}
		found = append(found, raw)
	}
	_, err = dec.Token()
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
