package event

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"holdfast/internal/canon"
)

// timeForm is the one spelling of a time.
const timeForm = "2006-01-02T15:04:05.000Z"

// wire is the members of every kind. What a kind does not have stays empty, and
// is left out.
type wire struct {
	Schema     string   `json:"schema"`
	Node       string   `json:"node"`
	Author     string   `json:"author"`
	Parents    []string `json:"parents,omitzero"` // nil in a command, never in an event
	Kind       string   `json:"kind"`
	RecordedAt string   `json:"recorded_at"`

	Title         string       `json:"title,omitempty"`
	Body          string       `json:"body,omitempty"`
	Labels        []string     `json:"labels,omitempty"`
	Priority      string       `json:"priority,omitempty"`
	Run           string       `json:"run,omitempty"`
	Relation      string       `json:"relation,omitempty"`
	To            string       `json:"to,omitempty"`
	Assignee      string       `json:"assignee,omitempty"`
	ReturnTo      string       `json:"return_to,omitempty"`
	Note          string       `json:"note,omitempty"`
	Reason        string       `json:"reason,omitempty"`
	Obligation    string       `json:"obligation,omitempty"`
	Address       string       `json:"address,omitempty"`
	Verdict       string       `json:"verdict,omitempty"`
	Comment       string       `json:"comment,omitempty"`
	ParentComment string       `json:"parent_comment,omitempty"`
	Attempt       string       `json:"attempt,omitempty"`
	Claim         string       `json:"claim,omitempty"`
	Outcome       *wireOutcome `json:"outcome,omitempty"`
	Keep          string       `json:"keep,omitempty"`

	// Only a command has these.
	Key    string   `json:"key,omitempty"`
	Expect []string `json:"expect,omitempty"`
}

type wireOutcome struct {
	Kind   string   `json:"kind"`
	Head   string   `json:"head,omitempty"`
	Booth  string   `json:"booth,omitempty"`
	Picks  []string `json:"picks,omitempty"`
	Cause  string   `json:"cause,omitempty"`
	Reason string   `json:"reason,omitempty"`
}

func (d Draft) wire() wire {
	w := wire{
		Schema: Schema, Node: string(d.Node), Author: string(d.Author), Kind: string(d.Body.Kind()),
		Parents: asStrings(d.Parents), RecordedAt: d.At.Format(timeForm),
	}
	d.Body.write(&w)
	return w
}

// Decode reads the canonical bytes of one event. The error is a [*Fault], with
// the node where that could be read.
func Decode(data []byte) (Event, error) {
	e, fault := decode(data)
	if fault != nil {
		return Event{}, fault.in(data)
	}
	return e, nil
}

func decode(data []byte) (Event, *Fault) {
	if len(data) > MaxBytes {
		return Event{}, tooLarge(len(data))
	}
	var w wire
	if err := json.Unmarshal(data, &w); err != nil {
		return Event{}, explain(data)
	}
	d, fault := w.draft(Schema)
	if fault == nil && w.Parents == nil {
		fault = &Fault{Step: StepEvent, Reason: "parents is missing"}
	}
	if fault == nil {
		fault = d.check()
	}
	if fault != nil {
		return Event{}, fault
	}
	again := d.wire().canonical()
	if !bytes.Equal(again, data) {
		return Event{}, explain(data)
	}
	sum := sha256.Sum256(data)
	return Event{draft: d, id: ID(hex.EncodeToString(sum[:])), bytes: again}, nil
}

// explain says why bytes are no event that do not come out again as they were.
func explain(data []byte) *Fault {
	var strict wire
	if err := canon.Decode(data, &strict); err != nil {
		return &Fault{Step: StepEvent, Reason: err.Error()}
	}
	return &Fault{Step: StepEvent, Reason: "its bytes are not the canonical ones: a member that its kind does not have, an empty one, or another spelling"}
}

// draft reads what the members say. Only what would not come out again as it
// was is refused here; the rest is for check.
func (w wire) draft(schema string) (Draft, *Fault) {
	if w.Schema != schema {
		return Draft{}, &Fault{Step: StepEvent, Reason: "schema is not " + schema}
	}
	at, err := time.Parse(timeForm, w.RecordedAt)
	if err != nil {
		return Draft{}, &Fault{Step: StepEvent, Reason: "recorded_at is no time such as 2026-01-31T23:59:59.000Z"}
	}
	read, ok := bodies[Kind(w.Kind)]
	if !ok {
		return Draft{}, &Fault{Step: StepEvent, Reason: "kind " + strconv.Quote(clip(w.Kind)) + " is unknown"}
	}
	return Draft{Node: Node(w.Node), Author: Principal(w.Author), Parents: asIDs(w.Parents), At: at, Body: read(w)}, nil
}

// bodies reads the members of each kind.
var bodies = map[Kind]func(wire) Body{
	KindOpened:         func(w wire) Body { return Opened{w.card()} },
	KindEdited:         func(w wire) Body { return Edited{w.card()} },
	KindLinked:         func(w wire) Body { return Linked{Relation(w.Relation), Node(w.To)} },
	KindUnlinked:       func(w wire) Body { return Unlinked{Relation(w.Relation), Node(w.To)} },
	KindClaimed:        func(w wire) Body { return Claimed{Principal(w.Assignee), Principal(w.ReturnTo)} },
	KindReleased:       func(wire) Body { return Released{} },
	KindProgress:       func(w wire) Body { return Progress{w.Note} },
	KindBlocked:        func(w wire) Body { return Blocked{w.Reason} },
	KindHandedBack:     func(w wire) Body { return HandedBack{w.Reason} },
	KindReceipt:        func(w wire) Body { return Receipt{w.Obligation, w.Address, w.Verdict} },
	KindCommentCreated: func(w wire) Body { return CommentCreated{Comment(w.Comment), w.Body, Comment(w.ParentComment)} },
	KindCommentEdited:  func(w wire) Body { return CommentEdited{Comment(w.Comment), w.Body} },
	KindCommentDeleted: func(w wire) Body { return CommentDeleted{Comment(w.Comment)} },
	KindResultReturned: func(w wire) Body { return ResultReturned{Attempt(w.Attempt), ID(w.Claim), w.Outcome.read()} },
	KindAccepted:       func(w wire) Body { return Accepted{w.Reason} },
	KindDropped:        func(w wire) Body { return Dropped{w.Reason} },
	KindReopened:       func(w wire) Body { return Reopened{w.Reason} },
	KindReconciled:     func(w wire) Body { return Reconciled{ID(w.Keep)} },
}

// Kinds are all kinds of events, sorted.
func Kinds() []Kind {
	kinds := make([]Kind, 0, len(bodies))
	for k := range bodies {
		kinds = append(kinds, k)
	}
	slices.Sort(kinds)
	return kinds
}

func (w wire) card() Card {
	return Card{Title: w.Title, Body: w.Body, Labels: w.Labels, Priority: Priority(w.Priority), Run: w.Run}
}

// read is nil for an outcome that is missing or unknown.
func (o *wireOutcome) read() Outcome {
	if o == nil {
		return nil
	}
	switch o.Kind {
	case Published{}.name():
		return Published{Head: o.Head, Booth: o.Booth}
	case Waiting{}.name():
		return Waiting{Picks: o.Picks}
	case VerificationFailed{}.name():
		return VerificationFailed{Cause: o.Cause}
	case GivenBack{}.name():
		return GivenBack{Reason: o.Reason}
	default:
		return nil
	}
}

func (d Card) write(w *wire) {
	w.Title, w.Body, w.Labels, w.Priority, w.Run = d.Title, d.Body, d.Labels, string(d.Priority), d.Run
}

func (b Opened) write(w *wire)     { b.Card.write(w) }
func (b Edited) write(w *wire)     { b.Card.write(w) }
func (b Linked) write(w *wire)     { w.Relation, w.To = string(b.Relation), string(b.To) }
func (b Unlinked) write(w *wire)   { w.Relation, w.To = string(b.Relation), string(b.To) }
func (b Claimed) write(w *wire)    { w.Assignee, w.ReturnTo = string(b.Assignee), string(b.ReturnTo) }
func (Released) write(*wire)       {}
func (b Progress) write(w *wire)   { w.Note = b.Note }
func (b Blocked) write(w *wire)    { w.Reason = b.Reason }
func (b HandedBack) write(w *wire) { w.Reason = b.Reason }
func (b Receipt) write(w *wire) {
	w.Obligation, w.Address, w.Verdict = b.Obligation, b.Address, b.Verdict
}
func (b CommentEdited) write(w *wire)  { w.Comment, w.Body = string(b.Comment), b.Body }
func (b CommentDeleted) write(w *wire) { w.Comment = string(b.Comment) }
func (b Accepted) write(w *wire)       { w.Reason = b.Reason }
func (b Dropped) write(w *wire)        { w.Reason = b.Reason }
func (b Reopened) write(w *wire)       { w.Reason = b.Reason }
func (b Reconciled) write(w *wire)     { w.Keep = string(b.Keep) }

func (b CommentCreated) write(w *wire) {
	w.Comment, w.Body, w.ParentComment = string(b.Comment), b.Body, string(b.Parent)
}

func (b ResultReturned) write(w *wire) {
	w.Attempt, w.Claim, w.Outcome = string(b.Attempt), string(b.Claim), &wireOutcome{Kind: b.Outcome.name()}
	b.Outcome.write(w.Outcome)
}

func (o Published) write(w *wireOutcome)          { w.Head, w.Booth = o.Head, o.Booth }
func (o Waiting) write(w *wireOutcome)            { w.Picks = o.Picks }
func (o VerificationFailed) write(w *wireOutcome) { w.Cause = o.Cause }
func (o GivenBack) write(w *wireOutcome)          { w.Reason = o.Reason }

// Same says whether two bodies state the same, which is what a repeated
// operation is recognised by.
func Same(a, b Body) bool {
	var x, y wire
	a.write(&x)
	b.write(&y)
	return a.Kind() == b.Kind() && bytes.Equal(x.canonical(), y.canonical())
}
