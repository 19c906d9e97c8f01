package intake

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"holdfast/internal/roadmap/event"
)

// card is an item's card, as far as a card can say it.
func (o *orders) card(it item) event.Card {
	card := event.Card{Title: oneLine(it.title), Priority: it.priority, Labels: o.labels(it.labels)}
	body := strings.TrimSpace(it.body)
	if len(card.Title) > event.MaxLine {
		body = it.title + "\n\n" + body
		card.Title = cut(card.Title, event.MaxLine)
		o.Left["titles that were cut, and are whole in the body"]++
	}
	var whole bool
	if card.Body, whole = o.text(body); !whole {
		o.Left["bodies that were cut"]++
	}
	return card
}

// text is a text that an event can hold, and whether it is all of it.
func (o *orders) text(s string) (string, bool) {
	s = strings.ReplaceAll(s, "\x00", "")
	if len(s) <= event.MaxText {
		return s, true
	}
	return cut(s, event.MaxText), false
}

// oneLine is a text without what would end a line.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
	return strings.TrimSpace(s)
}

// cut is the beginning of a text, in at most so many bytes.
func cut(s string, most int) string {
	const mark = "…"
	end := most - len(mark)
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + mark
}

// mostLabels is how many labels a card may have.
const mostLabels = 64

func (o *orders) labels(list []string) []string {
	var out []string
	for _, l := range list {
		if l = oneLine(l); l == "" {
			continue
		}
		if len(l) > event.MaxLabel || len(out) == mostLabels {
			o.Left["labels that are too long or too many"]++
			continue
		}
		if !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	slices.Sort(out)
	return out
}

// free is a name that is not taken, made of an item's title: what it is called in
// the source goes with it where another one has that title, and a number where that
// is not enough.
func free(taken map[event.Node]bool, it item) event.Node {
	base := slug(it.title)
	if base == "" {
		base = "node"
	}
	if n := event.Node(base); !taken[n] {
		return n
	}
	id := slug(it.source[strings.LastIndexByte(it.source, '/')+1:])
	for i := 1; ; i++ {
		suffix := id
		if i > 1 || id == "" {
			suffix = strings.Trim(id+"-"+strconv.Itoa(i), "-")
		}
		room := max(1, event.MaxNode-len(suffix)-1)
		n := event.Node(strings.Trim(base[:min(len(base), room)], "-") + "-" + suffix)
		if !taken[n] {
			return n
		}
	}
}

// longest is how long a name made of a title may get: it is typed by people.
const longest = 48

// slug is a text in lower-case letters and digits, in words joined by hyphens.
// Letters that are none of those are left out.
func slug(s string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(s) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case r == '\'' || r == '’':
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	out := strings.Trim(b.String(), "-")
	if len(out) <= longest {
		return out
	}
	out = out[:longest]
	if at := strings.LastIndexByte(out, '-'); at > longest/2 {
		out = out[:at]
	}
	return strings.Trim(out, "-")
}
