package cli

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"

	"github.com/spf13/cobra"

	"holdfast/internal/app"
)

func (r *run) up() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start the desk and serve it until it is told to end",
		Long: `Start the desk and serve it until it is told to end.

The first line says where it listens, the second has a link that signs you in,
good once. The log goes to stderr. Ctrl-C or SIGTERM ends it cleanly. In the home of
a console it also answers the boxes that ask to come into the fleet.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := r.settings()
			if err != nil {
				return err
			}
			return app.Up(cmd.Context(), c, build(), r.err, r.serving)
		},
	}
	settingFlags(cmd)
	return cmd
}

func (r *run) serving(s app.Serving) error {
	if r.json {
		return r.document(struct {
			Listening string `json:"listening"`
			SignIn    string `json:"sign_in"`
		}{s.URL, s.SignIn})
	}
	_, err := fmt.Fprintf(r.out, "holdfast: listening on %s\nholdfast: sign in at %s\n", s.URL, s.SignIn)
	return err
}

func (r *run) open() *cobra.Command {
	var printOnly bool
	cmd := &cobra.Command{
		Use:   "open",
		Short: "Open the desk in a browser, signed in",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := operatorOnly("sign in"); err != nil {
				return err
			}
			c, err := r.settings()
			if err != nil {
				return err
			}
			link, err := app.SignInLink(cmd.Context(), c)
			if err != nil {
				return err
			}
			if r.json {
				return r.document(address{link})
			}
			r.follow(link, printOnly)
			return nil
		},
	}
	cmd.Flags().BoolVar(&printOnly, "print", false, "print the link (good once, for ten minutes) instead of opening it")
	return cmd
}

// browse opens a link in the person's browser, if there seems to be one.
func browse(link string) bool {
	opener := "xdg-open"
	if runtime.GOOS == "darwin" {
		opener = "open"
	} else if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
		return false
	}
	return exec.Command(opener, link).Start() == nil
}
