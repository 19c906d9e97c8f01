package desk

import (
	"path"
	"slices"
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
	OpenBeside string // open picks that the line does not speak of
	Cover      string
}

func (d *Desk) card(l booth.Look) card {
	name := l.Name.String()
	c := card{
		Name:  plain.Text(name),
		Title: plain.Text(l.Title()),
		Named: l.Title() != name,
		URL:   d.Base.URL("b", name, ""),
		Kind:  l.Kind.String(),
		Count: plain.Count(len(l.Items), "item"),
		Size:  plain.Size(l.Survey.Bytes),
		Line:  plain.Text(l.Line()),
	}
	c.LifeClass, c.OpenBeside = lifeClass(l)
	return c
}

// lifeClass is the look of the lifetime line, and the count of open picks
// where the line itself does not say that there are any.
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
	Cards            []card
}

// lanes sorts booths into what waits, what needs repair, what counts down and
// what is kept. A booth is in each lane that it belongs to, and in at least one.
func (d *Desk) lanes(looks []booth.Look, cover func(booth.Look) string) []lane {
	looks = slices.Clone(looks)
	slices.SortStableFunc(looks, newestFirst)
	waiting := lane{ID: "waiting", Title: "Waiting for you", About: "questions without an answer"}
	repair := lane{ID: "repair", Title: "Needs repair", About: "something in it cannot be read, so nothing is decided"}
	counting := lane{ID: "counting", Title: "Counting down", About: "goes when nobody touches it"}
	kept := lane{ID: "kept", Title: "Kept", About: "stays until it is released"}
	for _, l := range looks {
		c := d.card(l)
		c.Cover = cover(l)
		if l.Marks.Open() > 0 {
			waiting.Cards = append(waiting.Cards, c)
		}
		switch s := l.State.(type) {
		case lifetime.Kept:
			kept.Cards = append(kept.Cards, c)
			if s.Marks != "" {
				repair.Cards = append(repair.Cards, c)
			}
		case lifetime.Held:
			if s.Reason != lifetime.Open {
				repair.Cards = append(repair.Cards, c)
			}
		case lifetime.Counting:
			counting.Cards = append(counting.Cards, c)
		}
	}
	slices.Reverse(waiting.Cards) // what has waited longest comes first
	var out []lane
	for _, ln := range []lane{waiting, repair, counting, kept} {
		if len(ln.Cards) > 0 {
			out = append(out, ln)
		}
	}
	return out
}

// newestFirst is a total order: the newest stamp first, then by name.
func newestFirst(a, b booth.Look) int {
	if c := b.Survey.Newest.At.Compare(a.Survey.Newest.At); c != 0 {
		return c
	}
	return strings.Compare(a.Name.String(), b.Name.String())
}

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
