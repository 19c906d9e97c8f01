package roadmap

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"holdfast/internal/problem"
	"holdfast/internal/roadmap/attempt"
	"holdfast/internal/roadmap/event"
	"holdfast/internal/roadmap/history"
	"holdfast/internal/roadmap/queue"
	"holdfast/internal/roadmap/snapshot"
)

// Act is who appends, under which key, and on what.
type Act struct {
	Author event.Principal
	Key    event.Key  // empty: one is made
	Expect []event.ID // the heads that the node must still have; empty: whatever it has
}

func (a Act) command(n event.Node, b event.Body) event.Command {
	if a.Key == "" {
		a.Key = NewKey()
	}
	return event.Command{Key: a.Key, Node: n, Author: a.Author, At: time.Now(), Expect: a.Expect, Body: b}
}

// Append states something about a node. A result is refused: that is [Plan.Return]'s.
func (p *Plan) Append(ctx context.Context, n event.Node, b event.Body, a Act) (Appended, error) {
	if _, result := b.(event.ResultReturned); result {
		return Appended{}, problem.Refusal(attempt.StepBinding, "A result is returned for the attempt that it is of, and under the claim that binds that: no other way appends one. Nothing was appended.")
	}
	return p.append(ctx, n, b, a)
}

// append is Append, for whoever knows under which claim a result is.
func (p *Plan) append(ctx context.Context, n event.Node, b event.Body, a Act) (Appended, error) {
	command := a.command(n, b)
	closed, err := p.carrier.Append(ctx, command)
	if err != nil {
		return Appended{}, withClose(err, closed.Close)
	}
	return p.answer(ctx, command, closed.Result[0], closed.Close)
}

// headOf is what to expect of a node next, whose event was there before: later ones
// may have moved it. It is the event where nothing newer can be told.
func (p *Plan) headOf(ctx context.Context, n event.Node, known event.ID) event.ID {
	view, err := p.carrier.View(ctx)
	if err != nil {
		return known
	}
	defer view.Close()
	if s, ok, err := view.State(n); err == nil && ok {
		return s.Head
	}
	return known
}

// answer is the document of an outcome, or the refusal that it is.
func (p *Plan) answer(ctx context.Context, c event.Command, o queue.Outcome, closed snapshot.Close) (Appended, error) {
	doc := Appended{Node: c.Node, Key: c.Key, Attempts: o.Attempts, Close: closing(closed)}
	switch e := o.Ended.(type) {
	case queue.Appended:
		doc.Outcome, doc.ID, doc.Revision, doc.Commit = "appended", e.ID, e.ID, e.Commit
	case queue.AlreadyPresent:
		doc.Outcome, doc.ID, doc.Revision, doc.Commit = "already_present", e.ID, p.headOf(ctx, c.Node, e.ID), e.Commit
	case queue.Queued:
		doc.Outcome, doc.Why = "queued", e.Why
	case queue.Unknown:
		doc.Outcome, doc.Why = "unknown", e.Why
	case queue.Refused:
		return doc, withClose(e.Problem, closed)
	default:
		return doc, problem.New(problem.Unknown, "outcome", "What became of it is not known. The same command with the key %s tells.", c.Key)
	}
	return doc, nil
}

// Opening is a node to be opened.
type Opening struct {
	Card      event.Card
	BlockedBy []event.Node
}

// Open opens a node with its blockers, in one commit: the links are of the very
// event that opens it, so that a node which somebody else opened gets none.
func (p *Plan) Open(ctx context.Context, n event.Node, o Opening, a Act) (Appended, error) {
	if err := p.haveBlockers(ctx, n, o.BlockedBy); err != nil {
		return Appended{}, err
	}
	first := a.command(n, event.Opened{Card: o.Card})
	first.Expect = nil
	if a.Key != "" && len(o.BlockedBy) > 0 {
		// Asked before, the events have the time of then, and so the same ids.
		p.carrier.Refresh(ctx)
		if at, ok := p.carrier.AskedAt(ctx, a.Key); ok {
			first.At = at
		}
	}
	commands := []event.Command{first}
	sealed, err := first.Seal([]event.ID{})
	for i, to := range o.BlockedBy {
		if err != nil {
			break
		}
		link := Act{
			Author: a.Author, Key: linkKey(first.Key, i+1), Expect: []event.ID{sealed.ID()},
		}.command(n, event.Linked{Relation: event.BlockedBy, To: to})
		link.At = first.At
		commands = append(commands, link)
		sealed, err = link.Seal([]event.ID{sealed.ID()})
	}
	if err != nil {
		return Appended{}, notAnEvent(err)
	}
	closed, err := p.carrier.Append(ctx, commands...)
	if err != nil {
		return Appended{}, withClose(err, closed.Close)
	}
	doc, err := p.answer(ctx, first, closed.Result[0], closed.Close)
	if err != nil || doc.ID == "" {
		return doc, err
	}
	for i, command := range commands[1:] {
		link, err := p.answer(ctx, command, closed.Result[i+1], closed.Close)
		if err != nil {
			return doc, linkFailed(n, o.BlockedBy[i], err)
		}
		if link.Revision != "" {
			doc.Revision = link.Revision
		}
	}
	return doc, nil
}

// linkKey is the key of a link that belongs to an opening.
func linkKey(of event.Key, n int) event.Key {
	key := event.Key(fmt.Sprintf("%s-link%d", of, n))
	if _, err := event.ParseKey(string(key)); err != nil {
		sum := sha256.Sum256([]byte(of))
		key = event.Key(fmt.Sprintf("link%d-of-%x", n, sum[:16]))
	}
	return key
}

// haveBlockers refuses a node that could not be blocked as it is to be: opened without
// that, it would be ready, and somebody could begin it. What was read last is looked at
// first; where the remote cannot be asked about the rest, the append tells.
func (p *Plan) haveBlockers(ctx context.Context, n event.Node, list []event.Node) error {
	if slices.Contains(list, n) {
		return problem.Refusal(history.StepLink, "%s cannot be blocked by itself. Nothing was appended.", n)
	}
	missing := list
	for _, fresh := range []Freshness{AsOf, Now} {
		if len(missing) == 0 {
			return nil
		}
		_, err := p.read(ctx, fresh, func(r reading) (err error) {
			missing, err = r.lacking(list)
			return err
		})
		if err != nil && fresh == Now {
			return nil
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return problem.Refusal(history.StepLink, "There is no node %s that %s could wait for. Nothing was appended.", missing[0], n).
		WithHint("open it first, or link it later: holdfast roadmap link %s blocked_by %s", n, missing[0])
}

// lacking is those of the nodes that have no event.
func (r reading) lacking(list []event.Node) ([]event.Node, error) {
	var missing []event.Node
	for _, n := range list {
		if _, there, err := r.view.State(n); err != nil {
			return list, err
		} else if !there {
			missing = append(missing, n)
		}
	}
	return missing, nil
}

func linkFailed(n, to event.Node, err error) error {
	why := *problem.From(err, err.Error())
	why.Kind = problem.Failed
	why.Reason = fmt.Sprintf("Node %s was opened, but is not blocked by %s: %s", n, to, why.Reason)
	return why.WithHint("holdfast roadmap link %s blocked_by %s", n, to)
}

func notAnEvent(err error) error {
	var f *event.Fault
	if errors.As(err, &f) {
		return problem.New(problem.Usage, f.Step, "It cannot become an event: %s. Nothing was appended.", f.Reason)
	}
	return err
}

// CardChange is what is to become different on a card; nil leaves it.
type CardChange struct {
	Title, Body, Run *string
	Priority         *event.Priority
	Labels           *[]string
}

// On is a card with the change.
func (c CardChange) On(card event.Card) event.Card {
	set(&card.Title, c.Title)
	set(&card.Body, c.Body)
	set(&card.Run, c.Run)
	set(&card.Priority, c.Priority)
	set(&card.Labels, c.Labels)
	return card
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

// Edit changes a node's card. It is made of the card as it was read, and so
// expects the revision that was read, where none is given.
func (p *Plan) Edit(ctx context.Context, n event.Node, change CardChange, a Act) (Appended, error) {
	var card event.Card
	close, err := p.read(ctx, Now, func(r reading) error {
		s, err := r.state(n)
		if err != nil {
			return err
		}
		card = change.On(s.Card)
		if before, ok, err := r.edited(n, change, a); err != nil || ok {
			card = before
			return err
		}
		if len(a.Expect) == 0 && s.Head != "" {
			a.Expect = []event.ID{s.Head}
		}
		return nil
	})
	if err != nil {
		return Appended{}, err
	}
	doc, err := p.Append(ctx, n, event.Edited{Card: card}, a)
	if _, failed := close.(snapshot.CloseFailed); failed {
		doc.Close, err = closing(close), withClose(err, close)
	}
	return doc, err
}

// edited is the card that the same operation made, if it did: asked for again, it is
// the same whatever was edited after it.
func (r reading) edited(n event.Node, change CardChange, a Act) (event.Card, bool, error) {
	if a.Key == "" {
		return event.Card{}, false, nil
	}
	env, ok, err := r.view.ByKey(a.Key)
	if err != nil || !ok || env.Event.Node() != n {
		return event.Card{}, false, err
	}
	e, ok := env.Event.Body().(event.Edited)
	return e.Card, ok && event.Same(e, event.Edited{Card: change.On(e.Card)}), nil
}

// Reconcile mends a fork: the history of the kept head is the node's.
func (p *Plan) Reconcile(ctx context.Context, n event.Node, keep event.ID, a Act) (Appended, error) {
	return p.Append(ctx, n, event.Reconciled{Keep: keep}, a)
}

// AppendAll appends many commands in few commits. The answers are in their order;
// an error stands for the one that was refused. It is for importing: a result is taken
// only on top of the very event that it was returned on, as the export of a log has it,
// and history asks of it what it asks of any.
func (p *Plan) AppendAll(ctx context.Context, commands []event.Command) ([]AppendedOrError, Closing, error) {
	for _, c := range commands {
		if _, result := c.Body.(event.ResultReturned); result && len(c.Expect) == 0 {
			return nil, closing(snapshot.NotOpened{}), problem.Refusal(attempt.StepBinding, "A result can be imported only as the export of a log has it. Nothing was appended.")
		}
	}
	closed, err := p.carrier.AppendAll(ctx, commands)
	if err != nil {
		return nil, closing(closed.Close), withClose(err, closed.Close)
	}
	out := make([]AppendedOrError, len(commands))
	for i, o := range closed.Result {
		out[i].Appended, out[i].Err = p.answer(ctx, commands[i], o, closed.Close)
	}
	return out, closing(closed.Close), nil
}

// AppendedOrError is what became of one of many commands.
type AppendedOrError struct {
	Appended Appended
	Err      error
}

// Queued is a command that waits for the remote.
type Queued struct {
	Key  event.Key  `json:"key"`
	Node event.Node `json:"node"`
	Kind event.Kind `json:"kind"`
	At   time.Time  `json:"at"`
}

// Late is a command that was queued and refused when it was published.
type Late struct {
	Key    event.Key  `json:"key"`
	Node   event.Node `json:"node"`
	Step   string     `json:"step"`
	Reason string     `json:"reason"`
	At     time.Time  `json:"at"`
}

// QueueDocument is what waits in the queue, and what waits for somebody.
type QueueDocument struct {
	Waiting []Queued      `json:"waiting"`
	Damaged []DamagedFile `json:"damaged"`
	Late    []Late        `json:"refused"`
}

// DamagedFile is a file of the queue, or of its outcomes, that cannot be read.
type DamagedFile struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// Queue is what waits.
func (p *Plan) Queue() (QueueDocument, error) {
	doc := QueueDocument{Waiting: []Queued{}, Damaged: []DamagedFile{}, Late: []Late{}}
	entries, damaged, err := p.carrier.Queue().Entries()
	if err != nil {
		return doc, problem.New(problem.Failed, "queue", "The queue cannot be read: %s.", problem.Words(err)).Because(err)
	}
	for _, e := range entries {
		doc.Waiting = append(doc.Waiting, Queued{Key: e.Command.Key, Node: e.Command.Node, Kind: e.Command.Body.Kind(), At: e.At})
	}
	for _, d := range damaged {
		doc.Damaged = append(doc.Damaged, DamagedFile(d))
	}
	outcomes, torn, err := p.carrier.Queue().Outcomes()
	if err != nil {
		return doc, problem.New(problem.Failed, "queue", "The outcomes cannot be read: %s.", problem.Words(err)).Because(err)
	}
	for _, d := range torn {
		doc.Damaged = append(doc.Damaged, DamagedFile(d))
	}
	for _, s := range outcomes {
		if no, ok := s.Outcome.Ended.(queue.Refused); ok && s.Late {
			doc.Late = append(doc.Late, Late{Key: s.Key, Node: s.Outcome.Node, Step: no.Problem.Step, Reason: no.Problem.Reason, At: s.At})
		}
	}
	return doc, nil
}

// Publish publishes what waits in the queue, and says how many commands waited, and
// how the snapshot closed.
func (p *Plan) Publish(ctx context.Context) (int, Closing, error) {
	closed, err := p.carrier.Publish(ctx)
	return closed.Result, closing(closed.Close), withClose(err, closed.Close)
}

// Withdraw takes a command out of the queue.
func (p *Plan) Withdraw(ctx context.Context, key string) error { return p.carrier.Withdraw(ctx, key) }

// AcceptRewrite takes a rewritten log for the plan from now on.
func (p *Plan) AcceptRewrite(ctx context.Context, commit string) (Head, error) {
	closed, err := p.carrier.AcceptRewrite(ctx, commit)
	if err != nil {
		return Head{}, withClose(err, closed.Close)
	}
	var head Head
	_, err = p.read(ctx, AsOf, func(r reading) error {
		head = r.head()
		return nil
	})
	head.Close = closing(closed.Close)
	return head, err
}
