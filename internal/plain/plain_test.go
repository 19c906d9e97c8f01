package plain

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// TestWhatHidesIsWrittenOut: case B06. Red when hidden forgets unicode.Cf.
func TestWhatHidesIsWrittenOut(t *testing.T) {
	for in, want := range map[string]string{
		"plain name.png":        "plain name.png",
		"größe é 日本":            "größe é 日本",
		"photo\u202Egnp.exe":    `photo\u202egnp.exe`,
		"new\nline":             `new\nline`,
		"\x1b[2Jclear":          `\x1b[2Jclear`,
		"bad\xff\xfebytes":      `bad\xff\xfebytes`,
		"zero\u200bwidth":       `zero\u200bwidth`,
		"tag\U000E0041":         `tag\U000e0041`,
		"real \uFFFD character": "real \uFFFD character",
		"half \xef":             `half \xef`,
	} {
		if got := Text(in); got != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestTextNeverHides(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		out := Text(string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")))
		if !utf8.ValidString(out) || strings.ContainsFunc(out, unicode.IsControl) {
			t.Fatalf("%q is not fit to show", out)
		}
		if Text(out) != out {
			t.Fatalf("%q is not a fixed point", out)
		}
	})
}

func TestSizesRoundAndNeverOverflowTheirUnit(t *testing.T) {
	for in, want := range map[int64]string{
		0: "0 B", 999: "999 B", 1000: "1.0 kB", 1440: "1.4 kB", 9960: "10 kB", 999_499: "999 kB",
		999_500: "1.0 MB", 1 << 30: "1.1 GB", 1<<63 - 1: "9.2 EB",
	} {
		if got := Size(in); got != want {
			t.Errorf("Size(%d) = %q, want %q", in, got, want)
		}
	}
}

// Red when Lines gives the whole to Text, or ends a line at a bare carriage return.
func TestLinesKeepTheirEnds(t *testing.T) {
	if got := Lines("a\r\nb\n\x1b[2J\rc"); got != "a\nb\n"+Text("\x1b[2J\rc") || strings.Contains(got, "\r") {
		t.Errorf("%q", got)
	}
}
