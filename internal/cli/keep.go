package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/internal/booth"
	"holdfast/internal/plain"
)

func (r *run) boothKeep() *cobra.Command {
	var why string
	cmd := &cobra.Command{
		Use:   "keep NAME",
		Short: "Keep a booth until it is released",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := operatorOnly("keep booths"); err != nil {
				return err
			}
			return withBooth(r, args[0], func(b booths, name string) (booth.Kept, error) {
				return b.Keep(cmd.Context(), name, booth.Keeping{Why: why})
			}, r.printKept)
		},
	}
	cmd.Flags().StringVar(&why, "why", "", "why it is kept")
	return cmd
}

func (r *run) printKept(k booth.Kept) {
	if !k.Changed {
		fmt.Fprintf(r.out, "%s was kept already; nothing was changed\n", plain.Text(k.Name))
		return
	}
	fmt.Fprintf(r.out, "%s is kept until: holdfast booth unkeep %s\n", plain.Text(k.Name), plain.Text(k.Name))
}

func (r *run) boothUnkeep() *cobra.Command {
	return &cobra.Command{
		Use:   "unkeep NAME",
		Short: "Release a kept booth: it counts down from now",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := operatorOnly("release booths"); err != nil {
				return err
			}
			return withBooth(r, args[0], func(b booths, name string) (booth.Kept, error) {
				return b.Unkeep(cmd.Context(), name)
			}, r.printReleased)
		},
	}
}

func (r *run) printReleased(k booth.Kept) {
	name, line := plain.Text(k.Name), plain.Text(k.State.Line)
	span, counts := strings.CutPrefix(line, "expires in ")
	switch {
	case !k.Changed:
		fmt.Fprintf(r.out, "%s is not kept (%s); nothing was changed\n", name, line)
		return
	case counts:
		fmt.Fprintf(r.out, "%s counts down from now for %s\n", name, span)
	default:
		fmt.Fprintf(r.out, "%s is kept no longer: %s\n", name, line)
	}
	fmt.Fprintf(r.out, "to delete it now: holdfast booth rm %s\n", name)
}

func (r *run) boothCensus() *cobra.Command {
	return &cobra.Command{
		Use:   "census",
		Short: "Count the booths by what becomes of them: kept, held and why, counting down",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withAll(r, func(b booths) (booth.Census, error) { return b.Census(cmd.Context()) }, r.printCensus)
		},
	}
}

func (r *run) printCensus(c booth.Census) {
	held, reasons := 0, []string{}
	for reason, n := range c.Held {
		held += n
		if n > 0 {
			reasons = append(reasons, fmt.Sprintf("%s %d", plain.Text(reason), n))
		}
	}
	slices.Sort(reasons)
	also := ""
	if c.KeptAndOpen > 0 {
		also = fmt.Sprintf("%d of them with an open question", c.KeptAndOpen)
	}
	table(r.out, [][]string{
		{"kept", fmt.Sprint(c.Kept), also},
		{"held", fmt.Sprint(held), strings.Join(reasons, ", ")},
		{"counting", fmt.Sprint(c.Counting), ""},
	})
}

// withAll asks for a document about all booths and shows it.
func withAll[T any](r *run, ask func(booths) (T, error), show func(T)) error {
	b, done, err := r.booths()
	if err != nil {
		return err
	}
	defer done()
	doc, err := ask(b)
	if err != nil {
		return err
	}
	if r.json {
		return r.document(doc)
	}
	show(doc)
	return nil
}
