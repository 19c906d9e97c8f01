package marks

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"holdfast/internal/canon"
	"holdfast/internal/problem"
)

// foreign has a member that nobody knows in each place where one may stand.
const foreign = `{"later":{"x":[1.50,"<&>"]},"schema":"holdfast.marks/v1","rev":7,"marks":[
 {"id":"n1","shape":"note","text":"x","anchor":{"line":3}},
 {"id":"f1","shape":"flag","target":"a.png","by":"worker","colour":"red"},
 {"id":"p1","shape":"pick","title":"t","colour":"blue","rev":3,
  "parts":[{"id":"one","kind":"choice","scale":2,"options":[{"id":"a","icon":"<b>"},{"id":"b"}]},{"id":"two","kind":"text","rows":9}],
  "answer":{"by":"o","mood":1e2,"parts":{"one":{"choices":["a"],"strength":3}}},
  "superseded":[{"answer":{"by":"e","mood":"low","parts":{}},"why":"answered-again","when":"once"}]}]}`

// path finds a value in a document; a number is a place in a list.
func path(t testing.TB, doc string, steps ...any) any {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(doc))
	dec.UseNumber()
	var v any
	check(t, dec.Decode(&v))
	for _, step := range steps {
		switch step := step.(type) {
		case string:
			v = v.(map[string]any)[step]
		case int:
			list, _ := v.([]any)
			if step >= len(list) {
				return nil
			}
			v = list[step]
		}
	}
	return v
}

// Red when an operation writes what it knows in place of what was there: a mark
// (put without the clone), an answer (supersede from the Answer), a part (Revise
// without rewrite), or the document (Encode without members).
func TestWhatThisVersionDoesNotKnowOutlastsEveryChange(t *testing.T) {
	edited := Question{Title: "t", Parts: []Part{
		{ID: "one", Kind: Choice, Options: []Option{{ID: "a"}, {ID: "b"}}},
		{ID: "two", Kind: Text, Prompt: "another"},
	}}
	in := func(steps ...any) []any { return append([]any{"marks", 2}, steps...) }
	ops := map[string]struct {
		do        func(d *Document) error
		answered  bool // the answer that was there is superseded
		partTwo   any  // what is left of the unknown member of the part that may be edited
		newRev    string
		marksThen int
	}{
		"note":     {func(d *Document) error { _, err := d.AddNote("y", "", worker); return err }, false, "9", "8", 4},
		"flag":     {func(d *Document) error { _, err := d.AddFlag("a.png", "y", worker); return err }, false, "9", "8", 3},
		"ask":      {func(d *Document) error { _, err := d.Ask(simple(), worker); return err }, false, "9", "8", 4},
		"answer":   {func(d *Document) error { _, err := d.Answer("p1", Reply{Parts: chose("one", "b")}, other); return err }, true, "9", "8", 3},
		"withdraw": {func(d *Document) error { _, err := d.Withdraw("p1", "", worker); return err }, false, "9", "8", 3},
		"revise":   {func(d *Document) error { _, err := d.Revise("p1", edited, worker); return err }, true, nil, "8", 3},
		"nothing":  {func(*Document) error { return nil }, false, "9", "7", 3},
	}
	for name, op := range ops {
		t.Run(name, func(t *testing.T) {
			d := edit(t, foreign)
			check(t, op.do(d))
			out := encode(t, d)
			want := func(want any, steps ...any) {
				t.Helper()
				if got := path(t, out, steps...); fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("%v is %v, want %v", steps, got, want)
				}
			}
			want("1.50", "later", "x", 0)
			want("<&>", "later", "x", 1)
			want("3", "marks", 0, "anchor", "line")
			want("red", "marks", 1, "colour")
			want("blue", in("colour")...)
			want("2", in("parts", 0, "scale")...)
			want("<b>", in("parts", 0, "options", 0, "icon")...)
			want(op.partTwo, in("parts", 1, "rows")...)
			want("low", in("superseded", 0, "answer", "mood")...)
			want("once", in("superseded", 0, "when")...)
			if op.answered {
				want("1e2", in("superseded", 1, "answer", "mood")...)
				want("3", in("superseded", 1, "answer", "parts", "one", "strength")...)
			} else {
				want("1e2", in("answer", "mood")...)
				want(nil, in("superseded", 1)...)
			}
			want(op.newRev, "rev")
			if got := len(Parse([]byte(out)).Marks); got != op.marksThen {
				t.Errorf("%d marks", got)
			}
		})
	}
}

// Red when touch counts each change, or a refused one.
func TestRevIsRaisedOncePerEdit(t *testing.T) {
	d := edit(t, doc())
	if d.Changed() {
		t.Error("changed before it was")
	}
	_, err := d.AddNote("", "", worker)
	refused(t, d, err, problem.Usage, "note")
	p, err := d.Ask(simple(), worker)
	check(t, err)
	_, err = d.AddNote("x", "", worker)
	check(t, err)
	_, err = d.Answer(p.MarkID, Reply{Parts: chose("one", "a")}, operator)
	check(t, err)
	if d.rev != 4 || !d.Changed() {
		t.Errorf("rev %d, from 3", d.rev)
	}
	r := Parse([]byte(encode(t, d)))
	if p, _ := r.Pick(p.MarkID); r.Rev != 4 || p.Changed != 4 {
		t.Errorf("read back at %d, changed %d", r.Rev, p.Changed)
	}
}

// Whatever cannot be written leaves the document as it was. Red when an operation
// touches the document before it has what it puts.
func TestAChangeThatFailsCountsForNothing(t *testing.T) {
	never := Who{By: "w", At: time.Date(100_000, 1, 1, 0, 0, 0, 0, time.UTC)} // no year of RFC 3339
	src, id := asked(t, simple())
	q := simple()
	q.Why = "so"
	for what, do := range map[string]func(d *Document) error{
		"note":     func(d *Document) error { _, err := d.AddNote("x", "", never); return err },
		"flag":     func(d *Document) error { _, err := d.AddFlag("x", "", never); return err },
		"ask":      func(d *Document) error { _, err := d.Ask(simple(), never); return err },
		"answer":   func(d *Document) error { _, err := d.Answer(id, Reply{Parts: chose("one", "a")}, never); return err },
		"withdraw": func(d *Document) error { _, err := d.Withdraw(id, "", never); return err },
		"revise":   func(d *Document) error { _, err := d.Revise(id, q, never); return err },
	} {
		d := edit(t, src)
		if err := do(d); err == nil {
			t.Errorf("%s: done", what)
		}
		unchanged(t, d)
		if encode(t, d) != src {
			t.Errorf("%s: something was written", what)
		}
	}
}

// The largest rev is followed by the first: another one, and one that can be
// read. Red when next adds without end.
func TestRevNeverGrowsBeyondWhatCanBeRead(t *testing.T) {
	d := edit(t, strings.Replace(doc(note), `"rev":3`, fmt.Sprintf(`"rev":%d`, int64(maxRev)), 1))
	_, err := d.AddNote("x", "", worker)
	check(t, err)
	if r := Parse([]byte(encode(t, d))); r.Rev != 1 {
		t.Errorf("rev %d", r.Rev)
	}
	for _, rev := range []string{"9007199254740992", "9223372036854775807", "9223372036854775808"} {
		r := Parse([]byte(strings.Replace(doc(note), `"rev":3`, `"rev":`+rev, 1)))
		if r.Whole() || len(r.Marks) != 1 {
			t.Errorf("%s: %d marks, %q", rev, len(r.Marks), r.Why())
		}
	}
}

// Red when nextID counts from 1, or only the marks of its shape, or does not look
// whether the id is free.
func TestIdsAreUnique(t *testing.T) {
	for _, ids := range [][]string{
		nil,
		{"n1", "n2"},
		{"n2", "x", "n9", "p4"},
		{"n4294967294", "n4294967295", "n4294967296", "n4294967297"},
		{"n18446744073709551615", "n18446744073709551616", "n-1", "n+5", "n007"},
	} {
		for _, shape := range []string{note, flag, pick(choice, "")} {
			var entries []string
			for _, id := range ids {
				m := strings.Replace(shape, `"id":"`+shape[7:8]+`"`, `"id":"`+id+`"`, 1)
				entries = append(entries, m)
			}
			d := edit(t, doc(entries...))
			for range 3 {
				n, err := d.AddNote("x", "", worker)
				check(t, err)
				if len(ids) == 4 && ids[2] == "n9" && (n.MarkID == "n1" || n.MarkID == "n3") {
					t.Errorf("%s is a gap: what had that id may have been lost", n.MarkID)
				}
				_, err = d.AddFlag(fmt.Sprint(len(d.entries)), "", worker)
				check(t, err)
				_, err = d.Ask(simple(), worker)
				check(t, err)
			}
			encode(t, d) // which refuses an id that is there twice
			if got := len(d.Reading().Marks); got != len(ids)+9 {
				t.Errorf("%v: %d marks", ids, got)
			}
		}
	}
}

// Red without the limit in Encode: the document would be damage to every reader.
func TestMoreThanFitsIsRefused(t *testing.T) {
	d := edit(t, doc())
	for {
		_, err := d.AddNote(strings.Repeat("x", maxWords), "", worker)
		check(t, err)
		data, err := d.Encode()
		if err != nil {
			if p := problem.From(err, ""); p.Kind != problem.Refused || p.Step != problem.StepTooLarge || data != nil {
				t.Errorf("%v", err)
			}
			break
		}
		if len(data) > MaxSize {
			t.Fatalf("%d bytes", len(data))
		}
	}
	if n := len(d.entries) * maxWords; n < MaxSize-answerRoom-2*maxWords {
		t.Errorf("refused at %d bytes", n)
	}
}

// Red when Edit takes what Parse does not, or nothing for blank bytes.
func TestDamagedMarksAreNotEdited(t *testing.T) {
	for _, bad := range []string{"", " ", "null", doc("7"), doc(note, note), doc(note)[:50], strings.Repeat(" ", MaxSize) + doc()} {
		d, err := Edit([]byte(bad))
		if p := problem.From(err, ""); d != nil || p.Kind != problem.Refused || p.Step != StepDamaged || p.Hint == "" {
			t.Errorf("%.40q: %v", bad, err)
		}
	}
}

// A level is added to what is superseded; what nests to the limit of a document
// would pass it. Red without within in newEntry: the change writes damage.
func TestAChangeThatWouldNestTooDeepIsRefused(t *testing.T) {
	for depth := canon.MaxDepth - 8; ; depth++ {
		deep := strings.Repeat("[", depth) + strings.Repeat("]", depth)
		src := doc(pick(choice, `,"answer":{"by":"o","parts":{"part":{"choices":["a"]}},"deep":`+deep+`}`))
		if !Parse([]byte(src)).Whole() {
			if depth < canon.MaxDepth-4 {
				t.Fatalf("no document at %d", depth)
			}
			break
		}
		d := edit(t, src)
		if _, err := d.Answer("p", Reply{Parts: map[string]Value{"part": {None: true}}}, operator); err != nil {
			unchanged(t, d)
		}
		encode(t, d)
	}
}

// Red when Show leaves a member of the reading out.
func TestAReadingInJSONHasEveryMark(t *testing.T) {
	s, err := Parse([]byte(foreign)).Show()
	check(t, err)
	if s.Rev != 7 || len(s.Marks) != 3 {
		t.Fatalf("%+v", s)
	}
	var all []map[string]any
	for _, raw := range s.Marks {
		var m map[string]any
		check(t, json.Unmarshal(raw, &m))
		all = append(all, m)
	}
	for i, want := range []map[string]any{
		{"id": "n1", "shape": "note", "open": false, "text": "x"},
		{"id": "f1", "shape": "flag", "open": false, "target": "a.png", "by": "worker"},
		{"id": "p1", "shape": "pick", "open": true, "state": "open", "title": "t", "rev": 3.0},
	} {
		for name, v := range want {
			if !reflect.DeepEqual(all[i][name], v) {
				t.Errorf("%d: %s is %v, want %v", i, name, all[i][name], v)
			}
		}
	}
	if s, err := (Reading{}).Show(); err != nil || s.Marks == nil {
		t.Errorf("no marks are %v, %v, which is null in JSON", s.Marks, err)
	}
}
