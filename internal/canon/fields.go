package canon

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// field is one member that a struct has.
type field struct {
	index    []int
	optional bool // its tag has omitempty or omitzero
}

// known has what [fieldsOf] found out, by type: a program has few, and asks of each
// value of theirs.
var known sync.Map

// members are those of a struct type.
type members struct {
	fields map[string]field
	names  []string // sorted
	err    error
}

// fieldsOf lists the members of a struct type by name, which must not be changed, and
// their names in order. The error says what in the type has no one meaning.
func fieldsOf(t reflect.Type) (map[string]field, []string, error) {
	if m, ok := known.Load(t); ok {
		m := m.(members)
		return m.fields, m.names, m.err
	}
	m := members{fields: make(map[string]field)}
	if m.err = addFields(m.fields, t, nil); m.err == nil {
		m.names = slices.Sorted(maps.Keys(m.fields))
	}
	known.Store(t, m)
	return m.fields, m.names, m.err
}

// addFields adds the members of t, which stands at index in the outer struct.
func addFields(fields map[string]field, t reflect.Type, index []int) error {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, tagged := f.Tag.Lookup("json")
		name, options, _ := strings.Cut(tag, ",")
		at := append(append([]int(nil), index...), i)
		switch {
		case tag == "-":
			continue
		case f.Anonymous && name == "":
			if err := addEmbedded(fields, t, f, at); err != nil {
				return err
			}
			continue
		case !f.IsExported():
			continue
		case !tagged || name == "":
			name = f.Name
		}
		if err := addField(fields, t, name, options, at); err != nil {
			return err
		}
	}
	return nil
}

// addEmbedded adds the members of an embedded struct to those of t.
func addEmbedded(fields map[string]field, t reflect.Type, f reflect.StructField, at []int) error {
	if f.Type.Kind() != reflect.Struct || decodesItself(f.Type) {
		return fmt.Errorf("cannot decode into the type %s: it embeds %s, which is no plain struct", t, f.Type)
	}
	return addFields(fields, f.Type, at)
}

func decodesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(unmarshalerType) || p.Implements(textUnmarshalerType)
}

func addField(fields map[string]field, t reflect.Type, name, options string, at []int) error {
	f := field{index: at}
	for option := range strings.SplitSeq(options, ",") {
		switch option {
		case "":
		case "omitempty", "omitzero":
			f.optional = true
		default:
			return fmt.Errorf("cannot decode into the type %s: the tag of %q has the option %q", t, name, option)
		}
	}
	if _, twice := fields[name]; twice {
		return fmt.Errorf("cannot decode into the type %s: it has %q twice", t, name)
	}
	fields[name] = f
	return nil
}

// firstMissing is the first of the names whose field is required that given lacks.
func firstMissing(fields map[string]field, names []string, given map[string]bool) (string, bool) {
	for _, name := range names {
		if !fields[name].optional && !given[name] {
			return name, true
		}
	}
	return "", false
}
