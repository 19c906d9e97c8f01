package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast/internal/app"
	"holdfast/internal/app/config"
	"holdfast/internal/obs"
	"holdfast/internal/plain"
	"holdfast/internal/problem"
	"holdfast/internal/roadmap"
	"holdfast/internal/roadmap/event"
	"holdfast/internal/roadmap/history"
)

func (r *run) roadmap() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "roadmap",
		Short: "The plan: what is to be done, who holds it, what was tried",
		Long: `The plan: what is to be done, who holds it, what was tried.

It is a log on one branch of a git remote that all who share it reach; without a
remote, in the home itself. Begin with "holdfast roadmap init".`,
	}
	cmd.AddCommand(
		r.roadmapInit(), r.roadmapOpen(), r.roadmapEdit(), r.roadmapLink(), r.roadmapUnlink(),
		r.roadmapClaim(), r.roadmapRelease(), r.roadmapProgress(), r.roadmapBlock(), r.roadmapHandBack(),
		r.roadmapReceipt(), r.roadmapComment(),
		r.roadmapAccept(), r.roadmapDrop(), r.roadmapReopen(), r.roadmapReconcile(),
		r.roadmapShow(), r.roadmapList(), r.roadmapReady(), r.roadmapSearch(), r.roadmapLog(),
		r.roadmapExport(), r.roadmapImport(), r.roadmapWatch(),
		r.roadmapQueue(), r.roadmapSnapshots(), r.roadmapCensus(), r.roadmapAcceptRewrite(),
	)
	return cmd
}

// here is the configuration of a home that is here: what is meant of it (the plan,
// the fleet) is nothing that a server could be asked for.
func (r *run) here(what string) (*config.Config, error) {
	c, err := r.settings()
	if err == nil && c.URL != nil {
		return nil, problem.Refusal("not-here", "HOLDFAST_URL names a server, and the %s of a server cannot be reached from here. Nothing was opened.", what).
			WithHint("run it on the machine of the home, without HOLDFAST_URL")
	}
	return c, err
}

// plan opens the plan of the home that this invocation means, and says who this
// invocation is in it. done lets go of it.
func (r *run) plan(ctx context.Context) (p *roadmap.Plan, c *config.Config, done func(), err error) {
	if c, err = r.here("plan"); err != nil {
		return nil, nil, nil, err
	}
	if p, err = app.OpenPlan(ctx, c, obs.Logger(r.err, slog.LevelWarn)); err != nil {
		return nil, nil, nil, err
	}
	return p, c, p.Close, nil
}

// planner is whom this invocation's events are put down to.
func (r *run) planner(c *config.Config) (event.Principal, error) {
	switch a := surroundings(); {
	case a.id != "":
		return app.PlanWorker(c, "attempt", a.id)
	case a.inside():
		_, name, _ := strings.Cut(a.who(), "/")
		return app.PlanWorker(c, "worker", name)
	case r.agent:
		return app.PlanWorker(c, "agent", "")
	default:
		return app.PlanOperator(c)
	}
}

func (r *run) roadmapInit() *cobra.Command {
	var url string
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Give this home a plan, or join the one at a remote",
		Long: `Give this home a plan.

With --remote it is kept on the branch roadmap-events of that git remote, for all who
reach it; a plan that is there is joined. Without, it is kept in the home itself.
Doing it again changes nothing.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := operatorOnly("begin a plan"); err != nil {
				return err
			}
			if cmd.Flags().Changed("remote") && strings.TrimSpace(url) == "" {
				return usage(cmd, "--remote is empty: give the address of a git remote, or leave it out")
			}
			c, err := r.here("plan")
			if err != nil {
				return err
			}
			b, err := app.InitPlan(cmd.Context(), c, url, obs.Logger(r.err, slog.LevelWarn))
			if err != nil {
				return err
			}
			if r.json {
				return r.document(b)
			}
			r.printBegun(b)
			return nil
		},
	}
	cmd.Flags().StringVar(&url, "remote", "", "address of the git remote that the plan is kept at; a path, too")
	return cmd
}

func (r *run) printBegun(b roadmap.Begun) {
	where := "in the home itself"
	if b.Remote != "" {
		where = "at " + plain.Text(b.Remote)
	}
	began := "this home has the plan that is kept"
	if b.Created {
		began = "a plan was begun,"
	}
	fmt.Fprintf(r.out, "%s %s (%s)\n", began, where, shortCommit(b.Commit))
	if b.Created {
		fmt.Fprintln(r.out, "next: holdfast roadmap open NODE --title TEXT")
	} else {
		fmt.Fprintln(r.out, "next: holdfast roadmap list")
	}
	r.printClosing(b.Close)
}

// reader reads the plan. Its flags are those of every command that does.
type reader struct{ asOf bool }

func (f *reader) define(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.asOf, "as-of", false, "show what was read last, and ask no remote")
}

func (f *reader) fresh() roadmap.Freshness {
	if f.asOf {
		return roadmap.AsOf
	}
	return roadmap.Now
}

// read asks for a document about the plan. What waits in the queue is published on
// the way, once the remote is there to be asked, and the document is of after that.
// It says the worst that became of a snapshot meanwhile.
func read[T any](ctx context.Context, p publisher, fresh roadmap.Freshness, head func(*T) *roadmap.Head, ask func(roadmap.Freshness) (T, error)) (T, error) {
	doc, err := ask(fresh)
	if err != nil || fresh == roadmap.AsOf {
		return doc, err
	}
	q, err := p.Queue()
	if err != nil || len(q.Waiting) == 0 {
		return doc, err
	}
	_, left, failed := p.Publish(ctx)
	left = left.Worse(head(&doc).Close)
	if failed == nil { // else it waits still, which is said beside the document
		doc, err = ask(fresh)
	}
	head(&doc).Close = left.Worse(head(&doc).Close)
	return doc, err
}

// publisher is what read needs of a plan.
type publisher interface {
	Queue() (roadmap.QueueDocument, error)
	Publish(ctx context.Context) (int, roadmap.Closing, error)
}

// reading asks for a document, about one node if it is named, and shows it, with what
// there is to say about any.
func reading[T any](r *run, ctx context.Context, f reader, about event.Node, head func(*T) *roadmap.Head, ask func(*roadmap.Plan, roadmap.Freshness) (T, error), show func(*roadmap.Plan, T)) error {
	p, _, done, err := r.plan(ctx)
	if err != nil {
		return err
	}
	defer done()
	doc, err := read(ctx, p, f.fresh(), head, func(fresh roadmap.Freshness) (T, error) { return ask(p, fresh) })
	if err != nil {
		return r.orGone(about, err)
	}
	r.sayQueue(p)
	if r.json {
		return r.document(doc)
	}
	r.sayRewritten(head(&doc).Rewritten)
	show(p, doc)
	r.printHead(*head(&doc))
	return nil
}

// goneNode is the answer to whoever asks about a node that is not there.
type goneNode struct {
	Node     event.Node       `json:"node"`
	Standing roadmap.Standing `json:"standing"`
}

// orGone makes an answer of a node that is not there: exit 6.
func (r *run) orGone(n event.Node, err error) error {
	if !isGone(err, history.StepNode) || !r.json {
		return err
	}
	r.status = problem.Gone.Exit()
	return r.document(goneNode{n, roadmap.Standing{Kind: "gone", Line: problem.From(err, "").Reason}})
}

// sayQueue says that commands wait, since nothing else would.
func (r *run) sayQueue(p *roadmap.Plan) {
	q, err := p.Queue()
	if err != nil {
		return
	}
	n := len(q.Waiting)
	for _, d := range q.Damaged {
		if !d.IsOutcome() {
			n++
		}
	}
	if n > 0 {
		fmt.Fprintf(r.err, "note: %s of this home are not in the plan yet: holdfast roadmap queue\n", plain.Count(n, "command"))
	}
}

func (r *run) sayRewritten(w *roadmap.Rewritten) {
	switch {
	case w == nil:
	case w.Is == "":
		fmt.Fprintf(r.err, "holdfast: the plan's branch is gone from the remote, which had %s; this is as of that, and nothing is appended\n", shortCommit(w.Was))
	default:
		fmt.Fprintf(r.err, "holdfast: the plan was rewritten: the remote has %s, which does not continue %s; this is as of the latter, and nothing is appended\nhint: look at both, and take the new one with: holdfast roadmap accept-rewrite %s\n", shortCommit(w.Is), shortCommit(w.Was), plain.Text(w.Is))
	}
}

func (r *run) printHead(h roadmap.Head) {
	fmt.Fprintf(r.out, "as of %s, %s\n", shortCommit(h.AsOf.Commit), at(h.AsOf.At))
	r.printClosing(h.Close)
}

// printClosing says after everything else that a snapshot was left.
func (r *run) printClosing(c roadmap.Closing) {
	if c.Kind == "failed" {
		fmt.Fprintf(r.out, "besides, a snapshot was left (%s): holdfast roadmap census\n", plain.Text(c.Detail))
	}
}

func shortCommit(c string) string { return plain.Text(c[:min(12, len(c))]) }

// at is a time for people.
func at(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 MST") }

// clipped is a text in one line that is no longer than it needs to be.
func clipped(s string, most int) string {
	s = strings.Join(strings.Fields(s), " ")
	if utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:most-1]) + "…"
	}
	return plain.Text(s)
}

// text is what a flag or an argument says, where - is stdin. Only one of a
// command can be that.
func (r *run) text(what, s string) (string, error) {
	if s != "-" {
		return s, nil
	}
	if r.read {
		return "", problem.New(problem.Usage, "stdin", "Two texts are to be read from stdin, and only one can be. Nothing was appended.")
	}
	r.read = true
	data, err := io.ReadAll(io.LimitReader(r.in, event.MaxText+3))
	if err != nil {
		return "", problem.Refusal("stdin", "The %s cannot be read from stdin. Nothing was appended.", what).Because(err)
	}
	s = strings.TrimRight(string(data), "\r\n")
	switch {
	case len(s) > event.MaxText || len(data) > event.MaxText+2: // whatever may come after these
		return "", problem.Refusal(problem.StepTooLarge, "The %s on stdin has more than %d bytes, which is the most. Nothing was appended.", what, event.MaxText)
	case s == "":
		return "", problem.New(problem.Usage, "stdin", "The %s was to be read from stdin, and nothing is there. Nothing was appended.", what)
	}
	return s, nil
}

// given says whether a flag was given.
func given(fs *pflag.FlagSet, names ...string) bool { return slices.ContainsFunc(names, fs.Changed) }

// nodeNames completes the name of a node, as the home knows them.
func (r *run) nodeNames(most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		const none = cobra.ShellCompDirectiveNoFileComp
		if len(args) >= most && most > 0 {
			return nil, none
		}
		r.flags = cmd.Flags()
		p, _, done, err := r.plan(cmd.Context())
		if err != nil {
			return nil, none
		}
		defer done()
		list, err := p.List(cmd.Context(), roadmap.AsOf, roadmap.Filter{})
		if err != nil {
			return nil, none
		}
		var out []string
		for _, row := range list.Nodes {
			out = append(out, string(row.Node)+"\t"+clipped(row.Title, 60))
		}
		return out, none
	}
}
