package canon

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
)

// Decode reads data, all of it, into what v points to, by the rules of the
// package. What v held before plays no part, and stays if Decode fails. The
// error is an [*Error], which wraps [ErrEmpty] or [ErrBlank] where there was no
// document.
//
// A type with its own UnmarshalJSON is given its value as it was written, and is
// as strict as it is itself; it is never given null.
func Decode(data []byte, v any) error {
	var root *path
	target := reflect.ValueOf(v)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		return root.refuse(fmt.Sprintf("cannot decode into %T: it is no pointer to a value", v))
	}
	n, err := parse(data)
	if err != nil {
		return err
	}
	if err := checkNumbers(n, root); err != nil {
		return err
	}
	fresh := reflect.New(target.Type().Elem())
	if err := fill(fresh.Elem(), n, root); err != nil {
		return err
	}
	target.Elem().Set(fresh.Elem())
	return nil
}

var (
	rawType             = reflect.TypeFor[json.RawMessage]()
	unmarshalerType     = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// fill sets v, which is addressable and zero, to n.
func fill(v reflect.Value, n node, here *path) error {
	t := v.Type()
	switch {
	case t == rawType:
		v.SetBytes(append([]byte(nil), n.raw...))
		return nil
	case n.kind == null:
		return fillNull(v, here)
	case t.Kind() == reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		return fill(v.Elem(), n, here)
	case reflect.PointerTo(t).Implements(unmarshalerType):
		return leaf(v, n, n.kind, here)
	case reflect.PointerTo(t).Implements(textUnmarshalerType):
		return leaf(v, n, text, here)
	}
	return fillKind(v, n, here)
}

// fillNull sets v to null if its type has a place for it.
func fillNull(v reflect.Value, here *path) error {
	if v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface && v.NumMethod() == 0 {
		return nil
	}
	return here.refuse("null where a value is wanted")
}

// fillKind sets v, of a type that does not decode itself, to n, which is not
// null.
func fillKind(v reflect.Value, n node, here *path) error {
	switch v.Kind() {
	case reflect.Struct:
		return fillStruct(v, n, here)
	case reflect.Map:
		return fillMap(v, n, here)
	case reflect.Slice:
		if isBytes(v.Type()) {
			return leaf(v, n, text, here)
		}
		return fillList(v, n, here)
	case reflect.Array:
		return fillList(v, n, here)
	case reflect.Bool:
		return leaf(v, n, boolean, here)
	case reflect.String:
		return fillText(v, n, here)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return fillInteger(v, n, here)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return fillInteger(v, n, here)
	case reflect.Float32, reflect.Float64:
		return fillFloat(v, n, here)
	case reflect.Interface:
		if v.NumMethod() == 0 {
			return leaf(v, n, n.kind, here)
		}
	}
	return here.refuse(fmt.Sprintf("cannot decode into the type %s", v.Type()))
}

// leaf leaves n, which must be of kind want, to encoding/json. It has been
// parsed and its numbers checked, so that nothing is left to be lenient about.
func leaf(v reflect.Value, n node, want kind, here *path) error {
	if n.kind != want {
		return here.refuse(fmt.Sprintf("%s where %s is wanted", n.kind, want))
	}
	if err := json.Unmarshal(n.raw, v.Addr().Interface()); err != nil {
		return here.because(err)
	}
	return nil
}

// fillText sets a string. A json.Number would be a second way to write a
// number, with digits that Encode cannot keep.
func fillText(v reflect.Value, n node, here *path) error {
	if v.Type() == reflect.TypeFor[json.Number]() {
		return here.refuse("cannot decode into the type json.Number")
	}
	return leaf(v, n, text, here)
}

func fillInteger(v reflect.Value, n node, here *path) error {
	if n.kind != number {
		return here.refuse(fmt.Sprintf("%s where an integer is wanted", n.kind))
	}
	if v.CanUint() {
		u, err := strconv.ParseUint(string(n.raw), 10, 64)
		if err != nil || v.OverflowUint(u) || u > maxInteger {
			return here.refuse(fmt.Sprintf("%s is not %s from 0 up", shown(string(n.raw)), bounded(v)))
		}
		v.SetUint(u)
		return nil
	}
	i, err := strconv.ParseInt(string(n.raw), 10, 64)
	if err != nil || v.OverflowInt(i) || i > maxInteger || i < -maxInteger {
		return here.refuse(fmt.Sprintf("%s is not %s", shown(string(n.raw)), bounded(v)))
	}
	v.SetInt(i)
	return nil
}

// bounded names the integers that v has room for.
func bounded(v reflect.Value) string {
	return fmt.Sprintf("an integer of at most %d bits", min(v.Type().Bits(), 53))
}

func fillFloat(v reflect.Value, n node, here *path) error {
	if n.kind != number {
		return here.refuse(fmt.Sprintf("%s where a number is wanted", n.kind))
	}
	f, err := strconv.ParseFloat(string(n.raw), v.Type().Bits())
	if err != nil {
		return here.refuse(fmt.Sprintf("the number does not fit %d bits", v.Type().Bits()))
	}
	v.SetFloat(f)
	return nil
}

// isBytes reports whether encoding/json writes the slice type t in base64.
func isBytes(t reflect.Type) bool {
	p := reflect.PointerTo(t.Elem())
	return t.Elem().Kind() == reflect.Uint8 && !p.Implements(marshalerType) && !p.Implements(textMarshalerType)
}

// fillList sets a slice, or an array, which must have as many elements.
func fillList(v reflect.Value, n node, here *path) error {
	if n.kind != array {
		return here.refuse(fmt.Sprintf("%s where an array is wanted", n.kind))
	}
	if v.Kind() == reflect.Slice {
		v.Set(reflect.MakeSlice(v.Type(), len(n.elements), len(n.elements)))
	}
	if v.Len() != len(n.elements) {
		return here.refuse(fmt.Sprintf("%d elements where %d are wanted", len(n.elements), v.Len()))
	}
	for i, e := range n.elements {
		if err := fill(v.Index(i), e, here.element(i)); err != nil {
			return err
		}
	}
	return nil
}

// fillMap sets a map whose keys are plain strings.
func fillMap(v reflect.Value, n node, here *path) error {
	t := v.Type()
	if t.Key().Kind() != reflect.String || reflect.PointerTo(t.Key()).Implements(textUnmarshalerType) {
		return here.refuse(fmt.Sprintf("cannot decode into the type %s: its keys are no plain strings", t))
	}
	if n.kind != object {
		return here.refuse(fmt.Sprintf("%s where an object is wanted", n.kind))
	}
	v.Set(reflect.MakeMapWithSize(t, len(n.members)))
	for _, m := range n.members {
		value := reflect.New(t.Elem()).Elem()
		if err := fill(value, m.value, here.member(m.name)); err != nil {
			return err
		}
		v.SetMapIndex(reflect.ValueOf(m.name).Convert(t.Key()), value)
	}
	return nil
}

// fillStruct sets a struct: each member to its field, each field from a member.
func fillStruct(v reflect.Value, n node, here *path) error {
	fields, names, err := fieldsOf(v.Type())
	if err != nil {
		return here.refuse(err.Error())
	}
	if n.kind != object {
		return here.refuse(fmt.Sprintf("%s where an object is wanted", n.kind))
	}
	given := make(map[string]bool, len(n.members))
	for _, m := range n.members {
		f, ok := fields[m.name]
		if !ok {
			return here.member(m.name).refuse("the member is not known here")
		}
		given[m.name] = true
		if err := fill(v.FieldByIndex(f.index), m.value, here.member(m.name)); err != nil {
			return err
		}
	}
	if name, ok := firstMissing(fields, names, given); ok {
		return here.member(name).refuse("the member is missing")
	}
	return nil
}
