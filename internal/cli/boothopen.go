package cli

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/internal/app"
	"holdfast/internal/booth"
)

// address is a link, in JSON.
type address struct {
	URL string `json:"url"`
}

func (r *run) boothOpen() *cobra.Command {
	var printOnly bool
	cmd := &cobra.Command{
		Use:   "open NAME",
		Short: "Open a booth's page in a browser, signed in",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := operatorOnly("sign in"); err != nil {
				return err
			}
			return withBooth(r, args[0], func(b booths, name string) (address, error) {
				if _, err := b.Show(cmd.Context(), name); err != nil {
					return address{}, err
				}
				link, err := r.signInTo(cmd.Context(), name)
				return address{link}, err
			}, func(a address) { r.follow(a.URL, printOnly) })
		},
	}
	cmd.Flags().BoolVar(&printOnly, "print", false, "print the link (good once, for ten minutes) instead of opening it")
	return cmd
}

// signInTo is a sign-in link that leads on to a booth's page.
func (r *run) signInTo(ctx context.Context, name string) (string, error) {
	c, err := r.settings()
	if err != nil {
		return "", err
	}
	link, err := app.SignInLink(ctx, c)
	if err != nil {
		return "", err
	}
	u, err := url.Parse(link)
	if err != nil {
		return "", err
	}
	query := u.Query()
	query.Set("next", strings.TrimSuffix(u.EscapedPath(), "login")+"b/"+booth.Escape(name)+"/")
	u.RawQuery = query.Encode()
	return u.String(), nil
}

// follow opens a link in the browser, or prints it.
func (r *run) follow(link string, printOnly bool) {
	if !printOnly && browse(link) {
		fmt.Fprintln(r.out, "opening it in the browser; if nothing happens, run it again with --print")
		return
	}
	fmt.Fprintln(r.out, link)
}
