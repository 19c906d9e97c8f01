package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"holdfast/internal/booth"
	"holdfast/internal/plain"
)

func (r *run) note() *cobra.Command {
	var item string
	cmd := &cobra.Command{
		Use:   "note NAME TEXT",
		Short: "Write a note into a booth, or about one of its items",
		Args:  cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withBooth(r, args[0], func(b booths, name string) (booth.Noted, error) {
				return b.Note(cmd.Context(), name, booth.Remark{Text: args[1], Target: item})
			}, func(n booth.Noted) { fmt.Fprintf(r.out, "noted %s in %s\n", plain.Text(n.ID), plain.Text(n.Name)) })
		},
	}
	cmd.Flags().StringVar(&item, "item", "", "the item that it is about")
	return cmd
}

func (r *run) flag() *cobra.Command {
	var text string
	cmd := &cobra.Command{
		Use:   "flag NAME FILE",
		Short: "Flag an item of a booth",
		Args:  cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withBooth(r, args[0], func(b booths, name string) (booth.Noted, error) {
				return b.Flag(cmd.Context(), name, booth.Remark{Text: text, Target: args[1]})
			}, func(n booth.Noted) {
				fmt.Fprintf(r.out, "flagged %s in %s (%s)\n", plain.Text(args[1]), plain.Text(n.Name), plain.Text(n.ID))
			})
		},
	}
	cmd.Flags().StringVar(&text, "text", "", "what is to be said about it")
	return cmd
}
