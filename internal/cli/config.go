package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"holdfast/internal/app/config"
)

func (r *run) config() *cobra.Command {
	return &cobra.Command{
		Use:   "config",
		Short: "Print every setting, its value and where that came from",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			c, err := r.settings()
			if err != nil {
				return err
			}
			if r.json {
				return r.document(struct {
					Settings []config.Value `json:"settings"`
				}{c.Values()})
			}
			rows := [][]string{{"SETTING", "VALUE", "FROM", "WHAT IT IS"}}
			for _, v := range c.Values() {
				from := string(v.Source)
				if v.Detail != "" {
					from += " (" + v.Detail + ")"
				}
				value := v.Value
				if value == "" {
					value = "-"
				}
				rows = append(rows, []string{v.Name, value, from, v.Doc})
			}
			table(r.out, rows)
			return nil
		},
	}
}

// settingFlags gives a command a flag for each setting that has one.
func settingFlags(cmd *cobra.Command) {
	for _, s := range config.Settings {
		switch {
		case s.Flag != "" && s.Switch:
			cmd.Flags().Bool(s.Flag, false, fmt.Sprintf("%s (%s, %s)", s.Doc, s.Env, s.Key))
		case s.Flag != "":
			cmd.Flags().String(s.Flag, s.Default, fmt.Sprintf("%s (%s, %s)", s.Doc, s.Env, s.Key))
		}
	}
}
