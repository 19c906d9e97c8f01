package roadmap

import (
	"context"
	"slices"
	"strings"

	"holdfast/internal/problem"
	"holdfast/internal/roadmap/event"
	"holdfast/internal/roadmap/history"
)

// Filter chooses nodes of a list. Its zero value is all of them.
type Filter struct {
	Standing string          // a public name of a standing; empty: any
	Label    string          // empty: any
	Ready    bool            // only those that are ready
	Text     string          // only those that have it in their name, card or comments
	Holder   event.Principal // empty: any
}

// List is the nodes that the filter leaves.
func (p *Plan) List(ctx context.Context, fresh Freshness, f Filter) (List, error) {
	if f.Standing != "" && !slices.Contains(history.Keys(), f.Standing) {
		return List{}, problem.New(problem.Usage, "standing", "%q is no standing of a node: %s.", f.Standing, strings.Join(history.Keys(), ", "))
	}
	var doc List
	close, err := p.read(ctx, fresh, func(r reading) error {
		doc = List{Nodes: []Row{}, Refused: refusedDocs(r.refused), Head: r.head()}
		mentioned, err := r.mentioning(f.Text)
		if err != nil {
			return err
		}
		for _, s := range r.states {
			if mentioned != nil && !mentioned[s.Node] {
				continue
			}
			if row := r.row(s); f.takes(row) {
				doc.Nodes = append(doc.Nodes, row)
			}
		}
		return nil
	})
	doc.Close = closing(close)
	return doc, err
}

func (f Filter) takes(r Row) bool {
	return (f.Standing == "" || f.Standing == r.Standing.Kind) &&
		(f.Label == "" || slices.Contains(r.Labels, f.Label)) &&
		(!f.Ready || r.Ready) &&
		(f.Holder == "" || f.Holder == r.Holder)
}

// mentioning is the nodes that have text in what is shown of them now; nil for
// every node where text is empty.
func (r reading) mentioning(text string) (map[event.Node]bool, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, nil
	}
	found := map[event.Node]bool{}
	candidates, err := r.view.Mentioning(surely(text))
	if err != nil {
		return nil, err
	}
	for _, n := range candidates {
		i, ok := r.byNode[n]
		if !ok {
			continue
		}
		if ok, err = r.mentions(r.states[i], text); err != nil {
			return nil, err
		}
		found[n] = found[n] || ok
	}
	return found, nil
}

// surely is the longest part of a text that stands in an event's bytes as it is, but
// for its case, wherever the text does: what canonical JSON writes otherwise, or has
// a case that the index does not know, is left to [reading.mentions].
func surely(text string) string {
	longest := ""
	for part := range strings.FieldsFuncSeq(text, func(c rune) bool { return c < ' ' || c > '~' || c == '"' || c == '\\' }) {
		if len(part) > len(longest) {
			longest = part
		}
	}
	return longest
}

// mentions asks what is shown of a node, and not what was.
func (r reading) mentions(s history.State, text string) (bool, error) {
	has := func(in string) bool { return strings.Contains(strings.ToLower(in), strings.ToLower(text)) }
	if has(string(s.Node)) || has(s.Card.Title) || has(s.Card.Body) || slices.ContainsFunc(s.Card.Labels, has) {
		return true, nil
	}
	events, err := r.view.Events(s.Node, "")
	if err != nil {
		return false, err
	}
	o, ok := history.Order(events).(history.Ordered)
	if !ok {
		return false, nil
	}
	d := history.Details(o)
	return slices.ContainsFunc(d.Comments, func(c history.CommentState) bool { return has(c.Body) }), nil
}

// Show is all that is known of a node.
func (p *Plan) Show(ctx context.Context, fresh Freshness, n event.Node) (Node, error) {
	var doc Node
	close, err := p.read(ctx, fresh, func(r reading) error {
		s, events, err := r.history(n)
		if err != nil {
			return err
		}
		doc = r.whole(s, events)
		return nil
	})
	doc.Close = closing(close)
	return doc, err
}

// whole is the document of a node.
func (r reading) whole(s history.State, events []event.Event) Node {
	doc := r.node(s)
	doc.Head = r.head()
	if o, ok := history.Order(events).(history.Ordered); ok {
		doc.detail(history.Details(o))
	}
	return doc
}

// node is the document of a node without what only its events have.
func (b *board) node(s history.State) Node {
	d := Node{
		Row: b.row(s), Body: s.Card.Body, ReturnTo: s.ReturnTo, Children: notNil(b.graph.Children(s.Node)), Cycle: b.graph.Cycle(s.Node),
		BlockedBy: []Blocker{}, Blocks: []Link{}, Links: []Link{}, Comments: []Comment{}, Receipts: []Receipt{}, Claims: []Claim{},
		Opened: s.Opened.At, OpenedBy: s.Opened.By,
	}
	for _, by := range b.graph.Blockers(s.Node) {
		d.BlockedBy = append(d.BlockedBy, Blocker{Node: by.Node, Is: by.Is.String(), Title: b.title(by.Node)})
	}
	for _, l := range s.Links {
		if l.Relation != event.BlockedBy {
			d.Links = append(d.Links, Link{Relation: l.Relation, To: l.To, Title: b.title(l.To)})
		}
	}
	for _, other := range b.states {
		if slices.Contains(other.Links, history.Link{Relation: event.BlockedBy, To: s.Node}) {
			d.Blocks = append(d.Blocks, Link{Relation: event.BlockedBy, To: other.Node, Title: other.Card.Title})
		}
	}
	for _, c := range s.Claims {
		d.Claims = append(d.Claims, Claim{Claim: c.Event, Assignee: c.Assignee, ReturnTo: c.ReturnTo, At: c.At, Attempts: notNil(c.Attempts), Spent: c.Spent})
	}
	return d
}

func (b *board) title(n event.Node) string {
	if i, ok := b.byNode[n]; ok {
		return b.states[i].Card.Title
	}
	return ""
}

func (d *Node) detail(from history.Detail) {
	for _, c := range from.Comments {
		d.Comments = append(d.Comments, Comment{
			Comment: c.Comment, Event: c.Event, Answers: c.Answers, Body: c.Body, Author: c.Made.By, At: c.Made.At,
			Edited: c.Edited, Deleted: c.Deleted, Aside: c.Aside,
		})
	}
	for _, r := range from.Receipts {
		d.Receipts = append(d.Receipts, Receipt{
			Obligation: r.Receipt.Obligation, Address: r.Receipt.Address, Verdict: r.Receipt.Verdict, Author: r.Made.By, At: r.Made.At,
		})
	}
}

// Log is a node's history.
func (p *Plan) Log(ctx context.Context, fresh Freshness, n event.Node) (Log, error) {
	var doc Log
	close, err := p.read(ctx, fresh, func(r reading) error {
		s, events, err := r.history(n)
		if err != nil {
			return err
		}
		doc = Log{Node: n, Standing: standingOf(s.Standing), Events: entries(events), Head: r.head()}
		return nil
	})
	doc.Close = closing(close)
	return doc, err
}

// history is a node's state and its events, in the order of the log.
func (r reading) history(n event.Node) (history.State, []event.Event, error) {
	s, err := r.state(n)
	if err != nil {
		return s, nil, err
	}
	events, err := r.view.Events(n, "")
	return s, events, err
}

// entries is a node's events in the order of its history, and what has none last.
func entries(events []event.Event) []Entry {
	list := []Entry{}
	add := func(events []event.Event, aside bool) {
		for _, e := range events {
			list = append(list, entry(e, aside))
		}
	}
	switch o := history.Order(events).(type) {
	case history.Ordered:
		add(o.Line(), false)
		add(o.Aside(), true)
	case history.Unordered:
		add(history.Sorted(events), true)
	}
	return list
}

func entry(e event.Event, aside bool) Entry {
	return Entry{
		ID: e.ID(), Kind: e.Kind(), Author: e.Author(), At: e.At(), Parents: notNil(e.Parents()),
		Line: history.Tell(e.Body()), Aside: aside, Bytes: string(e.Bytes()),
	}
}

// Export gives the whole log to each, in its order.
func (p *Plan) Export(ctx context.Context, fresh Freshness, each func(event.Envelope) error) (Head, error) {
	_, head, err := p.Since(ctx, fresh, 0, each)
	return head, err
}

// Since gives what the log has beyond a place, and says up to which place it was
// read.
func (p *Plan) Since(ctx context.Context, fresh Freshness, seq int64, each func(event.Envelope) error) (int64, Head, error) {
	var head Head
	close, err := p.read(ctx, fresh, func(r reading) error {
		head = r.head()
		err := r.view.Envelopes(seq+1, func(e event.Envelope) error {
			seq = e.Seq // read again, after the index was made anew, it goes on from here
			return each(e)
		})
		if err == nil {
			seq = r.at.Seq
		}
		return err
	})
	head.Close = closing(close)
	return seq, head, err
}

// End is the place of the newest event.
func (p *Plan) End(ctx context.Context, fresh Freshness) (int64, Head, error) {
	var head Head
	var seq int64
	close, err := p.read(ctx, fresh, func(r reading) error {
		head, seq = r.head(), r.at.Seq
		return nil
	})
	head.Close = closing(close)
	return seq, head, err
}
