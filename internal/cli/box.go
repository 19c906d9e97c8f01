package cli

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"holdfast/internal/app"
	"holdfast/internal/booth/marks"
	"holdfast/internal/fleet"
	"holdfast/internal/fleet/enrollment"
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
			return r.joined(j)
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

func (r *run) boxStatus() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Say where this machine stands in its fleet",
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
			return r.joined(j)
		},
	}
}
