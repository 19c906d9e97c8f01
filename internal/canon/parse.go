package canon

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// kind is what a value of a document is.
type kind uint8

const (
	null kind = iota + 1
	boolean
	number
	text
	array
	object
)

// String is the kind's name in an error.
func (k kind) String() string {
	return [...]string{"nothing", "null", "a boolean", "a number", "a string", "an array", "an object"}[k]
}

// node is one value of a document that Scan would accept.
type node struct {
	kind     kind
	raw      []byte   // the value as it was written
	elements []node   // of an array
	members  []member // of an object, in the order of the document
}

type member struct {
	name  string
	value node
}

// Scan checks that data is a document in the sense of the package: one
// well-formed value, in UTF-8, no member twice, no deeper than [MaxDepth]. It
// looks at no type and no number's size. The error is an [*Error].
func Scan(data []byte) error {
	_, err := parse(data)
	return err
}

// parse reads the whole of data as one value.
func parse(data []byte) (node, error) {
	var root *path
	if err := readable(data); err != nil {
		return node{}, err
	}
	p := parser{data: data}
	n, err := p.value(root, 0)
	if err != nil {
		return node{}, err
	}
	if p.skip(); p.at < len(p.data) {
		return node{}, root.refuse(fmt.Sprintf("more follows the document at byte %d", p.at))
	}
	return n, nil
}

// readable refuses bytes that hold no document whatever its grammar.
func readable(data []byte) error {
	var root *path
	switch {
	case len(data) == 0:
		return root.because(ErrEmpty)
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		return root.refuse("the document begins with a byte order mark")
	case len(bytes.Trim(data, " \t\r\n")) == 0:
		return root.because(ErrBlank)
	case utf8.Valid(data):
		return nil
	}
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return root.refuse(fmt.Sprintf("byte %d is not UTF-8", i))
		}
		i += size
	}
	return nil
}

// parser walks data, which is valid UTF-8, once from left to right.
type parser struct {
	data []byte
	at   int
}

// skip passes white space.
func (p *parser) skip() {
	for p.at < len(p.data) && bytes.IndexByte([]byte(" \t\r\n"), p.data[p.at]) >= 0 {
		p.at++
	}
}

// next passes white space and says what comes then, 0 at the end.
func (p *parser) next() byte {
	p.skip()
	if p.at == len(p.data) {
		return 0
	}
	return p.data[p.at]
}

// take passes c if it comes next.
func (p *parser) take(c byte) bool {
	if p.next() != c || p.at == len(p.data) {
		return false
	}
	p.at++
	return true
}

// unexpected is the error for what stands at the parser's place.
func (p *parser) unexpected(here *path, wanted string) error {
	if p.at >= len(p.data) {
		return here.refuse("the document ends where " + wanted + " is wanted")
	}
	r, _ := utf8.DecodeRune(p.data[p.at:])
	return here.refuse(fmt.Sprintf("%s at byte %d where %s is wanted", strconv.QuoteRuneToASCII(r), p.at, wanted))
}

// value reads one value, which stands depth arrays and objects deep.
func (p *parser) value(here *path, depth int) (node, error) {
	first := p.next()
	start := p.at
	n, err := p.begin(first, here, depth)
	n.raw = p.data[start:p.at]
	return n, err
}

// begin reads the value that starts with first.
func (p *parser) begin(first byte, here *path, depth int) (node, error) {
	if depth == MaxDepth && (first == '{' || first == '[') {
		return node{}, here.refuse(fmt.Sprintf("deeper than %d levels", MaxDepth))
	}
	switch first {
	case '{':
		return p.object(here, depth+1)
	case '[':
		return p.array(here, depth+1)
	case '"':
		_, err := p.text(here)
		return node{kind: text}, err
	case 't':
		return p.word("true", boolean, here)
	case 'f':
		return p.word("false", boolean, here)
	case 'n':
		return p.word("null", null, here)
	default:
		return p.number(here)
	}
}

func (p *parser) word(word string, k kind, here *path) (node, error) {
	if !bytes.HasPrefix(p.data[p.at:], []byte(word)) {
		return node{}, p.unexpected(here, "a value")
	}
	p.at += len(word)
	return node{kind: k}, nil
}

func (p *parser) array(here *path, depth int) (node, error) {
	p.at++ // the bracket
	n := node{kind: array}
	if p.take(']') {
		return n, nil
	}
	for {
		v, err := p.value(here.element(len(n.elements)), depth)
		if err != nil {
			return node{}, err
		}
		n.elements = append(n.elements, v)
		switch {
		case p.take(']'):
			return n, nil
		case !p.take(','):
			return node{}, p.unexpected(here, "a comma or ]")
		}
	}
}

func (p *parser) object(here *path, depth int) (node, error) {
	p.at++ // the brace
	n := node{kind: object}
	if p.take('}') {
		return n, nil
	}
	seen := make(map[string]bool)
	for {
		m, err := p.member(here, depth, seen)
		if err != nil {
			return node{}, err
		}
		n.members = append(n.members, m)
		switch {
		case p.take('}'):
			return n, nil
		case !p.take(','):
			return node{}, p.unexpected(here, "a comma or }")
		}
	}
}

// member reads one member whose name, once unescaped, is not in seen.
func (p *parser) member(here *path, depth int, seen map[string]bool) (member, error) {
	if p.next() != '"' {
		return member{}, p.unexpected(here, "a member's name")
	}
	name, err := p.text(here)
	if err != nil {
		return member{}, err
	}
	if seen[name] {
		return member{}, here.member(name).refuse("the member is there twice")
	}
	seen[name] = true
	if !p.take(':') {
		return member{}, p.unexpected(here.member(name), "a colon")
	}
	v, err := p.value(here.member(name), depth)
	return member{name: name, value: v}, err
}
