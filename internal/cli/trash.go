package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"holdfast/internal/booth"
	"holdfast/internal/booth/reach"
	"holdfast/internal/booth/sweep"
	"holdfast/internal/plain"
	"holdfast/internal/problem"
)

func (r *run) boothRm() *cobra.Command {
	return &cobra.Command{
		Use:   "rm NAME",
		Short: "Delete a booth, kept or held as it may be; it stays in the trash for a while",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := operatorOnly("delete booths"); err != nil {
				return err
			}
			return withBooth(r, args[0], func(b booths, name string) (booth.Trashed, error) {
				return b.Remove(cmd.Context(), name)
			}, r.printTrashed)
		},
	}
}

func (r *run) printTrashed(t booth.Trashed) {
	if t.Trouble != "" {
		fmt.Fprintf(r.out, "%s has left its name, and is not deleted yet: %s\nwhat is left of it is in the trash: holdfast booth trash\n", plain.Text(t.Name), plain.Text(t.Trouble))
		return
	}
	if t.PurgeIn == "0s" {
		fmt.Fprintf(r.out, "%s is deleted\n", plain.Text(t.Name))
		return
	}
	fmt.Fprintf(r.out, "%s is in the trash for %s of the desk's time\nto undo it: holdfast booth restore %s\n", plain.Text(t.Name), plain.Text(t.PurgeIn), plain.Text(t.ID))
}

func (r *run) boothTrash() *cobra.Command {
	return &cobra.Command{
		Use:   "trash",
		Short: "List what is in the trash, and until when",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withAll(r, func(b booths) (booth.Trash, error) { return b.Trash(cmd.Context()) }, r.printTrash)
		},
	}
}

func (r *run) printTrash(t booth.Trash) {
	if len(t.Trash) == 0 {
		fmt.Fprintln(r.out, "the trash is empty")
		return
	}
	rows := [][]string{{"ID", "NAME", "SIZE", "DELETED", "BY", "GOES IN"}}
	for _, e := range t.Trash {
		by := e.By
		if by == "" {
			by = "the timer"
		}
		goes := e.PurgeIn
		if e.Trouble != "" {
			goes += ": " + e.Trouble
		}
		rows = append(rows, []string{plain.Text(e.ID), plain.Text(e.Name), plain.Size(e.Bytes), toMinute(e.At), plain.Text(by), plain.Text(goes)})
	}
	table(r.out, rows)
	fmt.Fprintln(r.out, "to bring one back: holdfast booth restore ID")
}

// toMinute is a time of a document as people read it.
func toMinute(at string) string {
	t, err := time.Parse(time.RFC3339Nano, at)
	if err != nil {
		return plain.Text(at)
	}
	return t.UTC().Format("2006-01-02 15:04Z")
}

func (r *run) boothRestore() *cobra.Command {
	return &cobra.Command{
		Use:   "restore ID",
		Short: "Bring a booth back from the trash",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := operatorOnly("restore booths"); err != nil {
				return err
			}
			err := withAll(r, func(b booths) (booth.Restored, error) { return b.Restore(cmd.Context(), args[0]) },
				func(d booth.Restored) { fmt.Fprintf(r.out, "%s is back\n", plain.Text(d.Name)) })
			if err != nil && problem.KindOf(err) == problem.Gone {
				return r.notInTrash(args[0])
			}
			return err
		},
	}
}

// notInTrash answers that nothing in the trash has an id.
func (r *run) notInTrash(id string) error {
	r.status = problem.Gone.Exit()
	line := fmt.Sprintf("there is nothing %q in the trash", plain.Text(id))
	if r.json {
		return r.document(struct {
			ID    string      `json:"id"`
			State booth.State `json:"state"`
		}{id, booth.State{Kind: reach.StateGone, Line: line}})
	}
	fmt.Fprintf(r.err, "holdfast: %s\nhint: holdfast booth trash lists it\n", line)
	return nil
}

func (r *run) boothSweep() *cobra.Command {
	var dry bool
	cmd := &cobra.Command{
		Use:   "sweep",
		Short: "Sweep now, as the desk does at each tick",
		Long: `Sweep now, as the desk does at each tick: what has expired, and had already at
the tick before, goes to the trash.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !dry {
				if err := operatorOnly("sweep"); err != nil {
					return err
				}
			}
			return r.sweep(cmd.Context(), dry)
		},
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only say what would go, and what would not")
	return cmd
}

func (r *run) sweep(ctx context.Context, dry bool) error {
	return withAll(r, func(b booths) (sweep.Report, error) { return b.Sweep(ctx, dry) }, func(d sweep.Report) {
		verb := "swept"
		if dry {
			verb = "would sweep"
		}
		fmt.Fprintf(r.out, "%s %s\n", verb, plain.Count(len(d.Swept), "booth"))
		for _, name := range d.Swept {
			fmt.Fprintf(r.out, "  %s\n", plain.Text(name))
		}
		if len(d.Spared) == 0 {
			return
		}
		rows := [][]string{{"SPARED", "WHY"}}
		for _, s := range d.Spared {
			rows = append(rows, []string{plain.Text(s.Name), plain.Text(s.Why)})
		}
		table(r.out, rows)
	})
}
