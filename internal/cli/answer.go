package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/internal/booth"
	"holdfast/internal/booth/marks"
	"holdfast/internal/booth/reach"
	"holdfast/internal/plain"
	"holdfast/internal/problem"
)

// answering is the flags of answer.
type answering struct {
	choices             []string
	text, part, comment string
	yes, no, none       bool
	rev                 int64
}

func (r *run) answer() *cobra.Command {
	var a answering
	cmd := &cobra.Command{
		Use:   "answer NAME ID (--choice OPTION… | --text TEXT | --yes | --no | --none)",
		Short: "Answer a question, or a part of it",
		Long: `Answer a question, or a part of it.

A question with several parts is answered a part at a time; --part says which,
and is not needed where only one still wants an answer. Answering again replaces
the answer, and keeps the old one with the question. Only the operator answers:
inside an attempt this is refused.`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := operatorOnly("answer questions"); err != nil {
				return err
			}
			if err := a.check(cmd); err != nil {
				return err
			}
			return r.about(args[0], args[1], func(b booths, name string) (booth.Asked, error) {
				reply, err := a.reply(cmd, b, name, args[1])
				if err != nil {
					return booth.Asked{}, err
				}
				done, err := b.Answer(cmd.Context(), name, reply)
				done.URL = r.markURL(cmd.Context(), name, done)
				return done, stillOpen(err)
			}, r.printAnswered)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&a.choices, "choice", nil, "ID of an option; more than once where several may be chosen")
	f.StringVar(&a.text, "text", "", "answer in words")
	f.BoolVar(&a.yes, "yes", false, "yes")
	f.BoolVar(&a.no, "no", false, "no")
	f.BoolVar(&a.none, "none", false, "none of what is offered: declines")
	f.StringVar(&a.part, "part", "", "ID of the part that this answers")
	f.StringVar(&a.comment, "comment", "", "a remark with the answer")
	f.Int64Var(&a.rev, "rev", 0, "rev of the marks that you saw; refused if the question changed since")
	return cmd
}

// check wants one answer.
func (a *answering) check(cmd *cobra.Command) error {
	said := 0
	for _, name := range []string{"choice", "text", "yes", "no", "none"} {
		if cmd.Flags().Changed(name) {
			said++
		}
	}
	if said != 1 {
		return usage(cmd, "give one of --choice, --text, --yes, --no and --none")
	}
	return nil
}

// reply is the answer to the question as it now is: one that is edited before it
// arrives is not what was answered, and refuses it.
func (a *answering) reply(cmd *cobra.Command, b booths, name, id string) (booth.Reply, error) {
	r, err := b.Marks(cmd.Context(), name)
	if err != nil {
		return booth.Reply{}, err
	}
	if !r.Whole() {
		return booth.Reply{}, marks.RefuseDamaged(r)
	}
	reply := booth.Reply{ID: id, Reply: marks.Reply{Comment: a.comment, Question: new(int64), Document: &r.Rev}}
	if cmd.Flags().Changed("rev") {
		reply.Document = &a.rev
	}
	p, found := r.Pick(id)
	if !found {
		return reply, nil // whose answer says that it is gone
	}
	part, err := a.partOf(cmd, p)
	if err == nil {
		err = a.fits(cmd, part)
	}
	*reply.Question = p.Revision()
	reply.Parts = map[string]marks.Value{part.ID: a.value()}
	return reply, err
}

// stillOpen says of an answer that says nothing what it left.
func stillOpen(err error) error {
	var p *problem.Error
	if errors.As(err, &p) && p.Step == marks.StepEmpty {
		return p.WithHint("what was open is still open; answer with words, or with what it offers")
	}
	return err
}

// partOf is the part that is meant: the one that was named, the only one, or the
// only one that still wants an answer.
func (a *answering) partOf(cmd *cobra.Command, p marks.Pick) (marks.Part, error) {
	var ids []string
	var owed []marks.Part
	for _, part := range p.Parts {
		ids = append(ids, part.ID)
		if part.ID == a.part {
			return part, nil
		}
		if part.Needed() && p.Value(part.ID).Empty() {
			owed = append(owed, part)
		}
	}
	switch {
	case a.part != "":
		return marks.Part{}, usage(cmd, "question %s has no part %q; it has %s", plain.Text(p.MarkID), a.part, plain.Text(strings.Join(ids, ", ")))
	case len(p.Parts) == 1:
		return p.Parts[0], nil
	case len(owed) == 1:
		return owed[0], nil
	default:
		return marks.Part{}, usage(cmd, "question %s has several parts: say which with --part (%s)", plain.Text(p.MarkID), plain.Text(strings.Join(ids, ", ")))
	}
}

// wants is the flags that answer a part of a kind.
var wants = map[string]string{marks.Choice: "--choice", marks.Multi: "--choice", marks.Confirm: "--yes or --no", marks.Text: "--text"}

// fits refuses an answer of another kind than what is asked.
func (a *answering) fits(cmd *cobra.Command, part marks.Part) error {
	given := "--text"
	switch {
	case a.none:
		return nil
	case a.yes || a.no:
		given = "--yes or --no"
	case len(a.choices) > 0:
		given = "--choice"
	}
	if want := wants[part.Kind]; want != given {
		return usage(cmd, "this question is answered with %s, or declined with --none", want)
	}
	return nil
}

func (a *answering) value() marks.Value {
	v := marks.Value{Choices: a.choices, Text: a.text, None: a.none}
	if a.yes || a.no {
		v.Confirm = &a.yes
	}
	return v
}

func (r *run) printAnswered(a booth.Asked) {
	r.printStanding(a)
	if a.State == string(marks.StateOpen) {
		fmt.Fprintf(r.out, "    still open: another part wants an answer; see holdfast booth marks %s\n", plain.Text(a.Name))
	}
}

// about does something to one question and shows what became of it. One that is
// not there is an answer: exit 6.
func (r *run) about(name, id string, do func(booths, string) (booth.Asked, error), show func(booth.Asked)) error {
	return withBooth(r, name, func(b booths, name string) (booth.Asked, error) {
		a, err := do(b, name)
		if isGone(err, marks.StepPick) {
			r.status = exits[reach.StateGone]
			return reach.Missing(name, id, 0), nil
		}
		return a, err
	}, func(a booth.Asked) {
		if a.State == reach.StateGone {
			fmt.Fprintf(r.err, "holdfast: there is no question %q in %s\nhint: holdfast booth marks %s lists them\n", plain.Text(a.ID), plain.Text(a.Name), plain.Text(a.Name))
			return
		}
		show(a)
	})
}

func (r *run) withdraw() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "withdraw NAME ID",
		Short: "Take a question back, so that it holds the booth no longer",
		Args:  cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.about(args[0], args[1], func(b booths, name string) (booth.Asked, error) {
				return r.takeBack(cmd.Context(), b, name, booth.Withdrawal{ID: args[1], Reason: reason})
			}, r.printStanding)
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why it is not needed any more")
	return cmd
}

func (r *run) takeBack(ctx context.Context, b booths, name string, w booth.Withdrawal) (booth.Asked, error) {
	a, err := b.Withdraw(ctx, name, w)
	a.URL = r.markURL(ctx, name, a)
	return a, err
}
