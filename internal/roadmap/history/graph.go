package history

import (
	"cmp"
	"slices"

	"holdfast/internal/roadmap/event"
)

// Graph is how the nodes of a plan depend on each other. It is made of their
// states at one time, and never changes.
type Graph struct {
	states   map[event.Node]State
	children map[event.Node][]event.Node
	ring     map[event.Node]int // which ring of blocked_by a node is in, from 1
}

// BlockerIs says what a blocker is to the node that waits for it.
type BlockerIs uint8

// What a blocker can be. Only an accepted one blocks no more.
const (
	BlockerAccepted  BlockerIs = iota + 1
	BlockerOpen                // not accepted yet
	BlockerDropped             // never will be, unless it is reopened
	BlockerUnordered           // its history cannot be ordered
	BlockerMissing             // there is no such node, or it cannot be read
)

// Blocker is a node that another one waits for.
type Blocker struct {
	Node event.Node
	Is   BlockerIs
}

// NewGraph reads the links of all nodes that there are.
func NewGraph(states []State) *Graph {
	g := &Graph{states: make(map[event.Node]State, len(states)), children: map[event.Node][]event.Node{}}
	for _, s := range states {
		if s.Events > 0 {
			g.states[s.Node] = s
		}
	}
	for _, s := range g.states {
		for _, parent := range s.to(event.ChildOf) {
			g.children[parent] = append(g.children[parent], s.Node)
		}
	}
	for _, c := range g.children {
		slices.SortFunc(c, func(a, b event.Node) int { return Compare(g.states[a], g.states[b]) })
	}
	g.ring = g.rings()
	return g
}

// to is where the links of one relation point, sorted.
func (s State) to(r event.Relation) []event.Node {
	var to []event.Node
	for _, l := range s.Links {
		if l.Relation == r {
			to = append(to, l.To)
		}
	}
	return to
}

// Blockers is what a node waits for, sorted by name, the accepted ones too.
func (g *Graph) Blockers(n event.Node) []Blocker {
	var out []Blocker
	for _, b := range g.states[n].to(event.BlockedBy) {
		out = append(out, Blocker{Node: b, Is: g.is(b)})
	}
	return out
}

func (g *Graph) is(n event.Node) BlockerIs {
	switch g.states[n].Standing.(type) {
	case Accepted:
		return BlockerAccepted
	case Open, Claimed, InProgress, Blocked, HandedBack, ReadyForReview:
		return BlockerOpen
	case Dropped:
		return BlockerDropped
	case Forked, Incomplete:
		return BlockerUnordered
	}
	return BlockerMissing
}

// Blocked reports whether a node waits for one that is not accepted. That stands
// beside the node's own standing, and does not change it.
func (g *Graph) Blocked(n event.Node) bool {
	return slices.ContainsFunc(g.Blockers(n), func(b Blocker) bool { return b.Is != BlockerAccepted })
}

// Ready reports whether work on a node may begin: it is there, ordered and open,
// and every blocker is accepted.
func (g *Graph) Ready(n event.Node) bool {
	_, open := g.states[n].Standing.(Open)
	return open && !g.Blocked(n)
}

// Children is the nodes that are part of n, in the order of lists.
func (g *Graph) Children(n event.Node) []event.Node { return g.children[n] }

// Cycle is the shortest way along blocked_by from n back to it, beginning with n,
// without n at the end. It is nil where there is none: then waiting can end.
func (g *Graph) Cycle(n event.Node) []event.Node {
	ring := g.ring[n]
	if ring == 0 {
		return nil
	}
	from := map[event.Node]event.Node{} // inside the ring: what leaves it does not come back
	for queue := []event.Node{n}; len(queue) > 0; queue = queue[1:] {
		for _, next := range g.states[queue[0]].to(event.BlockedBy) {
			if next == n {
				return way(from, n, queue[0])
			}
			if _, seen := from[next]; !seen && g.ring[next] == ring {
				from[next] = queue[0]
				queue = append(queue, next)
			}
		}
	}
	return nil
}

// way walks back from last to first.
func way(from map[event.Node]event.Node, first, last event.Node) []event.Node {
	path := []event.Node{last}
	for last != first {
		last = from[last]
		path = append(path, last)
	}
	slices.Reverse(path)
	return path
}

// rings finds the nodes that block each other in a ring (the strongly connected
// components, after Tarjan).
func (g *Graph) rings() map[event.Node]int {
	r := ringer{graph: g, index: map[event.Node]int{}, low: map[event.Node]int{}, on: map[event.Node]bool{}, ring: map[event.Node]int{}}
	for n := range g.states {
		if r.index[n] == 0 {
			r.visit(n)
		}
	}
	return r.ring
}

type ringer struct {
	graph *Graph
	index map[event.Node]int // when it was first visited, from 1
	low   map[event.Node]int // the earliest that can be reached from it
	on    map[event.Node]bool
	stack []event.Node
	count int
	ring  map[event.Node]int
}

func (r *ringer) visit(n event.Node) {
	r.count++
	r.index[n], r.low[n] = r.count, r.count
	r.stack, r.on[n] = append(r.stack, n), true
	itself := false
	for _, next := range r.graph.states[n].to(event.BlockedBy) {
		itself = itself || next == n
		if r.index[next] == 0 {
			r.visit(next)
			r.low[n] = min(r.low[n], r.low[next])
		} else if r.on[next] {
			r.low[n] = min(r.low[n], r.index[next])
		}
	}
	if r.low[n] == r.index[n] {
		r.take(n, itself)
	}
}

// take empties the stack down to n. One node alone is a ring only if it blocks
// itself.
func (r *ringer) take(n event.Node, itself bool) {
	i := len(r.stack) - 1
	for r.stack[i] != n {
		i--
	}
	members := r.stack[i:]
	for _, m := range members {
		r.on[m] = false
		if len(members) > 1 || itself {
			r.ring[m] = r.index[n]
		}
	}
	r.stack = r.stack[:i]
}

// Compare is the order of lists: the more urgent first, then by name. Time has
// no part in it.
func Compare(a, b State) int {
	return cmp.Or(cmp.Compare(a.Card.Priority.Rank(), b.Card.Priority.Rank()), cmp.Compare(a.Node, b.Node))
}
