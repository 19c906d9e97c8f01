package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"holdfast/internal/fleet"
	"holdfast/internal/fleet/console"
	"holdfast/internal/plain"
	"holdfast/internal/problem"
)

func (r *run) ps() *cobra.Command {
	return &cobra.Command{
		Use:   "ps",
		Short: "List the instances",
		Long: `List the instances, by name: each as its claim and its box's answers say. What a box only
shows (running, exited) has how long ago it showed it beside it: a box that is silent may
have it in another state by now.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return asConsole(r, func(c *fleet.Console) (instances, error) {
				list, err := c.Work(nil).List(cmd.Context())
				return instances{list}, err
			}, r.printInstances)
		},
	}
}

// instances is the JSON of ps.
type instances struct {
	Instances []console.Instance `json:"instances"`
}

func (r *run) printInstances(l instances) {
	if len(l.Instances) == 0 {
		fmt.Fprintln(r.out, "no instances\nnext: holdfast run NAME -- COMMAND")
		return
	}
	rows := [][]string{{"INSTANCE", "BOX", "STATE", "INCARNATION", "STARTED", "SHOWN", ""}}
	for _, i := range l.Instances {
		started, seen, note := "", "", i.Refusal
		if !i.Started.IsZero() {
			started = at(i.Started)
		}
		if !i.Seen.IsZero() {
			seen = ago(time.Duration(i.AgeNS))
		}
		if note == "" {
			note = i.Exit
		}
		rows = append(rows, []string{
			plain.Text(i.Instance), orDash(plain.Text(i.Box)), i.State, fmt.Sprint(i.Incarnation), orDash(started), orDash(seen), plain.Text(note),
		})
	}
	table(r.out, rows)
}

// ago is how long something is past, roughly. The clocks of two machines may differ.
func ago(d time.Duration) string {
	switch {
	case d < time.Second:
		return "now"
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds ago", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh ago", int(d.Hours()))
	}
	return fmt.Sprintf("%dd ago", int(d.Hours()/24))
}

// instanceNames completes the name of an instance, where it is the first argument.
func (r *run) instanceNames(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	if len(args) > 0 {
		return nil, none
	}
	r.flags = cmd.Flags()
	c, err := r.console()
	if err != nil {
		return nil, none
	}
	defer c.Close()
	list, err := c.Work(nil).List(cmd.Context())
	if err != nil {
		return nil, none
	}
	var names []string
	for _, i := range list {
		names = append(names, i.Instance+"\t"+i.State)
	}
	return names, none
}

func (r *run) receipt() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "receipt",
		Short: "What proves that an instance has ended",
	}
	cmd.AddCommand(r.receiptVerify())
	return cmd
}

func (r *run) receiptVerify() *cobra.Command {
	return &cobra.Command{
		Use:   "verify KEY",
		Short: "Put every question to a receipt, and show each answer",
		Long: `Put every question to a receipt, by its key in the store, which "holdfast stop" prints:
whether it is signed by the key of the box that is in the roster, and says what the stop
that was noted asked for. Each answer is a line. If one is no, the receipt proves nothing,
and the exit status is 1.`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return asConsole(r, func(c *fleet.Console) (console.Verification, error) {
				v, err := c.Work(nil).Verify(cmd.Context(), args[0])
				if err == nil && !v.OK {
					r.status = problem.Failed.Exit()
				}
				return v, err
			}, r.printVerification)
		},
	}
}

func (r *run) printVerification(v console.Verification) {
	rows := [][]string{}
	for _, c := range v.Checks {
		mark := "ok"
		if !c.OK {
			mark = "BAD"
		}
		rows = append(rows, []string{mark, c.Name, plain.Text(c.Detail)})
	}
	table(r.out, rows)
	if v.OK {
		fmt.Fprintln(r.out, "the receipt is good")
		return
	}
	fmt.Fprintln(r.out, "the receipt proves nothing: what is marked BAD is not as it has to be")
}
