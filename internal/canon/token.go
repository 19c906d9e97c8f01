package canon

import (
	"strconv"
	"strings"
	"unicode/utf16"
)

// text reads a string, which begins at the parser's place, and returns it
// unescaped.
func (p *parser) text(here *path) (string, error) {
	p.at++ // the quotation mark
	var out strings.Builder
	if n := p.plain(); n > 0 {
		if p.at+n < len(p.data) && p.data[p.at+n] == '"' {
			p.at += n + 1
			return string(p.data[p.at-n-1 : p.at-1]), nil
		}
		out.Write(p.data[p.at : p.at+n])
		p.at += n
	}
	for p.at < len(p.data) {
		c := p.data[p.at]
		switch {
		case c == '"':
			p.at++
			return out.String(), nil
		case c < ' ':
			return "", p.unexpected(here, "a character of a string")
		case c == '\\':
			r, err := p.escape(here)
			if err != nil {
				return "", err
			}
			out.WriteRune(r)
		default:
			out.WriteByte(c)
			p.at++
		}
	}
	return "", p.unexpected(here, "the end of a string")
}

// plain is how many bytes stand here that mean themselves.
func (p *parser) plain() int {
	for i, c := range p.data[p.at:] {
		if c < ' ' || c == '"' || c == '\\' {
			return i
		}
	}
	return len(p.data) - p.at
}

// escape reads one escaped character.
func (p *parser) escape(here *path) (rune, error) {
	p.at++ // the backslash
	if p.at == len(p.data) {
		return 0, p.unexpected(here, "an escape")
	}
	if p.data[p.at] == 'u' {
		return p.unicode(here)
	}
	i := strings.IndexByte(`"\/bfnrt`, p.data[p.at])
	if i < 0 {
		return 0, p.unexpected(here, "an escape")
	}
	p.at++
	return rune("\"\\/\b\f\n\r\t"[i]), nil
}

// unicode reads uXXXX, and the second half where that is one of a pair.
func (p *parser) unicode(here *path) (rune, error) {
	first, err := p.hex(here)
	if err != nil || !utf16.IsSurrogate(first) {
		return first, err
	}
	if p.at+1 < len(p.data) && p.data[p.at] == '\\' && p.data[p.at+1] == 'u' {
		p.at++
		second, err := p.hex(here)
		if err != nil {
			return 0, err
		}
		if r := utf16.DecodeRune(first, second); r != '\uFFFD' {
			return r, nil
		}
	}
	return 0, here.refuse("half a surrogate pair in a string")
}

// hex reads a u and four digits.
func (p *parser) hex(here *path) (rune, error) {
	p.at++ // the u
	for i := range 4 {
		if p.at+i >= len(p.data) || !isHex(p.data[p.at+i]) {
			p.at = min(p.at+i, len(p.data))
			return 0, p.unexpected(here, "a hexadecimal digit")
		}
	}
	v, err := strconv.ParseUint(string(p.data[p.at:p.at+4]), 16, 32)
	p.at += 4
	return rune(v), err
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// number reads a number by the grammar of RFC 8259.
func (p *parser) number(here *path) (node, error) {
	if p.at < len(p.data) && p.data[p.at] == '-' {
		p.at++
	}
	if p.at < len(p.data) && p.data[p.at] == '0' {
		p.at++
	} else if !p.digits() {
		return node{}, p.unexpected(here, "a value")
	}
	if p.at < len(p.data) && p.data[p.at] == '.' {
		p.at++
		if !p.digits() {
			return node{}, p.unexpected(here, "a digit")
		}
	}
	if p.at < len(p.data) && (p.data[p.at] == 'e' || p.data[p.at] == 'E') {
		p.at++
		if p.at < len(p.data) && (p.data[p.at] == '+' || p.data[p.at] == '-') {
			p.at++
		}
		if !p.digits() {
			return node{}, p.unexpected(here, "a digit")
		}
	}
	return node{kind: number}, nil
}

// digits passes one digit or more.
func (p *parser) digits() bool {
	start := p.at
	for p.at < len(p.data) && '0' <= p.data[p.at] && p.data[p.at] <= '9' {
		p.at++
	}
	return p.at > start
}

// maxInteger is the largest integer of canonical JSON: all up to here are
// doubles, and no other integer rounds to one of them.
const maxInteger = 1<<53 - 1

// checkNumbers refuses the numbers below n that canonical JSON would write as
// other numbers.
func checkNumbers(n node, here *path) error {
	for i, e := range n.elements {
		if err := checkNumbers(e, here.element(i)); err != nil {
			return err
		}
	}
	for _, m := range n.members {
		if err := checkNumbers(m.value, here.member(m.name)); err != nil {
			return err
		}
	}
	if n.kind != number {
		return nil
	}
	return checkNumber(string(n.raw), here)
}

func checkNumber(literal string, here *path) error {
	f, err := strconv.ParseFloat(literal, 64)
	switch {
	case err != nil:
		return here.refuse("the number is beyond a double")
	case f == 0 && literal[0] == '-':
		return here.refuse("negative zero has no canonical form")
	case f == 0 && strings.ContainsAny(mantissa(literal), "123456789"):
		return here.refuse("the number is too small for a double")
	case !strings.ContainsAny(literal, ".eE") && !exact(literal, f):
		return here.refuse("the whole number loses digits in a double; keep it in a string")
	}
	return nil
}

// mantissa is the literal up to its exponent.
func mantissa(literal string) string {
	if i := strings.IndexAny(literal, "eE"); i >= 0 {
		return literal[:i]
	}
	return literal
}

// exact reports whether the digits of a whole number are those that its double
// is written with: either it is an integer that every double holds, or it is
// how such a large double is spelt.
func exact(literal string, f float64) bool {
	return -maxInteger <= f && f <= maxInteger || literal == strconv.FormatFloat(f, 'f', -1, 64)
}
