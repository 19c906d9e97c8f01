package fleet_test

import (
	"os"
	"path/filepath"
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

// Red when: Init makes keys, or fleet.json, in a home that cannot begin a fleet there.
func TestARefusedBeginningLeavesNothing(t *testing.T) {
	h, c := begin(t)
	ctx := t.Context()
	second := homeIn(t.TempDir())
	public, err := fleet.ConsoleKey(second)
	must(t, err)
	e, err := c.EnrollConsole(ctx, "second", public)
	must(t, err)
	_, err = fleet.JoinConsole(ctx, second, e.Token)
	must(t, err)
	store := "file://" + h.Bucket
	for _, address := range []string{store, "file://" + t.TempDir()} {
		if _, err := fleet.Init(ctx, second, address); step(err) != "fleet-present" {
			t.Errorf("a home that is a console: %v", err)
		}
	}
	if _, err := os.Lstat(filepath.Join(second.Console, "root.key")); err == nil {
		t.Error("a second root key was made")
	}
	third := homeIn(t.TempDir())
	if _, err := fleet.Init(ctx, third, store); step(err) != "fleet-present" {
		t.Errorf("a store that has a fleet: %v", err)
	}
	if _, err := fleet.Init(ctx, third, "file://"+t.TempDir()); err != nil {
		t.Errorf("another store, after that: %v", err)
	}
}
