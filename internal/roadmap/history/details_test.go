package history

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"holdfast/internal/roadmap/event"
)

// TestCommentsAreAsTheirLineLeftThem: made, answered, edited and deleted. Red when
// an edit reaches a deleted comment, or a deletion keeps the text.
func TestCommentsAreAsTheirLineLeftThem(t *testing.T) {
	l := newLog(t)
	l.open()
	one := l.say(event.CommentCreated{Comment: "c1", Body: "why?"})
	two := l.say(event.CommentCreated{Comment: "c2", Body: "because", Parent: "c1"})
	l.author = bo
	l.say(event.CommentEdited{Comment: "c2", Body: "because of this"})
	l.say(event.CommentDeleted{Comment: "c1"})
	l.say(event.CommentEdited{Comment: "c1", Body: "back"})
	l.say(event.CommentDeleted{Comment: "c1"})
	l.say(event.CommentEdited{Comment: "c7", Body: "of nothing"})
	l.say(event.CommentCreated{Comment: "c2", Body: "a name twice"})
	three := l.say(event.CommentCreated{Comment: "c3", Body: "to nothing", Parent: "c7"})
	want := []CommentState{
		{Event: one.ID(), Comment: "c1", Made: Stamp{ada, minutes(1)}, Changed: Stamp{bo, minutes(4)}, Deleted: true},
		{Event: two.ID(), Comment: "c2", Answers: one.ID(), Body: "because of this", Made: Stamp{ada, minutes(2)}, Changed: Stamp{bo, minutes(3)}, Edited: true},
		{Event: three.ID(), Comment: "c3", Body: "to nothing", Made: Stamp{bo, minutes(9)}},
	}
	if d := cmp.Diff(want, Details(l.ordered()).Comments); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestCommentsOfOtherLinesStay: what was said on a line that was not kept is still
// shown, marked, and can be spoken of; what that line said of the kept line's
// comments is not. Red when Details walks the line alone, or onItsWay finds what is
// not aside.
func TestCommentsOfOtherLinesStay(t *testing.T) {
	l := newLog(t)
	l.open()
	base := l.say(event.CommentCreated{Comment: "base", Body: "base"})
	kept := l.after(event.CommentCreated{Comment: "same", Body: "kept"}, base)
	lost := l.after(event.CommentCreated{Comment: "same", Body: "lost"}, base)
	more := l.after(event.CommentCreated{Comment: "more", Body: "more", Parent: "same"}, lost)
	edit := l.after(event.CommentEdited{Comment: "same", Body: "lost, edited"}, more)
	gone := l.after(event.CommentDeleted{Comment: "base"}, edit)
	to := l.after(event.CommentCreated{Comment: "to", Body: "to", Parent: "base"}, gone)
	l.after(event.Reconciled{Keep: kept.ID()}, kept, to)
	late := event.CommentEdited{Comment: "more", Body: "more, edited"}
	if err := Admit(Order(l.events), l.draft(late)); err != nil {
		t.Fatal(err)
	}
	l.say(late)
	answer := event.CommentCreated{Comment: "answer", Body: "answer", Parent: "more"}
	if err := Admit(Order(l.events), l.draft(answer)); err != nil {
		t.Fatal(err)
	}
	l.say(answer)
	if err := Admit(Order(l.events), l.draft(event.CommentCreated{Comment: "to", Body: "again"})); stepOf(err) != StepComment {
		t.Errorf("the name of a comment aside was given again: %v", err)
	}

	type row struct {
		Comment event.Comment
		Body    string
		Answers event.ID
		Aside   bool
	}
	var got []row
	for _, c := range Details(l.ordered()).Comments {
		got = append(got, row{c.Comment, c.Body, c.Answers, c.Aside})
	}
	want := []row{
		{"base", "base", "", false},
		{"same", "kept", "", false},
		{"answer", "answer", more.ID(), false},
		{"same", "lost, edited", "", true},
		{"more", "more, edited", lost.ID(), true},
		{"to", "to", base.ID(), true},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestTheLineMayTakeANameThatIsAside: nobody would admit it, and both are shown;
// from then on the name is the line's. Red when create looks aside for names.
func TestTheLineMayTakeANameThatIsAside(t *testing.T) {
	l := newLog(t)
	first := l.open()
	kept := l.after(event.Progress{Note: "kept"}, first)
	lost := l.after(event.CommentCreated{Comment: "c", Body: "lost"}, first)
	l.after(event.Reconciled{Keep: kept.ID()}, kept, lost)
	l.say(event.CommentCreated{Comment: "c", Body: "own"})
	l.say(event.CommentDeleted{Comment: "c"})
	d := Details(l.ordered())
	if len(d.Comments) != 2 || !d.Comments[0].Deleted || d.Comments[1].Body != "lost" || d.standing("c") != CommentDeleted {
		t.Errorf("%+v", d.Comments)
	}
}

// TestThreadsHaveNoRings, whatever names answer each other. Red when what a
// comment answers is looked up by its name after all are read.
func TestThreadsHaveNoRings(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		events := drawEvents(rt, t)
		o, ok := Order(events).(Ordered)
		if !ok {
			return
		}
		answers, made := map[event.ID]event.ID{}, 0
		for _, c := range Details(o).Comments {
			answers[c.Event] = c.Answers
		}
		for id := range answers {
			for steps := 0; id != ""; steps++ {
				if steps > len(answers) {
					rt.Fatal("comments answer each other in a ring")
				}
				next, ok := answers[id]
				if !ok {
					rt.Fatalf("%s is no comment", id)
				}
				id = next
			}
		}
		for _, e := range o.Aside() {
			if e.Kind() == event.KindCommentCreated {
				made++
			}
		}
		if made > 0 && len(answers) == 0 {
			rt.Fatal("the comments aside are gone")
		}
	})
}

// TestReceiptsAndResultsAreListed, each result with whether it had an effect.
func TestReceiptsAndResultsAreListed(t *testing.T) {
	l := start(t, "claimed")
	receipt := event.Receipt{Obligation: "stop-proof", Address: "s3://b/r", Verdict: "stopped"}
	proof := l.say(receipt)
	failed := event.ResultReturned{Attempt: firstTry, Claim: l.lastClaim(), Outcome: event.VerificationFailed{Cause: "red"}}
	again := event.ResultReturned{Attempt: firstTry, Claim: l.lastClaim(), Outcome: event.Published{}}
	stray := event.ResultReturned{Attempt: secondTry, Claim: proof.ID(), Outcome: event.Published{}}
	a, b, c := l.say(failed), l.say(again), l.say(stray)

	d := Details(l.ordered())
	results := []Returned{
		{failed, Stamp{ada, minutes(5)}, a.ID(), true},
		{again, Stamp{ada, minutes(6)}, b.ID(), false},
		{stray, Stamp{ada, minutes(7)}, c.ID(), false},
	}
	if diff := cmp.Diff(results, d.Results); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]ReceiptState{{receipt, Stamp{ada, minutes(4)}, proof.ID()}}, d.Receipts); diff != "" {
		t.Errorf("receipts (-want +got):\n%s", diff)
	}
	if !cmp.Equal(d.Timeline, l.events, sameEvents) || d.Aside != nil {
		t.Errorf("timeline %v, aside %v", d.Timeline, d.Aside)
	}
}
