package cli

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast/internal/booth"
	"holdfast/internal/booth/marks"
	"holdfast/internal/booth/reach"
	"holdfast/internal/plain"
)

// exits is the exit status for each state of a question.
var exits = map[string]int{
	string(marks.StateAnswered):  0,
	string(marks.StateOpen):      3,
	reach.StateBroken:            4,
	string(marks.StateWithdrawn): 5,
	reach.StateGone:              6,
	string(marks.StateDeclined):  7,
}

// worst is the exit statuses of questions, the worst first.
var worst = []int{6, 4, 3, 5, 7, 0}

// exitOf is the worst exit status of some questions, 0 for none.
func exitOf(picks []booth.Asked) int {
	for _, status := range worst {
		if slices.ContainsFunc(picks, func(p booth.Asked) bool { return exits[p.State] == status }) {
			return status
		}
	}
	return 0
}

// waiting is the flags of wait.
type waiting struct {
	any, all bool
	timeout  time.Duration
	since    int64
}

func (r *run) wait() *cobra.Command {
	var w waiting
	cmd := &cobra.Command{
		Use:   "wait NAME [ID…]",
		Short: "Wait until questions are answered, and give the answers",
		Long: `Wait until questions are answered, and give the answers.

Without an ID it waits for every question that is open now; with none open it
returns at once, with all that were asked. A time-out changes nothing: the
question stays, and is reported as open.

The exit status is the worst of 6 gone, 4 can never be answered, 3 still open,
5 withdrawn, 7 declined and 0 answered; with --any, that of the first that
settled.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			want, err := w.want(cmd, args[1:])
			if err != nil {
				return err
			}
			return r.waitFor(cmd.Context(), args[0], want)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&w.any, "any", false, "until one of them has settled")
	f.BoolVar(&w.all, "all", false, "until all of them have (what it does anyway)")
	f.DurationVar(&w.timeout, "timeout", 0, "wait no longer than this (default: as long as it takes)")
	f.Int64Var(&w.since, "since", 0, "return as soon as the marks' rev is another one")
	return cmd
}

// changed are the flags that were given.
func changed(cmd *cobra.Command) []string {
	var names []string
	cmd.Flags().Visit(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}

func (w *waiting) want(cmd *cobra.Command, ids []string) (reach.Want, error) {
	want := reach.Want{IDs: ids, Any: w.any}
	switch {
	case w.any && w.all:
		return want, usage(cmd, "--any and --all say opposite things")
	case w.timeout < 0:
		return want, usage(cmd, "--timeout takes a duration that is not negative")
	}
	if cmd.Flags().Changed("timeout") {
		want.Timeout = &w.timeout
	}
	if cmd.Flags().Changed("since") {
		want.Since = &w.since
	}
	return want, nil
}

func (r *run) waitFor(ctx context.Context, name string, want reach.Want) error {
	return withBooth(r, name, func(b booths, name string) (reach.Waited, error) {
		page := r.pageOf(ctx, name)
		r.sayWaiting(page)
		w, err := reach.Wait(ctx, b, name, want)
		r.status = waitStatus(w, want)
		return w.WithPage(page), err
	}, r.printWaited)
}

// waitStatus is the exit status of a wait. One that only waits for a change asks
// about no question.
func waitStatus(w reach.Waited, want reach.Want) int {
	switch {
	case w.Damage != "":
		return exits[reach.StateBroken]
	case w.Idle:
		return 0
	case len(want.IDs) == 0 && want.Since != nil:
		if w.Rev == *want.Since {
			return exits[string(marks.StateOpen)]
		}
		return 0
	case want.Any:
		for _, p := range w.Picks {
			if p.State != string(marks.StateOpen) {
				return exits[p.State]
			}
		}
		return exitOf(w.Picks)
	default:
		return exitOf(w.Picks)
	}
}

// sayWaiting says on a terminal that nothing is wrong: it waits.
func (r *run) sayWaiting(at string) {
	f, ok := r.err.(*os.File)
	if !ok || r.json {
		return
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return
	}
	fmt.Fprintln(r.err, strings.TrimSpace("waiting; Ctrl-C ends it and changes nothing. "+plain.Text(at)))
}

func (r *run) printWaited(w reach.Waited) {
	if len(w.Picks) == 0 && w.Damage == "" {
		fmt.Fprintf(r.out, "nothing is asked in %s\n", plain.Text(w.Name))
	}
	for _, p := range w.Picks {
		r.printStanding(p)
		if p.State == string(marks.StateOpen) && p.URL != "" {
			fmt.Fprintf(r.out, "    answer it: %s\n", plain.Text(p.URL))
		}
	}
	if w.Damage != "" {
		fmt.Fprintf(r.err, "holdfast: the marks of %s cannot be read: %s\nhint: holdfast booth repair %s\n", plain.Text(w.Name), plain.Text(w.Damage), plain.Text(w.Name))
	}
}

// printStanding says in a line or two how far a question has come.
func (r *run) printStanding(a booth.Asked) {
	fmt.Fprintf(r.out, "%s  %-9s  %s\n", plain.Text(a.ID), a.State, plain.Text(a.Title))
	if a.Answer == nil {
		return
	}
	fmt.Fprintf(r.out, "    %s\n", answerWords(*a.Answer))
	if a.Answer.Comment != "" {
		fmt.Fprintf(r.out, "    comment: %s\n", lines(a.Answer.Comment))
	}
}

// answerWords is an answer in one line. The only part needs no name.
func answerWords(a marks.Answer) string {
	var all []string
	for _, id := range slices.Sorted(maps.Keys(a.Parts)) {
		words := valueWords(a.Parts[id])
		if len(a.Parts) > 1 {
			words = plain.Text(id) + ": " + words
		}
		all = append(all, words)
	}
	return strings.Join(all, " · ")
}

func valueWords(v marks.Value) string {
	switch {
	case v.None:
		return "none of these"
	case v.Confirm != nil && *v.Confirm:
		return "yes"
	case v.Confirm != nil:
		return "no"
	case len(v.Choices) > 0:
		return plain.Text(strings.Join(v.Choices, ", "))
	default:
		return lines(v.Text)
	}
}

// lines is a text of several lines, those after the first set in.
func lines(s string) string {
	return strings.ReplaceAll(plain.Lines(strings.TrimRight(s, "\n")), "\n", "\n      ")
}
