package cli

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast/internal/app"
	"holdfast/internal/booth/marks"
	"holdfast/internal/fleet"
	"holdfast/internal/fleet/box/root"
	"holdfast/internal/fleet/enrollment"
	"holdfast/internal/fleet/roster"
	"holdfast/internal/plain"
)

func (r *run) box() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "box",
		Short: "This machine, as a box of a fleet",
	}
	cmd.AddCommand(r.boxJoin(), r.boxStatus(), r.boxRoot(), r.boxAgent(), r.boxIntents(), r.boxReceipts())
	return cmd
}

// joining is the flags of join.
type joining struct {
	document, signature string
	wait                time.Duration
}

func (r *run) boxJoin() *cobra.Command {
	var f joining
	cmd := &cobra.Command{
		Use:   "join INVITATION",
		Short: "Come into a fleet as a box, by the word that an invitation printed",
		Long: `Come into a fleet as a box, by the word that an invitation printed; - reads the word from
stdin. A console has to answer: "holdfast up" does in a console's home, and a home that is
a console itself answers at once. Whoever is not answered in time has asked all the same
(exit status 3). Saying it again is safe: the machine comes in once.`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := operatorOnly("make a box of a machine"); err != nil {
				return err
			}
			if f.wait < 0 {
				return usage(cmd, "--wait is not less than nothing")
			}
			d, err := f.read(cmd)
			if err != nil {
				return err
			}
			word, err := r.word("invitation", args[0])
			if err != nil {
				return err
			}
			c, err := r.here("fleet")
			if err != nil {
				return err
			}
			j, err := app.JoinFleet(cmd.Context(), c, word, d, f.wait)
			if err != nil {
				return err
			}
			if err := r.joined(j); err != nil {
				return err
			}
			if !r.json && j.State == roster.Active.String() {
				fmt.Fprintln(r.out, "next: holdfast up, which serves it; then, where the console is: holdfast run NAME -- COMMAND")
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&f.document, "document", "", "file with the document in which the cloud says which machine this is")
	cmd.Flags().StringVar(&f.signature, "signature", "", "file with the document's signature, as bytes or in base64")
	cmd.Flags().DurationVar(&f.wait, "wait", time.Minute, "wait so long for a console to answer")
	return cmd
}

// read is the document of a cloud, nil where none is given.
func (f joining) read(cmd *cobra.Command) (*enrollment.Document, error) {
	if (f.document == "") != (f.signature == "") {
		return nil, usage(cmd, "a document has a signature: give --document and --signature, or neither")
	}
	if f.document == "" {
		return nil, nil
	}
	text, err := readSmall("document", f.document)
	if err != nil {
		return nil, err
	}
	signature, err := readSmall("signature", f.signature)
	if err != nil {
		return nil, err
	}
	// Clouds hand it out in base64, in lines.
	if raw, err := base64.StdEncoding.DecodeString(string(bytes.Join(bytes.Fields(signature), nil))); err == nil {
		signature = raw
	}
	return &enrollment.Document{Text: text, Signature: signature}, nil
}

// joined shows where this machine stands. One that was not answered is no failure,
// and not in: its exit status is that of a question that is open.
func (r *run) joined(j fleet.Joined) error {
	if j.State == fleet.Asked {
		r.status = exits[string(marks.StateOpen)]
	}
	return shown(r, j, r.printJoined)
}

func (r *run) printJoined(j fleet.Joined) {
	box := plain.Text(j.BoxID)
	if j.State == fleet.Asked {
		fmt.Fprintf(r.out, "this machine asked to come in as %s, and no console has answered yet\n", box)
		fmt.Fprintln(r.out, "a console answers while holdfast up runs in its home; then say: holdfast box status")
		return
	}
	fmt.Fprintf(r.out, "this machine is the box %s, and %s (revision %d)\n", box, j.State, j.Revision)
	fmt.Fprintf(r.out, "its work is bound to %s\n", short(j.Binding))
}

// boxStanding is the JSON of box status: where the machine stands, and what its root says.
type boxStanding struct {
	fleet.Joined
	Root *root.Status `json:"root,omitempty"`
}

// printRoot says how the box's root is.
func (r *run) printRoot(s *root.Status) {
	if s == nil {
		fmt.Fprintln(r.out, "no root runs here: nothing is started or stopped until holdfast up starts one")
		return
	}
	mode := "takes orders"
	if s.Mode != root.Ready {
		mode = "takes no orders: " + plain.Text(s.Why)
	}
	fmt.Fprintf(r.out, "its root %s (%s, process %d)\n", mode, plain.Text(s.Version), s.PID)
	proof := "a stop is proved by " + s.Proof
	if s.ProofWhy != "" {
		proof += " alone: " + plain.Text(s.ProofWhy)
	}
	fmt.Fprintf(r.out, "%s; isolation: %s; room for stops on a full disk: %s\n", proof, s.Isolation, kept(s))
	fmt.Fprintf(r.out, "instances: %s; under way: %s\n", states(s.Instances), plain.Count(len(s.Intents), "act"))
}

func kept(s *root.Status) string {
	switch {
	case s.Reserve:
		return "kept"
	case len(s.Instances) == 0:
		return "not needed yet"
	}
	return "not kept, so nothing new is started"
}

// states counts instances by state.
func states(list []root.Instance) string {
	count := map[string]int{}
	for _, i := range list {
		count[i.State]++
	}
	words := []string{}
	for _, state := range slices.Sorted(maps.Keys(count)) {
		words = append(words, fmt.Sprintf("%d %s", count[state], state))
	}
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ", ")
}

func (r *run) boxStatus() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Say where this machine stands in its fleet, and how its root is",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := r.here("fleet")
			if err != nil {
				return err
			}
			j, err := app.BoxStatus(cmd.Context(), c)
			if err != nil {
				return err
			}
			if j.State == fleet.Asked {
				return r.joined(j)
			}
			s, err := app.RootStatus(cmd.Context(), c)
			if err != nil {
				return err
			}
			return shown(r, boxStanding{j, s}, func(b boxStanding) {
				r.printJoined(b.Joined)
				r.printRoot(b.Root)
			})
		},
	}
}
