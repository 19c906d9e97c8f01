package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/internal/fleet"
	"holdfast/internal/plain"
)

func (r *run) fleetBoxes() *cobra.Command {
	return &cobra.Command{
		Use:   "boxes",
		Short: "List the boxes; the retired ones too",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return asConsole(r, func(c *fleet.Console) (fleet.Boxes, error) { return c.Boxes(cmd.Context()) }, r.printBoxes)
		},
	}
}

func (r *run) printBoxes(list fleet.Boxes) {
	if len(list.Boxes) == 0 {
		fmt.Fprintln(r.out, "there is no box yet: holdfast fleet invite BOX")
	} else {
		rows := [][]string{{"BOX", "STATE", "REGION", "POOL", "ROLE", "GROUP", "BINDING", "LABEL"}}
		for _, b := range list.Boxes {
			rows = append(rows, []string{plain.Text(b.BoxID), b.State, plain.Text(b.Region), plain.Text(b.Pool), orDash(b.Role), orDash(b.Group), short(b.Binding), plain.Text(b.Label)})
		}
		table(r.out, rows)
	}
	fmt.Fprintln(r.out, asOfRoster(list.At))
}

// short is how digests and the like are shown to people.
func short(digest string) string { return plain.Text(digest[:min(12, len(digest))]) }

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return plain.Text(s)
}

func (r *run) fleetShow() *cobra.Command {
	return &cobra.Command{
		Use:   "show BOX",
		Short: "Show all that is known of a box",
		Args:  cobra.ExactArgs(1), ValidArgsFunction: r.boxNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			return asConsole(r, func(c *fleet.Console) (fleet.Shown, error) { return c.Show(cmd.Context(), args[0]) }, r.printShown)
		},
	}
}

func (r *run) printShown(s fleet.Shown) {
	fmt.Fprintf(r.out, "%s is %s\n", plain.Text(s.BoxID), s.State)
	rows := [][]string{}
	say := func(what, value string) {
		if value != "" {
			rows = append(rows, []string{"  " + what, plain.Text(value)})
		}
	}
	say("label", s.Label)
	say("role", s.Role)
	say("group", s.Group)
	say("enrolled", at(s.EnrolledAt))
	say("enrollment", s.Enrollment)
	say("invitation", s.Invitation)
	say("given up as", strings.Join(s.LossIDs, ", "))
	say("binding", s.Binding)
	table(r.out, rows)
	fmt.Fprintln(r.out, "its binding is made of:")
	rows = nil
	for _, f := range s.Facts {
		rows = append(rows, []string{"  " + f.Name, orDash(fmt.Sprint(f.Value))})
	}
	table(r.out, rows)
	fmt.Fprintln(r.out, movedBy(s))
	fmt.Fprintln(r.out, asOfRoster(s.At))
}

func (r *run) fleetExplain() *cobra.Command {
	return &cobra.Command{
		Use:   "explain BOX",
		Short: "Say what a box may do, what its work is bound to, and what last moved that",
		Args:  cobra.ExactArgs(1), ValidArgsFunction: r.boxNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			return asConsole(r, func(c *fleet.Console) (explained, error) {
				s, err := c.Show(cmd.Context(), args[0])
				return explained{s, explanation(s)}, err
			}, func(e explained) { fmt.Fprintln(r.out, plain.Lines(e.Explanation)) })
		},
	}
}

// explained is a box, and in sentences why it is so.
type explained struct {
	fleet.Shown
	Explanation string `json:"explanation"`
}

// explanation is a sentence for each thing that somebody may wonder about.
func explanation(s fleet.Shown) string {
	lines := []string{stands(s)}
	if s.Binding != "" {
		lines = append(lines, fmt.Sprintf("Its work is bound to %s, which pins %s.", short(s.Binding), pinned(s.Facts)))
	}
	return strings.Join(append(lines, movedBy(s)), "\n")
}

// stands is what a box may do.
func stands(s fleet.Shown) string {
	switch s.State {
	case "active":
		return s.BoxID + " is active: it takes new work."
	case "quarantined":
		lost := ""
		if len(s.LossIDs) > 0 {
			lost = " It was given up for lost (" + strings.Join(s.LossIDs, ", ") + ")."
		}
		return s.BoxID + " is quarantined: what it has may be finished and stopped, and it takes nothing new." + lost
	default:
		return s.BoxID + " is " + s.State + ", for good: it does nothing more, and what it signed can still be verified."
	}
}

// pinned is what a binding is made of, in words.
func pinned(facts []fleet.Fact) string {
	var list []string
	for _, f := range facts {
		if value := fleet.Clip(fleet.FactText(f.Name, f.Value)); value != "" {
			list = append(list, fleet.FactName(f.Name)+" "+value)
		}
	}
	return strings.Join(list, ", ")
}

// movedBy is which step last moved the binding of a box, and what came after it.
func movedBy(s fleet.Shown) string {
	if s.Moved == nil {
		return "Which step last moved its binding cannot be told: the log does not go back so far."
	}
	var facts []string
	for _, f := range s.Moved.Facts {
		if f.From != nil {
			facts = append(facts, fmt.Sprintf("%s %s → %s", fleet.FactName(f.Name), orNone(fleet.Clip(fleet.FactText(f.Name, f.From))), orNone(fleet.Clip(fleet.FactText(f.Name, f.To)))))
		}
	}
	what := strings.Join(facts, ", ")
	if what == "" {
		what = "it was enrolled"
	}
	since := "Nothing was written since."
	if s.Writes > 0 {
		since = fmt.Sprintf("Since then the roster was written %s, and its binding did not move.", times(s.Writes))
	}
	return fmt.Sprintf("Revision %d last moved its binding, on %s by %s: %s.\n%s", s.Moved.Revision, at(s.Moved.WrittenAt), plain.Text(s.Moved.Writer), what, since)
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

func times(n uint64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// held is the holds of a fleet, or its activations.
type held struct {
	Holds       *[]fleet.Hold `json:"holds,omitempty"`
	Activations *[]fleet.Hold `json:"activations,omitempty"`
	fleet.At
}

func (r *run) printHeld(list []fleet.Hold, none string, is fleet.At) {
	if len(list) == 0 {
		fmt.Fprintln(r.out, none)
	} else {
		rows := [][]string{{"OPERATION", "OF", "CONSOLE", "INSTANCE", "SINCE"}}
		for _, h := range list {
			rows = append(rows, []string{plain.Text(h.Operation), plain.Text(h.Scope), plain.Text(h.Console), orDash(h.Instance), at(h.ReservedAt)})
		}
		table(r.out, rows)
	}
	fmt.Fprintln(r.out, asOfRoster(is))
}

func (r *run) fleetHolds() *cobra.Command {
	var cancel string
	cmd := &cobra.Command{
		Use:   "holds",
		Short: "List what operations on their way hold, or end a hold",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("cancel") {
				return r.write(cmd, "end a hold", func(c *fleet.Console) (fleet.Written, error) {
					return c.CancelHold(cmd.Context(), cancel)
				}, "the hold "+plain.Text(cancel)+" is ended", "there is no hold "+plain.Text(cancel))
			}
			return asConsole(r, func(c *fleet.Console) (held, error) {
				list, is, err := c.Holds(cmd.Context())
				return held{Holds: &list, At: is}, err
			}, func(h held) { r.printHeld(*h.Holds, "nothing is held", h.At) })
		},
	}
	cmd.Flags().StringVar(&cancel, "cancel", "", "end the hold of the operation with this key, whosever it is")
	return cmd
}

func (r *run) fleetActivations() *cobra.Command {
	var cancel string
	cmd := &cobra.Command{
		Use:   "activations",
		Short: "List what parts of the fleet are being changed, or end such a change",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("cancel") {
				return r.write(cmd, "end an activation", func(c *fleet.Console) (fleet.Written, error) {
					return c.CancelActivation(cmd.Context(), cancel)
				}, "the activation "+plain.Text(cancel)+" is ended", "there is no activation "+plain.Text(cancel))
			}
			return asConsole(r, func(c *fleet.Console) (held, error) {
				list, is, err := c.Activations(cmd.Context())
				return held{Activations: &list, At: is}, err
			}, func(h held) { r.printHeld(*h.Activations, "no part of the fleet is being changed", h.At) })
		},
	}
	cmd.Flags().StringVar(&cancel, "cancel", "", "end the activation with this key, whosever it is")
	return cmd
}
