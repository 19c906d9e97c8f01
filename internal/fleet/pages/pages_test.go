package pages

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/internal/fleet"
	"holdfast/internal/fleet/enrollment"
)

// Red when: a row leaves out what a box is, or says its state by colour alone; or the
// floor, who asked or what is retired is left out.
func TestTheBoxesAreShownAsTheRosterHasThem(t *testing.T) {
	t.Parallel()
	s, c := begin(t)
	ctx := t.Context()
	wants(t, s.page("/desk/fleet"), `<a href="/desk/fleet" aria-current="true">Fleet</a>`, "No box is here yet", "holdfast fleet invite BOX", "0 boxes", "None is published.", "Nothing is held.")
	s.enroll(c, enrollment.Invitation{Box: "walls", Uses: 1, Role: "build", Group: "north", Label: "North walls"})
	for _, name := range []string{"log", "gone"} {
		s.enroll(c, enrollment.Invitation{Box: name, Uses: 1})
	}
	_, err1 := c.Quarantine(ctx, "log", "loss-1", fleet.Granted)
	_, err2 := c.Retire(ctx, "gone", fleet.Granted)
	check(t, err1, err2)
	page := s.page("/desk/fleet")
	list, err := c.Boxes(ctx)
	check(t, err)
	binding := func(name string) string {
		return list.Boxes[slices.IndexFunc(list.Boxes, func(b fleet.Box) bool { return b.BoxID == name })].Binding[:12]
	}
	wants(t, rowOf(t, page, "walls"), "North walls", "active", "home", "build", "north", binding("walls"), "never", "enrolled", "revision 2")
	wants(t, rowOf(t, page, "log"), "quarantined", "given up for lost", binding("log"), "state active → quarantined", "quarantine revision 0 → 1", "revision 5")
	wants(t, page, "2 boxes · 1 quarantined · 1 retired", `href="/desk/fleet/log/"><bdi>log</bdi>`, `<details id="retired">`, "Revision 6 of the roster", "by main", `data-topic="fleet"`, `href="/desk/fleet/log#r-5"`)
	_, err = c.PublishFloor(ctx, fleet.Floor{Publication: "spring", MinVersion: "v1.2.3", AllowedProofs: []string{"namespace", "weak"}}, fleet.Granted)
	check(t, err)
	wants(t, s.page("/desk/fleet"), "spring: at least holdfast v1.2.3; proofs of a stop that count: namespace, weak.")
	check(t, os.Remove(filepath.Join(s.home.Bucket, "control/floor/spring.json")))
	wants(t, s.page("/desk/fleet"), "The floor spring that the roster names is not in the store.", "2 boxes")
}

// Red when: a publication that is announced is shown as a floor, or as none.
func TestAFloorThatIsNotFixedIsSaidToStopWhatIsNew(t *testing.T) {
	t.Parallel()
	s, c := begin(t, "walls")
	check(t, os.MkdirAll(filepath.Join(s.home.Bucket, "control/floor"), 0o700))
	// The second write of a publication cannot be made where its version is in the way.
	name := fmt.Sprintf("%010d.", 4)
	_ = name
	_, err := c.PublishFloor(t.Context(), fleet.Floor{Publication: "spring", MinVersion: "v1.2.3", AllowedProofs: []string{"weak"}}, fleet.Granted)
	check(t, err)
	announced := read(t, s.logged("0000000003.*"))
	check(t, os.RemoveAll(filepath.Join(s.home.Console, "roster", "verified.json")), os.WriteFile(s.roster(), announced, 0o600))
	page := s.page("/desk/fleet")
	wants(t, page, "Nothing new starts: the publication floor spring is announced, and not fixed yet")
	wantsNot(t, page, "v1.2.3", "None is published.")
}

// case F05. Red when: a roster that nobody wrote for a day is refused, or shown as if it
// were new; or one of an hour ago is said to be old.
func TestARosterThatNobodyWroteIsSaidToBeOld(t *testing.T) {
	t.Parallel()
	s, c := begin(t, "walls")
	head, err := c.Head(t.Context())
	check(t, err)
	for _, address := range []string{"/desk/fleet", "/desk/fleet/walls", "/desk/fleet/log"} {
		s.now = head.WrittenAt.Add(24 * time.Hour)
		wantsNot(t, s.page(address), "Unchanged since")
		s.now = s.now.Add(time.Second)
		wants(t, s.page(address), "Unchanged since "+at(head.WrittenAt).Words+": if something should have been written since, the store may be serving an old copy.", "walls")
	}
}

// Red when: a home that is no console is an error, or does not say how to become one.
func TestAHomeThatIsNoConsoleSaysHowToBegin(t *testing.T) {
	t.Parallel()
	s := serve(t)
	page := s.page("/desk/fleet")
	wants(t, page, "This home is no console of a fleet", "holdfast fleet init")
	wantsNot(t, page, "This home is a box")
	for _, address := range []string{"/desk/fleet/x", "/desk/fleet/log", "/desk/api/v1/fleet", "/desk/api/v1/fleet/x", "/desk/api/v1/fleet/log"} {
		if res := s.get(address); res.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s", address, res.Status)
		}
	}
	_, c := begin(t)
	word, err := c.Invite(t.Context(), enrollment.Invitation{Box: "walls", Uses: 1}, time.Hour)
	check(t, err)
	home := s.home
	home.Bucket = ""
	_, err = fleet.Join(t.Context(), home, word.Token, nil)
	check(t, err)
	wants(t, s.page("/desk/fleet"), "This home is a box of one")
}

// case F05. Red when: a page shows what it knew before, answers 200, or has no words for
// what to do.
func TestWhatIsRefusedIsSaidAndNothingIsShownInItsPlace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(*site) error
		step  string
		words string
	}{
		"rollback": {func(s *site) error { return os.WriteFile(s.roster(), read(t, s.logged("0000000002.*")), 0o600) }, "roster-rollback", "restore-roster VERSION --above 3"},
		"gone":     {func(s *site) error { return os.Remove(s.roster()) }, "roster-rollback", "holdfast fleet log --candidates"},
		"no store": {func(s *site) error { return os.Rename(s.home.Bucket, s.home.Bucket+".away") }, "store", "mount it"},
		"unreadable": {func(s *site) error {
			return os.WriteFile(s.roster(), []byte("{"), 0o600)
		}, "envelope-format", "holdfast doctor"},
		"no file":        {func(s *site) error { return os.Remove(s.roster() + "") }, "roster-rollback", "holdfast fleet log --candidates"},
		"damaged memory": {func(s *site) error { return os.WriteFile(filepath.Join(s.home.Console, "roster", "verified.json"), []byte("{"), 0o600) }, "memory-damaged", "put back a copy"},
		"damaged place":  {func(s *site) error { return os.WriteFile(filepath.Join(s.home.Console, "fleet.json"), []byte("{"), 0o600) }, "fleet-damaged", "put back a copy"},
		"no key":         {func(s *site) error { return os.Remove(filepath.Join(s.home.Console, "console.key")) }, "console-key", "put back a copy"},
	} {
		t.Run(name, func(t *testing.T) {
			s, console := begin(t, "walls")
			_, err := console.SetLabel(t.Context(), "walls", "North walls")
			check(t, err)
			for _, address := range []string{"/desk/fleet", "/desk/fleet/walls", "/desk/fleet/log"} {
				s.page(address)
			}
			check(t, c.spoil(s))
			for _, address := range []string{"/desk/fleet", "/desk/fleet/walls", "/desk/fleet/log"} {
				res := s.get(address)
				if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
					t.Errorf("%s: %s", address, res.Status)
				}
				wants(t, res.body, c.step, c.words, "What to do:", "What was read before is not shown")
				wantsNot(t, res.body, "North walls", "Unchanged since")
				api := s.get(strings.Replace(address, "/desk/", "/desk/api/v1/", 1))
				if api.StatusCode != http.StatusServiceUnavailable || !strings.Contains(api.body, c.step) {
					t.Errorf("%s as JSON: %s %s", address, api.Status, api.body)
				}
			}
		})
	}
}
