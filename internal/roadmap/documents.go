package roadmap

import (
	"slices"
	"time"

	"holdfast/internal/roadmap/carrier"
	"holdfast/internal/roadmap/event"
	"holdfast/internal/roadmap/history"
	"holdfast/internal/roadmap/index"
	"holdfast/internal/roadmap/queue"
	"holdfast/internal/roadmap/snapshot"
)

// AsOfCommit says how new a document is: the remote had this commit at this time,
// or it was read then.
type AsOfCommit struct {
	Commit string    `json:"commit"`
	At     time.Time `json:"at"`
}

// Rewritten says that the log is not the one that was read before.
type Rewritten struct {
	Was string `json:"was"` // the tip that all of the document is of
	Is  string `json:"is"`  // the remote's tip; empty: the branch is gone
}

// Closing says how a snapshot closed.
type Closing struct {
	Kind   string `json:"kind"`   // not_opened, removed or failed
	Detail string `json:"detail"` // which worktree is left, and why
}

// Worse is the one of two that leaves more behind: a document may be of several
// snapshots.
func (c Closing) Worse(other Closing) Closing {
	if other.Kind == "failed" && c.Kind != "failed" || other.Kind == "removed" && c.Kind == "not_opened" {
		return other
	}
	return c
}

// Head is what every document about the plan says beside its own.
type Head struct {
	AsOf      AsOfCommit `json:"as_of"`
	Rewritten *Rewritten `json:"rewritten,omitempty"`
	Close     Closing    `json:"close"`
}

// Standing is where a node stands; Kind says which members mean something.
type Standing struct {
	Kind    string           `json:"kind"`
	By      event.Principal  `json:"by,omitempty"`
	Since   *time.Time       `json:"since,omitempty"`
	Note    string           `json:"note,omitempty"`
	Reason  string           `json:"reason,omitempty"`
	Picks   []string         `json:"picks,omitempty"`
	Result  *Result          `json:"result,omitempty"`
	Heads   []event.ID       `json:"heads,omitempty"`
	Missing []event.ID       `json:"missing,omitempty"`
	Line    string           `json:"line"` // in words
	sum     history.Standing // what it was made of
}

// Result is what is to be reviewed.
type Result struct {
	Event   event.ID      `json:"event"`
	Attempt event.Attempt `json:"attempt"`
	Claim   event.ID      `json:"claim"`
	Head    string        `json:"head,omitempty"`
	Booth   string        `json:"booth,omitempty"`
}

// Sum is the standing as the sum that it is.
func (s Standing) Sum() history.Standing { return s.sum }

// Row is a node in a list.
type Row struct {
	Node     event.Node      `json:"node"`
	Title    string          `json:"title"`
	Standing Standing        `json:"standing"`
	Holder   event.Principal `json:"holder"`
	Priority event.Priority  `json:"priority"` // p2 where the card has none
	Labels   []string        `json:"labels"`
	Run      string          `json:"run,omitempty"`
	Revision event.ID        `json:"revision"` // empty where there is no single head
	Events   int             `json:"events"`
	Blocked  bool            `json:"blocked"` // it waits for another node
	Ready    bool            `json:"ready"`
	Updated  time.Time       `json:"updated"` // as its newest event says
}

// RefusedNode is what could not be read; of the whole log where Node is empty.
type RefusedNode struct {
	Node   event.Node `json:"node"`
	Step   string     `json:"step"`
	Reason string     `json:"reason"`
	Place  string     `json:"place"`
}

// List is some or all nodes, the most urgent first, then by name.
type List struct {
	Nodes   []Row         `json:"nodes"`
	Refused []RefusedNode `json:"refused"`
	Head
}

// Blocker is a node that another one waits for.
type Blocker struct {
	Node  event.Node `json:"node"`
	Is    string     `json:"is"` // accepted, open, dropped, unordered or missing
	Title string     `json:"title"`
}

// Link is a relation to another node.
type Link struct {
	Relation event.Relation `json:"relation"`
	To       event.Node     `json:"to"`
	Title    string         `json:"title"`
}

// Comment is a comment as it is now.
type Comment struct {
	Comment event.Comment   `json:"comment"`
	Event   event.ID        `json:"event"`             // that made it: two may have one name
	Answers event.ID        `json:"answers,omitempty"` // the event of the comment that it answers
	Body    string          `json:"body"`
	Author  event.Principal `json:"author"`
	At      time.Time       `json:"at"`
	Edited  bool            `json:"edited"`
	Deleted bool            `json:"deleted"`
	Aside   bool            `json:"aside"` // made on a line that was not kept
}

// Receipt is evidence that was pointed at.
type Receipt struct {
	Obligation string          `json:"obligation"`
	Address    string          `json:"address"`
	Verdict    string          `json:"verdict"`
	Author     event.Principal `json:"author"`
	At         time.Time       `json:"at"`
}

// Claim is one claim, and what came of it.
type Claim struct {
	Claim    event.ID        `json:"claim"`
	Assignee event.Principal `json:"assignee"`
	ReturnTo event.Principal `json:"return_to"`
	At       time.Time       `json:"at"`
	Attempts []event.Attempt `json:"attempts"`
	Spent    bool            `json:"spent"`
}

// Node is all that is known of one.
type Node struct {
	Row
	Body      string          `json:"body"`
	ReturnTo  event.Principal `json:"return_to"`
	BlockedBy []Blocker       `json:"blocked_by"`
	Blocks    []Link          `json:"blocks"` // those that wait for this one
	Links     []Link          `json:"links"`  // but blocked_by
	Children  []event.Node    `json:"children"`
	Cycle     []event.Node    `json:"cycle,omitempty"` // of blocked_by, through this node
	Comments  []Comment       `json:"comments"`
	Receipts  []Receipt       `json:"receipts"`
	Claims    []Claim         `json:"claims"`
	Opened    time.Time       `json:"opened"`
	OpenedBy  event.Principal `json:"opened_by"`
	Head
}

// Entry is an event of a node's history.
type Entry struct {
	ID      event.ID        `json:"id"`
	Kind    event.Kind      `json:"kind"`
	Author  event.Principal `json:"author"`
	At      time.Time       `json:"at"`
	Parents []event.ID      `json:"parents"`
	Line    string          `json:"line"`  // in words
	Aside   bool            `json:"aside"` // on a line that was not kept, or has no order
	Bytes   string          `json:"bytes"` // the canonical bytes, as text
}

// Log is a node's history, oldest first. One without an order is sorted so that
// each event comes after its parents.
type Log struct {
	Node     event.Node `json:"node"`
	Standing Standing   `json:"standing"`
	Events   []Entry    `json:"events"`
	Head
}

// Appended is the answer to whoever appended.
type Appended struct {
	ID       event.ID   `json:"id"` // empty where it is not in the log
	Node     event.Node `json:"node"`
	Revision event.ID   `json:"revision"` // what to expect next
	Commit   string     `json:"commit"`
	Outcome  string     `json:"outcome"` // appended, already_present, queued or unknown
	Key      event.Key  `json:"key"`
	Attempts int        `json:"attempts"`
	Why      string     `json:"why,omitempty"` // it is queued or unknown
	Close    Closing    `json:"close"`
}

func closing(c snapshot.Close) Closing {
	switch c := c.(type) {
	case snapshot.Removed:
		return Closing{Kind: "removed"}
	case snapshot.CloseFailed:
		return Closing{Kind: "failed", Detail: c.Worktree + ": " + c.Stderr}
	case snapshot.NotOpened:
		return Closing{Kind: "not_opened"}
	default:
		return Closing{Kind: "not_opened"}
	}
}

// head is what the documents of a reading say beside their own.
func (r reading) head() Head {
	h := Head{AsOf: r.as, Close: closing(r.close)}
	if rw, ok := r.trust.(carrier.Rewritten); ok {
		h.Rewritten = &Rewritten{Was: rw.Was, Is: rw.Is}
	}
	return h
}

func (b *board) row(s history.State) Row {
	priority := s.Card.Priority
	if priority == "" {
		priority = event.DefaultPriority
	}
	return Row{
		Node: s.Node, Title: s.Card.Title, Standing: standingOf(s.Standing), Holder: s.Holder, Priority: priority,
		Labels: notNil(s.Card.Labels), Run: s.Card.Run, Revision: s.Head, Events: s.Events,
		Blocked: b.graph.Blocked(s.Node), Ready: b.graph.Ready(s.Node), Updated: s.Updated.At,
	}
}

func standingOf(s history.Standing) Standing {
	d := Standing{Kind: history.Key(s), Line: history.Phrase(s), sum: s}
	switch s := s.(type) {
	case history.Open:
	case history.Claimed:
		d.By, d.Since = s.By, &s.Since
	case history.InProgress:
		d.By, d.Note = s.By, s.Note
	case history.Blocked:
		d.By, d.Reason, d.Picks = s.By, s.Reason, s.Picks
	case history.HandedBack:
		d.By, d.Reason = s.By, s.Reason
	case history.ReadyForReview:
		r := Result(s.Result)
		d.By, d.Result = s.By, &r
	case history.Accepted:
		d.By, d.Reason = s.By, s.Reason
	case history.Dropped:
		d.By, d.Reason = s.By, s.Reason
	case history.Forked:
		d.Heads = s.Heads
	case history.Incomplete:
		d.Missing = s.Missing
	}
	return d
}

func refusedDocs(list []index.Refusal) []RefusedNode {
	out := make([]RefusedNode, len(list))
	for i, r := range list {
		out[i] = RefusedNode{Node: r.Node, Step: r.Step, Reason: r.Reason, Place: r.Place}
	}
	return out
}

// IsOutcome reports whether the file said what became of a command, so that no
// command waits in it.
func (d DamagedFile) IsOutcome() bool { return queue.Damaged(d).IsOutcome() }

func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func sortStates(list []history.State) { slices.SortFunc(list, history.Compare) }
