package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/internal/plain"
	"holdfast/internal/roadmap"
	"holdfast/internal/roadmap/event"
	"holdfast/internal/roadmap/history"
)

func (r *run) roadmapList() *cobra.Command {
	var f reader
	var filter roadmap.Filter
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the plan, the most urgent first",
		Long:  "List the plan, the most urgent first. > marks a node that is ready: open, and waiting for nothing.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, name := range []string{"standing", "label"} {
				if v := cmd.Flags().Lookup(name); v.Changed && v.Value.String() == "" {
					return usage(cmd, "--%s is empty: give one, or leave it out", name)
				}
			}
			return r.list(cmd.Context(), f, filter, "no node is so")
		},
	}
	cmd.Flags().StringVar(&filter.Standing, "standing", "", "only those that stand so: "+strings.Join(history.Keys(), ", "))
	cmd.Flags().StringVar(&filter.Label, "label", "", "only those with this label")
	f.define(cmd)
	return cmd
}

func (r *run) roadmapReady() *cobra.Command {
	var f reader
	cmd := &cobra.Command{
		Use:   "ready",
		Short: "List what can be begun now: open, and waiting for nothing",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return r.list(cmd.Context(), f, roadmap.Filter{Ready: true}, "nothing is ready: what is open waits for something, which holdfast roadmap list shows")
		},
	}
	f.define(cmd)
	return cmd
}

func (r *run) roadmapSearch() *cobra.Command {
	var f reader
	cmd := &cobra.Command{
		Use:   "search TEXT",
		Short: "List the nodes that have a text in their name, card or comments",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(args[0]) == "" {
				return usage(cmd, "there is nothing to look for: the text is blank")
			}
			return r.list(cmd.Context(), f, roadmap.Filter{Text: args[0]}, "no node has that in its name, card or comments")
		},
	}
	f.define(cmd)
	return cmd
}

func (r *run) list(ctx context.Context, f reader, filter roadmap.Filter, none string) error {
	return reading(r, ctx, f, "", func(l *roadmap.List) *roadmap.Head { return &l.Head }, func(p *roadmap.Plan, fresh roadmap.Freshness) (roadmap.List, error) {
		return p.List(ctx, fresh, filter)
	}, func(p *roadmap.Plan, l roadmap.List) {
		all := filter == roadmap.Filter{}
		if len(l.Nodes) == 0 && all && len(l.Refused) == 0 {
			none = "the plan is empty: holdfast roadmap open NODE --title TEXT"
		}
		r.printRows(l.Nodes, none)
		r.printRefused(l.Refused)
		if q, err := p.Queue(); err == nil && len(q.Late) > 0 && all {
			fmt.Fprintf(r.out, "waiting for you: %s refused when published: holdfast roadmap queue\n", plain.Count(len(q.Late), "command"))
		}
	})
}

func (r *run) printRows(list []roadmap.Row, none string) {
	if len(list) == 0 {
		fmt.Fprintln(r.out, none)
		return
	}
	rows := [][]string{{"", "NODE", "P", "STANDING", "TITLE"}}
	for _, n := range list {
		mark := " "
		if n.Ready {
			mark = ">"
		}
		rows = append(rows, []string{mark, plain.Text(string(n.Node)), string(n.Priority), standingCell(n), clipped(n.Title, 80)})
	}
	table(r.out, rows)
}

// standingCell is where a node stands, with whoever holds it.
func standingCell(n roadmap.Row) string {
	words := plain.Text(n.Standing.Line)
	if n.Holder != "" && n.Standing.Kind != "claimed" {
		words += " (" + plain.Text(n.Holder.Subject()) + ")"
	}
	if n.Blocked && n.Standing.Kind != "accepted" && n.Standing.Kind != "dropped" {
		words += ", waits for another"
	}
	return words
}

func (r *run) printRefused(list []roadmap.RefusedNode) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(r.out, "\n%s of the log cannot be read, and what it is about is not shown:\n", plain.Count(len(list), "part"))
	for _, no := range list {
		name := string(no.Node)
		if name == "" {
			name = "(the log)"
		}
		fmt.Fprintf(r.out, "  %s  at %s: %s, in %s\n", plain.Text(name), plain.Text(no.Step), reason(no.Reason), plain.Text(no.Place))
	}
}

func (r *run) roadmapLog() *cobra.Command {
	var f reader
	cmd := &cobra.Command{
		Use:   "log NODE",
		Short: "Show a node's history, oldest first",
		Args:  cobra.ExactArgs(1), ValidArgsFunction: r.nodeNames(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := event.ParseNode(args[0])
			if err != nil {
				return err
			}
			return reading(r, cmd.Context(), f, n, func(l *roadmap.Log) *roadmap.Head { return &l.Head }, func(p *roadmap.Plan, fresh roadmap.Freshness) (roadmap.Log, error) {
				return p.Log(cmd.Context(), fresh, n)
			}, func(_ *roadmap.Plan, l roadmap.Log) { r.printLog(l) })
		},
	}
	f.define(cmd)
	return cmd
}

func (r *run) printLog(l roadmap.Log) {
	var rows [][]string
	for _, e := range l.Events {
		line := clipped(e.Line, 120)
		if e.Aside {
			line = "(aside) " + line
		}
		rows = append(rows, []string{e.ID.Short(), at(e.At), plain.Text(e.Author.Subject()), line})
	}
	table(r.out, rows)
	fmt.Fprintf(r.out, "%s is %s\n", l.Node, plain.Text(l.Standing.Line))
}

func (r *run) roadmapShow() *cobra.Command {
	var f reader
	cmd := &cobra.Command{
		Use:   "show NODE",
		Short: "Show a node: where it stands, what it waits for, what was said",
		Args:  cobra.ExactArgs(1), ValidArgsFunction: r.nodeNames(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := event.ParseNode(args[0])
			if err != nil {
				return err
			}
			return reading(r, cmd.Context(), f, n, func(d *roadmap.Node) *roadmap.Head { return &d.Head }, func(p *roadmap.Plan, fresh roadmap.Freshness) (roadmap.Node, error) {
				return p.Show(cmd.Context(), fresh, n)
			}, func(p *roadmap.Plan, d roadmap.Node) { r.printNode(cmd.Context(), p, d) })
		},
	}
	f.define(cmd)
	return cmd
}

func (r *run) printNode(ctx context.Context, p *roadmap.Plan, d roadmap.Node) {
	name := plain.Text(string(d.Node))
	if d.Title != "" {
		name = fmt.Sprintf("%s (%s)", plain.Text(d.Title), name)
	}
	fmt.Fprintln(r.out, name)
	r.printStandingOf(d)
	r.printFork(ctx, p, d)
	r.printCard(d)
	r.printRelations(d)
	r.printEvidence(d)
	r.printComments(d.Comments)
	if next := nextFor(d); next != "" {
		fmt.Fprintf(r.out, "next: %s\n", next)
	}
	if d.Revision != "" {
		fmt.Fprintf(r.out, "revision %s, %s\n", d.Revision, plain.Count(d.Events, "event"))
	}
}

// printStandingOf says who holds it, since when, and what was said last.
func (r *run) printStandingOf(d roadmap.Node) {
	s := d.Standing
	words := []string{plain.Text(s.Line)}
	if d.Holder != "" && s.Kind != "claimed" {
		words = append(words, "held by "+plain.Text(d.Holder.Subject()))
	}
	if n := len(d.Claims); n > 0 && d.Holder == d.Claims[n-1].Assignee && d.Holder != "" {
		words = append(words, "since "+at(d.Claims[n-1].At))
	}
	if d.ReturnTo != "" && d.Holder != "" && d.ReturnTo != d.Holder {
		words = append(words, "goes to "+plain.Text(d.ReturnTo.Subject())+" for review")
	}
	if waits := waitsFor(d); waits != "" {
		words = append(words, "waits for "+waits)
	}
	fmt.Fprintln(r.out, strings.Join(words, ", "))
	for _, said := range []string{s.Note, s.Reason} {
		if said != "" {
			fmt.Fprintf(r.out, "  %s: %s\n", plain.Text(s.By.Subject()), lines(said))
		}
	}
	for _, pick := range s.Picks {
		fmt.Fprintf(r.out, "  waits for %s\n", plain.Text(pick))
	}
	if s.Result != nil {
		r.printResult(*s.Result)
	}
}

// waitsFor is what a node that is not closed waits for.
func waitsFor(d roadmap.Node) string {
	if !d.Blocked || d.Standing.Kind == "accepted" || d.Standing.Kind == "dropped" {
		return ""
	}
	var names []string
	for _, b := range d.BlockedBy {
		if b.Is != history.BlockerAccepted.String() {
			names = append(names, string(b.Node))
		}
	}
	return strings.Join(names, ", ")
}

func (r *run) printResult(res roadmap.Result) {
	if res.Head != "" {
		fmt.Fprintf(r.out, "  result: commit %s\n", plain.Text(res.Head))
	}
	if res.Booth != "" {
		fmt.Fprintf(r.out, "  result: booth %s\n", plain.Text(res.Booth))
	}
}

// printFork says what each head is, and how a fork is mended.
func (r *run) printFork(ctx context.Context, p *roadmap.Plan, d roadmap.Node) {
	for _, id := range d.Standing.Missing {
		fmt.Fprintf(r.out, "  event %s is missing from the log; it mends itself when the log has it\n", id)
	}
	if len(d.Standing.Heads) == 0 {
		return
	}
	said := map[event.ID]string{}
	if log, err := p.Log(ctx, roadmap.AsOf, d.Node); err == nil {
		for _, e := range log.Events {
			said[e.ID] = fmt.Sprintf("%s, %s: %s", at(e.At), plain.Text(e.Author.Subject()), clipped(e.Line, 80))
		}
	}
	fmt.Fprintf(r.out, "%d lines of events stand beside each other; keep one of them:\n", len(d.Standing.Heads))
	for _, head := range d.Standing.Heads {
		fmt.Fprintf(r.out, "  head %s  %s\n", head.Short(), said[head])
		fmt.Fprintf(r.out, "    keep it: holdfast roadmap reconcile %s --keep %s\n", d.Node, head.Short())
	}
}

func (r *run) printCard(d roadmap.Node) {
	words := []string{"priority " + string(d.Priority)}
	if len(d.Labels) > 0 {
		words = append(words, "labels "+plain.Text(strings.Join(d.Labels, ", ")))
	}
	if d.Run != "" {
		words = append(words, "run by "+plain.Text(d.Run))
	}
	if d.OpenedBy != "" {
		words = append(words, "opened by "+plain.Text(d.OpenedBy.Subject())+" "+at(d.Opened))
		fmt.Fprintln(r.out, strings.Join(words, " · "))
	}
	if d.Body != "" {
		fmt.Fprintf(r.out, "\n  %s\n\n", strings.ReplaceAll(plain.Lines(strings.TrimRight(d.Body, "\n")), "\n", "\n  "))
	}
}

func (r *run) printRelations(d roadmap.Node) {
	var rows [][]string
	for _, b := range d.BlockedBy {
		rows = append(rows, []string{"blocked by", string(b.Node), b.Is, clipped(b.Title, 60)})
	}
	for _, l := range d.Blocks {
		rows = append(rows, []string{"blocks", string(l.To), "", clipped(l.Title, 60)})
	}
	for _, l := range d.Links {
		rows = append(rows, []string{strings.ReplaceAll(string(l.Relation), "_", " "), string(l.To), "", clipped(l.Title, 60)})
	}
	for _, c := range d.Children {
		rows = append(rows, []string{"has part", string(c), "", ""})
	}
	table(r.out, rows)
	if len(d.Cycle) > 0 {
		var names []string
		for _, n := range d.Cycle {
			names = append(names, string(n))
		}
		fmt.Fprintf(r.out, "these wait for each other, and none will ever be ready: %s\n", strings.Join(names, " → "))
	}
}

func (r *run) printEvidence(d roadmap.Node) {
	for _, e := range d.Receipts {
		fmt.Fprintf(r.out, "receipt  %s: %s  %s (%s, %s)\n", plain.Text(e.Obligation), plain.Text(e.Verdict), plain.Text(e.Address), plain.Text(e.Author.Subject()), at(e.At))
	}
}

func (r *run) printComments(list []roadmap.Comment) {
	names := map[event.ID]event.Comment{}
	for _, c := range list {
		names[c.Event] = c.Comment
	}
	for _, c := range list {
		words := []string{plain.Text(c.Author.Subject()) + ", " + at(c.At)}
		if c.Answers != "" {
			words = append(words, "answers "+plain.Text(string(names[c.Answers])))
		}
		if c.Edited && !c.Deleted {
			words = append(words, "edited")
		}
		if c.Aside {
			words = append(words, "from a line that was not kept")
		}
		text := lines(c.Body)
		if c.Deleted {
			text = "(deleted)"
		}
		fmt.Fprintf(r.out, "comment %s  %s\n      %s\n", plain.Text(string(c.Comment)), strings.Join(words, ", "), text)
	}
}

// nextFor is what a person may want to do with a node.
func nextFor(d roadmap.Node) string {
	switch d.Standing.Kind {
	case "open", "handed_back":
		if d.Blocked {
			return "nothing, until what it waits for is accepted"
		}
		return fmt.Sprintf("holdfast roadmap claim %s", d.Node)
	case "claimed", "in_progress":
		return fmt.Sprintf("holdfast roadmap progress %s NOTE, or release, block, hand-back, accept", d.Node)
	case "blocked":
		return fmt.Sprintf("holdfast roadmap progress %s NOTE once it goes on, or hand-back, reopen", d.Node)
	case "ready_for_review":
		return fmt.Sprintf("holdfast roadmap accept %s, or reopen", d.Node)
	default:
		return ""
	}
}
