package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"holdfast/internal/app"
)

func (r *run) boothToken() *cobra.Command {
	return &cobra.Command{
		Use:   "token NAME",
		Short: "Make a worker's token, good for one booth",
		Long: `Make a worker's token, good for a week and for one booth: publishing into it, and
reading it. A worker that cannot reach the folder uses it with HOLDFAST_URL and
HOLDFAST_TOKEN. It needs the home; no desk has to run.`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			c, err := r.settings()
			if err != nil {
				return err
			}
			t, err := app.NewWorkerToken(c, args[0])
			if err != nil {
				return err
			}
			if r.json {
				return r.document(t)
			}
			fmt.Fprintln(r.out, t.Token)
			return nil
		},
	}
}
