package cli

import (
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"holdfast/internal/app"
	"holdfast/internal/obs"
	"holdfast/internal/plain"
	"holdfast/internal/problem"
)

func (r *run) doctor() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Look whether a home has what it needs, and say what to do where not",
		Long: `Look whether a home has what it needs: that it can be written to, who serves it,
git, where the plan is kept and whether that can be reached, how its repositories
are stored, what waits in its queue, and whose its snapshots are; what the home is in
a fleet, its keys, whether the roster is good, and the last step of its log. Nothing is
changed but what is remembered of the plan and of the roster. The exit status is 1 if
something is not as it should be.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := r.settings()
			if err != nil {
				return err
			}
			doc := struct {
				Checks []app.Check `json:"checks"`
			}{app.Doctor(cmd.Context(), c, obs.Logger(r.err, slog.LevelWarn))}
			for _, check := range doc.Checks {
				if !check.OK {
					r.status = problem.Failed.Exit()
				}
			}
			if r.json {
				return r.document(doc)
			}
			r.printChecks(doc.Checks)
			return nil
		},
	}
}

func (r *run) printChecks(checks []app.Check) {
	for _, check := range checks {
		mark := "ok  "
		if !check.OK {
			mark = "BAD "
		}
		fmt.Fprintf(r.out, "%s %-9s  %s\n", mark, check.Name, reason(check.Detail))
		if check.Hint != "" {
			fmt.Fprintf(r.out, "                hint: %s\n", plain.Text(check.Hint))
		}
	}
}
