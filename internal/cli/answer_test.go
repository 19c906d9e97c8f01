package cli

import (
	"context"
	"strings"
	"testing"

	"holdfast/internal/booth/marks"
)

// shows is booths that show marks and do nothing else.
type shows struct {
	booths
	reading marks.Reading
}

func (s shows) Marks(context.Context, string) (marks.Reading, error) { return s.reading, nil }

// replyTo is what a command line answers to a question with these parts.
func replyTo(t *testing.T, p marks.Pick, args ...string) (question int64, part string, problem string) {
	t.Helper()
	p.MarkID, p.Title = "p1", "?"
	var a answering
	cmd := (&run{}).answer()
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	a.part, _ = cmd.Flags().GetString("part")
	a.yes, _ = cmd.Flags().GetBool("yes")
	a.text, _ = cmd.Flags().GetString("text")
	cmd.SetContext(context.Background())
	r, err := a.reply(cmd, shows{reading: marks.Reading{Rev: 9, Marks: []marks.Mark{p}}}, "demo", "p1")
	if err != nil {
		return 0, "", err.Error()
	}
	for id := range r.Parts {
		part = id
	}
	return *r.Question, part, ""
}

// Somebody may edit the question between the look and the answer. Red when the
// revision that was looked at does not go along.
func TestAnAnswerIsToTheQuestionThatWasThere(t *testing.T) {
	part := []marks.Part{{ID: "a", Kind: marks.Confirm}}
	for rev, want := range map[int64]int64{3: 3, 0: 1} {
		if got, _, problem := replyTo(t, marks.Pick{Rev: rev, Parts: part}, "--yes"); got != want || problem != "" {
			t.Errorf("revision %d: %d %s", rev, got, problem)
		}
	}
}

// Red when a part that wants no answer, or has one, is taken for the one that is
// meant.
func TestThePartThatIsMeant(t *testing.T) {
	no := false
	three := []marks.Part{{ID: "a", Kind: marks.Confirm}, {ID: "b", Kind: marks.Confirm}, {ID: "c", Kind: marks.Confirm, Required: &no}}
	said := func(ids ...string) *marks.Answer {
		yes, a := true, marks.Answer{Parts: map[string]marks.Value{}}
		for _, id := range ids {
			a.Parts[id] = marks.Value{Confirm: &yes}
		}
		return &a
	}
	for _, c := range []struct {
		parts  []marks.Part
		answer *marks.Answer
		args   string
		want   string
	}{
		{three[:1], nil, "--yes", "a"},
		{three[:1], said("a"), "--yes", "a"},
		{three, nil, "--yes", "several parts"},
		{three, said("a"), "--yes", "b"},
		{three, said("a", "b"), "--yes", "several parts"},
		{three, said("a"), "--yes --part a", "a"},
		{three, nil, "--yes --part c", "c"},
		{three, nil, "--yes --part d", `no part "d"; it has a, b, c`},
		{three[:1], nil, "--text words", "--yes or --no"},
	} {
		_, part, problem := replyTo(t, marks.Pick{Parts: c.parts, Answer: c.answer}, strings.Fields(c.args)...)
		if part != c.want && (problem == "" || !strings.Contains(problem, c.want)) {
			t.Errorf("%s: part %q, %s; want %s", c.args, part, problem, c.want)
		}
	}
}
