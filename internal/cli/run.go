package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"holdfast/internal/fleet"
	"holdfast/internal/fleet/console"
	"holdfast/internal/fleet/operation"
	"holdfast/internal/fleet/order"
	"holdfast/internal/plain"
)

// running is the flags of run.
type running struct {
	box, role, dir, key string
	env                 []string
	wait                time.Duration
}

func (r *run) instance() *cobra.Command {
	var f running
	cmd := &cobra.Command{
		Use:   "run NAME [flags] -- COMMAND...",
		Short: "Run a command on a box, as an instance",
		Args:  cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return asConsole(r, func(c *fleet.Console) (console.Ran, error) {
				ctx, done := context.WithTimeout(cmd.Context(), f.wait)
				defer done()
				return c.Work(r.progress).Run(ctx, console.RunRequest{
					Key: f.key, Instance: args[0], Wish: operation.Wish{Box: f.box, Role: f.role},
					Work: order.Work{Command: args[1:], Env: map[string]string{}, Dir: f.dir},
				})
			}, func(ran console.Ran) {
				fmt.Fprintf(r.out, "%s is running on %s (incarnation %d)\n", plain.Text(ran.Instance), plain.Text(ran.Box), ran.Incarnation)
			})
		},
	}
	cmd.Flags().StringVar(&f.box, "box", "", "the box that it is to run on")
	cmd.Flags().StringVar(&f.role, "role", "", "what the box is to be for")
	cmd.Flags().StringVar(&f.dir, "dir", "", "the folder that it runs in; a folder of its own where none is given")
	cmd.Flags().StringVar(&f.key, "key", "", "key of the operation: saying the same again with the same key is safe")
	cmd.Flags().DurationVar(&f.wait, "wait", time.Minute, "wait so long for the box")
	return cmd
}

func (r *run) progress(key, why string) {
	if !r.json {
		fmt.Fprintf(r.err, "%s: %s\n", key, plain.Text(why))
	}
}

func (r *run) stopInstance() *cobra.Command {
	var key string
	var grace, wait time.Duration
	cmd := &cobra.Command{
		Use:   "stop NAME",
		Short: "Stop an instance, and prove it",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return asConsole(r, func(c *fleet.Console) (console.Stopped, error) {
				ctx, done := context.WithTimeout(cmd.Context(), wait)
				defer done()
				return c.Work(r.progress).Stop(ctx, console.StopRequest{Key: key, Instance: args[0], Grace: grace})
			}, func(s console.Stopped) {
				fmt.Fprintf(r.out, "%s is stopped, proved by %s: %s\n", plain.Text(args[0]), s.Receipt.Proof, s.Receipt.Key)
			})
		},
	}
	cmd.Flags().StringVar(&key, "key", "", "key of the operation: saying the same again with the same key is safe")
	cmd.Flags().DurationVar(&grace, "grace", 10*time.Second, "time from TERM to KILL")
	cmd.Flags().DurationVar(&wait, "wait", time.Minute, "wait so long for the proof")
	return cmd
}

func (r *run) ps() *cobra.Command {
	return &cobra.Command{
		Use:   "ps",
		Short: "List the instances",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return asConsole(r, func(c *fleet.Console) (instances, error) {
				list, err := c.Work(nil).List(cmd.Context())
				return instances{list}, err
			}, func(l instances) {
				rows := [][]string{{"INSTANCE", "BOX", "STATE", "INCARNATION", "STARTED", ""}}
				for _, i := range l.Instances {
					rows = append(rows, []string{plain.Text(i.Instance), plain.Text(i.Box), i.State, fmt.Sprint(i.Incarnation), at(i.Started), plain.Text(i.Refusal)})
				}
				table(r.out, rows)
			})
		},
	}
}

// instances is the JSON of ps.
type instances struct {
	Instances []console.Instance `json:"instances"`
}
