package history

import (
	"cmp"
	"container/heap"
	"slices"

	"holdfast/internal/roadmap/event"
)

// Ordering is what [Order] found: [Ordered] or [Unordered].
//
//sumtype:decl
type Ordering interface{ ordering() }

// Ordered is one line of events from the first to the single head, and what was
// set aside when forks were mended. Only [Order] makes one that is not empty, so
// that nothing folds what was not ordered.
type Ordered struct {
	line  []event.Event
	aside []event.Event
}

// Unordered is a history that has no single line. It has no holder and no
// comments, and takes nothing but what mends it.
type Unordered struct {
	Node event.Node
	Why  Disorder

	events []event.Event // each once, sorted by id
}

func (Ordered) ordering()   {}
func (Unordered) ordering() {}

// Line is the history that folds, oldest first. It must not be changed.
func (o Ordered) Line() []event.Event { return o.line }

// Aside is the events of lines that no reconciliation kept: each after its
// parents, and else by id. It must not be changed.
func (o Ordered) Aside() []event.Event { return o.aside }

// Head is the newest event. An empty history has none.
func (o Ordered) Head() (event.ID, bool) {
	if len(o.line) == 0 {
		return "", false
	}
	return o.line[len(o.line)-1].ID(), true
}

// Disorder is why a history has no order: [Incomplete] or [Forked]. It is the
// standing of such a node, too.
//
//sumtype:decl
type Disorder interface {
	Standing
	disorder()
}

// Incomplete: events name parents that are not among the node's own.
type Incomplete struct{ Missing []event.ID } // sorted

// Forked: several events have no successor.
type Forked struct{ Heads []event.ID } // sorted

func (Incomplete) disorder() {}
func (Forked) disorder()     {}

// Order is the one authority on the order of a node's history. It takes all
// events of one node, each at least once and in whatever order, and asks in this
// sequence: is a named parent missing; is there nothing; is there one head. Then
// it walks from the head to the first event, past a reconciliation to the head
// that it kept. No clock is asked.
func Order(events []event.Event) Ordering {
	set := setOf(events)
	if missing := set.missing(); len(missing) > 0 {
		return set.unordered(Incomplete{Missing: missing})
	}
	if len(set) == 0 {
		return Ordered{}
	}
	heads := set.heads()
	if len(heads) != 1 {
		return set.unordered(Forked{Heads: heads})
	}
	line := set.line(heads[0])
	return Ordered{line: line, aside: set.without(line).topological()}
}

// set is the events of a node by id.
type set map[event.ID]event.Event

func setOf(events []event.Event) set {
	s := make(set, len(events))
	for _, e := range events {
		s[e.ID()] = e
	}
	return s
}

// missing is the parents that are not there, sorted. An event of another node is
// not there.
func (s set) missing() []event.ID {
	var ids []event.ID
	for _, e := range s {
		for _, p := range e.Parents() {
			if parent, ok := s[p]; !ok || parent.Node() != e.Node() {
				ids = append(ids, p)
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// heads is the events that are nobody's parent, sorted.
func (s set) heads() []event.ID {
	parents := make(map[event.ID]bool, len(s))
	for _, e := range s {
		for _, p := range e.Parents() {
			parents[p] = true
		}
	}
	var heads []event.ID
	for id := range s {
		if !parents[id] {
			heads = append(heads, id)
		}
	}
	slices.Sort(heads)
	return heads
}

// line walks from head to the first event, and answers oldest first.
func (s set) line(head event.ID) []event.Event {
	var line []event.Event
	for id, more := head, true; more; {
		e := s[id]
		line = append(line, e)
		id, more = before(e)
	}
	slices.Reverse(line)
	return line
}

// before is the event that e follows on its own line.
func before(e event.Event) (event.ID, bool) {
	if r, ok := e.Body().(event.Reconciled); ok {
		return r.Keep, true
	}
	if len(e.Parents()) == 0 {
		return "", false
	}
	return e.Parents()[0], true
}

func (s set) without(line []event.Event) set {
	if len(line) == len(s) {
		return nil
	}
	for _, e := range line {
		delete(s, e.ID())
	}
	return s
}

// topological puts each event after those of its parents that are in the set,
// and else the smaller id first.
func (s set) topological() []event.Event {
	var free byID
	waits := make(map[event.ID]int, len(s))
	next := make(map[event.ID][]event.Event, len(s))
	for id, e := range s {
		for _, p := range e.Parents() {
			if _, ok := s[p]; ok {
				waits[id]++
				next[p] = append(next[p], e)
			}
		}
		if waits[id] == 0 {
			free = append(free, e)
		}
	}
	heap.Init(&free)
	var out []event.Event
	for len(free) > 0 {
		e := heap.Pop(&free).(event.Event)
		out = append(out, e)
		for _, n := range next[e.ID()] {
			if waits[n.ID()]--; waits[n.ID()] == 0 {
				heap.Push(&free, n)
			}
		}
	}
	return out
}

// unordered keeps the events in an order that says nothing.
func (s set) unordered(why Disorder) Unordered {
	u := Unordered{Why: why}
	for _, e := range s {
		u.events = append(u.events, e)
	}
	slices.SortFunc(u.events, func(a, b event.Event) int { return cmp.Compare(a.ID(), b.ID()) })
	u.Node = u.events[0].Node()
	return u
}

// byID is a heap.
type byID []event.Event

func (h byID) Len() int           { return len(h) }
func (h byID) Less(i, j int) bool { return h[i].ID() < h[j].ID() }
func (h byID) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *byID) Push(x any)        { *h = append(*h, x.(event.Event)) }
func (h *byID) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	*h = (*h)[:last]
	return e
}
