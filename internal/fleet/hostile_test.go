package fleet_test

import (
	"testing"

	"holdfast/internal/fleet"
)

// Red when: JoinConsole remembers, under this home, the roster of a fleet that did not
// make it a console.
func TestAWordOfAnotherFleetLeavesNoTrace(t *testing.T) {
	_, stranger := begin(t)
	_, c := begin(t)
	ctx := t.Context()
	enrolled := func(c *fleet.Console, h fleet.Home) string {
		public, err := fleet.ConsoleKey(h)
		must(t, err)
		e, err := c.EnrollConsole(ctx, "second", public)
		must(t, err)
		return e.Token
	}
	wrong := enrolled(stranger, homeIn(t.TempDir())) // with the key of another home
	h := homeIn(t.TempDir())
	if _, err := fleet.JoinConsole(ctx, h, wrong); step(err) != "console-unknown" {
		t.Fatal(err)
	}
	if _, err := fleet.JoinConsole(ctx, h, enrolled(c, h)); err != nil {
		t.Errorf("the right word after a wrong one: %v", err)
	}
	if _, err := fleet.JoinConsole(ctx, h, wrong); step(err) != "fleet-present" {
		t.Errorf("a console of one fleet, by the word of another: %v", err)
	}
	if list, err := open(t, h).Boxes(ctx); err != nil || list.Revision != 2 {
		t.Errorf("%+v, %v", list, err)
	}
}
