// Package cli is the command line: one file for each noun.
//
// Commands write what they found to stdout, as tables and sentences for people
// or, with --json, as exactly one JSON document. What went wrong goes to stderr,
// with --json to stdout as {"error":…}, and into the exit status.
// Nothing here decides anything about a booth; commands show what the packages
// below found.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast/internal/app/config"
	"holdfast/internal/plain"
	"holdfast/internal/problem"
)

// run is one invocation: where it reads and writes, and what it was told.
type run struct {
	in       io.Reader
	out, err io.Writer
	json     bool
	flags    *pflag.FlagSet // those of the command that runs
	status   int            // for answers that are no failures
	agent    bool           // an agent speaks through it
	read     bool           // stdin was read
}

// Main runs one command line and gives its exit status.
func Main(args []string, in io.Reader, out, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends it as it would any program
	checked := &checkedWriter{w: out}
	r := &run{in: in, out: checked, err: stderr, json: asksForJSON(args)}
	root := r.root()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(checked)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil && checked.err != nil {
		err = problem.New(problem.Failed, "output", "What was found could not be written out.").Because(checked.err)
	}
	if err != nil {
		return r.fail(err)
	}
	return r.status
}

// asksForJSON looks for --json before the flags are read, so that a wrong one is
// said in JSON too.
func asksForJSON(args []string) bool {
	for _, a := range args {
		switch a {
		case "--":
			return false
		case "--json", "--json=true":
			return true
		}
	}
	return false
}

// checkedWriter remembers that something could not be written.
type checkedWriter struct {
	w   io.Writer
	err error
}

func (c *checkedWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	if err != nil && c.err == nil {
		c.err = err
	}
	return n, err
}

func (r *run) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "holdfast",
		Short: "A control desk for a fleet of autonomous workers",
		Long: `Holdfast shows what your workers made and holds what still waits for you.

A folder in the data folder is a booth, and a booth is a page. Start the desk
with "holdfast up", make a folder, and look at it in a browser.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRun: func(cmd *cobra.Command, _ []string) {
			r.flags = cmd.Flags()
		},
	}
	root.PersistentFlags().String("home", "", "folder that everything lives in (default: the XDG data directory)")
	root.PersistentFlags().BoolVar(&r.json, "json", r.json, "answer with one JSON document")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usage(cmd, "%v", err) })
	root.AddCommand(
		r.up(), r.open(), r.booth(), r.config(), r.doctor(), r.version(),
		r.ask(), r.wait(), r.answer(), r.withdraw(), r.note(), r.flag(), r.mcp(), r.roadmap(), r.fleet(), r.box(), r.instance(), r.stopInstance(), r.ps(), r.logs(), r.attach(), r.receipt(), r.down(),
	)
	root.SetHelpCommand(helpCommand(root))
	root.InitDefaultCompletionCmd("completion")
	r.strictArgs(root)
	return root
}

// strictArgs makes every wrong use of a command the same kind of refusal.
func (r *run) strictArgs(cmd *cobra.Command) {
	check := cmd.Args
	cmd.Args = func(c *cobra.Command, args []string) error {
		switch {
		case check != nil:
			if err := check(c, args); err != nil {
				return usage(c, "%v", err)
			}
		case c.HasSubCommands() && len(args) > 0:
			return usage(c, "%q is no command of %s", args[0], c.CommandPath())
		}
		return nil
	}
	if cmd.HasSubCommands() && cmd.RunE == nil {
		cmd.RunE = func(c *cobra.Command, _ []string) error {
			if r.json {
				return usage(c, "%s does nothing by itself: name one of its commands", c.CommandPath())
			}
			return c.Help()
		}
	}
	for _, sub := range cmd.Commands() {
		r.strictArgs(sub)
	}
}

func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Say what a command does",
		Args:  cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			found, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return usage(root, "%q is no command", strings.Join(args, " "))
			}
			return found.Help()
		},
	}
}

func usage(cmd *cobra.Command, format string, args ...any) error {
	return problem.New(problem.Usage, "usage", format+".", args...).WithHint("%s --help", cmd.CommandPath())
}

// settings reads the configuration as this invocation sees it.
func (r *run) settings() (*config.Config, error) {
	given := map[string]string{}
	r.flags.Visit(func(f *pflag.Flag) { given[f.Name] = f.Value.String() })
	return config.Load(config.Input{Flags: given, Getenv: os.LookupEnv})
}

// fail says what went wrong, and gives the exit status for it.
func (r *run) fail(err error) int {
	p := problem.From(err, err.Error())
	var told struct {
		Error publicError `json:"error"`
	}
	told.Error = publicError{p.Kind.String(), p.Step, p.Reason, p.Hint}
	if r.json {
		if err := r.document(told); err != nil {
			fmt.Fprintln(r.err, "holdfast:", err)
		}
		return p.Kind.Exit()
	}
	fmt.Fprintf(r.err, "holdfast: %s\n", reason(p.Reason))
	if cause := errors.Unwrap(p); cause != nil && cause.Error() != p.Reason {
		fmt.Fprintf(r.err, "  because: %s\n", reason(cause.Error()))
	}
	if p.Hint != "" {
		fmt.Fprintf(r.err, "hint: %s\n", plain.Text(p.Hint))
	}
	return p.Kind.Exit()
}

// reason is why something is so, perhaps in several lines of another program's.
// Those after the first are set in, so that none is taken for a line of Holdfast's.
func reason(s string) string {
	return strings.ReplaceAll(plain.Lines(strings.TrimRight(s, "\r\n")), "\n", "\n  ")
}

type publicError struct {
	Kind   string `json:"kind"`
	Step   string `json:"step"`
	Reason string `json:"reason"`
	Hint   string `json:"hint,omitempty"`
}

// document writes the one JSON document of an invocation.
func (r *run) document(v any) error {
	enc := json.NewEncoder(r.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
