// Package plain makes text of unknown origin fit to be looked at.
//
// File names are bytes, and what a worker writes is hostile until shown
// otherwise: a name may hold line ends, terminal escapes, bytes that are no
// UTF-8, or code points that turn the direction of what follows. [Text] keeps
// what can be read and writes the rest as visible escapes, so that two different
// names never look the same because one of them hides something.
//
// The result is for eyes only. It still needs the escaping of its sink (HTML,
// JSON), and is no way back to the exact bytes.
package plain

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Unicode makes exact bytes fit for JSON, which holds Unicode only: what is not
// UTF-8 is U+FFFD.
func Unicode(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// Lines is [Text] for what may have several lines: their ends stay.
func Lines(s string) string {
	lines := strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
	for i, l := range lines {
		lines[i] = Text(l)
	}
	return strings.Join(lines, "\n")
}

// Text is s with everything invisible or misleading written out: \n, \x1b, \xff
// for a byte that is no UTF-8, \u202e for a code point that turns direction or
// does not show.
func Text(s string) string {
	if !needsWork(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < 0x80 && hidden(r):
			fmt.Fprintf(&b, `\x%02x`, r)
		case hidden(r) && r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		case hidden(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

func needsWork(s string) bool {
	for i, r := range s {
		if hidden(r) || (r == utf8.RuneError && s[i] != 0xef) {
			return true
		}
	}
	return !utf8.ValidString(s)
}

// hidden says that a code point does not show as itself: controls, formats
// (direction marks, joiners, tags), separators of lines, private use.
func hidden(r rune) bool {
	if r == ' ' {
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs)
}

// Size writes a count of bytes for people, as in 1.4 MB; one decimal below ten.
func Size(n int64) string {
	const unit = 1000
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	v, i := float64(n)/unit, 0
	for v >= 999.5 && i < len("kMGTPE")-1 {
		v /= unit
		i++
	}
	if v < 9.95 {
		return fmt.Sprintf("%.1f %cB", v, "kMGTPE"[i])
	}
	return fmt.Sprintf("%.0f %cB", v, "kMGTPE"[i])
}

// Count writes n with a noun, as in "1 item" and "3 items".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
