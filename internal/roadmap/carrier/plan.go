package carrier

import (
	"context"
	"errors"
	"slices"
	"strings"

	"holdfast/internal/problem"
	"holdfast/internal/roadmap/event"
	"holdfast/internal/roadmap/history"
	"holdfast/internal/roadmap/index"
	"holdfast/internal/roadmap/queue"
)

// draft is what the commands that wait amount to on top of the index.
type draft struct {
	at      index.Position
	tail    []event.Envelope // what the tail has now
	fresh   []drafted        // new events
	present []decided        // in the log already
	refused []decided        // against what the index says
}

type drafted struct {
	pending  *pending
	envelope event.Envelope
}

type decided struct {
	pending *pending
	ended   queue.Ended
}

// drafting makes a draft: states are those of the index and of what is drafted so
// far.
type drafting struct {
	view    *index.View
	refused map[event.Node]index.Refusal
	states  map[event.Node]history.State
	fresh   map[event.Node][]event.Event
}

// plan decides each command that waits, in order, each on top of those before.
func (p *publication) plan(ctx context.Context) (draft, error) {
	view, err := p.carrier.view(ctx)
	if err != nil {
		return draft{}, err
	}
	defer view.Close()
	k, err := knownOf(view)
	if err != nil {
		return draft{}, err
	}
	d := draft{at: k.at, tail: k.tail}
	if k.at.Commit == "" && p.fresh {
		return draft{}, &index.Damaged{Reason: "somebody else made it anew meanwhile"}
	}
	if k.at.Commit == "" { // nothing was read, so there is nothing to build on
		for _, w := range p.waiting {
			d.refused = append(d.refused, decided{w, queue.Refused{Problem: ErrNoPlan}})
		}
		return d, nil
	}
	ds := drafting{
		view: view, states: map[event.Node]history.State{}, fresh: map[event.Node][]event.Event{},
	}
	unread, err := view.Refusals()
	if err != nil {
		return draft{}, err
	}
	ds.refused = index.RefusedNodes(unread)
	seq := k.at.Seq
	keys := map[event.Key]bool{}
	for _, w := range p.waiting {
		if keys[w.command.Key] { // it is decided when the other one of its key is
			continue
		}
		keys[w.command.Key] = true
		present, ended, err := p.lookUp(ds, w, k.at)
		if err != nil {
			return draft{}, err
		}
		if present {
			d.present = append(d.present, decided{w, ended})
			continue
		}
		if w.abandoned {
			d.refused = append(d.refused, decided{w, queue.Refused{Problem: problem.Refusal("abandoned", "Whoever asked for it was gone before it could be published, and it may not wait. Nothing was appended.")}})
			continue
		}
		e, err := ds.next(w)
		var no *problem.Error
		switch {
		case errors.As(err, &no) && ds.leans(w.command):
			// On what is not in the log yet, and may never be: it is decided again when
			// that is.
		case errors.As(err, &no):
			d.refused = append(d.refused, decided{w, queue.Refused{Problem: no}})
		case err != nil:
			return draft{}, err
		default:
			seq++
			d.fresh = append(d.fresh, drafted{w, event.Envelope{Seq: seq, Key: w.command.Key, Event: e}})
		}
	}
	return d, nil
}

// leans reports whether what is decided of a command depends on what is drafted.
func (ds drafting) leans(c event.Command) bool {
	link, ok := c.Body.(event.Linked)
	return len(ds.fresh[c.Node]) > 0 || ok && len(ds.fresh[link.To]) > 0
}

// lookUp asks whether the command is in the log already. It comes before all
// other questions, so that a repeated command succeeds whatever came after it.
func (p *publication) lookUp(ds drafting, w *pending, at index.Position) (bool, queue.Ended, error) {
	env, ok, err := ds.view.ByKey(w.command.Key)
	if err != nil || !ok {
		return false, nil, err
	}
	there := event.Command{Key: env.Key, Node: env.Event.Node(), Author: env.Event.Author(), Body: env.Event.Body()}
	switch {
	case !there.Same(w.command):
		return true, queue.Refused{Problem: problem.From(queue.Conflict(w.command.Key), "")}, nil
	case p.offered[w.command.Key] == env.Event.ID(): // a commit of this run, whose answer was lost
		return true, queue.Appended{ID: env.Event.ID(), Commit: at.Commit}, nil
	default:
		return true, queue.AlreadyPresent{ID: env.Event.ID(), Commit: at.Commit}, nil
	}
}

// next is the event of a command on top of its node, or why it may not be.
func (ds drafting) next(w *pending) (event.Event, error) {
	c := w.command
	if r, ok := ds.refused[c.Node]; ok {
		return event.Event{}, problem.Refusal("node-refused", "Node %s cannot be read whole: at %s, %s. Nothing was appended.", c.Node, r.Place, r.Reason)
	}
	state, err := ds.state(c.Node)
	if err != nil {
		return event.Event{}, err
	}
	parents, err := parentsOf(state, c)
	if err != nil {
		return event.Event{}, err
	}
	if err := ds.admit(state, c, parents); err != nil {
		return event.Event{}, err
	}
	e, err := c.Seal(parents)
	if err != nil {
		return event.Event{}, problem.Refusal(event.StepEvent, "It cannot become an event: %s. Nothing was appended.", err)
	}
	return e, ds.put(state, e)
}

// state is where a node stands after what is drafted so far.
func (ds drafting) state(n event.Node) (history.State, error) {
	if s, ok := ds.states[n]; ok {
		return s, nil
	}
	s, ok, err := ds.view.State(n)
	if err == nil && !ok {
		s = history.StateOf(n, nil)
	}
	return s, err
}

// put adds an event to what is drafted.
func (ds drafting) put(state history.State, e event.Event) error {
	n := e.Node()
	ds.fresh[n] = append(ds.fresh[n], e)
	next, ok := state.Extend(e)
	if !ok {
		before, err := ds.view.Events(n, "")
		if err != nil {
			return err
		}
		next = history.StateOf(n, append(before, ds.fresh[n]...))
	}
	ds.states[n] = next
	return nil
}

// admit asks the authority whether the command may follow.
func (ds drafting) admit(state history.State, c event.Command, parents []event.ID) error {
	if err := ds.checkLink(c); err != nil {
		return err
	}
	d := event.Draft{Node: c.Node, Author: c.Author, Parents: parents, At: c.At, Body: c.Body}
	id, about := event.About(c.Body)
	if !about {
		return state.Admit(d, nil)
	}
	// Comments are in the events alone. A new one, which no event names and which
	// answers none, is admitted without reading them all.
	before, err := ds.view.Events(c.Node, `"comment":"`+string(id)+`"`)
	if err != nil {
		return err
	}
	if b, creates := c.Body.(event.CommentCreated); creates && b.Parent == "" && len(before) == 0 && !ds.named(c.Node, id) {
		return state.Admit(d, func(event.Comment) history.CommentStanding { return history.CommentUnknown })
	}
	if before, err = ds.view.Events(c.Node, ""); err != nil {
		return err
	}
	return history.Admit(history.Order(append(before, ds.fresh[c.Node]...)), d)
}

// named reports whether something that is drafted names a comment.
func (ds drafting) named(n event.Node, id event.Comment) bool {
	return slices.ContainsFunc(ds.fresh[n], func(e event.Event) bool {
		other, ok := event.About(e.Body())
		return ok && other == id
	})
}

// checkLink refuses a link to a node that is not there.
func (ds drafting) checkLink(c event.Command) error {
	link, ok := c.Body.(event.Linked)
	if !ok {
		return nil
	}
	s, err := ds.state(link.To)
	if err == nil && s.Standing == nil {
		return problem.Refusal(history.StepLink, "There is no node %s to link %s to. Nothing was appended.", link.To, c.Node)
	}
	return err
}

// parentsOf is what the command's event builds on: what the node has, if that is
// what the command expects.
func parentsOf(state history.State, c event.Command) ([]event.ID, error) {
	heads := headsOf(state)
	if len(c.Expect) > 0 && !sameSet(c.Expect, heads) {
		return nil, problem.Refusal(history.StepRevision, "Node %s has moved on: it is at %s, and this builds on %s. Nothing was appended.", c.Node, shortIDs(heads), shortIDs(c.Expect)).
			WithHint("look at it again: holdfast roadmap show %s", c.Node)
	}
	return heads, nil
}

func headsOf(s history.State) []event.ID {
	if forked, ok := s.Standing.(history.Forked); ok {
		return forked.Heads
	}
	if s.Head == "" {
		return []event.ID{}
	}
	return []event.ID{s.Head}
}

func sameSet(a, b []event.ID) bool {
	if len(a) != len(b) {
		return false
	}
	for _, id := range a {
		if !slices.Contains(b, id) {
			return false
		}
	}
	return true
}

func shortIDs(list []event.ID) string {
	if len(list) == 0 {
		return "nothing"
	}
	words := make([]string, len(list))
	for i, id := range list {
		words[i] = id.Short()
	}
	return strings.Join(words, " and ")
}
