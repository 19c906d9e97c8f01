package cli

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/internal/app"
	"holdfast/internal/app/config"
	"holdfast/internal/mcp"
	"holdfast/internal/problem"
	"holdfast/internal/roadmap/event"
)

func (r *run) mcp() *cobra.Command {
	return &cobra.Command{
		Use:   "mcp [install]",
		Short: "Let an agent use booths and the plan as tools, over stdin and stdout",
		Long: `Let an agent use booths and the plan as tools, by the Model Context Protocol over
stdin and stdout: booth_publish, booth_ask, booth_wait, booth_marks, roadmap_ready,
roadmap_claim, roadmap_progress, roadmap_result.

"holdfast mcp install" prints what the common clients want to be told; it changes
nothing.`,
		Args:      cobra.MatchAll(cobra.MaximumNArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"install"},
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := r.settings()
			if err != nil {
				return err
			}
			if len(args) == 1 {
				return r.mcpInstall(c)
			}
			if r.json {
				return usage(cmd, "holdfast mcp speaks a protocol of its own, without --json")
			}
			r.agent = true
			return mcp.Serve(cmd.Context(), mcp.Config{Open: r.boothsForTools, Page: r.pageOf, Plan: r.planForTools, Version: Version}, r.in, r.out)
		},
	}
}

// boothsForTools opens booths for one call of a tool.
func (r *run) boothsForTools(name string) (mcp.Booths, string, func(), error) {
	return r.boothsOf(name)
}

// planForTools opens the plan for one call of a tool.
func (r *run) planForTools(ctx context.Context) (mcp.Plan, mcp.Who, func(), error) {
	p, c, done, err := r.plan(ctx)
	if err != nil {
		return nil, mcp.Who{}, nil, err
	}
	who := mcp.Who{Attempt: event.Attempt(surroundings().id)}
	if who.Agent, err = r.planner(c); err == nil {
		who.Operator, err = app.PlanOperator(c)
	}
	if err != nil {
		done()
		return nil, mcp.Who{}, nil, err
	}
	return p, who, done, nil
}

// installed is how clients start the server, in JSON.
type installed struct {
	mcp.Launch
	Clients []mcp.Setup `json:"clients"`
}

func (r *run) mcpInstall(c *config.Config) error {
	l, err := launch(c)
	if err != nil {
		return err
	}
	doc := installed{l, mcp.Setups(l)}
	if r.json {
		return r.document(doc)
	}
	for i, s := range doc.Clients {
		if i > 0 {
			fmt.Fprintln(r.out)
		}
		where := "run"
		if s.File != "" {
			where = "in " + s.File
		}
		fmt.Fprintf(r.out, "# %s: %s\n%s\n", s.Client, where, s.Text)
	}
	return nil
}

// launch starts this program, on what this invocation means. The token is a
// secret and is not printed.
func launch(c *config.Config) (mcp.Launch, error) {
	self, err := os.Executable()
	if err != nil {
		return mcp.Launch{}, problem.New(problem.Failed, "install", "Where this program lies cannot be told.").Because(err)
	}
	l := mcp.Launch{Command: self, Args: []string{"mcp"}}
	switch {
	case c.URL != nil:
		l.Env = map[string]string{"HOLDFAST_URL": strings.TrimSuffix(c.URL.String(), "/"), "HOLDFAST_TOKEN": "put the token here"}
	case c.HomeNamed:
		l.Args = []string{"--home", c.Home, "mcp"}
	}
	return l, nil
}
