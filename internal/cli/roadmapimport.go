package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"holdfast/internal/plain"
	"holdfast/internal/problem"
	"holdfast/internal/roadmap"
	"holdfast/internal/roadmap/event"
	"holdfast/internal/roadmap/intake"
)

// maxImport is the most that a file to be imported may hold, in bytes.
const maxImport = 256 << 20

func (r *run) roadmapImport() *cobra.Command {
	var from string
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Import the issues of GitHub, of another tracker, or an export of a plan",
		Long: `Import the issues of GitHub (the JSON of its API, or of "gh issue list --json"), the JSON
lines that other trackers in git export, or what "holdfast roadmap export" wrote.
FILE may be -, which reads stdin.

Importing a file again appends nothing. What cannot be carried over is counted and
said; nobody is claimed for.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := operatorOnly("import into the plan"); err != nil {
				return err
			}
			if cmd.Flags().Changed("from") && from == "" {
				return usage(cmd, "--from is empty: give github or jsonl, or leave it out")
			}
			data, err := r.source(args[0])
			if err != nil {
				return err
			}
			batch, err := intake.Read(from, data)
			if err != nil {
				return err
			}
			p, c, done, err := r.plan(cmd.Context())
			if err != nil {
				return err
			}
			defer done()
			author, err := r.planner(c)
			if err != nil {
				return err
			}
			return r.imports(cmd.Context(), p, author, batch)
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "what it is: github or jsonl (default: as it looks)")
	return cmd
}

// source is the bytes that are to be imported.
func (r *run) source(file string) ([]byte, error) {
	in := r.in
	if file != "-" {
		f, err := regular(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, maxImport+1))
	switch {
	case err != nil:
		return nil, problem.Refusal("read", "%s cannot be read (%s). Nothing was imported.", plain.Text(file), problem.Words(err))
	case len(data) > maxImport:
		return nil, problem.Refusal(problem.StepTooLarge, "A file to be imported has at most %d bytes. Nothing was imported.", maxImport)
	}
	return data, nil
}

// regular opens a file to be imported. The opening waits for nobody: what has a name
// may be a pipe, which nobody need ever write to.
func regular(file string) (*os.File, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, problem.Refusal("read", "%s cannot be read (%s). Nothing was imported.", plain.Text(file), problem.Words(err))
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		err = problem.Refusal("read", "%s cannot be read (%s). Nothing was imported.", plain.Text(file), problem.Words(err))
	case info.IsDir():
		err = problem.Refusal("read", "%s is a folder. Nothing was imported.", plain.Text(file))
	case !info.Mode().IsRegular():
		err = problem.Refusal("read", "%s is no regular file. Nothing was imported.", plain.Text(file)).WithHint("what comes through a pipe is read from stdin: holdfast roadmap import -")
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// imported is the answer to whoever imports.
type imported struct {
	From     string          `json:"from"` // github, tracker or export
	Nodes    []intake.Named  `json:"nodes"`
	Appended int             `json:"appended"`
	There    int             `json:"already_present"`
	Refused  []notImported   `json:"refused"`
	LeftOut  []intake.Count  `json:"left_out"`
	Said     []string        `json:"said"`
	Close    roadmap.Closing `json:"close"`
}

// notImported is a statement that the plan did not take.
type notImported struct {
	Node   event.Node `json:"node"`
	Kind   event.Kind `json:"kind"`
	Step   string     `json:"step"`
	Reason string     `json:"reason"`
}

func (r *run) imports(ctx context.Context, p *roadmap.Plan, author event.Principal, batch intake.Batch) error {
	log, err := known(ctx, p)
	if err != nil {
		return err
	}
	orders := batch.Against(log, author, time.Now())
	doc := imported{
		From: batch.From, Nodes: orders.Nodes, There: orders.There, Refused: []notImported{},
		LeftOut: orders.Left.Counts(), Said: orders.Said, Close: roadmap.Closing{Kind: "not_opened"},
	}
	if len(orders.Commands) > 0 {
		answers, closing, err := p.AppendAll(ctx, orders.Commands)
		if err != nil {
			return err
		}
		doc.Close = closing
		if err := r.tally(&doc, orders.Commands, answers); err != nil {
			return err
		}
	}
	if r.json {
		return r.document(doc)
	}
	r.printImported(doc, batch.Size())
	return nil
}

// known is what the log has.
func known(ctx context.Context, p *roadmap.Plan) (intake.Log, error) {
	log := intake.Log{Nodes: map[event.Node]bool{}, Keys: map[event.Key]event.Event{}}
	head, err := p.Export(ctx, roadmap.Now, func(e event.Envelope) error {
		log.Nodes[e.Event.Node()], log.Keys[e.Key] = true, e.Event
		return nil
	})
	if w := head.Rewritten; err == nil && w != nil {
		err = problem.Refusal("rewritten", "The plan was rewritten: the remote does not continue %s. Nothing was imported.", shortCommit(w.Was)).
			WithHint("look at it: holdfast roadmap list")
	}
	return log, err
}

// tally counts what became of the commands. If the first of them never reached the
// remote, none did, and that is the answer.
func (r *run) tally(doc *imported, commands []event.Command, answers []roadmap.AppendedOrError) error {
	for i, a := range answers {
		no := notImported{Node: commands[i].Node, Kind: commands[i].Body.Kind()}
		switch {
		case a.Err != nil:
			why := problem.From(a.Err, a.Err.Error())
			no.Step, no.Reason = why.Step, why.Reason
			r.status = problem.Failed.Exit()
		case a.Appended.Outcome == "appended":
			doc.Appended++
			continue
		case a.Appended.Outcome == "already_present":
			doc.There++
			continue
		default:
			no.Step, no.Reason = a.Appended.Outcome, a.Appended.Why
			r.status = problem.Unknown.Exit()
		}
		doc.Refused = append(doc.Refused, no)
	}
	if doc.Appended > 0 || doc.There > 0 || len(doc.Refused) == 0 {
		return nil
	}
	if err := answers[0].Err; err != nil {
		return err
	}
	if doc.Refused[0].Step == "queued" {
		return problem.Refusal("unreachable", "The plan's remote could not be reached: %s Nothing was imported.", doc.Refused[0].Reason)
	}
	return nil
}

func (r *run) printImported(d imported, size int) {
	what := "unit of work"
	if d.From == "export" {
		what = "event"
	}
	if size != 1 {
		what = map[string]string{"event": "events", "unit of work": "units of work"}[what]
	}
	fmt.Fprintf(r.out, "read %d %s; appended %s, and %d were there already\n", size, what, plain.Count(d.Appended, "event"), d.There)
	var rows [][]string
	for _, n := range d.Nodes {
		if n.New && n.Source != string(n.Node) {
			rows = append(rows, []string{"  " + plain.Text(n.Source), "is " + string(n.Node)})
		}
	}
	table(r.out, rows)
	for _, said := range d.Said {
		fmt.Fprintf(r.out, "note: %s\n", plain.Text(said))
	}
	for _, l := range d.LeftOut {
		fmt.Fprintf(r.out, "left out: %d %s\n", l.Count, plain.Text(l.What))
	}
	for _, no := range d.Refused {
		fmt.Fprintf(r.out, "refused: %s %s at %s: %s\n", no.Node, no.Kind, plain.Text(no.Step), reason(no.Reason))
	}
	r.printClosing(d.Close)
}
