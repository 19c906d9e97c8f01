package canon

import (
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"unicode/utf8"
)

// Encode writes v as encoding/json would, in the canonical form of RFC 8785,
// without a line's end. It refuses, with an [*Error], what would come out as
// something else (see the package) and what [Decode] could not read back: a nil
// slice or map that is not left out by its tag, a document deeper than
// [MaxDepth].
func Encode(v any) ([]byte, error) {
	var root *path
	loose, err := json.Marshal(v)
	if err != nil {
		return nil, root.because(err)
	}
	// After Marshal, which finds cycles.
	if err := faithful(reflect.ValueOf(v), root); err != nil {
		return nil, err
	}
	n, err := parse(loose)
	if err != nil {
		return nil, err
	}
	if err := checkWritten(n, root); err != nil {
		return nil, err
	}
	out, err := write(make([]byte, 0, len(loose)), n)
	if err != nil {
		return nil, root.because(err)
	}
	return out, nil
}

// Digest is the SHA-256 of what [Encode] writes, in lower-case hexadecimal.
func Digest(v any) (string, error) {
	data, err := Encode(v)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

// checkWritten is checkNumbers, but for the negative zero of a float, whose
// canonical form is 0.
func checkWritten(n node, here *path) error {
	for i, e := range n.elements {
		if err := checkWritten(e, here.element(i)); err != nil {
			return err
		}
	}
	for _, m := range n.members {
		if err := checkWritten(m.value, here.member(m.name)); err != nil {
			return err
		}
	}
	if n.kind != number || string(n.raw) == "-0" {
		return nil
	}
	return checkNumber(string(n.raw), here)
}

var (
	marshalerType     = reflect.TypeFor[json.Marshaler]()
	textMarshalerType = reflect.TypeFor[encoding.TextMarshaler]()
)

// faithful refuses what encoding/json writes without complaint, but as
// something else. It follows v the way encoding/json does.
func faithful(v reflect.Value, here *path) error {
	if !v.IsValid() || marshals(v, marshalerType) {
		return nil // null, or its own words, which are parsed later
	}
	if marshals(v, textMarshalerType) {
		return faithfulText(v, here)
	}
	switch v.Kind() {
	case reflect.String:
		return checkText(v.String(), here)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return checkInteger(v.Int() <= maxInteger && v.Int() >= -maxInteger, here)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return checkInteger(v.Uint() <= maxInteger, here)
	case reflect.Pointer, reflect.Interface:
		return faithful(v.Elem(), here)
	case reflect.Slice, reflect.Array:
		return faithfulList(v, here)
	case reflect.Map:
		return faithfulMap(v, here)
	case reflect.Struct:
		return faithfulStruct(v, here)
	default:
		return nil
	}
}

// marshals reports whether encoding/json calls the method of v.
func marshals(v reflect.Value, method reflect.Type) bool {
	return v.Type().Implements(method) || v.CanAddr() && reflect.PointerTo(v.Type()).Implements(method)
}

// faithfulText checks what a TextMarshaler says, which encoding/json would mend.
func faithfulText(v reflect.Value, here *path) error {
	if v.Kind() == reflect.Pointer && v.IsNil() {
		return nil
	}
	if !v.Type().Implements(textMarshalerType) {
		v = v.Addr()
	}
	m, ok := v.Interface().(encoding.TextMarshaler)
	if !ok {
		return nil
	}
	words, err := m.MarshalText()
	if err != nil {
		return here.because(err)
	}
	return checkText(string(words), here)
}

func checkText(s string, here *path) error {
	if !utf8.ValidString(s) {
		return here.refuse("the string " + shown(s) + " is not UTF-8")
	}
	return nil
}

func checkInteger(fits bool, here *path) error {
	if !fits {
		return here.refuse("the integer is beyond ±(2⁵³−1); keep it in a string")
	}
	return nil
}

func faithfulList(v reflect.Value, here *path) error {
	if v.Kind() == reflect.Slice {
		if v.IsNil() {
			return here.refuse("a nil slice would be written as null")
		}
		if isBytes(v.Type()) {
			return nil
		}
	}
	for i := range v.Len() {
		if err := faithful(v.Index(i), here.element(i)); err != nil {
			return err
		}
	}
	return nil
}

func faithfulMap(v reflect.Value, here *path) error {
	if v.IsNil() {
		return here.refuse("a nil map would be written as null")
	}
	if v.Type().Key().Kind() != reflect.String || marshals(reflect.Zero(v.Type().Key()), textMarshalerType) {
		return here.refuse(fmt.Sprintf("cannot encode the type %s: its keys are no plain strings", v.Type()))
	}
	for entry := v.MapRange(); entry.Next(); {
		name := entry.Key().String()
		if err := checkText(name, here.member(name)); err != nil {
			return err
		}
		if err := faithful(entry.Value(), here.member(name)); err != nil {
			return err
		}
	}
	return nil
}

func faithfulStruct(v reflect.Value, here *path) error {
	fields, names, err := fieldsOf(v.Type())
	if err != nil {
		return here.refuse(err.Error())
	}
	for _, name := range names {
		f := fields[name]
		value := v.FieldByIndex(f.index)
		if f.optional && value.IsZero() {
			continue
		}
		if err := faithful(value, here.member(name)); err != nil {
			return err
		}
	}
	return nil
}
