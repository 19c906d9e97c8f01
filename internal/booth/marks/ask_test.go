package marks

import (
	"strings"
	"testing"

	"holdfast/internal/problem"
)

// case B23. Red when Ask does not look for the key, or compares anything that an
// answer changes.
func TestAskingAgainWithTheKeyIsTheSameQuestion(t *testing.T) {
	doc, id := asked(t, question())
	for _, before := range []string{
		doc,
		func() string {
			d := edit(t, doc)
			_, err := d.Answer(id, Reply{Parts: chose("one", "a")}, operator)
			check(t, err)
			return encode(t, d)
		}(),
		func() string {
			d := edit(t, doc)
			_, err := d.Withdraw(id, "", worker)
			check(t, err)
			return encode(t, d)
		}(),
	} {
		d := edit(t, before)
		p, err := d.Ask(question(), other)
		check(t, err)
		unchanged(t, d)
		if p.MarkID != id || p.By != worker.By {
			t.Errorf("%s by %s", p.MarkID, p.By)
		}
		if after := encode(t, d); after != before {
			t.Errorf("written as\n%s\nnot as\n%s", after, before)
		}
	}
}

// Red when a member of the question is left out of what is compared.
func TestAKeyIsForOneQuestion(t *testing.T) {
	doc, _ := asked(t, question())
	for what, change := range map[string]func(*Question){
		"title":     func(q *Question) { q.Title = "Why?" },
		"why":       func(q *Question) { q.Why = "" },
		"priority":  func(q *Question) { q.Priority = "high" },
		"a part":    func(q *Question) { q.Parts = q.Parts[1:] },
		"required":  func(q *Question) { q.Parts[0].Required = no() },
		"an option": func(q *Question) { q.Parts[0].Options = q.Parts[0].Options[1:] },
		"exact":     func(q *Question) { q.Parts[0].Exact = true },
		"recommend": func(q *Question) { q.Parts[0].Recommend = "a" },
	} {
		q := question()
		change(&q)
		d := edit(t, doc)
		_, err := d.Ask(q, worker)
		t.Log(what)
		refused(t, d, err, problem.Refused, "key-taken")
	}
}

// Without a key nobody can tell, so it is another question. Red when keyed finds
// the empty key.
func TestWithoutAKeyEveryQuestionIsANewOne(t *testing.T) {
	doc, id := asked(t, simple())
	d := edit(t, doc)
	p, err := d.Ask(simple(), worker)
	check(t, err)
	if p.MarkID == id || p.State() != StateOpen || len(Parse([]byte(encode(t, d))).Marks) != 2 {
		t.Errorf("%+v", p)
	}
}

// Red when Revise keeps the rev, the answer or the withdrawal, or drops what was
// answered.
func TestAnEditAsksAnewAndSupersedesTheAnswer(t *testing.T) {
	doc, id := asked(t, simple())
	d := edit(t, doc)
	_, err := d.Answer(id, Reply{Parts: chose("one", "a"), Comment: "so"}, operator)
	check(t, err)
	_, err = d.Withdraw(id, "never mind", worker)
	check(t, err)
	d = edit(t, encode(t, d))
	q := simple()
	q.Title = "Which one?"
	p, err := d.Revise(id, q, worker)
	check(t, err)
	if again := sole(t, encode(t, d)); again.Title != q.Title || again.Rev != 2 || again.State() != StateOpen || p.Rev != 2 {
		t.Errorf("%+v", again)
	}
	if len(p.Superseded) != 1 || p.Answer != nil || p.Withdrawn != nil {
		t.Fatalf("%+v", p)
	}
	s := p.Superseded[0]
	if s.Why != "question-edited" || s.Answer.By != operator.By || !s.Answer.At.Equal(operator.At) || s.Answer.Via != "page" ||
		s.Answer.Rev != 1 || s.Answer.Comment != "so" || s.Answer.Parts["one"].Choices[0] != "a" {
		t.Errorf("%+v", s)
	}
	if p.Changed != 3 {
		t.Errorf("changed at %d, the document is at 3", p.Changed)
	}
}

// Red when Revise does not compare.
func TestAnEditThatAsksTheSameChangesNothing(t *testing.T) {
	doc, id := asked(t, question())
	q := question()
	q.Key = "" // the key stays
	d := edit(t, doc)
	p, err := d.Revise(id, q, other)
	check(t, err)
	unchanged(t, d)
	if p.Key != "k" || encode(t, d) != doc {
		t.Errorf("%+v", p)
	}
}

// A question that its writer did not count was shown as the first revision, so
// its edit is the second. Red when Revise adds to rev as it stands.
func TestAnEditOfAnUncountedQuestionIsItsSecondRevision(t *testing.T) {
	d := edit(t, doc(pick(choice, "")))
	q := simple()
	p, err := d.Revise("p", q, worker)
	check(t, err)
	if p.Rev != 2 {
		t.Errorf("rev %d", p.Rev)
	}
	_, err = edit(t, encode(t, d)).Answer("p", Reply{Parts: chose("one", "a"), Question: said(1)}, operator)
	if problem.From(err, "").Step != StepStale {
		t.Errorf("an answer to the question as it was: %v", err)
	}
}

// Red when Revise does not look for the key: two questions would have it, and
// asking again would find the wrong one.
func TestAnEditCannotTakeAKeyThatIsTaken(t *testing.T) {
	before, _ := asked(t, question())
	d := edit(t, before)
	p, err := d.Ask(simple(), worker)
	check(t, err)
	d = edit(t, encode(t, d))
	q := simple()
	q.Key = "k"
	_, err = d.Revise(p.MarkID, q, worker)
	refused(t, d, err, problem.Refused, "key-taken")
}

// Red when Withdraw writes over the first.
func TestWithdrawingTwiceChangesNothing(t *testing.T) {
	doc, id := asked(t, question())
	d := edit(t, doc)
	p, err := d.Withdraw(id, "late", worker)
	check(t, err)
	if p.State() != StateWithdrawn || p.Open() || p.Withdrawn.Reason != "late" {
		t.Errorf("%+v", p)
	}
	before := encode(t, d)
	d = edit(t, before)
	p, err = d.Withdraw(id, "other", other)
	check(t, err)
	unchanged(t, d)
	if p.Withdrawn.By != worker.By || encode(t, d) != before {
		t.Errorf("%+v", p.Withdrawn)
	}
}

// Nobody is named as who withdrew it, and yet what is written must be read back.
func TestAnyoneCanWithdraw(t *testing.T) {
	doc, id := asked(t, question())
	d := edit(t, doc)
	_, err := d.Withdraw(id, "", Who{})
	check(t, err)
	if p := sole(t, encode(t, d)); p.State() != StateWithdrawn {
		t.Errorf("%+v", p)
	}
}

// Red when an operation takes the first mark there is, or no question for one.
func TestAQuestionThatIsNotThereIsGone(t *testing.T) {
	for _, id := range []string{"", "p", "n"} {
		d := edit(t, doc(note))
		_, err := d.Withdraw(id, "", worker)
		refused(t, d, err, problem.Gone, StepPick)
		_, err = d.Answer(id, Reply{Parts: chose("one", "a")}, worker)
		refused(t, d, err, problem.Gone, StepPick)
		_, err = d.Revise(id, simple(), worker)
		refused(t, d, err, problem.Gone, StepPick)
	}
}

// Red when AddFlag does not look for the author, the target or the words.
func TestOneFlagForAnItemAndAnAuthor(t *testing.T) {
	d, err := Edit(nil)
	check(t, err)
	first, err := d.AddFlag("a.png", "blurred", worker)
	check(t, err)
	before := encode(t, d)

	d = edit(t, before)
	_, err = d.AddFlag("a.png", "blurred", worker)
	check(t, err)
	unchanged(t, d)
	if encode(t, d) != before {
		t.Error("flagging again with the same words wrote something")
	}
	again, err := d.AddFlag("a.png", "", worker)
	check(t, err)
	if again.MarkID != first.MarkID || again.Text != "" || len(d.Reading().Marks) != 1 || d.rev != 2 {
		t.Errorf("%+v at %d", again, d.rev)
	}
	for _, c := range []struct {
		target string
		who    Who
	}{{"a.png", other}, {"b.png", worker}} {
		f, err := d.AddFlag(c.target, "x", c.who)
		check(t, err)
		if f.MarkID == first.MarkID {
			t.Errorf("%v took the flag of another", c)
		}
	}
	encode(t, d)
}

// Red without the checks at the head of AddNote and AddFlag.
func TestWhatSaysNothingIsRefused(t *testing.T) {
	d := edit(t, doc())
	_, err := d.AddNote(" \n", "a.png", worker)
	refused(t, d, err, problem.Usage, "note")
	_, err = d.AddFlag(" ", "words", worker)
	refused(t, d, err, problem.Usage, "flag")
}

// Red when what cannot be answered can be asked: it would hold its booth for ever
// and be damage when it is read.
func TestWhatCannotBeAskedIsRefused(t *testing.T) {
	long, words := strings.Repeat("x", maxLine+1), strings.Repeat("x", maxWords+1)
	for what, change := range map[string]func(*Question){
		"no title":         func(q *Question) { q.Title = " " },
		"no parts":         func(q *Question) { q.Parts = nil },
		"a part twice":     func(q *Question) { q.Parts = append(q.Parts, q.Parts[0]) },
		"no part id":       func(q *Question) { q.Parts[0].ID = "" },
		"unknown kind":     func(q *Question) { q.Parts[0].Kind = "rank" },
		"no options":       func(q *Question) { q.Parts[0].Options = nil },
		"an option twice":  func(q *Question) { q.Parts[0].Options[1].ID = "a" },
		"no option id":     func(q *Question) { q.Parts[0].Options[1].ID = "" },
		"recommends none":  func(q *Question) { q.Parts[0].Recommend = "c" },
		"priority":         func(q *Question) { q.Priority = "urgent" },
		"long title":       func(q *Question) { q.Title = long },
		"long key":         func(q *Question) { q.Key = long },
		"long part id":     func(q *Question) { q.Parts[0].ID = long },
		"long label":       func(q *Question) { q.Parts[0].Options[0].Label = long },
		"long why":         func(q *Question) { q.Why = words },
		"long prompt":      func(q *Question) { q.Parts[0].Prompt = words },
		"long about":       func(q *Question) { q.Parts[0].Options[0].About = words },
		"title not UTF-8":  func(q *Question) { q.Title = "\xff" },
		"prompt not UTF-8": func(q *Question) { q.Parts[2].Prompt = "\xff" },
		"too many parts": func(q *Question) {
			for range maxParts {
				q.Parts = append(q.Parts, Part{ID: strings.Repeat("x", len(q.Parts)), Kind: Text})
			}
		},
		"too many options": func(q *Question) {
			for range maxOptions {
				q.Parts[0].Options = append(q.Parts[0].Options, Option{ID: strings.Repeat("x", len(q.Parts[0].Options))})
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			before, id := asked(t, question())
			q := question()
			q.Parts[0].Options = append([]Option{}, q.Parts[0].Options...)
			change(&q)
			q.Key += "2"
			d := edit(t, before)
			_, err := d.Ask(q, worker)
			refused(t, d, err, problem.Usage, "question")
			_, err = d.Revise(id, q, worker)
			refused(t, d, err, problem.Usage, "question")
		})
	}
}

// Red when ParseQuestion decodes openly, or does not check.
func TestAQuestionIsReadStrictly(t *testing.T) {
	good := `{"title":"t","parts":[{"id":"a","kind":"confirm"}]}`
	if _, err := ParseQuestion([]byte(good)); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{
		"", "null", "[]", good + good, strings.Replace(good, "title", "titel", 1), strings.Replace(good, "{", `{"prority":"high",`, 1), strings.Replace(good, "kind", "Kind", 1),
		strings.Replace(good, "confirm", "dance", 1), strings.Replace(good, `"t"`, `"t","title":"u"`, 1),
	} {
		if _, err := ParseQuestion([]byte(bad)); problem.KindOf(err) != problem.Usage {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
