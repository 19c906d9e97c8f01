package canon

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
)

// DecodeOpen reads a document that others may add members to: those that v has
// no field for are left out, and fields that no member is given for stay zero.
// In all else it is encoding/json but for two things: the document is one that
// [Scan] accepts, and a member's name is exact. encoding/json would take "TITLE"
// for "title", and the last of the two for both, so that a member which means
// nothing could put another one out of force.
func DecodeOpen(data []byte, v any) error {
	var root *path
	t := reflect.TypeOf(v)
	if t == nil || t.Kind() != reflect.Pointer {
		return root.refuse(fmt.Sprintf("cannot decode into %T: it is no pointer to a value", v))
	}
	n, err := parse(data)
	if err != nil {
		return err
	}
	known, err := prune(n, t)
	if err != nil {
		return root.refuse(err.Error())
	}
	return json.Unmarshal(known, v)
}

// prune is n without the members that t has no field for.
func prune(n node, t reflect.Type) ([]byte, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == rawType || decodesItself(t) {
		return n.raw, nil
	}
	switch {
	case n.kind == object && t.Kind() == reflect.Struct:
		fields, _, err := fieldsOf(t)
		if err != nil {
			return nil, err
		}
		return pruneMembers(n, func(name string) (reflect.Type, bool) {
			f, ok := fields[name]
			if !ok {
				return nil, false
			}
			return t.FieldByIndex(f.index).Type, true
		})
	case n.kind == object && t.Kind() == reflect.Map:
		return pruneMembers(n, func(string) (reflect.Type, bool) { return t.Elem(), true })
	case n.kind == array && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array):
		return pruneElements(n, t.Elem())
	default:
		return n.raw, nil
	}
}

// pruneMembers keeps the members of an object that typeOf has a type for.
func pruneMembers(n node, typeOf func(name string) (reflect.Type, bool)) ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for _, m := range n.members {
		t, known := typeOf(m.name)
		if !known {
			continue
		}
		name, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		value, err := prune(m.value, t)
		if err != nil {
			return nil, err
		}
		if out.Len() > 1 {
			out.WriteByte(',')
		}
		out.Write(name)
		out.WriteByte(':')
		out.Write(value)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

func pruneElements(n node, t reflect.Type) ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('[')
	for i, e := range n.elements {
		value, err := prune(e, t)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out.WriteByte(',')
		}
		out.Write(value)
	}
	out.WriteByte(']')
	return out.Bytes(), nil
}
