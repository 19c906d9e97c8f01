package marks

import (
	"strings"
	"testing"

	"holdfast/internal/problem"
)

func answerWhole() map[string]Value {
	return map[string]Value{"one": {Choices: []string{"a"}}, "many": {Choices: []string{"a", "b"}}, "sure": {Confirm: no()}}
}

// Red when Open looks at the answer and not at each required part, or merge
// forgets what was said before.
func TestAPartialAnswerStaysOpenUntilEveryRequiredPartIsAnswered(t *testing.T) {
	src, id := asked(t, question())
	for i, part := range []string{"one", "many", "sure"} {
		d := edit(t, src)
		p, err := d.Answer(id, Reply{Parts: map[string]Value{part: answerWhole()[part]}}, operator)
		check(t, err)
		want := StateOpen
		if i == 2 {
			want = StateAnswered
		}
		if p.State() != want || len(p.Superseded) != i || len(p.Answer.Parts) != i+1 {
			t.Errorf("after %s: %s, %d superseded, %v", part, p.State(), len(p.Superseded), p.Answer.Parts)
		}
		src = encode(t, d)
	}
	if p := sole(t, src); p.Value("many").Choices[1] != "b" || *p.Value("sure").Confirm || p.Answer.By != operator.By || p.Answer.Via != "page" || p.Answer.Rev != 1 {
		t.Errorf("%+v", p.Answer)
	}
}

// Red when declined counts optional parts, or one of several is enough.
func TestNoneOfTheseForEveryRequiredPartDeclines(t *testing.T) {
	q := question()
	q.Parts[1].Exact = false
	src, id := asked(t, q)
	none := Value{None: true}
	d := edit(t, src)
	p, err := d.Answer(id, Reply{Parts: map[string]Value{"one": none, "many": none, "sure": {Confirm: yes()}}}, operator)
	check(t, err)
	if p.State() != StateAnswered {
		t.Errorf("one part answered: %s", p.State())
	}
	p, err = d.Answer(id, Reply{Parts: map[string]Value{"sure": none, "words": {Text: "sorry"}}}, operator)
	check(t, err)
	if p.State() != StateDeclined || p.Open() {
		t.Errorf("%s", p.State())
	}
	encode(t, d)
}

// case B25, and what is no answer to what was asked. Red when merge counts an
// empty value, or takes a value that the part does not offer.
func TestWhatDoesNotAnswerIsRefused(t *testing.T) {
	src, id := asked(t, question())
	cases := map[string]struct {
		parts map[string]Value
		step  string
	}{
		"nothing":             {nil, StepEmpty},
		"an empty form":       {map[string]Value{"one": {}, "many": {Choices: []string{}}, "sure": {}, "words": {Text: " \n"}}, StepEmpty},
		"an unknown part":     {map[string]Value{"two": {Text: "x"}}, StepNoAnswer},
		"an unknown option":   {chose("one", "c"), StepNoAnswer},
		"two of one":          {map[string]Value{"one": {Choices: []string{"a", "b"}}}, StepNoAnswer},
		"none of exact":       {map[string]Value{"many": {None: true}}, StepNoAnswer},
		"some and none":       {map[string]Value{"one": {None: true, Choices: []string{"a"}}}, StepNoAnswer},
		"words for a choice":  {map[string]Value{"one": {Text: "a"}}, StepNoAnswer},
		"yes for words":       {map[string]Value{"words": {Confirm: yes()}}, StepNoAnswer},
		"a choice for yes":    {map[string]Value{"sure": {Choices: []string{"a"}}}, StepNoAnswer},
		"one good, one wrong": {map[string]Value{"sure": {Confirm: yes()}, "one": {Choices: []string{"c"}}}, StepNoAnswer},
	}
	for what, c := range cases {
		t.Run(what, func(t *testing.T) {
			d := edit(t, src)
			p, err := d.Answer(id, Reply{Parts: c.parts, Comment: "a comment is no answer"}, operator)
			refused(t, d, err, problem.Refused, c.step)
			if what == "none of exact" && !strings.Contains(err.Error(), "wants one of its options") {
				t.Errorf("the words are %q", err)
			}
			if p.MarkID != id || p.State() != StateOpen {
				t.Errorf("the question is not given back: %+v", p)
			}
			if encode(t, d) != src {
				t.Error("something was written")
			}
		})
	}
}

// Beside a real answer an empty field says nothing. Red when merge writes it.
func TestAnEmptyFieldTakesNothingBack(t *testing.T) {
	src, id := asked(t, question())
	d := edit(t, src)
	_, err := d.Answer(id, Reply{Parts: answerWhole(), Comment: "so"}, operator)
	check(t, err)
	p, err := d.Answer(id, Reply{Parts: map[string]Value{"one": {}, "words": {Text: "x"}}}, operator)
	check(t, err)
	if p.State() != StateAnswered || p.Value("one").Choices[0] != "a" || p.Answer.Comment != "so" {
		t.Errorf("%+v", p.Answer)
	}
}

// What the part does not ask for is not written. Red without only.
func TestAValueHasOnlyWhatItsPartAsksFor(t *testing.T) {
	src, id := asked(t, question())
	d := edit(t, src)
	p, err := d.Answer(id, Reply{Parts: map[string]Value{"sure": {Confirm: yes(), Text: "x", Choices: []string{"zz"}}, "one": {None: true, Text: "x"}}}, operator)
	check(t, err)
	if v := p.Value("sure"); v.Text != "" || v.Choices != nil || p.Value("one").Text != "" {
		t.Errorf("%+v", p.Answer.Parts)
	}
	encode(t, d)
}

// Red when mayAnswer compares with the document's rev in place of the question's.
func TestANoteElsewhereDoesNotMakeAnAnswerStale(t *testing.T) {
	src, id := asked(t, simple())
	shown := Parse([]byte(src)).Rev
	d := edit(t, src)
	_, err := d.AddNote("x", "", other)
	check(t, err)
	d = edit(t, encode(t, d))
	_, err = d.Ask(simple(), worker)
	check(t, err)
	d = edit(t, encode(t, d))
	p, err := d.Answer(id, Reply{Parts: chose("one", "a"), Question: said(1), Document: said(shown)}, operator)
	check(t, err)
	if p.State() != StateAnswered || p.Changed != d.rev {
		t.Errorf("%+v", p)
	}
}

// Red when mayAnswer lets one of its comparisons go, or an operation does not
// write changed.
func TestAnAnswerToSomethingElseIsStale(t *testing.T) {
	src, id := asked(t, simple())
	shown := Parse([]byte(src)).Rev
	change := func(f func(*Document) error) string {
		d := edit(t, src)
		check(t, f(d))
		return encode(t, d)
	}
	withdrawnAndBack := change(func(d *Document) error { _, err := d.Withdraw(id, "", worker); return err })
	d := edit(t, withdrawnAndBack)
	_, err := d.Revise(id, simple(), worker)
	check(t, err)
	withdrawnAndBack = encode(t, d)
	answered := change(func(d *Document) error {
		_, err := d.Answer(id, Reply{Parts: chose("one", "a"), Document: said(shown)}, operator)
		return err
	})
	edited := change(func(d *Document) error {
		q := simple()
		q.Why = "so"
		_, err := d.Revise(id, q, worker)
		return err
	})
	withdrawn := change(func(d *Document) error { _, err := d.Withdraw(id, "", worker); return err })
	for what, c := range map[string]struct {
		src                string
		question, document int64
		step               string
	}{
		"two answers from what was shown": {answered, 1, shown, StepStale},
		"an edit, by the question":        {edited, 1, 0, StepStale},
		"an edit, by the document":        {edited, 0, shown, StepStale},
		"withdrawn and asked again":       {withdrawnAndBack, 0, shown, StepStale},
		"withdrawn":                       {withdrawn, 1, shown, StepWithdrawn},
		"withdrawn, whatever was shown":   {withdrawn, 0, 0, StepWithdrawn},
		"a rev that never was":            {src, 0, shown + 1, StepStale},
		"a negative one":                  {src, 0, -1, StepStale},
		"a revision that never was":       {src, 2, 0, StepStale},
	} {
		t.Run(what, func(t *testing.T) {
			d := edit(t, c.src)
			p, err := d.Answer(id, Reply{Parts: chose("one", "b"), Question: said(c.question), Document: said(c.document)}, other)
			refused(t, d, err, problem.Refused, c.step)
			if p.MarkID != id || encode(t, d) != c.src {
				t.Errorf("%+v", p)
			}
		})
	}
}

// Whoever did not say when a question changed may have changed it last of all;
// nonsense says no more. Red when changed is taken as it stands.
func TestAQuestionThatDoesNotSayWhenItChangedMayHaveChangedLast(t *testing.T) {
	for _, changed := range []string{"", `,"changed":0`, `,"changed":-1`, `,"changed":4`} {
		src := doc(pick(choice, changed))
		d := edit(t, src)
		_, err := d.Answer("p", Reply{Parts: chose("part", "a"), Document: said(2)}, operator)
		refused(t, d, err, problem.Refused, StepStale)
		if _, err := d.Answer("p", Reply{Parts: chose("part", "a"), Document: said(3)}, operator); err != nil {
			t.Errorf("%s: %v", changed, err)
		}
	}
}

// Red when the answer before is not kept with who and when.
func TestAnsweringAgainSupersedes(t *testing.T) {
	src, id := asked(t, simple())
	d := edit(t, src)
	_, err := d.Answer(id, Reply{Parts: chose("one", "a"), Comment: "first"}, operator)
	check(t, err)
	d = edit(t, encode(t, d))
	p, err := d.Answer(id, Reply{Parts: chose("one", "b")}, other)
	check(t, err)
	p2 := sole(t, encode(t, d))
	if p2.Value("one").Choices[0] != "b" || p2.Answer.By != other.By || !p2.Answer.At.Equal(other.At) || p.Changed != 3 {
		t.Errorf("%+v", p2.Answer)
	}
	if len(p2.Superseded) != 1 {
		t.Fatalf("%+v", p2.Superseded)
	}
	s := p2.Superseded[0]
	if s.Why != "answered-again" || s.Answer.By != operator.By || !s.Answer.At.Equal(operator.At) || s.Answer.Comment != "first" || s.Answer.Parts["one"].Choices[0] != "a" {
		t.Errorf("%+v", s)
	}
}

// Red when Answer does not compare with what is there.
func TestTheSameAnswerAgainChangesNothing(t *testing.T) {
	src, id := asked(t, question())
	d := edit(t, src)
	_, err := d.Answer(id, Reply{Parts: answerWhole(), Comment: "so"}, operator)
	check(t, err)
	src = encode(t, d)
	for _, r := range []Reply{
		{Parts: answerWhole(), Comment: "so"},
		{Parts: answerWhole()},
		{Parts: chose("one", "a"), Document: said(2)},
	} {
		d = edit(t, src)
		_, err := d.Answer(id, r, other)
		check(t, err)
		unchanged(t, d)
		if encode(t, d) != src {
			t.Errorf("%+v wrote something", r)
		}
	}
	for what, parts := range map[string]map[string]Value{
		"an order":   {"many": {Choices: []string{"b", "a"}}},
		"fewer":      {"many": {Choices: []string{"a"}}},
		"yes for no": {"sure": {Confirm: yes()}},
		"none":       {"one": {None: true}},
		"more":       {"words": {Text: "x"}},
		"a comment":  nil,
	} {
		d = edit(t, src)
		r := Reply{Parts: parts}
		if parts == nil {
			r = Reply{Parts: answerWhole(), Comment: "otherwise"}
		}
		_, err := d.Answer(id, r, other)
		check(t, err)
		if !d.Changed() {
			t.Errorf("%s is taken for the same", what)
		}
	}
	d = edit(t, doc(pick(choice, `,"answer":{"by":"o","parts":{"part":{}}}`)))
	p, err := d.Answer("p", Reply{Parts: map[string]Value{"part": {None: true}}}, other)
	check(t, err)
	if p.State() != StateDeclined {
		t.Errorf("none is taken for nothing: %s", p.State())
	}
}

// Red without limits, or when it takes what is not UTF-8 for what is too long.
func TestWordsHaveALimitAndAreUTF8(t *testing.T) {
	src, id := asked(t, question())
	fits, long, bad := strings.Repeat("x", maxWords), strings.Repeat("x", maxWords+1), "\xff"
	for what, do := range map[string]func(d *Document, s string) error{
		"a note":     func(d *Document, s string) error { _, err := d.AddNote(s, "", worker); return err },
		"its target": func(d *Document, s string) error { _, err := d.AddNote("x", s, worker); return err },
		"a flag":     func(d *Document, s string) error { _, err := d.AddFlag("x", s, worker); return err },
		"its item":   func(d *Document, s string) error { _, err := d.AddFlag(s, "x", worker); return err },
		"a text": func(d *Document, s string) error {
			_, err := d.Answer(id, Reply{Parts: map[string]Value{"words": {Text: s}}}, operator)
			return err
		},
		"a comment": func(d *Document, s string) error {
			_, err := d.Answer(id, Reply{Parts: chose("one", "a"), Comment: s}, operator)
			return err
		},
		"a withdrawal": func(d *Document, s string) error { _, err := d.Withdraw(id, s, worker); return err },
	} {
		t.Run(what, func(t *testing.T) {
			d := edit(t, src)
			refused(t, d, do(d, long), problem.Refused, problem.StepTooLarge)
			refused(t, d, do(d, bad), problem.Usage, "text")
			check(t, do(d, fits))
			encode(t, d)
		})
	}
}
