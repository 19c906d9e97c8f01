package canon

import (
	"bytes"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/gowebpki/jcs"
)

// write appends the canonical form of n, which encoding/json wrote.
func write(out []byte, n node) ([]byte, error) {
	switch n.kind {
	case array:
		return writeArray(out, n.elements)
	case object:
		return writeObject(out, n.members)
	case number:
		return writeNumber(out, n.raw)
	case text:
		return writeText(out, n.raw)
	case null, boolean:
	}
	return append(out, n.raw...), nil
}

func writeArray(out []byte, elements []node) ([]byte, error) {
	var err error
	out = append(out, '[')
	for i, e := range elements {
		if i > 0 {
			out = append(out, ',')
		}
		if out, err = write(out, e); err != nil {
			return nil, err
		}
	}
	return append(out, ']'), nil
}

func writeObject(out []byte, members []member) ([]byte, error) {
	var err error
	if !slices.IsSortedFunc(members, byUTF16) {
		members = slices.Clone(members)
		slices.SortFunc(members, byUTF16)
	}
	out = append(out, '{')
	for i, m := range members {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(appendText(out, m.name), ':')
		if out, err = write(out, m.value); err != nil {
			return nil, err
		}
	}
	return append(out, '}'), nil
}

// byUTF16 is the order of members: by the UTF-16 code units of their names. Up to the
// first byte that is not ASCII that is the order of bytes.
func byUTF16(a, b member) int {
	for i := range min(len(a.name), len(b.name)) {
		x, y := a.name[i], b.name[i]
		if x >= utf8.RuneSelf || y >= utf8.RuneSelf {
			return slices.Compare(utf16.Encode([]rune(a.name)), utf16.Encode([]rune(b.name)))
		}
		if x != y {
			return int(x) - int(y)
		}
	}
	return len(a.name) - len(b.name)
}

// writeNumber writes the digits of an integer as they are: checkWritten has found that
// a double holds it.
func writeNumber(out, raw []byte) ([]byte, error) {
	if string(raw) == "-0" {
		return append(out, '0'), nil
	}
	if !bytes.ContainsAny(raw, ".eE") {
		return append(out, raw...), nil
	}
	v, err := strconv.ParseFloat(string(raw), 64)
	if err != nil {
		return nil, err
	}
	text, err := jcs.NumberToJSON(v)
	return append(out, text...), err
}

// writeText writes a string that stands in raw with its marks.
func writeText(out, raw []byte) ([]byte, error) {
	if bytes.IndexByte(raw, '\\') < 0 {
		return append(out, raw...), nil // encoding/json escapes all that must be, and more
	}
	words, err := (&parser{data: raw}).text(nil)
	return appendText(out, words), err
}

// appendText appends a string with its marks, and escapes what RFC 8785 does.
func appendText(out []byte, words string) []byte {
	const short = "\b\t\n\f\r\"\\"
	out = append(out, '"')
	for i := range len(words) {
		c := words[i]
		switch at := bytes.IndexByte([]byte(short), c); {
		case at >= 0:
			out = append(out, '\\', `btnfr"\`[at])
		case c < ' ':
			out = append(out, `\u00`...)
			out = append(out, "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
		default:
			out = append(out, c)
		}
	}
	return append(out, '"')
}
