package marks

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"holdfast/internal/canon"
	"holdfast/internal/problem"
)

// case B26. Red when salvage forgets a list it has, does not look at the schema,
// or takes a value that is too deep for its place (without within).
func TestMendingKeepsWhatHydrates(t *testing.T) {
	ten := make([]string, 0, 10)
	for i := range 10 {
		ten = append(ten, fmt.Sprintf(`{"id":"n%d","shape":"note","text":"x","extra":%d}`, i, i))
	}
	ten[4] = `{"id":"n4","shape":"note"}`
	open := pick(choice, `,"extra":1`)
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	full := `{"later":1,"schema":"holdfast.marks/v1","rev":41,"marks":[` + open + "," + note + "," + flag + "]}"
	cases := []struct {
		name, data string
		kept       int
		rev        int64
		open       int
		later      bool // the unknown member of the document is kept
	}{
		{"empty", "", 0, 1, 0, false},
		{"blank", " \n", 0, 1, 0, false},
		{"null", "null", 0, 1, 0, false},
		{"list", "[]", 0, 1, 0, false},
		{"cut in the first mark", full[:70], 0, 42, 0, true},
		{"cut in the second", full[:strings.Index(full, "nice")], 1, 42, 1, true},
		{"cut in the third", full[:strings.Index(full, "a.png")], 2, 42, 1, true},
		{"cut at the end", full[:len(full)-1], 3, 42, 1, true},
		{"more after it", full + full, 3, 42, 1, true},
		{"one broken among ten", doc(ten...), 9, 4, 0, false},
		{"a pick without options", doc(open, strings.Replace(pick(`{"id":"a","kind":"choice"}`, ""), `"p"`, `"q"`, 1)), 1, 4, 1, false},
		{"marks twice", strings.Replace(full, `"marks"`, `"marks":[{"id":"x","shape":"note","text":"x"}],"marks"`, 1), 4, 42, 1, true},
		{"marks twice, then null", full[:len(full)-1] + `,"marks":null}`, 3, 42, 1, true},
		{"no schema", strings.Replace(full, `"schema":"holdfast.marks/v1",`, "", 1), 3, 42, 1, true},
		{"no rev", strings.Replace(full, `"rev":41,`, "", 1), 3, 1, 1, true},
		{"rev is a word", strings.Replace(full, `41`, `"41"`, 1), 3, 1, 1, true},
		{"rev is negative", strings.Replace(full, `41`, `-41`, 1), 3, 1, 1, true},
		{"rev is too large", strings.Replace(full, `41`, `9223372036854775807`, 1), 3, 1, 1, true},
		{"another schema", strings.Replace(full, `holdfast.marks/v1`, `other/v1`, 1), 0, 42, 0, true},
		{"too deep in a mark", strings.Replace(full, `"extra":1`, `"extra":`+deep(canon.MaxDepth-1), 1), 2, 42, 0, true},
		{"too deep beside the marks", strings.Replace(full, `"later":1`, `"later":1,"deep":`+deep(canon.MaxDepth), 1), 3, 42, 1, true},
		{"not UTF-8 in a mark", strings.Replace(full, `nice`, "\xff", 1), 2, 42, 1, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m := mended(t, []byte(c.data))
			r := Parse(m.Data)
			if m.Kept != c.kept || len(r.Marks) != c.kept || r.Rev != c.rev || r.Open() != c.open {
				t.Errorf("%d kept, %d read, rev %d, %d open; want %d, rev %d, %d open", m.Kept, len(r.Marks), r.Rev, r.Open(), c.kept, c.rev, c.open)
			}
			if len(m.Lost) == 0 {
				t.Error("nothing is said of the damage")
			}
			if got := path(t, string(m.Data), "later") != nil; got != c.later {
				t.Errorf("the document's unknown member: %v, want %v", got, c.later)
			}
		})
	}
}

// mended is Mend with what must hold of it whatever it is given: it is whole, and
// has every mark that could be shown before.
func mended(t testing.TB, data []byte) Mended {
	t.Helper()
	m, err := Mend(data)
	check(t, err)
	after := Parse(m.Data)
	if !after.Whole() {
		t.Fatalf("still damaged: %s\n%s", after.Why(), m.Data)
	}
	before := Parse(data)
	if len(data) <= MaxSize && (m.Kept != len(before.Marks) || !reflect.DeepEqual(before.Marks, after.Marks)) {
		t.Fatalf("shown were\n%v\nmended are\n%v", before.Marks, after.Marks)
	}
	if after.Rev == before.Rev {
		t.Fatalf("rev %d as before", after.Rev)
	}
	return m
}

// case B26: more than fits. Red without shrink (Encode refuses what is left, and
// the booth can never be mended), or when it takes the marks in their order.
func TestMendingMoreThanFitsKeepsOpenQuestionsFirst(t *testing.T) {
	text := strings.Repeat("x", 64<<10)
	var entries []string
	for i := range 5 << 20 / len(text) {
		entries = append(entries, fmt.Sprintf(`{"id":"n%d","shape":"note","text":%q}`, i, text))
	}
	entries = append(entries, pick(choice, `,"why":"`+text+`"`))
	src := strings.Replace(doc(entries...), `"rev"`, `"later":"`+text+`","rev"`, 1)
	m := mended(t, []byte(src))
	r := Parse(m.Data)
	if r.Open() != 1 || m.Kept < 60 || m.Kept != len(r.Marks) || r.Marks[0].ID() != "n0" {
		t.Errorf("%d kept, %d open", m.Kept, r.Open())
	}
	if lost := strings.Join(m.Lost, "; "); !strings.Contains(lost, `"n79" has no room`) && !strings.Contains(lost, "more") {
		t.Errorf("said is %q", lost)
	}
	small := append([]byte(strings.Repeat(" ", MaxSize)), doc(note, pick(choice, ""))...)
	if m := mended(t, small); m.Kept != 2 {
		t.Errorf("of a small document in much space %d marks are kept", m.Kept)
	}
	huge := []byte(strings.Replace(doc(pick(choice, "")), `"rev"`, `"later":"`+strings.Repeat(text, 80)+`","rev"`, 1))
	if m := mended(t, huge); m.Kept != 1 || !strings.Contains(strings.Join(m.Lost, "; "), `"later" has no room`) {
		t.Errorf("of a document with a huge member %d marks are kept: %v", m.Kept, m.Lost)
	}
}

// Marks of a later version are not damaged: mending them would drop what they ask.
// Red when otherVersion is not asked.
func TestMarksOfAnotherVersionAreNotMended(t *testing.T) {
	data := strings.Replace(doc(pick(choice, "")), "marks/v1", "marks/v2", 1)
	if m, err := Mend([]byte(data)); problem.From(err, "").Step != "marks-version" || m.Data != nil {
		t.Errorf("%+v %v", m, err)
	}
}

func FuzzMend(f *testing.F) {
	for _, seed := range []string{foreign, foreign[:300], doc(note, flag, pick(choice, "")), doc("7"), doc(note, note), "", "[", doc(note) + doc(flag)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c := read(data)
		if _, other := c.otherVersion(); !other {
			mended(t, data)
		}
	})
}

// What can be edited can be written, and read back with all that it had.
func FuzzEdit(f *testing.F) {
	for _, seed := range []string{foreign, doc(), doc(note, flag, pick(choice, "")), `{"schema":"holdfast.marks/v1","rev":9007199254740991,"marks":[]}`} {
		f.Add([]byte(seed), "words", "b")
	}
	f.Fuzz(func(t *testing.T, data []byte, words, option string) {
		before := Parse(data)
		d, err := Edit(data)
		if (err == nil) != before.Whole() {
			t.Fatalf("%v, and read: %q", err, before.Why())
		}
		if err != nil {
			return
		}
		if !sameMarks(before, Parse([]byte(encode(t, d)))) {
			t.Fatal("written unchanged, it reads otherwise")
		}
		n, err := d.AddNote(words, option, worker)
		if err != nil {
			unchanged(t, d)
			return
		}
		after := Parse([]byte(encode(t, d)))
		if len(after.Marks) != len(before.Marks)+1 || !reflect.DeepEqual(after.Marks[:len(before.Marks)], append([]Mark{}, before.Marks...)) {
			t.Fatalf("%v, then %v", before.Marks, after.Marks)
		}
		if got, ok := after.Marks[len(before.Marks)].(Note); !ok || !reflect.DeepEqual(got, n) || got.Text != words || after.Rev == before.Rev {
			t.Fatalf("%+v, at rev %d", got, after.Rev)
		}
		for _, m := range before.Marks {
			p, ok := m.(Pick)
			if !ok {
				continue
			}
			parts := map[string]Value{}
			for _, part := range p.Parts {
				parts[part.ID] = Value{Text: words, Choices: []string{option}, None: len(words) == 1}
			}
			// Refused or done, it can be read.
			_, _ = d.Answer(p.MarkID, Reply{Parts: parts, Comment: words}, operator)
			encode(t, d)
			_, _ = d.Revise(p.MarkID, Question{Title: words, Parts: p.Parts}, worker)
			encode(t, d)
			_, _ = d.Withdraw(p.MarkID, words, worker)
			encode(t, d)
		}
	})
}

func sameMarks(a, b Reading) bool { return a.Rev == b.Rev && reflect.DeepEqual(a.Marks, b.Marks) }

// large is a document of about a MiB, the last of it an open question.
func large(tb testing.TB) []byte {
	tb.Helper()
	d, err := Edit(nil)
	check(tb, err)
	for i := range 2000 {
		_, err := d.AddNote(strings.Repeat("words ", 10), fmt.Sprint(i), worker)
		check(tb, err)
	}
	for range 500 {
		q := question()
		q.Key, q.Why = "", strings.Repeat("why ", 200)
		_, err := d.Ask(q, worker)
		check(tb, err)
	}
	return []byte(encode(tb, d))
}

func BenchmarkParse(b *testing.B) {
	data := large(b)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if !Parse(data).Whole() {
			b.Fatal("damaged")
		}
	}
}

func BenchmarkAnswer(b *testing.B) {
	data := large(b)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		d, err := Edit(data)
		check(b, err)
		_, err = d.Answer("p500", Reply{Parts: chose("one", "a")}, operator)
		check(b, err)
		_, err = d.Encode()
		check(b, err)
	}
}
