package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/internal/app"
	"holdfast/internal/app/config"
	"holdfast/internal/problem"
	"holdfast/internal/roadmap"
	"holdfast/internal/roadmap/event"
)

// acting is the flags of every command that appends.
type acting struct {
	key    string
	expect []string
}

func (a *acting) define(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.key, "key", "", "operation key: asking again with it does it once (default: a new one)")
	cmd.Flags().StringArrayVar(&a.expect, "expect", nil, "revision that the node must still have; refused otherwise")
}

// act is one command on an open plan, and who gives it.
type act struct {
	roadmap.Act
	plan   *roadmap.Plan
	config *config.Config
}

// principal is whom a flag names; what it is without one.
func (a act) principal(name string, without event.Principal) (event.Principal, error) {
	if name == "" {
		return without, nil
	}
	return app.PlanPrincipal(a.config, name)
}

// append gives one command that appends, and shows what came of it. What can be
// refused by its words alone is refused before the plan is opened.
func (r *run) append(cmd *cobra.Command, f *acting, node string, do func(event.Node, act) (roadmap.Appended, error), done func(roadmap.Appended) string) error {
	n, err := event.ParseNode(node)
	if err != nil {
		return err
	}
	key := roadmap.NewKey()
	if given(cmd.Flags(), "key") {
		if key, err = event.ParseKey(f.key); err != nil {
			return err
		}
	}
	for _, e := range f.expect {
		if !isRevision(e) {
			return notRevision(e)
		}
	}
	p, c, letGo, err := r.plan(cmd.Context())
	if err != nil {
		return err
	}
	defer letGo()
	a := act{Act: roadmap.Act{Key: key}, plan: p, config: c}
	if a.Author, err = r.planner(c); err != nil {
		return err
	}
	for _, e := range f.expect {
		id, err := revisionOf(cmd.Context(), p, n, e)
		if err != nil {
			return r.orGone(n, err)
		}
		a.Expect = append(a.Expect, id)
	}
	doc, err := do(n, a)
	if err != nil {
		return r.orGone(n, err)
	}
	return r.appended(doc, done)
}

// statement appends one statement about a node.
func (r *run) statement(cmd *cobra.Command, f *acting, node string, make func(act) (event.Body, error), done func(roadmap.Appended) string) error {
	return r.append(cmd, f, node, func(n event.Node, a act) (roadmap.Appended, error) {
		body, err := make(a)
		if err != nil {
			return roadmap.Appended{}, err
		}
		return a.plan.Append(cmd.Context(), n, body, a.Act)
	}, done)
}

// appended shows what came of a command. Only what is in the log is done.
func (r *run) appended(doc roadmap.Appended, done func(roadmap.Appended) string) error {
	if doc.Outcome == "queued" || doc.Outcome == "unknown" {
		r.status = problem.Unknown.Exit()
	}
	if r.json {
		return r.document(doc)
	}
	switch doc.Outcome {
	case "queued":
		fmt.Fprintf(r.out, "queued, and not in the plan yet: %s\nthe next command that reaches the remote appends it; holdfast roadmap queue lists it, holdfast roadmap queue withdraw %s takes it back\n", reason(doc.Why), doc.Key)
	case "unknown":
		fmt.Fprintf(r.out, "whether it was appended cannot be told yet: %s\nthe same command with --key %s tells, and does it at most once\n", reason(doc.Why), doc.Key)
	case "already_present":
		fmt.Fprintf(r.out, "%s; it was appended before, under the key %s\n", done(doc), doc.Key)
	default:
		fmt.Fprintln(r.out, done(doc))
	}
	return nil
}

// shortest is how much of a revision is enough to look for it.
const shortest = 6

// isRevision says that s is an event's id, or the beginning of one.
func isRevision(s string) bool {
	return len(s) >= shortest && len(s) <= 64 && strings.Trim(s, "0123456789abcdef") == ""
}

func notRevision(s string) error {
	return problem.New(problem.Usage, "revision", "%q is no revision: 64 lower-case hexadecimal digits, or the first %d or more of them.", clipped(s, 80), shortest)
}

// revisionOf is the event of a node that somebody means. What was read last is
// looked at first, so that no remote needs to be there.
func revisionOf(ctx context.Context, p *roadmap.Plan, n event.Node, s string) (event.ID, error) {
	if len(s) == 64 {
		return event.ParseID(s)
	}
	id, err := eventIn(ctx, p, roadmap.AsOf, n, s)
	if err == nil {
		return id, nil
	}
	return eventIn(ctx, p, roadmap.Now, n, s)
}

func eventIn(ctx context.Context, p *roadmap.Plan, fresh roadmap.Freshness, n event.Node, s string) (event.ID, error) {
	log, err := p.Log(ctx, fresh, n)
	if err != nil {
		return "", err
	}
	var found []event.ID
	for _, e := range log.Events {
		if strings.HasPrefix(string(e.ID), s) {
			found = append(found, e.ID)
		}
	}
	switch len(found) {
	case 0:
		return "", problem.Refusal("revision", "Node %s has no event %s. Nothing was appended.", n, s).WithHint("holdfast roadmap log %s", n)
	case 1:
		return found[0], nil
	default:
		return "", problem.Refusal("revision", "Node %s has %d events that begin with %s. Nothing was appended.", n, len(found), s).WithHint("give more of it")
	}
}

// move is a command that says one thing about a node.
type move struct {
	use, short, long string
	flag, about      string // the flag of its text, and what that is
	argument         bool   // the text is an argument, and has to be given
	operator         string // what only the operator may do; empty: anybody
	body             func(text string) event.Body
	done             func(node event.Node) string
}

func (r *run) move(m move) *cobra.Command {
	var f acting
	var text string
	args := 1
	if m.argument {
		args = 2
	}
	cmd := &cobra.Command{
		Use: m.use, Short: m.short, Long: m.long, Args: cobra.ExactArgs(args), ValidArgsFunction: r.nodeNames(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if m.operator != "" {
				if err := operatorOnly(m.operator); err != nil {
					return err
				}
			}
			if m.argument {
				text = args[1]
			}
			words, err := r.text(m.about, text)
			if err != nil {
				return err
			}
			return r.statement(cmd, &f, args[0], func(act) (event.Body, error) { return m.body(words), nil },
				func(a roadmap.Appended) string { return m.done(a.Node) })
		},
	}
	if m.flag != "" {
		cmd.Flags().StringVar(&text, m.flag, "", m.about+"; - reads it from stdin")
	}
	f.define(cmd)
	return cmd
}

func (r *run) roadmapClaim() *cobra.Command {
	var f acting
	var assignee, returnTo string
	cmd := &cobra.Command{
		Use:   "claim NODE",
		Short: "Hold a node: whoever is first does, and everybody else is told who that is",
		Args:  cobra.ExactArgs(1), ValidArgsFunction: r.nodeNames(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var claimed event.Claimed
			return r.statement(cmd, &f, args[0], func(a act) (body event.Body, err error) {
				if claimed.Assignee, err = a.principal(assignee, a.Author); err != nil {
					return nil, err
				}
				claimed.ReturnTo, err = a.principal(returnTo, a.returns())
				return claimed, err
			}, func(a roadmap.Appended) string {
				return fmt.Sprintf("%s is claimed by %s, and goes to %s for review", a.Node, claimed.Assignee.Subject(), claimed.ReturnTo.Subject())
			})
		},
	}
	cmd.Flags().StringVar(&assignee, "assignee", "", "who holds it: a principal, or a name beside yours (default: you)")
	cmd.Flags().StringVar(&returnTo, "return-to", "", "whom it goes to when there is something to review (default: you; of a worker's claim, the operator)")
	f.define(cmd)
	return cmd
}

// returns is whom a claim goes back to where nobody is named: work is reviewed by
// the operator.
func (a act) returns() event.Principal {
	if operator, err := app.PlanOperator(a.config); err == nil {
		return operator
	}
	return a.Author
}

func (r *run) roadmapRelease() *cobra.Command {
	return r.move(move{
		use: "release NODE", short: "Hold a node no longer: it is open again",
		body: func(string) event.Body { return event.Released{} },
		done: func(n event.Node) string { return fmt.Sprintf("%s is open, and nobody holds it", n) },
	})
}

func (r *run) roadmapProgress() *cobra.Command {
	return r.move(move{
		use: "progress NODE NOTE", short: "Say how far the work on a node has come",
		long:  "Say how far the work on a node has come. The note may be -, which reads it from stdin.",
		about: "note", argument: true,
		body: func(note string) event.Body { return event.Progress{Note: note} },
		done: func(n event.Node) string { return fmt.Sprintf("%s is in progress", n) },
	})
}

func (r *run) roadmapBlock() *cobra.Command {
	return r.move(move{
		use: "block NODE --reason TEXT", short: "Say that a node cannot go on, and why",
		flag: "reason", about: "why it cannot go on",
		body: func(reason string) event.Body { return event.Blocked{Reason: reason} },
		done: func(n event.Node) string { return fmt.Sprintf("%s is blocked", n) },
	})
}

func (r *run) roadmapHandBack() *cobra.Command {
	return r.move(move{
		use: "hand-back NODE --reason TEXT", short: "Give a node back undone, and say why",
		flag: "reason", about: "why it is given back",
		body: func(reason string) event.Body { return event.HandedBack{Reason: reason} },
		done: func(n event.Node) string {
			return fmt.Sprintf("%s was handed back: nobody holds it, and it can be claimed", n)
		},
	})
}

func (r *run) roadmapAccept() *cobra.Command {
	return r.move(move{
		use: "accept NODE", short: "Say that a node is done: what waited for it waits no longer",
		flag: "reason", about: "why", operator: "accept work",
		body: func(reason string) event.Body { return event.Accepted{Reason: reason} },
		done: func(n event.Node) string {
			return fmt.Sprintf("%s is accepted\nnext: holdfast roadmap ready lists what can be begun now", n)
		},
	})
}

func (r *run) roadmapDrop() *cobra.Command {
	return r.move(move{
		use: "drop NODE", short: "Say that a node will not be done",
		flag: "reason", about: "why", operator: "drop work",
		body: func(reason string) event.Body { return event.Dropped{Reason: reason} },
		done: func(n event.Node) string {
			return fmt.Sprintf("%s is dropped\nit comes back with: holdfast roadmap reopen %s", n, n)
		},
	})
}

func (r *run) roadmapReopen() *cobra.Command {
	return r.move(move{
		use: "reopen NODE", short: "Say that a node is to be done after all: it is open, and nobody holds it",
		flag: "reason", about: "why", operator: "reopen work",
		body: func(reason string) event.Body { return event.Reopened{Reason: reason} },
		done: func(n event.Node) string { return fmt.Sprintf("%s is open again", n) },
	})
}

func (r *run) roadmapReconcile() *cobra.Command {
	var f acting
	var keep string
	cmd := &cobra.Command{
		Use:   "reconcile NODE --keep HEAD",
		Short: "Mend a fork: one head's history is the node's, the comments of the others stay",
		Args:  cobra.ExactArgs(1), ValidArgsFunction: r.nodeNames(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := operatorOnly("reconcile a fork"); err != nil {
				return err
			}
			if !isRevision(keep) {
				if keep == "" {
					return usage(cmd, "which head is kept? Give --keep; holdfast roadmap show %s names them", clipped(args[0], 80))
				}
				return notRevision(keep)
			}
			return r.append(cmd, &f, args[0], func(n event.Node, a act) (roadmap.Appended, error) {
				id, err := revisionOf(cmd.Context(), a.plan, n, keep)
				if err != nil {
					return roadmap.Appended{}, err
				}
				return a.plan.Reconcile(cmd.Context(), n, id, a.Act)
			}, func(a roadmap.Appended) string {
				return fmt.Sprintf("%s has one history again\nnext: holdfast roadmap show %s", a.Node, a.Node)
			})
		},
	}
	cmd.Flags().StringVar(&keep, "keep", "", "the head whose history is kept")
	f.define(cmd)
	return cmd
}
