package desk

import (
	"path"
	"strings"
	"time"

	"holdfast/internal/booth"
	"holdfast/internal/booth/folder"
	"holdfast/internal/booth/lifetime"
	"holdfast/internal/plain"
)

// card is a booth as the index and every page header show it.
type card struct {
	Name       string
	Title      string
	Named      bool // the title is not the name
	URL        string
	Kind       string
	Count      string
	Size       string
	Line       string
	LifeClass  string // open, damaged, kept, counting
	OpenBeside string // how many picks are open; empty for none
	Cover      string
	Delete     string // where the × goes
}

func (d *Desk) card(l booth.Look) card {
	name := l.Name.String()
	c := card{
		Name:  plain.Text(name),
		Title: clip(plain.Text(l.Title())),
		Named: l.Title() != name,
		URL:   d.Base.URL("b", name, ""),
		Kind:  l.Kind.String(),
		Count: plain.Count(len(l.Items), "item"),
		Size:  plain.Size(l.Survey.Bytes),
		Line:  plain.Text(l.Line()),

		Delete: d.Base.URL("b", name, "delete"),
	}
	c.LifeClass, c.OpenBeside = lifeClass(l)
	return c
}

// clip ends a title that goes on and on.
func clip(s string) string {
	const most = 200
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// lifeClass is the look of the lifetime line, and the count of open picks that
// stands beside it.
func lifeClass(l booth.Look) (class, beside string) {
	open := l.Marks.Open()
	if open > 0 {
		beside = plain.Count(open, "open question")
	}
	switch s := l.State.(type) {
	case lifetime.Kept:
		if s.Marks != "" {
			return "damaged", beside
		}
		return "kept", beside
	case lifetime.Held:
		if s.Reason == lifetime.Open {
			return "open", beside
		}
		return "damaged", beside
	case lifetime.Counting:
	}
	return "counting", beside
}

func isKept(l booth.Look) bool {
	_, kept := l.State.(lifetime.Kept)
	return kept
}

// Most bytes of a picture that a page of many loads by itself.
const (
	maxCover = 512 << 10
	maxTile  = 4 << 20
)

// cover is the first small picture of a booth.
func cover(items []folder.Item) (folder.ItemPath, bool) {
	for _, it := range items[:min(len(items), 200)] {
		if it.Size <= maxCover && isPicture(it.Path.String()) {
			return it.Path, true
		}
	}
	return folder.ItemPath{}, false
}

func isPicture(name string) bool {
	return strings.HasPrefix(byExtension[strings.ToLower(path.Ext(name))], "image/")
}

// lane is a part of the index.
type lane struct {
	ID, Title, About string
	entries          []*entry
}

// lanesOf sorts booths into what waits, what needs repair, what counts down and
// what is kept. A booth is in each lane that it belongs to, and in at least one.
func lanesOf(booths map[string]*entry) []lane {
	waiting := lane{ID: "waiting", Title: "Waiting for you", About: "questions without an answer"}
	repair := lane{ID: "repair", Title: "Needs repair", About: "held for another reason than a question"}
	counting := lane{ID: "counting", Title: "Counting down", About: "goes when nobody touches it"}
	kept := lane{ID: "kept", Title: "Kept", About: "stays until it is released"}
	for _, e := range sorted(booths, newestFirst) {
		switch s := e.state.(type) {
		case lifetime.Kept:
			kept.entries = append(kept.entries, e)
			if s.Marks != "" {
				repair.entries = append(repair.entries, e)
			}
		case lifetime.Held:
			if s.Reason != lifetime.Open {
				repair.entries = append(repair.entries, e)
			}
		case lifetime.Counting:
			counting.entries = append(counting.entries, e)
		}
	}
	for _, e := range sorted(booths, longestWaiting) {
		if e.open {
			waiting.entries = append(waiting.entries, e)
		}
	}
	return []lane{waiting, repair, counting, kept}
}

// newestFirst has the newest stamp first.
func newestFirst(a, b *entry) int { return b.newest.Compare(a.newest) }

// longestWaiting has the oldest open question first. One that does not say when
// it was asked counts from the newest stamp.
func longestWaiting(a, b *entry) int { return a.since.Compare(b.since) }

// ago says how long before now a time was.
func ago(t, now time.Time) string {
	d := now.Sub(t)
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return plain.Count(int(d/time.Minute), "minute") + " ago"
	case d < 48*time.Hour:
		return plain.Count(int(d/time.Hour), "hour") + " ago"
	default:
		return plain.Count(int(d/(24*time.Hour)), "day") + " ago"
	}
}
