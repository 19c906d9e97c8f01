package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/internal/plain"
	"holdfast/internal/problem"
	"holdfast/internal/roadmap"
)

// local asks an open plan for a document that is of this home alone.
func local[T any](r *run, ctx context.Context, ask func(*roadmap.Plan) (T, error), show func(T)) error {
	p, _, done, err := r.plan(ctx)
	if err != nil {
		return err
	}
	defer done()
	doc, err := ask(p)
	if err != nil {
		return err
	}
	if r.json {
		return r.document(doc)
	}
	show(doc)
	return nil
}

func (r *run) roadmapQueue() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "queue",
		Short: "List the commands that wait for the remote, and those that were refused later",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return local(r, cmd.Context(), func(p *roadmap.Plan) (roadmap.QueueDocument, error) { return p.Queue() }, r.printQueue)
		},
	}
	cmd.AddCommand(r.roadmapWithdraw())
	return cmd
}

func (r *run) printQueue(q roadmap.QueueDocument) {
	if len(q.Waiting)+len(q.Damaged)+len(q.Late) == 0 {
		fmt.Fprintln(r.out, "nothing waits: all that was said here is in the plan")
		return
	}
	if len(q.Waiting) > 0 {
		rows := [][]string{{"WAITS SINCE", "NODE", "SAYS", "KEY"}}
		for _, w := range q.Waiting {
			rows = append(rows, []string{at(w.At), plain.Text(string(w.Node)), string(w.Kind), plain.Text(string(w.Key))})
		}
		table(r.out, rows)
		fmt.Fprintln(r.out, "the next command that reaches the remote appends these; holdfast roadmap queue withdraw KEY takes one back")
	}
	for _, d := range q.Damaged {
		fmt.Fprintf(r.out, "cannot be read: %s (%s); holdfast roadmap queue withdraw %s removes it\n", plain.Text(d.Name), reason(d.Reason), plain.Text(d.Name))
	}
	for _, l := range q.Late {
		fmt.Fprintf(r.out, "refused when it was published, %s: %s (%s) %s: %s\n", at(l.At), plain.Text(string(l.Node)), plain.Text(string(l.Key)), plain.Text(l.Step), reason(l.Reason))
	}
}

// withdrawn is the answer to whoever takes a command back.
type withdrawn struct {
	Key       string `json:"key"`
	Withdrawn bool   `json:"withdrawn"`
}

func (r *run) roadmapWithdraw() *cobra.Command {
	return &cobra.Command{
		Use:   "withdraw KEY",
		Short: "Take a command out of the queue: it will not be appended",
		Long: `Take a command out of the queue: it will not be appended. A file there that cannot be
read is removed by the name that holdfast roadmap queue gives it.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := operatorOnly("withdraw what waits for the plan"); err != nil {
				return err
			}
			key := args[0]
			if key := strings.TrimPrefix(key, "outcomes/"); key == "" || strings.ContainsAny(key, "/\x00") || strings.HasPrefix(key, ".") {
				return problem.New(problem.Usage, "operation-invalid", "%q is nothing that the queue could hold. Nothing was withdrawn.", clipped(key, 80)).WithHint("holdfast roadmap queue")
			}
			said := "is withdrawn, and will not be appended"
			return local(r, cmd.Context(), func(p *roadmap.Plan) (withdrawn, error) {
				if q, err := p.Queue(); err == nil && isDamaged(q, key) {
					said = "is removed; what it said is not known"
				}
				return withdrawn{plain.Unicode(key), true}, p.Withdraw(cmd.Context(), key)
			}, func(w withdrawn) {
				fmt.Fprintf(r.out, "%s %s\n", plain.Text(w.Key), said)
			})
		},
	}
}

// isDamaged reports whether what goes by a name in the queue cannot be read, so that
// nobody knows whether it was appended.
func isDamaged(q roadmap.QueueDocument, name string) bool {
	if slices.ContainsFunc(q.Waiting, func(w roadmap.Queued) bool { return string(w.Key) == name }) {
		return false
	}
	return slices.ContainsFunc(q.Damaged, func(d roadmap.DamagedFile) bool { return d.Name == name || d.Name == name+".json" })
}

func (r *run) roadmapAcceptRewrite() *cobra.Command {
	return &cobra.Command{
		Use:   "accept-rewrite COMMIT",
		Short: "Take a log that was rewritten for the plan from now on",
		Long: `Take a log that was rewritten for the plan from now on. COMMIT is the remote's tip, whole,
as every read says it. What was read before stays in the plan's own repository.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := operatorOnly("accept a rewritten plan"); err != nil {
				return err
			}
			if n := len(args[0]); n != 40 && n != 64 || strings.Trim(args[0], "0123456789abcdef") != "" {
				return problem.New(problem.Usage, "commit", "%q is no commit: give all of its 40 or 64 lower-case hexadecimal digits. Nothing was changed.", clipped(args[0], 80))
			}
			return local(r, cmd.Context(), func(p *roadmap.Plan) (roadmap.Head, error) {
				return p.AcceptRewrite(cmd.Context(), args[0])
			}, func(h roadmap.Head) {
				fmt.Fprintf(r.out, "the plan is what the remote has now\n")
				r.printHead(h)
			})
		},
	}
}

func (r *run) roadmapCensus() *cobra.Command {
	return &cobra.Command{
		Use:   "census",
		Short: "Count the private snapshots of the plan, and put the count on record",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return local(r, cmd.Context(), func(p *roadmap.Plan) (roadmap.Census, error) { return p.Census(cmd.Context()) }, r.printSnapshots)
		},
	}
}

func (r *run) roadmapSnapshots() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "snapshots",
		Short: "List the private snapshots of the plan, and whose they are",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return local(r, cmd.Context(), func(p *roadmap.Plan) (roadmap.Snapshots, error) { return p.Snapshots(cmd.Context()) }, func(s roadmap.Snapshots) {
				r.printSnapshotRows(s.Snapshots)
			})
		},
	}
	cmd.AddCommand(r.roadmapReap())
	return cmd
}

func (r *run) printSnapshotRows(list []roadmap.SnapshotRow) {
	if len(list) == 0 {
		fmt.Fprintln(r.out, "no snapshot is left")
		return
	}
	rows := [][]string{{"OWNER", "SEEN BY", "SNAPSHOT", ""}}
	for _, s := range list {
		detail := s.Detail
		if s.Across {
			detail = strings.TrimPrefix(detail+", seen by the census before too", ", ")
		}
		rows = append(rows, []string{s.Owner, s.Seen, plain.Text(s.Path), plain.Text(detail)})
	}
	table(r.out, rows)
	fmt.Fprintln(r.out, "holdfast roadmap snapshots reap removes those whose owner is gone, and no other")
}

func (r *run) printSnapshots(c roadmap.Census) {
	r.printSnapshotRows(c.Snapshots)
	for _, f := range c.CloseFailures {
		fmt.Fprintf(r.out, "left %s by %s: %s (git: %d) %s\n", at(f.At), plain.Text(f.Operation), plain.Text(f.Worktree), f.ExitCode, reason(f.Stderr))
	}
	if c.Prior == "unreadable" {
		fmt.Fprintf(r.out, "the census before cannot be read: %s\n", plain.Text(c.PriorReason))
	}
	fmt.Fprintf(r.out, "counted %s\n", at(c.ObservedAt))
}

func (r *run) roadmapReap() *cobra.Command {
	return &cobra.Command{
		Use:   "reap",
		Short: "Remove the snapshots whose owner is gone, and no other",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := operatorOnly("remove snapshots"); err != nil {
				return err
			}
			return local(r, cmd.Context(), func(p *roadmap.Plan) (roadmap.ReapDocument, error) {
				doc, err := p.Reap(cmd.Context())
				if len(doc.Failed) > 0 {
					r.status = problem.Failed.Exit()
				}
				return doc, err
			}, r.printReap)
		},
	}
}

func (r *run) printReap(d roadmap.ReapDocument) {
	for _, path := range d.Removed {
		fmt.Fprintf(r.out, "removed %s\n", plain.Text(path))
	}
	for _, s := range d.Spared {
		fmt.Fprintf(r.out, "spared  %s: its owner is %s %s\n", plain.Text(s.Path), s.Owner, plain.Text(s.Detail))
	}
	for _, f := range d.Failed {
		fmt.Fprintf(r.out, "failed  %s: %s\n", plain.Text(f.Path), plain.Text(f.Detail))
	}
	if len(d.Removed)+len(d.Spared)+len(d.Failed) == 0 {
		fmt.Fprintln(r.out, "no snapshot is left, and nothing was removed")
	}
}
