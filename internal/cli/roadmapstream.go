package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"holdfast/internal/problem"
	"holdfast/internal/roadmap"
	"holdfast/internal/roadmap/event"
	"holdfast/internal/roadmap/intake"
)

func (r *run) roadmapExport() *cobra.Command {
	var f reader
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write the whole log out, one event a line, in JSON",
		Long: `Write the whole log out, one event a line, in JSON. The last line has the type "end", so
that an export which is not whole can be told. "holdfast roadmap import" reads it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, _, done, err := r.plan(cmd.Context())
			if err != nil {
				return err
			}
			defer done()
			return r.export(cmd.Context(), p, f.fresh())
		},
	}
	f.define(cmd)
	return cmd
}

// end is the last line of an export.
type end struct {
	Type   string `json:"type"`
	Events int    `json:"events"`
	roadmap.Head
}

func (r *run) export(ctx context.Context, p *roadmap.Plan, fresh roadmap.Freshness) error {
	last := end{Type: "end"}
	head, err := p.Export(ctx, fresh, func(e event.Envelope) error {
		last.Events++
		_, err := r.out.Write(intake.Line(e))
		return err
	})
	if err != nil && last.Events == 0 {
		return err
	}
	if err != nil {
		return r.broke(err)
	}
	r.sayRewritten(head.Rewritten)
	last.Head = head
	return r.line(last)
}

// line writes one of several JSON documents.
func (r *run) line(v any) error {
	enc := json.NewEncoder(r.out)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// broke ends lines that had begun: their last one says why.
func (r *run) broke(err error) error {
	p := problem.From(err, "It failed, and why is not known.")
	r.status = p.Kind.Exit()
	fmt.Fprintf(r.err, "holdfast: %s\n", reason(p.Reason))
	return r.line(struct {
		Type  string      `json:"type"`
		Error publicError `json:"error"`
	}{"error", publicError{p.Kind.String(), p.Step, p.Reason, p.Hint}})
}

// shortestWatch is how often a remote is asked at most.
const shortestWatch = 100 * time.Millisecond

func (r *run) roadmapWatch() *cobra.Command {
	w := watching{r: r}
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Write each new event as it comes, one a line, in JSON, until Ctrl-C",
		Long: `Write each new event as it comes, one a line, in JSON, until Ctrl-C or SIGTERM.

The first line has the type "watching"; others are of the types "event", "rewritten",
"unreachable" and "reachable". A remote that cannot be asked does not end it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case w.interval < shortestWatch:
				return usage(cmd, "--interval takes a duration of %s or more", shortestWatch)
			case w.since < 0:
				return usage(cmd, "--since takes the place of an event, which is not negative")
			}
			p, _, done, err := r.plan(cmd.Context())
			if err != nil {
				return err
			}
			defer done()
			return w.run(cmd.Context(), p, cmd.Flags().Changed("since"))
		},
	}
	cmd.Flags().DurationVar(&w.interval, "interval", 2*time.Second, "how often the remote is asked")
	cmd.Flags().Int64Var(&w.since, "since", 0, "begin with what the log has beyond this place (default: with what comes now)")
	return cmd
}

// watching is a watch: what it was told, and what it said last.
type watching struct {
	r         *run
	interval  time.Duration
	since     int64
	rewritten roadmap.Rewritten
	lost      bool
}

// began is the first line of a watch.
type began struct {
	Type string `json:"type"`
	Seq  int64  `json:"seq"`
	roadmap.Head
}

// run watches until ctx ends, which is no failure.
func (w *watching) run(ctx context.Context, p *roadmap.Plan, behind bool) error {
	seq, head, err := p.End(ctx, roadmap.Now)
	if err != nil {
		return err
	}
	if !behind {
		w.since = seq
	}
	if err := w.r.line(began{"watching", w.since, head}); err != nil {
		return err
	}
	tick := time.NewTicker(w.interval)
	defer tick.Stop()
	for {
		if err := w.look(ctx, p); err != nil || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// look says what is new. Only an output that takes nothing is an error.
func (w *watching) look(ctx context.Context, p *roadmap.Plan) error {
	var broken error
	seq, head, err := p.Since(ctx, roadmap.Now, w.since, func(e event.Envelope) error {
		_, broken = w.r.out.Write(intake.Line(e))
		return broken
	})
	w.since = seq // also where it failed on the way: a line is written once
	switch {
	case broken != nil:
		return broken
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return w.unreachable(err)
	}
	if w.lost {
		w.lost = false
		if err := w.r.line(kind{"reachable"}); err != nil {
			return err
		}
	}
	return w.trust(head)
}

// kind is a line that says no more than its type.
type kind struct {
	Type string `json:"type"`
}

func (w *watching) unreachable(err error) error {
	if w.lost {
		return nil
	}
	w.lost = true
	p := problem.From(err, "It failed, and why is not known.")
	return w.r.line(struct {
		Type   string `json:"type"`
		Step   string `json:"step"`
		Reason string `json:"reason"`
	}{"unreachable", p.Step, p.Reason})
}

func (w *watching) trust(head roadmap.Head) error {
	if head.Rewritten == nil {
		w.rewritten = roadmap.Rewritten{}
		return nil
	}
	if *head.Rewritten == w.rewritten {
		return nil
	}
	w.rewritten = *head.Rewritten
	return w.r.line(struct {
		Type string `json:"type"`
		roadmap.Rewritten
	}{"rewritten", w.rewritten})
}
