package marks

import (
	"testing"
	"time"

	"holdfast/internal/problem"
)

var (
	worker   = Who{By: "worker", Via: "token", At: time.Date(2026, 1, 2, 3, 4, 5, 6_000_000, time.UTC)}
	operator = Who{By: "operator", Via: "page", At: worker.At.Add(time.Hour)}
	other    = Who{By: "other", Via: "cli", At: worker.At.Add(2 * time.Hour)}
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func edit(t testing.TB, data string) *Document {
	t.Helper()
	d, err := Edit([]byte(data))
	check(t, err)
	return d
}

// encode is d as it would be written. What is written must be read back whole.
func encode(t testing.TB, d *Document) string {
	t.Helper()
	data, err := d.Encode()
	check(t, err)
	if r := Parse(data); !r.Whole() {
		t.Fatalf("what was written is damaged: %s\n%s", r.Why(), data)
	}
	return string(data)
}

// asked is a document in which q was asked, read again, and the question's id.
func asked(t testing.TB, q Question) (doc, id string) {
	t.Helper()
	d, err := Edit(nil)
	check(t, err)
	p, err := d.Ask(q, worker)
	check(t, err)
	return encode(t, d), p.MarkID
}

// refused wants err to be of kind and step, and d to be as it was read.
func refused(t testing.TB, d *Document, err error, kind problem.Kind, step string) {
	t.Helper()
	if err == nil {
		t.Fatalf("done, want %s at %s", kind, step)
	}
	if p := problem.From(err, ""); p.Kind != kind || p.Step != step {
		t.Errorf("%s at %s (%v), want %s at %s", p.Kind, p.Step, err, kind, step)
	}
	unchanged(t, d)
}

func unchanged(t testing.TB, d *Document) {
	t.Helper()
	if d.Changed() {
		t.Errorf("the document counts as changed, at rev %d", d.rev)
	}
}

func sole(t testing.TB, doc string) Pick {
	t.Helper()
	r := Parse([]byte(doc))
	if len(r.Marks) != 1 || !r.Whole() {
		t.Fatalf("%d marks, %s", len(r.Marks), r.Why())
	}
	p, ok := r.Marks[0].(Pick)
	if !ok {
		t.Fatalf("a %T", r.Marks[0])
	}
	return p
}

func no() *bool  { f := false; return &f }
func yes() *bool { f := true; return &f }

// A question with a part of each kind; the last may be left out.
func question() Question {
	options := []Option{{ID: "a", Label: "A"}, {ID: "b", Item: "b.png"}}
	return Question{
		Title: "Which?", Why: "it matters", Key: "k",
		Parts: []Part{
			{ID: "one", Kind: Choice, Options: options, Recommend: "b"},
			{ID: "many", Kind: Multi, Options: options, Exact: true},
			{ID: "sure", Kind: Confirm},
			{ID: "words", Kind: Text, Required: no()},
		},
	}
}

func simple() Question {
	return Question{Title: "Which?", Parts: []Part{{ID: "one", Kind: Choice, Options: []Option{{ID: "a"}, {ID: "b"}}}}}
}

func chose(part, option string) map[string]Value {
	return map[string]Value{part: {Choices: []string{option}}}
}

// said is a revision that a reply carries; 0 for one that it does not.
func said(rev int64) *int64 {
	if rev == 0 {
		return nil
	}
	return &rev
}
