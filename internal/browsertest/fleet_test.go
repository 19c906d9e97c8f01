//go:build browser

package browsertest

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/internal/fleet"
	"holdfast/internal/fleet/enrollment"
)

// consoleOf makes a home a console, and opens it.
func consoleOf(t *testing.T, home string) *fleet.Console {
	t.Helper()
	holdfast(t, home, "fleet", "init")
	c, err := fleet.OpenConsole(partsOf(home))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func partsOf(home string) fleet.Home {
	return fleet.Home{Console: filepath.Join(home, "console"), Box: filepath.Join(home, "box"), Bucket: filepath.Join(home, "bucket")}
}

// ask lets a machine of its own ask to come in by an invitation.
func ask(t *testing.T, c *fleet.Console, i enrollment.Invitation, times int) {
	t.Helper()
	i.Uses = 1
	word, err := c.Invite(t.Context(), i, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for range times {
		if _, err := fleet.Join(t.Context(), partsOf(t.TempDir()), word.Token, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Admit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// fleetAt makes a home the console of a fleet: one box is active and has long words, one
// is quarantined and given up, one is retired, one machine was refused, and
// a floor is published.
func fleetAt(t *testing.T, home string) {
	t.Helper()
	c := consoleOf(t, home)
	long := strings.Repeat("unbroken", 7)
	ask(t, c, enrollment.Invitation{Box: "walls", Role: "build", Group: "north", Label: "North walls"}, 1)
	ask(t, c, enrollment.Invitation{Box: long, Role: long, Group: long, Label: strings.Repeat(long, 3)}, 2)
	ask(t, c, enrollment.Invitation{Box: "old"}, 1)
	for _, args := range [][]string{
		{"quarantine", "walls", "--lost", "--yes"}, {"retire", "old", "--yes"}, {"label", "walls", "North walls, by the door"},
	} {
		holdfast(t, home, append([]string{"fleet"}, args...)...)
	}
	if _, err := c.PublishFloor(context.Background(), fleet.Floor{Publication: "spring", MinVersion: "v1.0.0", AllowedProofs: []string{"namespace", "cgroup"}}, fleet.Granted); err != nil {
		t.Fatal(err)
	}
}

// fleetLooks are the fleet's pages.
func fleetLooks() []look {
	return []look{
		{"fleet", "fleet"},
		{"fleet-box", "fleet/walls"},
		{"fleet-box-long", "fleet/" + strings.Repeat("unbroken", 7)},
		{"fleet-box-missing", "fleet/nowhere"},
		{"fleet-log", "fleet/log"},
		{"fleet-log-some", "fleet/log?limit=3"},
	}
}

// rollBack puts an older roster in the place of the one that there is, and gives what
// puts it back.
func rollBack(t *testing.T, home string) (forward func()) {
	t.Helper()
	at := filepath.Join(home, "bucket/control/roster.json")
	is, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}
	versions, err := filepath.Glob(filepath.Join(home, "bucket/control/roster/log/*"))
	if err != nil || len(versions) == 0 {
		t.Fatal(versions, err)
	}
	old, err := os.ReadFile(slices.Min(versions))
	if err != nil {
		t.Fatal(err)
	}
	put := func(data []byte) {
		if err := os.WriteFile(at+".new", data, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(at+".new", at); err != nil {
			t.Fatal(err)
		}
	}
	put(old)
	return func() { put(is) }
}

// TestAPersonLooksAtTheFleetWithoutScript: from the navigation to a box, and to what
// moved its binding. Red when a link leads elsewhere, or what is folded cannot be opened.
func TestAPersonLooksAtTheFleetWithoutScript(t *testing.T) {
	home := t.TempDir()
	fleetAt(t, home)
	d := StartAt(t, home)
	tab := Open(t, 390, 844)
	tab.Script(false)
	tab.Open(d.SignIn)
	tab.Follow(`.rooms a:nth-child(3)`)
	if text := tab.Text(); !strings.Contains(text, "quarantined") || !strings.Contains(text, "given up for lost") {
		t.Fatal(text)
	}
	tab.Click("#retired summary")
	tab.Until(`document.querySelector("#retired").open`)
	tab.Follow(linkTo(d, "fleet", "walls"))
	if text := tab.Text(); !strings.Contains(text, "What its binding is made of") || !strings.Contains(text, "changed last") {
		t.Fatal(text)
	}
	tab.Follow(`#moved ~ p a`)
	if tab.Path() != d.path("fleet", "log") || !strings.Contains(tab.Text(), "The whole log") {
		t.Errorf("%s: %s", tab.Path(), tab.Text())
	}
}

// TestTheFleetsPagesChangeByThemselves: nobody reloads, and what is not believed any more
// is not left standing as if it were. Red when fleeting does not look at the roster, or
// page.js says nothing of a page that cannot be read.
func TestTheFleetsPagesChangeByThemselves(t *testing.T) { // case F05
	home := t.TempDir()
	c := consoleOf(t, home)
	ask(t, c, enrollment.Invitation{Box: "walls"}, 1)
	d := StartAt(t, home)
	tab := signedIn(t, d)
	tab.Open(d.URL + "fleet")
	Eval[bool](tab, `window.same = true`)
	holdfast(t, home, "fleet", "quarantine", "walls", "--yes")
	tab.Until(`!!document.querySelector(".state.quarantined")`)
	forward := rollBack(t, home)
	tab.Until(`!!document.querySelector(".unread")`)
	forward()
	tab.Until(`!document.querySelector(".unread")`)
	if !Eval[bool](tab, `window.same`) {
		t.Error("the page was loaded anew")
	}
}
