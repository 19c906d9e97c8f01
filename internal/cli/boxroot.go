package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"holdfast/internal/app"
	"holdfast/internal/booth/marks"
	"holdfast/internal/fleet"
	"holdfast/internal/fleet/box/root"
	"holdfast/internal/plain"
)

// build is which holdfast this is, as boxes say it.
func build() app.Build { return app.Build{Release: Version, Revision: revision()} }

func (r *run) boxRoot() *cobra.Command {
	return &cobra.Command{
		Use:   "root",
		Short: "Serve this box as its root: what owns the processes and the proofs",
		Long: `Serve this box as its root, which owns what runs on the box and proves what has ended.
"holdfast up" starts it where it is needed, and it outlives it. It ends on SIGTERM at the
next step of what it does; what runs goes on, and the next root finds it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := r.here("box")
			if err != nil {
				return err
			}
			return app.BoxRoot(cmd.Context(), c, build(), r.err)
		},
	}
}

func (r *run) boxAgent() *cobra.Command {
	return &cobra.Command{
		Use:   "agent",
		Short: "Carry orders and output between this box and its fleet's store",
		Long: `Carry orders and output between this box and its fleet's store, and see to it that the
box's root runs. "holdfast up" does the same in a home that is a box.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := r.here("box")
			if err != nil {
				return err
			}
			return app.BoxAgent(cmd.Context(), c, build(), r.err)
		},
	}
}

// asking gives do a client of this box's root.
func (r *run) asking(do func(cmd *cobra.Command, c *root.Client) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		c, err := r.here("box")
		if err != nil {
			return err
		}
		client, err := fleet.DialRoot(app.FleetHome(c))
		if err != nil {
			return err
		}
		defer client.Close()
		return do(cmd, client)
	}
}

// intents is the JSON of box intents.
type intents struct {
	Intents []root.Intent `json:"intents"`
}

func (r *run) boxIntents() *cobra.Command {
	return &cobra.Command{
		Use:   "intents",
		Short: "List what this box's root has begun and not settled",
		Args:  cobra.NoArgs,
		RunE: r.asking(func(cmd *cobra.Command, c *root.Client) error {
			s, err := c.Status(cmd.Context(), 0)
			if err != nil {
				return err
			}
			return shown(r, intents{s.Intents}, func(i intents) {
				if len(i.Intents) == 0 {
					fmt.Fprintln(r.out, "nothing is under way")
					return
				}
				rows := [][]string{{"OPERATION", "DOES", "INSTANCE", "INCARNATION", "PHASE", "WAITS FOR"}}
				for _, one := range i.Intents {
					rows = append(rows, []string{plain.Text(one.Operation), string(one.Kind), plain.Text(one.Instance), fmt.Sprint(one.Incarnation), string(one.Phase), plain.Text(one.Waits)})
				}
				table(r.out, rows)
			})
		}),
	}
}

// receipts is the JSON of box receipts.
type receipts struct {
	Receipts []root.Evidence `json:"receipts"`
}

func (r *run) boxReceipts() *cobra.Command {
	return &cobra.Command{
		Use:   "receipts",
		Short: "List the receipts that this box has signed",
		Args:  cobra.NoArgs,
		RunE: r.asking(func(cmd *cobra.Command, c *root.Client) error {
			list, err := c.Receipts(cmd.Context())
			if err != nil {
				return err
			}
			return shown(r, receipts{list}, func(l receipts) {
				if len(l.Receipts) == 0 {
					fmt.Fprintln(r.out, "no receipts")
					return
				}
				rows := [][]string{{"INSTANCE", "INCARNATION", "IN THE STORE", "KEY"}}
				for _, one := range l.Receipts {
					rows = append(rows, []string{plain.Text(one.Instance), fmt.Sprint(one.Incarnation), yes(one.Handed), plain.Text(one.Key)})
				}
				table(r.out, rows)
			})
		}),
	}
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "not yet"
}

// stopped is the JSON of down.
type stopped struct {
	Stopped []root.Stopped `json:"stopped"`
}

func (r *run) down() *cobra.Command {
	var grace, wait time.Duration
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Stop all that runs on this box, with receipts, and end its root",
		Long: `Stop all that runs on this box: each instance is fenced, told to end (TERM), killed when the
grace is over, and its end proved by a receipt. The store is not asked; receipts that it has
not got yet are handed to it when the box is served again. Then the box's root ends.

What does not end in time is still fenced and still being stopped (exit status 3), and the
root stays.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := operatorOnly("stop what runs here"); err != nil {
				return err
			}
			if grace < 0 || wait < 0 {
				return usage(cmd, "--grace and --wait are not less than nothing")
			}
			return r.asking(func(cmd *cobra.Command, c *root.Client) error { return r.downs(cmd, c, grace, wait) })(cmd, args)
		},
	}
	cmd.Flags().DurationVar(&grace, "grace", 10*time.Second, "time from TERM to KILL")
	cmd.Flags().DurationVar(&wait, "wait", time.Minute, "wait so long for the receipts")
	return cmd
}

// downs stops all, and ends the root if all is proved.
func (r *run) downs(cmd *cobra.Command, c *root.Client, grace, wait time.Duration) error {
	list, err := c.Down(cmd.Context(), grace, wait)
	if err != nil {
		return err
	}
	for _, s := range list {
		if s.Receipt == "" {
			r.status = exits[string(marks.StateOpen)]
		}
	}
	if r.status == 0 {
		if err := c.End(cmd.Context()); err != nil {
			return err
		}
	}
	return shown(r, stopped{list}, func(l stopped) {
		for _, s := range l.Stopped {
			if s.Receipt == "" {
				fmt.Fprintf(r.out, "%s is being stopped, and its end is not proved yet: %s\n", plain.Text(s.Instance), orDash(plain.Text(s.Why)))
				continue
			}
			fmt.Fprintf(r.out, "%s is stopped: %s\n", plain.Text(s.Instance), plain.Text(s.Receipt))
		}
		if len(l.Stopped) == 0 {
			fmt.Fprintln(r.out, "nothing ran here")
		}
	})
}
