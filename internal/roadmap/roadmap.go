// Package roadmap is the plan as commands, pages and agents see it: what is to be
// done, who holds it, what was tried, and whether that can be trusted.
//
// A [Plan] reads and appends through package carrier, and answers in the documents
// of docs/INTERFACE.md. Nothing is decided here: order and standing are package
// history's, what the remote has is package carrier's.
//
// Each read first asks the remote whether there is more. One that cannot be
// asked is a refusal at the step fetch, and never an old answer passed off as a
// new one; [AsOf] reads the index on purpose, and every document says as of which
// commit and time it is. A log that was rewritten is said in every document.
//
// A result is appended by [Plan.Return] alone, under the claim that its attempt was
// begun under: nobody who calls says which claim that is.
//
// What became of a snapshot stands in the document beside the answer; of an
// operation that was refused, at the end of the refusal's reason.
package roadmap

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"sync/atomic"
	"time"

	"holdfast/internal/durable"
	"holdfast/internal/problem"
	"holdfast/internal/roadmap/carrier"
	"holdfast/internal/roadmap/event"
	"holdfast/internal/roadmap/git"
	"holdfast/internal/roadmap/history"
	"holdfast/internal/roadmap/index"
	"holdfast/internal/roadmap/snapshot"
)

// Plan is an open plan. It may be used concurrently. Close it.
type Plan struct {
	carrier *carrier.Carrier
	folder  *durable.Dir // of the plan
	board   atomic.Pointer[board]
}

// Open opens the plan of a home.
func Open(ctx context.Context, home carrier.Home) (*Plan, error) {
	c, err := carrier.Open(ctx, home)
	if err != nil {
		return nil, err
	}
	dir, err := durable.OpenDir(home.Plan)
	if err != nil {
		c.Close()
		return nil, problem.Refusal("plan", "The folder of the plan cannot be opened: %s.", problem.Words(err)).Because(err)
	}
	return &Plan{carrier: c, folder: dir}, nil
}

// Begun is the answer to whoever begins a plan.
type Begun struct {
	Remote  string  `json:"remote"`  // its URL; empty: the home itself
	Commit  string  `json:"commit"`  // the log's tip
	Created bool    `json:"created"` // the log was begun, rather than adopted
	Close   Closing `json:"close"`
}

// Begin gives a home its plan: kept at the remote url, or in the home itself where
// url is empty. A log that is there is adopted.
func Begin(ctx context.Context, home carrier.Home, url string) (Begun, error) {
	closed, err := carrier.Init(ctx, home, url)
	if err != nil {
		return Begun{}, withClose(err, closed.Close)
	}
	b := closed.Result
	return Begun{Remote: git.Words([]byte(b.URL)), Commit: b.Commit, Created: b.Created, Close: closing(closed.Close)}, nil
}

// Close lets the plan go.
func (p *Plan) Close() {
	p.carrier.Close()
	p.folder.Close()
}

// Freshness says whether a read asks the remote.
type Freshness uint8

const (
	// Now asks the remote, and is refused where that cannot be asked.
	Now Freshness = iota + 1
	// AsOf takes what was read last.
	AsOf
)

// board is all nodes at one commit. It never changes.
type board struct {
	at      index.Position
	states  []history.State // in the order of lists
	byNode  map[event.Node]int
	graph   *history.Graph
	refused []index.Refusal
}

// reading is what one read stands on.
type reading struct {
	*board
	view  *index.View
	as    AsOfCommit
	trust carrier.Trust
	close snapshot.Close
}

// read opens a reading, and runs f on it. An index that turns out to be damaged
// is made anew, and then f runs again. The caller's document gets how the snapshot
// closed; so does an error.
func (p *Plan) read(ctx context.Context, fresh Freshness, f func(reading) error) (snapshot.Close, error) {
	r := reading{trust: p.carrier.Remembered(), close: snapshot.NotOpened{}}
	at := time.Time{}
	if fresh != AsOf {
		at = time.Now()
		closed := p.carrier.Refresh(ctx)
		r.close = closed.Close
		if closed.Result.Err != nil {
			return r.close, withClose(closed.Result.Err, r.close)
		}
		r.trust = closed.Result.Trust
	}
	err := p.look(ctx, r, at, f)
	var damaged *index.Damaged
	if errors.As(err, &damaged) {
		closed := p.carrier.Rebuild(ctx, damaged.Error())
		r.close = carrier.Worse(r.close, closed.Close)
		p.board.Store(nil)
		if err = closed.Result.Err; err == nil {
			err = p.look(ctx, r, at, f)
		}
	}
	return r.close, withClose(unreadable(err), r.close)
}

// look runs f on what the index has now. At is when the remote was asked; zero
// where it was not.
func (p *Plan) look(ctx context.Context, r reading, at time.Time, f func(reading) error) error {
	view, err := p.carrier.View(ctx)
	if err != nil {
		return err
	}
	defer view.Close()
	r.view = view
	if r.board, err = p.boardOf(view); err != nil {
		return err
	}
	if r.at.Commit == "" {
		return problem.New(problem.Gone, "as-of", "Nothing of this plan was read here yet.")
	}
	if at.IsZero() {
		at = r.at.Read
	}
	r.as = AsOfCommit{Commit: r.at.Commit, At: at.UTC().Truncate(time.Second)}
	return f(r)
}

func unreadable(err error) error {
	if err == nil {
		return nil
	}
	return problem.From(err, "What was read of the plan could not be read again.")
}

// boardOf is all nodes as the view has them; made once for each commit.
func (p *Plan) boardOf(view *index.View) (*board, error) {
	at := view.Position()
	if b := p.board.Load(); b != nil && b.at == at {
		return b, nil
	}
	states, err := view.States()
	if err != nil {
		return nil, err
	}
	b := &board{at: at, byNode: map[event.Node]int{}}
	if b.refused, err = view.Refusals(); err != nil {
		return nil, err
	}
	refused := index.RefusedNodes(b.refused)
	for _, s := range states {
		if _, ok := refused[s.Node]; !ok {
			b.states = append(b.states, s)
		}
	}
	b.graph = history.NewGraph(b.states)
	sortStates(b.states)
	for i, s := range b.states {
		b.byNode[s.Node] = i
	}
	p.board.Store(b)
	return b, nil
}

// state is one node, or why there is none to show.
func (b *board) state(n event.Node) (history.State, error) {
	if r, ok := index.RefusedNodes(b.refused)[n]; ok {
		return history.State{}, problem.Refusal(stepNodeRefused, "Node %s cannot be read whole: at %s (%s), %s. The other nodes can.", n, r.Place, r.Step, r.Reason)
	}
	i, ok := b.byNode[n]
	if !ok {
		return history.State{}, problem.New(problem.Gone, history.StepNode, "There is no node %s.", n).WithHint("holdfast roadmap list")
	}
	return b.states[i], nil
}

// withClose adds to an error that a snapshot could not be removed.
func withClose(err error, c snapshot.Close) error {
	failed, ok := c.(snapshot.CloseFailed)
	if err == nil || !ok {
		return err
	}
	p := *problem.From(err, err.Error())
	p.Reason += " " + closeSentence(failed)
	return &p
}

func closeSentence(f snapshot.CloseFailed) string {
	return "Besides, the snapshot " + f.Worktree + " could not be removed: " + f.Stderr + "."
}

// NewKey makes an operation key for somebody who gave none.
func NewKey() event.Key { return event.Key("op-" + random(16)) }

// CommentOf is the name of the comment that an operation makes: asked for again
// under its key, it is the same comment.
func CommentOf(key event.Key) event.Comment {
	sum := sha256.Sum256([]byte(key))
	return event.Comment("c-" + hex.EncodeToString(sum[:8]))
}

func random(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
