package pages

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"holdfast/internal/plain"
	"holdfast/internal/roadmap"
	"holdfast/internal/roadmap/event"
)

// How many events a page shows, and how much of one's bytes.
const (
	maxEvents = 50
	maxBytes  = 16 << 10
)

type historyView struct {
	Events []eventView // the newest first
	Count  string
	Pager  pager
}

type eventView struct {
	Anchor, ID string
	By         *who
	Line, At   string
	Time       string // for programs
	Parents    []string
	Aside      bool
	Bytes      string
	Cut        bool // not all of the bytes are here
}

func (p *Pages) history(r *http.Request, events []roadmap.Entry) historyView {
	newest := slices.Clone(events)
	slices.Reverse(newest)
	shown, pager := turn(newest, maxEvents, r.URL.Query().Get("events"), func(n int) string {
		return p.here(r, url.Values{"events": {strconv.Itoa(n)}}) + "#history"
	})
	return historyView{Events: views(shown), Count: plain.Count(len(events), "event"), Pager: pager}
}

func views(events []roadmap.Entry) []eventView {
	out := make([]eventView, len(events))
	for i, e := range events {
		out[i] = viewOf(e)
	}
	return out
}

func viewOf(e roadmap.Entry) eventView {
	v := eventView{
		Anchor: "e-" + e.ID.Short(), ID: string(e.ID), By: person(e.Author), Line: clip(e.Line, 400), At: stamp(e.At),
		Time: e.At.UTC().Format("2006-01-02T15:04:05Z"), Aside: e.Aside, Bytes: e.Bytes, Cut: len(e.Bytes) > maxBytes,
	}
	v.Bytes = head(v.Bytes, maxBytes)
	for _, id := range e.Parents {
		v.Parents = append(v.Parents, id.Short())
	}
	return v
}

// forkView is the lines of a node that has several, side by side.
type forkView struct {
	Common string    // how many events they share
	After  eventView // the newest of those
	Shared bool      // there is one
	Lines  []forkLine
}

type forkLine struct {
	Head   string
	Events []eventView // the oldest first
	More   string
	Keep   *form // empty where the reader may not
}

// fork takes the history apart: what all heads build on, and what each has beyond.
func (p *Pages) fork(r *http.Request, d roadmap.Whole) *forkView {
	lines, common := forkOf(d.Events, d.Standing.Heads)
	v := &forkView{Common: plain.Count(len(common), "event")}
	if len(common) > 0 {
		v.After, v.Shared = viewOf(common[len(common)-1]), true
	}
	for i, h := range d.Standing.Heads {
		l := forkLine{Head: h.Short()}
		first := max(0, len(lines[i])-maxEvents)
		l.Events = views(lines[i][first:])
		if first > 0 {
			l.More = plain.Count(first, "earlier event")
		}
		if p.mayAct(r) {
			f := p.form(r, d, actNamed("reconcile"), nil)
			f.hide("keep", string(h))
			l.Keep = &f
		}
		v.Lines = append(v.Lines, l)
	}
	return v
}

// forkOf is what each head has that not all have, and what all have; both in the
// order of events.
func forkOf(events []roadmap.Entry, heads []event.ID) (lines [][]roadmap.Entry, common []roadmap.Entry) {
	byID := make(map[event.ID]roadmap.Entry, len(events))
	for _, e := range events {
		byID[e.ID] = e
	}
	count := map[event.ID]int{}
	reached := make([]map[event.ID]bool, len(heads))
	for i, h := range heads {
		reached[i] = ancestors(byID, h)
		for id := range reached[i] {
			count[id]++
		}
	}
	lines = make([][]roadmap.Entry, len(heads))
	for _, e := range events {
		if count[e.ID] == len(heads) {
			common = append(common, e)
			continue
		}
		for i := range heads {
			if reached[i][e.ID] {
				lines[i] = append(lines[i], e)
			}
		}
	}
	return lines, common
}

// ancestors is an event and all that it builds on.
func ancestors(byID map[event.ID]roadmap.Entry, head event.ID) map[event.ID]bool {
	seen := map[event.ID]bool{}
	for stack := []event.ID{head}; len(stack) > 0; {
		id := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[id] {
			continue
		}
		seen[id] = true
		stack = append(stack, byID[id].Parents...)
	}
	return seen
}
