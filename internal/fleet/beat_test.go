package fleet

import (
	"context"
	"testing"
	"time"

	"holdfast/internal/fleet/console"
)

// shown waits until ps shows an instance in a state, by its box's beat.
func (g *rig) shown(instance, state string) console.Instance {
	g.Helper()
	ctx, done := context.WithTimeout(g.Context(), time.Minute)
	defer done()
	for {
		list, err := g.console.Work(nil).List(ctx)
		g.must(err)
		for _, i := range list {
			if i.Instance == instance && i.State == state && !i.Seen.IsZero() {
				return i
			}
		}
		select {
		case <-ctx.Done():
			g.Fatalf("%s is never shown as %s: %+v", instance, state, list)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// A box shows what it has: what runs since when, what ended by itself and how, and what was
// stopped on it, which no claim knows of. Red when: no beat is written; the exit is left
// out; what is stopped here is.
func TestABoxShowsWhatItHas(t *testing.T) {
	g := newRig(t)
	g.run("steady", "run-1", "sleep", "1000")
	g.run("brief", "run-2", "sh", "-c", "exit 3")
	if i := g.shown("steady", "running"); i.Started.IsZero() || i.AgeNS < 0 {
		t.Errorf("%+v", i)
	}
	if i := g.shown("brief", "exited"); i.Exit != "exit status 3" {
		t.Errorf("%+v", i)
	}
	_, err := g.client.Down(t.Context(), 0, 30*time.Second)
	g.must(err)
	g.shown("steady", "stopped")
}
