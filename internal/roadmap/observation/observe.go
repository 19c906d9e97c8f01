package observation

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"holdfast/internal/plain"
	"holdfast/internal/problem"
	"holdfast/internal/roadmap"
	"holdfast/internal/roadmap/history"
)

// Surfaces of an observation.
const (
	Daily     = "daily"     // for people: the plan by standing, as text
	Standings = "standings" // for programs: nodes and refused, as in the document of a list
)

// dailyMost is how many nodes of one standing the daily surface names.
const dailyMost = 25

// Observe reads the plan and writes what it saw. A plan that cannot be read is
// written down as unseen. What it gives is an error of writing.
func Observe(ctx context.Context, plan *roadmap.Plan, into Store, now time.Time) error {
	list, seq, err := read(ctx, plan)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return into.WriteUnseen(ctx, now, err)
	}
	standings, err := json.Marshal(struct {
		Nodes   []roadmap.Row         `json:"nodes"`
		Refused []roadmap.RefusedNode `json:"refused"`
	}{list.Nodes, list.Refused})
	if err != nil {
		return err
	}
	return into.Write(ctx, now, Seen{Commit: list.AsOf.Commit, Seq: seq}, []Body{
		{Name: Daily, MediaType: mediaTypes[1], Data: daily(list, seq)},
		{Name: Standings, MediaType: mediaTypes[0], Data: append(standings, '\n')},
	})
}

// read is the plan, and the place of its newest event.
func read(ctx context.Context, plan *roadmap.Plan) (roadmap.List, int64, error) {
	for range 5 {
		list, err := plan.List(ctx, roadmap.Now, roadmap.Filter{})
		if err != nil {
			return list, 0, err
		}
		seq, head, err := plan.End(ctx, roadmap.AsOf)
		if err != nil || head.AsOf.Commit == list.AsOf.Commit {
			return list, seq, err
		}
	}
	return roadmap.List{}, 0, problem.Refusal("observation-moved", "The plan changed each time that it was read.")
}

// WriteUnseen writes down that the plan could not be read, and why.
func (s Store) WriteUnseen(ctx context.Context, now time.Time, why error) error {
	p := problem.From(why, "Something broke while the plan was read.")
	text := fmt.Sprintf("The plan was not seen.\n\n%s\n(step %s)\n", plain.Text(p.Reason), p.Step)
	return s.Write(ctx, now, Unseen{Step: p.Step, Reason: plain.Text(p.Reason)}, []Body{{Name: Daily, MediaType: mediaTypes[1], Data: []byte(text)}})
}

// daily is the plan as text. It says no time: the same plan has the same bytes.
func daily(list roadmap.List, seq int64) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "The plan at commit %.12s, %s\n", list.AsOf.Commit, plain.Count(int(seq), "event"))
	if list.Rewritten != nil {
		b.WriteString("\nThe log was rewritten at the remote; this is what was read before.\n")
	}
	byKind := map[string][]roadmap.Row{}
	for _, r := range list.Nodes {
		byKind[r.Standing.Kind] = append(byKind[r.Standing.Kind], r)
	}
	for _, kind := range history.Keys() {
		rows := byKind[kind]
		if len(rows) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n%s (%d)\n", strings.ReplaceAll(kind, "_", " "), len(rows))
		for _, r := range rows[:min(len(rows), dailyMost)] {
			b.WriteString(line(r))
		}
		if more := len(rows) - dailyMost; more > 0 {
			fmt.Fprintf(&b, "  and %d more\n", more)
		}
	}
	if len(list.Nodes) == 0 {
		b.WriteString("\nNothing is planned.\n")
	}
	if len(list.Refused) > 0 {
		fmt.Fprintf(&b, "\ncannot be read (%d)\n", len(list.Refused))
		for _, r := range list.Refused[:min(len(list.Refused), dailyMost)] {
			fmt.Fprintf(&b, "  %s at %s: %s\n", plain.Text(string(r.Node)), r.Step, plain.Text(r.Reason))
		}
	}
	return []byte(b.String())
}

func line(r roadmap.Row) string {
	var marks strings.Builder
	if r.Holder != "" {
		fmt.Fprintf(&marks, " · %s", plain.Text(r.Holder.Subject()))
	}
	if r.Ready {
		marks.WriteString(" · ready")
	}
	if r.Blocked {
		marks.WriteString(" · waits for another")
	}
	return fmt.Sprintf("  %s  %s: %s%s\n", r.Priority, r.Node, plain.Text(r.Title), marks.String())
}
