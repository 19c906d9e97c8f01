package carrier

import (
	"testing"

	"holdfast/internal/problem"
	"holdfast/internal/remotetest"
)

// Whoever started a desk has an empty plan in the home, and may keep a real one
// elsewhere. Red when: prepare refuses every other URL.
func TestAnEmptyPlanOfTheHomeMayBeKeptElsewhere(t *testing.T) {
	t.Parallel()
	h, url := newHome(t), remotetest.Path(t).Dir
	old := begin(t, h, "")
	c := begin(t, h, url)
	appended(t, c, command("k", "fix-login", opened("Mend it")))
	wantKeys(t, begin(t, newHome(t), url), "k")
	// Red when: publish does not look where the plan is kept now.
	if p := refused(t, old, command("late", "paint", opened("Paint it"))); p.Step != "moved" {
		t.Errorf("who had it open before was refused at %s: %s", p.Step, p.Reason)
	}
}

// Red when: untouched does not look at the log, or at the queue.
func TestAPlanWithAnythingInItIsNotGivenUp(t *testing.T) {
	t.Parallel()
	url := remotetest.Path(t).Dir
	for name, use := range map[string]func(c *Carrier) error{
		"an event": func(c *Carrier) error {
			appended(t, c, command("k", "fix-login", opened("Mend it")))
			return nil
		},
		"a command that waits": func(c *Carrier) error {
			_, err := c.Queue().Put(command("k", "fix-login", opened("Mend it")))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			c := begin(t, h, "")
			if err := use(c); err != nil {
				t.Fatal(err)
			}
			_, err := Init(t.Context(), h, url)
			if p := problem.From(err, ""); err == nil || p.Step != "remote" {
				t.Fatalf("beginning elsewhere ended as %v", err)
			}
			appended(t, c, command("after", "after", opened("After it")))
		})
	}
}
