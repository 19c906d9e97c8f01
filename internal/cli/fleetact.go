package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast/internal/fleet"
	"holdfast/internal/plain"
)

// write changes the roster, which only the operator may, and shows what came of it:
// done, or was if there was nothing to change.
func (r *run) write(cmd *cobra.Command, what string, change func(*fleet.Console) (fleet.Written, error), done, was string) error {
	if err := operatorOnly(what); err != nil {
		return err
	}
	return asConsole(r, change, func(w fleet.Written) {
		if !w.Changed {
			fmt.Fprintf(r.out, "%s; nothing was changed (revision %d)\n", was, w.Revision)
			return
		}
		fmt.Fprintf(r.out, "%s (revision %d)\n", done, w.Revision)
		for _, m := range w.Moved {
			fmt.Fprintf(r.out, "the binding of %s moved: %s → %s\n", plain.Text(m.BoxID), short(m.From), short(m.To))
		}
	})
}

// agreed is the flag of what may strand work.
func agreed(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("yes", false, "do it, whichever bindings it moves")
}

func consent(yes *bool) fleet.Consent {
	if *yes {
		return fleet.Granted
	}
	return fleet.Ask
}

func (r *run) fleetQuarantine() *cobra.Command {
	var yes, lost *bool
	cmd := &cobra.Command{
		Use:   "quarantine BOX",
		Short: "Take new work from a box; what it has may be finished and stopped",
		Long: `Take new work from a box. What it has may be finished and stopped, and is never started
again, not after the box is readmitted either. With --lost the box is given up for lost
besides: its work may be begun elsewhere without its word that it has stopped.`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: r.boxNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			loss, how := "", ""
			if *lost {
				loss = fleet.NewLossID()
				how = ", and given up for lost (" + loss + ")"
			}
			box := plain.Text(args[0])
			return r.write(cmd, "quarantine a box", func(c *fleet.Console) (fleet.Written, error) {
				return c.Quarantine(cmd.Context(), args[0], loss, consent(yes))
			}, box+" is quarantined"+how, box+" is quarantined already")
		},
	}
	lost = cmd.Flags().Bool("lost", false, "give the box up for lost")
	yes = agreed(cmd)
	return cmd
}

func (r *run) fleetReadmit() *cobra.Command {
	var yes *bool
	cmd := &cobra.Command{
		Use:   "readmit BOX",
		Short: "Let a box that was quarantined take new work again",
		Args:  cobra.ExactArgs(1), ValidArgsFunction: r.boxNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			box := plain.Text(args[0])
			return r.write(cmd, "readmit a box", func(c *fleet.Console) (fleet.Written, error) {
				return c.Readmit(cmd.Context(), args[0], consent(yes))
			}, box+" is active, and takes new work", box+" is active already")
		},
	}
	yes = agreed(cmd)
	return cmd
}

func (r *run) fleetRetire() *cobra.Command {
	var yes *bool
	cmd := &cobra.Command{
		Use:   "retire BOX",
		Short: "End a box, for good; its name may be given again, its key never",
		Args:  cobra.ExactArgs(1), ValidArgsFunction: r.boxNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			box := plain.Text(args[0])
			return r.write(cmd, "retire a box", func(c *fleet.Console) (fleet.Written, error) {
				return c.Retire(cmd.Context(), args[0], consent(yes))
			}, box+" is retired, for good", box+" is retired already")
		},
	}
	yes = agreed(cmd)
	return cmd
}

func (r *run) fleetRole() *cobra.Command {
	var group string
	cmd := &cobra.Command{
		Use:   "role BOX ROLE",
		Short: "Say what work a box is for, or each box of a group",
		Long: `Say what work a box is for; an empty ROLE takes it away. With --group only ROLE is given,
and each box of that group gets it, in one write.`,
		Args: cobra.RangeArgs(1, 2), ValidArgsFunction: r.boxNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			if given(cmd.Flags(), "group") {
				if len(args) != 1 || group == "" {
					return usage(cmd, "with --group GROUP give the role alone")
				}
				who := "each box of the group " + plain.Text(group)
				return r.write(cmd, "say what boxes are for", func(c *fleet.Console) (fleet.Written, error) {
					return c.SetGroupRole(cmd.Context(), group, args[0])
				}, placed(who, "role", args[0]), placed(who, "role", args[0])+" already")
			}
			if len(args) != 2 {
				return usage(cmd, "give a box and its role")
			}
			return r.place(cmd, "role", args, (*fleet.Console).SetRole)
		},
	}
	cmd.Flags().StringVar(&group, "group", "", "each box of this group")
	return cmd
}

func (r *run) fleetGroup() *cobra.Command {
	return &cobra.Command{
		Use:   "group BOX GROUP",
		Short: "Put a box into a group; an empty one takes it out",
		Args:  cobra.ExactArgs(2), ValidArgsFunction: r.boxNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.place(cmd, "group", args, (*fleet.Console).SetGroup)
		},
	}
}

func (r *run) fleetLabel() *cobra.Command {
	return &cobra.Command{
		Use:   "label BOX TEXT",
		Short: "Say what people call a box; an empty text takes that away",
		Args:  cobra.ExactArgs(2), ValidArgsFunction: r.boxNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.place(cmd, "label", args, (*fleet.Console).SetLabel)
		},
	}
}

// place gives a box something that it is known by.
func (r *run) place(cmd *cobra.Command, what string, args []string, set setter) error {
	says := placed(plain.Text(args[0]), what, args[1])
	return r.write(cmd, "say what boxes are for", func(c *fleet.Console) (fleet.Written, error) {
		return set(c, cmd.Context(), args[0], args[1])
	}, says, says+" already")
}

// placed says that somebody has something.
func placed(who, what, value string) string {
	if value == "" {
		return who + " has no " + what
	}
	return who + " has the " + what + " " + plain.Text(value)
}

func (r *run) fleetRegion() *cobra.Command {
	var label string
	var limit time.Duration
	var yes *bool
	cmd := &cobra.Command{
		Use:   "region NAME",
		Short: "Give the fleet a region that boxes may stand in, or change what is said of one",
		Long: `Give the fleet a region that boxes may stand in, or change what is said of one. What is
not given stays. --limit is the same for all regions, and moves every binding.`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if given(cmd.Flags(), "limit") && limit <= 0 {
				return usage(cmd, "--limit is longer than nothing")
			}
			region := "the region " + plain.Text(args[0])
			return r.write(cmd, "change the regions", func(c *fleet.Console) (fleet.Written, error) {
				return c.ConfigureRegion(cmd.Context(), args[0], label, limit, consent(yes))
			}, region+" is there", region+" is so already")
		},
	}
	cmd.Flags().StringVar(&label, "label", "", "what people call it")
	cmd.Flags().DurationVar(&limit, "limit", 0, "how long one call of the store may take")
	yes = agreed(cmd)
	return cmd
}

func (r *run) fleetFloor() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "floor",
		Short: "The publication floor: what a box must be, to start anything new",
	}
	cmd.AddCommand(r.floorShow(), r.floorPublish())
	return cmd
}

func (r *run) floorShow() *cobra.Command {
	return &cobra.Command{
		Use:   "show",
		Short: "Show the floor that is in force",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return asConsole(r, func(c *fleet.Console) (fleet.InForce, error) { return c.Floor(cmd.Context()) }, r.printFloor)
		},
	}
}

func (r *run) floorPublish() *cobra.Command {
	var yes *bool
	cmd := &cobra.Command{
		Use:   "publish FILE",
		Short: "Publish a floor: it moves the binding of every box",
		Long: `Publish a floor, as JSON:

  {"publication":"spring","min_version":"v1.0.0","allowed_proofs":["namespace"]}

It moves the binding of every box. A publication never changes: another floor has another
name. What was cut off is gone on with by publishing the same again.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := operatorOnly("publish a floor"); err != nil {
				return err
			}
			text, err := readSmall("floor", args[0])
			if err != nil {
				return err
			}
			f, err := fleet.ParseFloor(text)
			if err != nil {
				return err
			}
			floor := "the floor " + plain.Text(f.Publication)
			return r.write(cmd, "publish a floor", func(c *fleet.Console) (fleet.Written, error) {
				return c.PublishFloor(cmd.Context(), f, consent(yes))
			}, floor+" is in force", floor+" is in force already")
		},
	}
	yes = agreed(cmd)
	return cmd
}

func (r *run) printFloor(f fleet.InForce) {
	switch {
	case f.Publication == "":
		fmt.Fprintln(r.out, "no floor is published: any box may start work")
	case f.Floor == nil:
		fmt.Fprintf(r.out, "the floor %s is announced, and not yet published: nothing new starts\npublish it again: holdfast fleet floor publish FILE\n", plain.Text(f.Publication))
	default:
		fmt.Fprintf(r.out, "the floor %s is in force: holdfast %s or later, and a stop is proved by %s\n", plain.Text(f.Publication), f.Floor.MinVersion, strings.Join(f.Floor.AllowedProofs, " or "))
	}
	fmt.Fprintln(r.out, asOfRoster(f.At))
}

// setter is a method of a console that says something of a box.
type setter func(c *fleet.Console, ctx context.Context, box, value string) (fleet.Written, error)
