package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/internal/fleet"
	"holdfast/internal/plain"
	"holdfast/internal/problem"
)

// logOf is the versions of a roster.
type logOf struct {
	Versions []fleet.Version `json:"versions"`
	// Verified says that the whole log was walked, back to the first version.
	Verified bool `json:"verified"`
}

// logging is the flags of log.
type logging struct {
	verify, candidates bool
	limit              int
}

func (r *run) fleetLog() *cobra.Command {
	var f logging
	cmd := &cobra.Command{
		Use:   "log",
		Short: "List the versions of the roster, the newest first, and what each changed",
		Long: `List the versions of the roster, the newest first, and what each changed. Each that is
listed was verified: a console signed it, it follows from the one before, and what it
changed is something that a writer may change.

--verify walks the whole log, back to the first version. --candidates lists what can be
restored instead, also where the roster itself is refused.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case f.verify && (f.candidates || cmd.Flags().Changed("limit")):
				return usage(cmd, "--verify walks the whole log: leave --limit and --candidates out")
			case f.limit < 1:
				return usage(cmd, "--limit is at least 1")
			case f.candidates:
				return asConsole(r, func(c *fleet.Console) (logOf, error) { return f.listCandidates(cmd.Context(), c) }, r.printCandidates)
			}
			return r.showLog(cmd.Context(), f)
		},
	}
	cmd.Flags().BoolVar(&f.verify, "verify", false, "walk the whole log, and say whether it is whole")
	cmd.Flags().BoolVar(&f.candidates, "candidates", false, "list the versions that can be restored")
	cmd.Flags().IntVar(&f.limit, "limit", 20, "list so many versions")
	return cmd
}

func (f logging) listCandidates(ctx context.Context, c *fleet.Console) (logOf, error) {
	list, err := c.Candidates(ctx, f.limit)
	return logOf{Versions: list}, err
}

// showLog shows the log. Where it is broken, what was read before that is shown too.
func (r *run) showLog(ctx context.Context, f logging) error {
	console, err := r.console()
	if err != nil {
		return err
	}
	defer console.Close()
	limit := f.limit
	if f.verify {
		limit = 0
	}
	list, err := console.Log(ctx, limit)
	if r.json {
		if err != nil {
			return err
		}
		return r.document(logOf{list, f.verify})
	}
	switch {
	case !f.verify:
		r.printVersions(list)
	case err == nil:
		fmt.Fprintf(r.out, "the log is whole: %s, from revision %d back to revision %d; each is signed, and follows from the one before\n", plain.Count(len(list), "version"), list[0].Revision, list[len(list)-1].Revision)
	case len(list) > 0:
		fmt.Fprintf(r.out, "good: %s, from revision %d back to revision %d\n", plain.Count(len(list), "version"), list[0].Revision, list[len(list)-1].Revision)
	}
	return err
}

func (r *run) printVersions(list []fleet.Version) {
	if len(list) == 0 {
		return
	}
	rows := [][]string{{"REVISION", "WRITTEN", "BY", "WHAT"}}
	for _, v := range list {
		rows = append(rows, []string{fmt.Sprint(v.Revision), at(v.WrittenAt), plain.Text(v.Writer), inWords(v)})
	}
	table(r.out, rows)
}

// inWords is what a version changed, in one line.
func inWords(v fleet.Version) string {
	what := strings.Join(v.Changes, ", ")
	switch {
	case v.Restored && what == "":
		what = "restored, as it was"
	case v.Restored:
		what = "restored: " + what
	case what == "":
		what = "nothing"
	}
	var moved []string
	for _, m := range v.Moved {
		if m.From != "" {
			moved = append(moved, m.BoxID)
		}
	}
	if len(moved) > 0 {
		what += "; moved the binding of " + strings.Join(moved, ", ")
	}
	return plain.Text(what)
}

func (r *run) printCandidates(l logOf) {
	if len(l.Versions) == 0 {
		fmt.Fprintln(r.out, "the log has no version that can be restored")
		return
	}
	rows := [][]string{{"VERSION", "REVISION", "WRITTEN", "BY"}}
	for _, v := range l.Versions {
		rows = append(rows, []string{short(v.SHA256), fmt.Sprint(v.Revision), at(v.WrittenAt), plain.Text(v.Writer)})
	}
	table(r.out, rows)
	fmt.Fprintln(r.out, "holdfast fleet restore-roster VERSION makes one of them good again")
}

func (r *run) fleetRestore() *cobra.Command {
	var above uint64
	var yes bool
	cmd := &cobra.Command{
		Use:   "restore-roster VERSION",
		Short: "Make an old version of the roster good again, by the root key in this home",
		Long: `Make an old version of the roster good again, by the root key in this home. It is written
under a revision that is above all that this home has verified and that the log has;
if a box or another console has verified more, --above says how much. What was changed
after that version is undone, but for what protects: boxes that came in since stay in,
and those that were quarantined or retired stay so.`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := operatorOnly("restore the roster"); err != nil {
				return err
			}
			if !yes {
				return problem.Refusal("not-confirmed", "This undoes what was changed after the version %s: roles, labels, holds, consoles, regions, the floor. Boxes that came in since stay in, and those that were quarantined or retired stay so. Nothing was changed.", clipped(args[0], 80)).
					WithHint("look at it with holdfast fleet log --candidates, and say it again with --yes")
			}
			return r.write(cmd, "restore the roster", func(c *fleet.Console) (fleet.Written, error) {
				return c.Restore(cmd.Context(), args[0], above)
			}, "the version "+short(args[0])+" is good again", "")
		},
	}
	cmd.Flags().Uint64Var(&above, "above", 0, "the highest revision that any box or console has verified")
	cmd.Flags().BoolVar(&yes, "yes", false, "do it, whatever it undoes")
	return cmd
}
