package roadmap

import (
	"context"
	"slices"

	"holdfast/internal/roadmap/event"
	"holdfast/internal/roadmap/history"
)

// Whole is a node with its history and what stands around it, in one reading.
type Whole struct {
	Node
	Events  []Entry            // as in a Log
	Around  map[event.Node]Row // the nodes of its links that there are, and of those to it
	Parents []Link             // what it is part of
	Related []Link             // whichever of the two names the other
}

// Whole is all that a page about a node shows. One of another commit than the rest
// of it could contradict it.
func (p *Plan) Whole(ctx context.Context, fresh Freshness, n event.Node) (Whole, error) {
	var doc Whole
	close, err := p.read(ctx, fresh, func(r reading) error {
		s, events, err := r.history(n)
		if err != nil {
			return err
		}
		doc = Whole{Node: r.whole(s, events), Events: entries(events), Around: map[event.Node]Row{}}
		doc.around(r)
		return nil
	})
	doc.Close = closing(close)
	return doc, err
}

// around fills in what stands around the node.
func (d *Whole) around(r reading) {
	for _, l := range d.Links {
		switch l.Relation {
		case event.ChildOf:
			d.Parents = append(d.Parents, l)
		case event.Related:
			d.Related = append(d.Related, l)
		case event.BlockedBy:
		}
	}
	for _, s := range r.states {
		named := func(l Link) bool { return l.To == s.Node }
		if slices.Contains(s.Links, history.Link{Relation: event.Related, To: d.Row.Node}) && !slices.ContainsFunc(d.Related, named) {
			d.Related = append(d.Related, Link{Relation: event.Related, To: s.Node, Title: s.Card.Title})
		}
	}
	see := func(n event.Node) {
		if i, ok := r.byNode[n]; ok {
			d.Around[n] = r.row(r.states[i])
		}
	}
	for _, b := range d.BlockedBy {
		see(b.Node)
	}
	for _, l := range slices.Concat(d.Blocks, d.Parents, d.Related) {
		see(l.To)
	}
	for _, c := range d.Children {
		see(c)
	}
}
