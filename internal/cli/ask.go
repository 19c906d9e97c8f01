package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast/internal/booth"
	"holdfast/internal/booth/marks"
	"holdfast/internal/booth/reach"
	"holdfast/internal/plain"
	"holdfast/internal/problem"
)

// asking is the flags of ask.
type asking struct {
	title, why, recommend, key, priority, edit, file string
	choices, items                                   []string
	multi, confirm, text, exact                      bool
	wait                                             time.Duration
}

func (r *run) ask() *cobra.Command {
	var a asking
	cmd := &cobra.Command{
		Use:   "ask NAME --title TEXT (--choice ID=LABEL… | --confirm | --text)",
		Short: "Ask a question in a booth, and go on; the booth is held until it is answered",
		Long: `Ask a question in a booth, and go on; the booth is held until it is answered.

The question outlives whoever asked: "holdfast wait" reads the answer, whenever it
comes. With --key, asking again after a crash is the same question.

An --item is shown with the --choice of the same place; give one for each, or one
alone, which the whole question is about.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := a.question(cmd, r.in)
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("wait") {
				if a.wait < 0 {
					return usage(cmd, "--wait takes a duration that is not negative")
				}
				return r.askAndWait(cmd.Context(), args[0], q, a.wait)
			}
			return r.plainAsk(cmd.Context(), args[0], q)
		},
	}
	a.define(cmd)
	return cmd
}

func (a *asking) define(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&a.title, "title", "", "what is asked")
	f.StringArrayVar(&a.choices, "choice", nil, "an option, ID=LABEL; once for each")
	f.BoolVar(&a.multi, "multi", false, "more than one option may be chosen")
	f.BoolVar(&a.confirm, "confirm", false, "ask for yes or no")
	f.BoolVar(&a.text, "text", false, "ask for words")
	f.StringVar(&a.why, "why", "", "what the answer is needed for")
	f.StringArrayVar(&a.items, "item", nil, "an item of the booth: one for each --choice, in their order, or one for all")
	f.StringVar(&a.recommend, "recommend", "", "ID of the option that you would take")
	f.StringVar(&a.key, "key", "", "asking again with this key is the same question")
	f.StringVar(&a.priority, "priority", "", "high, normal or low")
	f.BoolVar(&a.exact, "exact", false, `"none of these" is no answer`)
	f.StringVar(&a.edit, "edit", "", "ID of the question to ask this in place of")
	f.StringVar(&a.file, "file", "", "read the question as JSON from a file, - for stdin")
	f.DurationVar(&a.wait, "wait", 0, "wait so long for the answer, as holdfast wait does")
}

// besides are the flags that go with --file; the others say what it says.
var besides = map[string]bool{"file": true, "edit": true, "key": true, "wait": true, "home": true, "json": true}

// question is what the flags ask.
func (a *asking) question(cmd *cobra.Command, in io.Reader) (booth.Question, error) {
	q := booth.Question{Edit: a.edit}
	if a.file != "" {
		for _, name := range changed(cmd) {
			if !besides[name] {
				return q, usage(cmd, "--%s and --file both say what is asked: use one", name)
			}
		}
		var err error
		if q.Question, err = readQuestion(a.file, in); a.key != "" {
			q.Key = a.key
		}
		return q, err
	}
	part, err := a.part(cmd)
	if err != nil {
		return q, err
	}
	q.Question = marks.Question{Title: a.title, Why: a.why, Parts: []marks.Part{part}, Priority: a.priority, Key: a.key}
	if err := a.showItems(cmd, &q.Question); err != nil {
		return q, err
	}
	return q, q.Check()
}

// thePart is the id of a question's only part.
const thePart = "answer"

func (a *asking) part(cmd *cobra.Command) (marks.Part, error) {
	p := marks.Part{ID: thePart, Recommend: a.recommend, Exact: a.exact}
	switch {
	case a.title == "":
		return p, usage(cmd, "a question needs a --title")
	case a.confirm && a.text || (a.confirm || a.text) && (len(a.choices) > 0 || a.multi || a.recommend != ""):
		return p, usage(cmd, "a question asks for one thing: a choice of options, --confirm or --text")
	case a.confirm:
		p.Kind = marks.Confirm
	case a.text:
		p.Kind = marks.Text
	case len(a.choices) == 0:
		return p, usage(cmd, "nothing is asked for: give a --choice for each option, or --confirm, or --text")
	case a.multi:
		p.Kind = marks.Multi
	default:
		p.Kind = marks.Choice
	}
	for _, c := range a.choices {
		id, label, _ := strings.Cut(c, "=")
		p.Options = append(p.Options, marks.Option{ID: id, Label: label})
	}
	return p, nil
}

// showItems puts each item beside its option; one that is about the whole
// question is named in its why.
func (a *asking) showItems(cmd *cobra.Command, q *marks.Question) error {
	options := q.Parts[0].Options
	switch len(a.items) {
	case 0:
		return nil
	case len(options):
		for i, item := range a.items {
			options[i].Item = item
		}
		return nil
	case 1:
		q.Why = strings.TrimSpace(q.Why + "\nAbout: " + a.items[0])
		return nil
	default:
		return usage(cmd, "there are %s and %s: give one item for each option, or one for all", plain.Count(len(a.items), "item"), plain.Count(len(options), "option"))
	}
}

// maxQuestion is the most that a question in a file may hold, in bytes.
const maxQuestion = 1 << 20

func readQuestion(file string, in io.Reader) (marks.Question, error) {
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return marks.Question{}, problem.Refusal("read", "The question in %s cannot be read (%s). Nothing was asked.", plain.Text(file), problem.Words(err))
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, maxQuestion+1))
	switch {
	case err != nil:
		return marks.Question{}, problem.Refusal("read", "The question cannot be read. Nothing was asked.").Because(err)
	case len(data) > maxQuestion:
		return marks.Question{}, problem.Refusal(problem.StepTooLarge, "A question holds at most %d bytes. Nothing was asked.", maxQuestion)
	}
	return marks.ParseQuestion(data)
}

// plainAsk asks and goes on: however far the question has come, it was asked.
func (r *run) plainAsk(ctx context.Context, name string, q booth.Question) error {
	return r.about(name, q.Edit, func(b booths, name string) (booth.Asked, error) {
		a, err := b.Ask(ctx, name, q)
		a.URL = r.markURL(ctx, name, a)
		return a, err
	}, r.printAsked)
}

// markURL is where a question can be answered: the address as it is reached from
// here, else what the document says.
func (r *run) markURL(ctx context.Context, name string, a booth.Asked) string {
	if page := r.pageOf(ctx, name); page != "" {
		return reach.MarkURL(page, a.ID)
	}
	return a.URL
}

func (r *run) printAsked(a booth.Asked) {
	r.printStanding(a)
	if a.State != string(marks.StateOpen) {
		return
	}
	if a.URL == "" {
		fmt.Fprintln(r.out, "answer it:   start the desk with holdfast up, or: holdfast answer", plain.Text(a.Name), plain.Text(a.ID))
	} else {
		fmt.Fprintln(r.out, "answer it:  ", plain.Text(a.URL))
	}
	fmt.Fprintln(r.out, "wait for it: holdfast wait", plain.Text(a.Name), plain.Text(a.ID))
}

func (r *run) askAndWait(ctx context.Context, name string, q booth.Question, patience time.Duration) error {
	return r.about(name, q.Edit, func(b booths, name string) (booth.Asked, error) {
		a, err := b.Ask(ctx, name, q)
		if err != nil {
			return a, err
		}
		page := r.pageOf(ctx, name)
		r.sayWaiting(reach.MarkURL(page, a.ID))
		w, err := reach.Wait(ctx, b, name, reach.Want{IDs: []string{a.ID}, Timeout: &patience})
		if err != nil {
			return a, err
		}
		r.status = exitOf(w.Picks)
		return w.WithPage(page).Picks[0], nil
	}, r.printAsked)
}
