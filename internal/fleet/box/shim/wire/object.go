package wire

import "strconv"

// Object writes one object of canonical JSON. Its members are to be added in the order of
// their names.
type Object struct{ bytes []byte }

func (o *Object) name(name string) {
	c := byte(',')
	if len(o.bytes) == 0 {
		c = '{'
	}
	o.bytes = append(append(append(o.bytes, c, '"'), name...), '"', ':')
}

// Number adds a number below 2^53.
func (o *Object) Number(name string, n uint64) {
	o.name(name)
	o.bytes = strconv.AppendUint(o.bytes, n, 10)
}

// Bool adds a truth.
func (o *Object) Bool(name string, b bool) {
	o.name(name)
	o.bytes = strconv.AppendBool(o.bytes, b)
}

// Text adds a text. What is not printable ASCII becomes a question mark.
func (o *Object) Text(name, text string) {
	o.name(name)
	o.bytes = append(o.bytes, '"')
	for _, c := range []byte(text) {
		switch {
		case c == '"' || c == '\\':
			o.bytes = append(o.bytes, '\\', c)
		case c < ' ' || c > '~':
			o.bytes = append(o.bytes, '?')
		default:
			o.bytes = append(o.bytes, c)
		}
	}
	o.bytes = append(o.bytes, '"')
}

// Bytes ends the object.
func (o *Object) Bytes() []byte { return append(o.bytes, '}') }
