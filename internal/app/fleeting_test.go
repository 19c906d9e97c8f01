package app

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/internal/fleet"
)

// Red when: a house must be started again to see that its home became a console.
func TestAHomeMayBecomeAConsoleWhileItIsServed(t *testing.T) {
	h, site := newTestHouse(t, nil)
	if w := ask(site, "/fleet"); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "holdfast fleet init") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if _, err := InitFleet(t.Context(), h.config, ""); err != nil {
		t.Fatal(err)
	}
	if w := ask(site, "/fleet"); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "No box is here yet") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// Red when: lookAtFleet asks although nobody listens, publishes what did not move, or
// keeps from open pages that the roster is not believed any more.
func TestTheRosterIsLookedAtWhileSomebodyListens(t *testing.T) {
	h, _ := newTestHouse(t, nil)
	if _, err := InitFleet(t.Context(), h.config, ""); err != nil {
		t.Fatal(err)
	}
	before := h.events.Current()
	if got := h.lookAtFleet(t.Context(), "x"); got != "x" || h.events.Current() != before {
		t.Errorf("looked at for nobody: %s", got)
	}
	listening, stop := listen(h)
	defer stop()
	<-listening
	told := func(last string, moved bool) string {
		t.Helper()
		before := h.events.Current()
		is := h.lookAtFleet(t.Context(), last)
		if (h.events.Current() != before) != moved {
			t.Errorf("%q after %q: told %v", is, last, !moved)
		}
		return is
	}
	last := told(told("", true), false)
	console, err := fleet.OpenConsole(FleetHome(h.config))
	if err != nil {
		t.Fatal(err)
	}
	defer console.Close()
	if _, err := console.ConfigureRegion(t.Context(), "south", "", time.Minute, fleet.Ask); err != nil {
		t.Fatal(err)
	}
	last = told(told(last, true), false)
	if err := os.Remove(filepath.Join(h.config.Bucket(), "control/roster.json")); err != nil {
		t.Fatal(err)
	}
	if last = told(told(last, true), false); !strings.Contains(last, "roster-rollback") {
		t.Error(last)
	}
}
