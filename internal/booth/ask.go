package booth

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"strings"

	"holdfast/internal/booth/folder"
	"holdfast/internal/booth/marks"
	"holdfast/internal/canon"
	"holdfast/internal/problem"
)

// Asked is a question and how far it has come, in JSON. URL is where it can be
// answered; empty where no desk is known. State is open, answered, declined,
// withdrawn, broken (the marks cannot be read, so it can never be answered as it
// is) or gone.
type Asked struct {
	Name     string        `json:"name"`
	ID       string        `json:"id"`
	URL      string        `json:"url"`
	Title    string        `json:"title"`
	Rev      int64         `json:"rev"`      // of the marks
	Question int64         `json:"question"` // the question's revision
	State    string        `json:"state"`
	Answer   *marks.Answer `json:"answer"`
}

// Noted is a note or a flag that was written, in JSON.
type Noted struct {
	Name string `json:"name"`
	ID   string `json:"id"`
	Rev  int64  `json:"rev"`
}

// Question is what is asked: a new question, or in place of the one called Edit.
type Question struct {
	marks.Question

	Edit string `json:"edit,omitempty"`
}

// Reply is the answer to the question called ID.
type Reply struct {
	marks.Reply

	ID string `json:"id"`
}

// Withdrawal takes back the question called ID.
type Withdrawal struct {
	ID     string `json:"id"`
	Reason string `json:"reason,omitempty"`
}

// Remark is a note (Text, about Target where it names an item) or a flag (on
// Target).
type Remark struct {
	Text   string `json:"text,omitempty"`
	Target string `json:"target,omitempty"`
}

// Keeping is a reason for keeping a booth; it may be empty.
type Keeping struct {
	Why string `json:"why,omitempty"`
}

// ParseRequest reads what arrives over HTTP, strictly.
func ParseRequest(data []byte, into any) error {
	if err := canon.Decode(data, into); err != nil {
		return problem.New(problem.Usage, "request", "The request cannot be read: %v. Nothing was changed.", err)
	}
	return nil
}

// NewAsked is the document about a pick in a reading of marks.
func NewAsked(name string, rev int64, p marks.Pick) Asked {
	return Asked{
		Name: text(name), ID: p.MarkID, Title: p.Title, Rev: rev,
		Question: p.Revision(), State: string(p.State()), Answer: p.Answer,
	}
}

// Anchor is where a question stands on its booth's marks page: the fragment of the
// address, and the id of the element. It is the question's own id where that is
// letters and a number, as those that we give are and those of the page's own
// elements are not.
func Anchor(id string) string {
	digits := strings.TrimLeft(id, "abcdefghijklmnopqrstuvwxyz")
	if digits != "" && digits != id && strings.Trim(digits, "0123456789") == "" {
		return id
	}
	return "pick-" + hex.EncodeToString([]byte(id))
}

// Ask asks a question in a booth that is there.
func Ask(ctx context.Context, d *folder.Data, name folder.Name, q Question, who marks.Who) (Asked, error) {
	return onPick(ctx, d, name, func(doc *marks.Document) (marks.Pick, error) {
		if q.Edit != "" {
			return doc.Revise(q.Edit, q.Question, who)
		}
		return doc.Ask(q.Question, who)
	})
}

// Answer answers a question.
//
// The reply says what was shown, so that it is refused where that is not what is
// there any more.
func Answer(ctx context.Context, d *folder.Data, name folder.Name, r Reply, who marks.Who) (Asked, error) {
	if r.Question == nil || r.Document == nil {
		return Asked{}, problem.New(problem.Usage, "request", "An answer says what it answers: question and document, the revisions that were shown. Nothing was changed.")
	}
	return onPick(ctx, d, name, func(doc *marks.Document) (marks.Pick, error) { return doc.Answer(r.ID, r.Reply, who) })
}

// Withdraw takes a question back.
func Withdraw(ctx context.Context, d *folder.Data, name folder.Name, w Withdrawal, who marks.Who) (Asked, error) {
	return onPick(ctx, d, name, func(doc *marks.Document) (marks.Pick, error) { return doc.Withdraw(w.ID, w.Reason, who) })
}

func onPick(ctx context.Context, d *folder.Data, name folder.Name, change func(*marks.Document) (marks.Pick, error)) (Asked, error) {
	var p marks.Pick
	after, err := ChangeMarks(ctx, d, name, func(doc *marks.Document) (err error) {
		p, err = change(doc)
		return err
	})
	if err != nil { // the question as it is, not as it was to be
		p, _ = after.Pick(p.MarkID)
	}
	return NewAsked(name.String(), after.Rev, p), err
}

// Note writes a note.
func Note(ctx context.Context, d *folder.Data, name folder.Name, r Remark, who marks.Who) (Noted, error) {
	return remark(ctx, d, name, func(doc *marks.Document) (marks.Mark, error) { return doc.AddNote(r.Text, r.Target, who) })
}

// Flag flags an item.
func Flag(ctx context.Context, d *folder.Data, name folder.Name, r Remark, who marks.Who) (Noted, error) {
	return remark(ctx, d, name, func(doc *marks.Document) (marks.Mark, error) { return doc.AddFlag(r.Target, r.Text, who) })
}

func remark(ctx context.Context, d *folder.Data, name folder.Name, change func(*marks.Document) (marks.Mark, error)) (Noted, error) {
	var m marks.Mark
	after, err := ChangeMarks(ctx, d, name, func(doc *marks.Document) (err error) {
		m, err = change(doc)
		return err
	})
	if err != nil {
		return Noted{}, err
	}
	return Noted{text(name.String()), m.ID(), after.Rev}, nil
}

// Damage is the document about marks that cannot be read whole: why, and what
// of them could be read.
type Damage struct {
	Error    string            `json:"error"`
	Salvaged []json.RawMessage `json:"salvaged"`
}
