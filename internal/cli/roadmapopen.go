package cli

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"holdfast/internal/plain"
	"holdfast/internal/problem"
	"holdfast/internal/roadmap"
	"holdfast/internal/roadmap/event"
)

// carding is the flags of a card.
type carding struct {
	title, body, priority, run string
	labels                     []string
}

func (c *carding) define(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&c.title, "title", "", "what is to be done, in one line")
	f.StringVar(&c.body, "body", "", "what there is to say about it, in CommonMark; - reads it from stdin")
	f.StringArrayVar(&c.labels, "label", nil, "a label; once for each")
	f.StringVar(&c.priority, "priority", "", "p0, the first, to p4, the last; without one it counts as p2")
	f.StringVar(&c.run, "run", "", "which worker does it")
}

// change is what the given flags say. An empty one takes away.
func (r *run) change(cmd *cobra.Command, c *carding) (roadmap.CardChange, error) {
	var change roadmap.CardChange
	fs := cmd.Flags()
	if given(fs, "title") {
		change.Title = &c.title
	}
	if given(fs, "body") {
		body, err := r.text("body", c.body)
		if err != nil {
			return change, err
		}
		change.Body = &body
	}
	if given(fs, "label") {
		labels := slices.Sorted(slices.Values(c.labels))
		if labels = slices.Compact(labels); len(labels) == 1 && labels[0] == "" {
			labels = nil
		}
		change.Labels = &labels
	}
	if given(fs, "priority") {
		var p event.Priority
		if c.priority != "" {
			var err error
			if p, err = event.ParsePriority(c.priority); err != nil {
				return change, err
			}
		}
		change.Priority = &p
	}
	if given(fs, "run") {
		change.Run = &c.run
	}
	return change, nil
}

func (r *run) roadmapOpen() *cobra.Command {
	var f acting
	var c carding
	var blockers []string
	cmd := &cobra.Command{
		Use:   "open NODE --title TEXT",
		Short: "Put a node into the plan: a unit of work, by a name that never changes",
		Long: `Put a node into the plan: a unit of work, by a name that never changes, in lower-case
letters and digits in words joined by hyphens, such as fix-login.

A node with --blocked-by is not ready until each of those is accepted.`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := r.opening(cmd, &c, blockers)
			if err != nil {
				return err
			}
			return r.append(cmd, &f, args[0], func(n event.Node, a act) (roadmap.Appended, error) {
				if len(a.Expect) > 0 {
					return roadmap.Appended{}, problem.New(problem.Usage, "revision", "A node that is opened has no revision to expect. Nothing was appended.")
				}
				return a.plan.Open(cmd.Context(), n, o, a.Act)
			}, func(a roadmap.Appended) string {
				return fmt.Sprintf("%s is open\nnext: holdfast roadmap claim %s", a.Node, a.Node)
			})
		},
	}
	c.define(cmd)
	cmd.Flags().StringArrayVar(&blockers, "blocked-by", nil, "a node that has to be accepted first; once for each")
	f.define(cmd)
	return cmd
}

func (r *run) opening(cmd *cobra.Command, c *carding, blockers []string) (roadmap.Opening, error) {
	var o roadmap.Opening
	if c.title == "" {
		return o, usage(cmd, "a node needs a --title")
	}
	change, err := r.change(cmd, c)
	if err != nil {
		return o, err
	}
	o.Card = change.On(event.Card{})
	for _, b := range blockers {
		n, err := event.ParseNode(b)
		if err != nil {
			return o, err
		}
		if !slices.Contains(o.BlockedBy, n) {
			o.BlockedBy = append(o.BlockedBy, n)
		}
	}
	return o, nil
}

func (r *run) roadmapEdit() *cobra.Command {
	var f acting
	var c carding
	cmd := &cobra.Command{
		Use:   "edit NODE",
		Short: "Change what a node says of itself; what is not given stays",
		Long: `Change what a node says of itself; what is not given stays. --label replaces all labels;
an empty --body, --label, --priority or --run takes that away.`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: r.nodeNames(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !given(cmd.Flags(), "title", "body", "label", "priority", "run") {
				return usage(cmd, "nothing is to be changed: give --title, --body, --label, --priority or --run")
			}
			change, err := r.change(cmd, &c)
			if err != nil {
				return err
			}
			return r.append(cmd, &f, args[0], func(n event.Node, a act) (roadmap.Appended, error) {
				return a.plan.Edit(cmd.Context(), n, change, a.Act)
			}, func(a roadmap.Appended) string { return fmt.Sprintf("%s was edited", a.Node) })
		},
	}
	c.define(cmd)
	f.define(cmd)
	return cmd
}

func (r *run) roadmapLink() *cobra.Command {
	return r.linking("link NODE RELATION NODE", "Link a node to another: blocked_by, child_of or related",
		func(rel event.Relation, to event.Node) event.Body { return event.Linked{Relation: rel, To: to} },
		"%s is linked: %s %s")
}

func (r *run) roadmapUnlink() *cobra.Command {
	return r.linking("unlink NODE RELATION NODE", "Take away a link to another node",
		func(rel event.Relation, to event.Node) event.Body { return event.Unlinked{Relation: rel, To: to} },
		"%s is linked no longer: %s %s")
}

func (r *run) linking(use, short string, body func(event.Relation, event.Node) event.Body, done string) *cobra.Command {
	var f acting
	cmd := &cobra.Command{
		Use: use, Short: short, Args: cobra.ExactArgs(3), ValidArgsFunction: r.linkWords,
		RunE: func(cmd *cobra.Command, args []string) error {
			relation, err := event.ParseRelation(args[1])
			if err != nil {
				return err
			}
			to, err := event.ParseNode(args[2])
			if err != nil {
				return err
			}
			return r.statement(cmd, &f, args[0], func(act) (event.Body, error) { return body(relation, to), nil },
				func(a roadmap.Appended) string { return fmt.Sprintf(done, a.Node, relation, to) })
		},
	}
	f.define(cmd)
	return cmd
}

// linkWords completes NODE RELATION NODE.
func (r *run) linkWords(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) != 1 {
		return r.nodeNames(3)(cmd, args, word)
	}
	var out []string
	for _, rel := range event.Relations {
		out = append(out, string(rel))
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

func (r *run) roadmapReceipt() *cobra.Command {
	var f acting
	var b event.Receipt
	cmd := &cobra.Command{
		Use:   "receipt NODE --obligation WHAT --address WHERE --verdict WORD",
		Short: "Point at evidence: a booth, a stop receipt, a page",
		Args:  cobra.ExactArgs(1), ValidArgsFunction: r.nodeNames(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if b.Obligation == "" || b.Address == "" || b.Verdict == "" {
				return usage(cmd, "a receipt needs --obligation, --address and --verdict")
			}
			return r.statement(cmd, &f, args[0], func(act) (event.Body, error) { return b, nil }, func(a roadmap.Appended) string {
				return fmt.Sprintf("%s has the receipt: %s, %s", a.Node, plain.Text(b.Obligation), plain.Text(b.Verdict))
			})
		},
	}
	cmd.Flags().StringVar(&b.Obligation, "obligation", "", "what was owed, such as tests or stop-proof")
	cmd.Flags().StringVar(&b.Address, "address", "", "where the evidence is")
	cmd.Flags().StringVar(&b.Verdict, "verdict", "", "what it says, in a word")
	f.define(cmd)
	return cmd
}

// commenting is the flags of comment.
type commenting struct{ answers, edit, remove string }

func (r *run) roadmapComment() *cobra.Command {
	var f acting
	var c commenting
	cmd := &cobra.Command{
		Use:   "comment NODE TEXT",
		Short: "Say something about a node",
		Long: `Say something about a node, answer a comment, or change or delete one. TEXT may be -,
which reads it from stdin. The ids of comments are what "holdfast roadmap show" lists.
The log keeps what was edited and deleted.`,
		Args: cobra.RangeArgs(1, 2), ValidArgsFunction: r.nodeNames(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := c.text(cmd, r, args[1:])
			if err != nil {
				return err
			}
			var made event.Comment
			return r.statement(cmd, &f, args[0], func(a act) (event.Body, error) {
				body := c.body(text, a.Key)
				if b, ok := body.(event.CommentCreated); ok {
					made = b.Comment
				}
				return body, nil
			}, func(a roadmap.Appended) string {
				switch {
				case c.remove != "":
					return fmt.Sprintf("comment %s on %s is shown no more", plain.Text(c.remove), a.Node)
				case c.edit != "":
					return fmt.Sprintf("comment %s on %s was changed", plain.Text(c.edit), a.Node)
				default:
					return fmt.Sprintf("commented on %s: %s", a.Node, made)
				}
			})
		},
	}
	cmd.Flags().StringVar(&c.answers, "answers", "", "the comment that it answers")
	cmd.Flags().StringVar(&c.edit, "edit", "", "the comment that says this from now on")
	cmd.Flags().StringVar(&c.remove, "delete", "", "the comment that is to be shown no more")
	f.define(cmd)
	return cmd
}

func (c *commenting) text(cmd *cobra.Command, r *run, args []string) (string, error) {
	fs, does := cmd.Flags(), 0
	for _, name := range []string{"answers", "edit", "delete"} {
		if !fs.Changed(name) {
			continue
		}
		if does++; fs.Lookup(name).Value.String() == "" {
			return "", usage(cmd, "--%s names no comment", name)
		}
	}
	switch {
	case does > 1:
		return "", usage(cmd, "--answers, --edit and --delete are three things to do: choose one")
	case c.remove != "" && len(args) > 0:
		return "", usage(cmd, "a comment that is deleted says nothing: leave the text out")
	case c.remove != "":
		return "", nil
	case len(args) == 0:
		return "", usage(cmd, "what is to be said is missing; - reads it from stdin")
	}
	return r.text("comment", args[0])
}

// body is the statement. A comment is named by its operation, so that asking for
// it again makes no second one.
func (c *commenting) body(text string, key event.Key) event.Body {
	switch {
	case c.remove != "":
		return event.CommentDeleted{Comment: event.Comment(c.remove)}
	case c.edit != "":
		return event.CommentEdited{Comment: event.Comment(c.edit), Body: text}
	default:
		return event.CommentCreated{Comment: roadmap.CommentOf(key), Body: text, Parent: event.Comment(c.answers)}
	}
}
