package fleet_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"holdfast/internal/fleet"
	"holdfast/internal/fleet/enrollment"
	"holdfast/internal/problem"
)

// healthy is a console of a fleet that has just begun, and its home.
func healthy(t *testing.T) (*fleet.Console, fleet.Home) {
	t.Helper()
	dir := t.TempDir()
	h := fleet.Home{Console: filepath.Join(dir, "console"), Box: filepath.Join(dir, "box"), Bucket: filepath.Join(dir, "bucket")}
	if _, err := fleet.Init(t.Context(), h, fleet.Embedded); err != nil {
		t.Fatal(err)
	}
	c, err := fleet.OpenConsole(h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, h
}

// joins lets the machine of h in as a box.
func joins(t *testing.T, c *fleet.Console, h fleet.Home, box string) {
	t.Helper()
	i, err := c.Invite(t.Context(), enrollment.Invitation{Box: box, Uses: 1}, 1<<40)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fleet.Join(t.Context(), h, i.Token, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Admit(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// A home's part is what its own folders say, the store being gone or not. Red when a
// key without its fleet.json makes a console of a home, or a key that is open to others
// is passed over.
func TestAHomesPartIsWhatItsFoldersSay(t *testing.T) {
	dir := t.TempDir()
	h := fleet.Home{Console: filepath.Join(dir, "console"), Box: filepath.Join(dir, "box"), Bucket: filepath.Join(dir, "bucket")}
	if _, err := fleet.ConsoleKey(h); err != nil {
		t.Fatal(err)
	}
	if p, err := fleet.Look(h); err != nil || p.Console != "" || p.Box != "" || len(p.Keys) != 0 {
		t.Errorf("a home with nothing but a key: %+v, %v", p, err)
	}
	c, h := healthy(t)
	joins(t, c, h, "box-1")
	if err := os.Rename(h.Bucket, h.Bucket+".away"); err != nil {
		t.Fatal(err)
	}
	p, err := fleet.Look(h)
	if err != nil || p.Console != "main" || len(p.Box) != 32 || p.Store != fleet.Embedded || !slices.Equal(p.Keys, []string{"evidence.key", "root.key", "console.key"}) {
		t.Errorf("a console that is a box: %+v, %v", p, err)
	}
	if err := os.Chmod(filepath.Join(h.Console, "root.key"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := fleet.Look(h); problem.From(err, "").Step != "key-mode" {
		t.Errorf("a key that is open to others: %v", err)
	}
}

// Red when openStore has fs.ErrNotExist among its causes.
func TestAStoreThatIsGoneIsNoHomeWithoutAFleet(t *testing.T) {
	c, h := healthy(t)
	joins(t, c, h, "box-1")
	if err := os.Rename(h.Bucket, h.Bucket+".away"); err != nil {
		t.Fatal(err)
	}
	if _, err := fleet.OpenConsole(h); errors.Is(err, fleet.ErrNoFleet) || problem.From(err, "").Step != "store" {
		t.Errorf("the console: %v", err)
	}
	if _, err := fleet.Status(t.Context(), h); errors.Is(err, fleet.ErrNoBox) || problem.From(err, "").Step != "store" {
		t.Errorf("the box: %v", err)
	}
}

// Red when ConfigureRegion sets the label that it was not given.
func TestARegionKeepsItsLabel(t *testing.T) {
	c, _ := healthy(t)
	for _, label := range []string{"Southern", ""} {
		if w, err := c.ConfigureRegion(t.Context(), "south", label, 0, fleet.Ask); err != nil || w.Changed != (label != "") {
			t.Errorf("label %q: %+v, %v", label, w, err)
		}
	}
}

// The two writes of a publication are one move: from what was installed before it. Red
// when PublishFloor answers with the moves of the second write alone.
func TestAPublicationIsOneMove(t *testing.T) {
	c, h := healthy(t)
	joins(t, c, h, "box-1")
	before, err := c.Show(t.Context(), "box-1")
	if err != nil {
		t.Fatal(err)
	}
	f := fleet.Floor{Publication: "spring", MinVersion: "v1.0.0", AllowedProofs: []string{"namespace"}}
	w, err := c.PublishFloor(t.Context(), f, fleet.Granted)
	if err != nil {
		t.Fatal(err)
	}
	after, err := c.Show(t.Context(), "box-1")
	if err != nil || len(w.Moved) != 1 || w.Moved[0].From != before.Binding || w.Moved[0].To != after.Binding {
		t.Errorf("%+v, %v; the box was bound to %s, and is to %s", w, err, before.Binding, after.Binding)
	}
}

// Red when strands asks about boxes that are retired.
func TestARetiredBoxNeedsNoConsent(t *testing.T) {
	c, h := healthy(t)
	joins(t, c, h, "box-1")
	f := fleet.Floor{Publication: "spring", MinVersion: "v1.0.0", AllowedProofs: []string{"namespace"}}
	if _, err := c.PublishFloor(t.Context(), f, fleet.Ask); problem.From(err, "").Step != "not-confirmed" {
		t.Errorf("while it is active: %v", err)
	}
	if _, err := c.Retire(t.Context(), "box-1", fleet.Granted); err != nil {
		t.Fatal(err)
	}
	if _, err := c.PublishFloor(t.Context(), f, fleet.Ask); err != nil {
		t.Errorf("once it is retired: %v", err)
	}
}
