package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"holdfast/internal/app"
	"holdfast/internal/app/config"
	"holdfast/internal/booth"
	"holdfast/internal/booth/folder"
	"holdfast/internal/booth/reach"
	"holdfast/internal/booth/sweep"
	"holdfast/internal/plain"
	"holdfast/internal/problem"
)

// booths is what the commands need: the folder itself, or a server. A booth
// that is not there is a problem of kind Gone at step "booth". Writes are not
// retried.
type booths interface {
	lookers
	publishers
	markers
	deciders
}

// lookers look, and change nothing.
type lookers interface {
	List(context.Context) ([]booth.Summary, error)
	Show(ctx context.Context, name string) (booth.Listing, error)
	Explain(ctx context.Context, name string) (booth.Explanation, error)
	Census(context.Context) (booth.Census, error)
}

// publishers put things into booths.
type publishers interface {
	reach.Putter
	Describe(ctx context.Context, name string, change booth.Change) error
}

// markers read and write marks. A question that is not there is Gone at step
// "pick".
type markers interface {
	reach.Watcher
	Ask(ctx context.Context, name string, q booth.Question) (booth.Asked, error)
	Answer(ctx context.Context, name string, r booth.Reply) (booth.Asked, error)
	Withdraw(ctx context.Context, name string, w booth.Withdrawal) (booth.Asked, error)
	Note(ctx context.Context, name string, r booth.Remark) (booth.Noted, error)
	Flag(ctx context.Context, name string, r booth.Remark) (booth.Noted, error)
	Repair(ctx context.Context, name string) (booth.Repaired, error)
}

// deciders say what becomes of booths.
type deciders interface {
	Keep(ctx context.Context, name string, why booth.Keeping) (booth.Kept, error)
	Unkeep(ctx context.Context, name string) (booth.Kept, error)
	Remove(ctx context.Context, name string) (booth.Trashed, error)
	Restore(ctx context.Context, id string) (booth.Restored, error)
	Trash(context.Context) (booth.Trash, error)
	Sweep(ctx context.Context, dry bool) (sweep.Report, error)
}

// booths opens the booths that this invocation means. done lets go of them.
func (r *run) booths() (b booths, done func(), err error) {
	c, err := r.settings()
	if err != nil {
		return nil, nil, err
	}
	if c.URL != nil {
		return reach.Remote{Base: c.URL, Token: c.Token, HTTP: http.DefaultClient}, func() {}, nil
	}
	return r.localBooths(c)
}

// boothsOf opens those among which a booth is, and gives its exact name. In an
// attempt, the folder of the worker's own booth wins over a server.
func (r *run) boothsOf(name string) (b booths, exact string, done func(), err error) {
	exact, folder := surroundings().booth(name)
	c, err := r.settings()
	switch {
	case err != nil:
	case folder == "":
		b, done, err = r.booths()
	case folder == c.Booths():
		b, done, err = r.localBooths(c)
	default:
		b, done, err = r.strayBooths(c, folder)
	}
	return b, exact, done, err
}

// localBooths are the booths of a home.
func (r *run) localBooths(c *config.Config) (booths, func(), error) {
	data, err := app.OpenBooths(c)
	if err != nil {
		return nil, nil, err
	}
	known, forget := app.OpenLedger(c)
	local := reach.Local{Data: data, Ledger: known, TTL: c.TTL, By: r.author(c), Acts: r.acts(c, data)}
	if _, ttl, ok := app.Served(context.Background(), c); ok {
		local.TTL = ttl // the desk decides, and so both say the same
	}
	return local, func() { data.Close(); forget() }, nil
}

// strayBooths are booths in a folder of which no home is known.
func (r *run) strayBooths(c *config.Config, path string) (booths, func(), error) {
	data, err := folder.OpenData(path)
	if err != nil {
		return nil, nil, err
	}
	return reach.Local{Data: data, TTL: c.TTL, By: r.author(c)}, func() { data.Close() }, nil
}

// author is whom this invocation's writes are put down to. What an agent asks is
// not the operator's word.
func (r *run) author(c *config.Config) string {
	switch a := surroundings(); {
	case a.inside():
		return a.who()
	case r.agent:
		return "agent"
	default:
		return app.Operator(c)
	}
}

// acts is how what deletes is reached: through the desk that serves the home,
// which has the sweeper; else the command is the sweeper for a moment.
func (r *run) acts(c *config.Config, data *folder.Data) reach.Acts {
	return reach.Acts{
		Desk: func(ctx context.Context) (*reach.Remote, error) {
			at, token, err := app.OperatorsDesk(ctx, c)
			if at == nil || err != nil {
				return nil, err
			}
			return &reach.Remote{Base: at, Token: token, HTTP: http.DefaultClient}, nil
		},
		Open: func(ctx context.Context) (reach.Sweeper, error) {
			s, err := app.SweepHome(ctx, c, data, r.err)
			if err != nil {
				return nil, err
			}
			return s, nil
		},
	}
}

func (r *run) booth() *cobra.Command {
	cmd := &cobra.Command{Use: "booth", Short: "Look at booths and publish into them"}
	cmd.AddCommand(
		r.boothLs(), r.boothShow(), r.boothExplain(), r.boothCensus(), r.boothOpen(), r.boothPublish(), r.boothToken(),
		r.boothMarks(), r.boothRepair(), r.boothKeep(), r.boothUnkeep(), r.boothRm(), r.boothTrash(), r.boothRestore(), r.boothSweep(),
	)
	return cmd
}

func (r *run) boothLs() *cobra.Command {
	return &cobra.Command{
		Use:   "ls",
		Short: "List the booths, by name",
		Long:  "List the booths, by name. ★ marks a kept one, ? one that is held.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, done, err := r.booths()
			if err != nil {
				return err
			}
			defer done()
			list, err := b.List(cmd.Context())
			if err != nil {
				return err
			}
			if r.json {
				return r.document(booth.Booths{Booths: list})
			}
			r.printList(list)
			return nil
		},
	}
}

func (r *run) printList(list []booth.Summary) {
	if len(list) == 0 {
		fmt.Fprintln(r.out, "no booths yet: make a folder in the data folder, or run: holdfast booth publish NAME FILE…")
		return
	}
	rows := [][]string{{"", "NAME", "KIND", "ITEMS", "SIZE", "OPEN", "LIFETIME"}}
	for _, s := range list {
		open := "-"
		if s.Open > 0 {
			open = strconv.Itoa(s.Open)
		}
		rows = append(rows, []string{
			stateMark(s.State), plain.Text(s.Name), s.Kind, strconv.Itoa(s.Items), plain.Size(s.Bytes), open, plain.Text(s.State.Line),
		})
	}
	table(r.out, rows)
}

func stateMark(s booth.State) string {
	switch s.Kind {
	case "kept":
		return "★"
	case "held":
		return "?"
	default:
		return " "
	}
}

func (r *run) boothShow() *cobra.Command {
	return &cobra.Command{
		Use:   "show NAME",
		Short: "Show one booth and what is inside",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withBooth(r, args[0], func(b booths, name string) (booth.Listing, error) { return b.Show(cmd.Context(), name) }, r.printListing)
		},
	}
}

func (r *run) boothExplain() *cobra.Command {
	return &cobra.Command{
		Use:   "explain NAME",
		Short: "Say what decides a booth's lifetime, and when it would expire",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withBooth(r, args[0], func(b booths, name string) (booth.Explanation, error) { return b.Explain(cmd.Context(), name) }, r.printExplanation)
		},
	}
}

// withBooth asks for a document about one booth and shows it. A booth that is
// not there is an answer: exit 6.
func withBooth[T any](r *run, name string, ask func(b booths, name string) (T, error), show func(T)) error {
	b, name, done, err := r.boothsOf(name)
	if err != nil {
		return err
	}
	defer done()
	doc, err := ask(b, name)
	if isGone(err, "booth") {
		return r.gone(name)
	}
	if err != nil {
		return err
	}
	if r.json {
		return r.document(doc)
	}
	show(doc)
	return nil
}

// isGone says that err is that what step names is not there.
func isGone(err error, step string) bool {
	var p *problem.Error
	return errors.As(err, &p) && p.Kind == problem.Gone && p.Step == step
}

func (r *run) gone(name string) error {
	r.status = problem.Gone.Exit()
	line := fmt.Sprintf("there is no booth %q", plain.Text(name))
	if r.json {
		return r.document(booth.NewMissing(name, line))
	}
	fmt.Fprintf(r.err, "holdfast: %s\nhint: holdfast booth ls lists them\n", line)
	return nil
}

func (r *run) printListing(l booth.Listing) {
	r.printSummary(l.Summary)
	for _, f := range l.Files {
		fmt.Fprintf(r.out, "  %8s  %s\n", plain.Size(f.Bytes), plain.Text(f.Path))
	}
	for _, u := range l.Unserved {
		fmt.Fprintf(r.out, "  not served  %s: %s\n", plain.Text(u.Path), u.Why)
	}
}

func (r *run) printSummary(s booth.Summary) {
	name := plain.Text(s.Name)
	if s.Title != "" {
		name = fmt.Sprintf("%s (%s)", plain.Text(s.Title), name)
	}
	fmt.Fprintf(r.out, "%s\n%s, %s, %s\n%s\n", name, s.Kind, plain.Count(s.Items, "item"), plain.Size(s.Bytes), plain.Text(s.State.Line))
	if s.MarksError != "" {
		fmt.Fprintf(r.out, "marks unreadable: %s\n", plain.Text(s.MarksError))
	}
}

func (r *run) printExplanation(e booth.Explanation) {
	r.printSummary(e.Summary)
	fmt.Fprintf(r.out, "rule: %s\n", plain.Text(e.Rule))
	if e.Newest.At != "" {
		fmt.Fprintf(r.out, "newest: %s at %s (%s)\n", plain.Text(booth.Where(e.Newest.Path)), toSecond(e.Newest.At), e.Newest.Clock)
	}
	if e.WouldExpire != "" {
		fmt.Fprintf(r.out, "by its age alone it would expire at %s\n", toSecond(e.WouldExpire))
	}
}

// toSecond is a time of a document without its fraction, for people.
func toSecond(at string) string {
	t, err := time.Parse(time.RFC3339Nano, at)
	if err != nil {
		return at
	}
	return t.Format(time.RFC3339)
}
