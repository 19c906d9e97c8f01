package pages

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/fleet"
	"holdfast/internal/fleet/enrollment"
	"holdfast/internal/problem"
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
	_, err := c.PublishFloor(t.Context(), fleet.Floor{Publication: "spring", MinVersion: "v1.2.3", AllowedProofs: []string{"weak"}}, fleet.Granted)
	check(t, err)
	announced := read(t, s.logged("0000000003.*"))
	// As it is between the two writes, which nobody remembers to have seen go on.
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
		"damaged memory": {func(s *site) error {
			return os.WriteFile(filepath.Join(s.home.Console, "roster", "verified.json"), []byte("{"), 0o600)
		}, "memory-damaged", "put back a copy"},
		"damaged place": {func(s *site) error {
			return os.WriteFile(filepath.Join(s.home.Console, "fleet.json"), []byte("{"), 0o600)
		}, "fleet-damaged", "put back a copy"},
		"no key": {func(s *site) error { return os.Remove(filepath.Join(s.home.Console, "console.key")) }, "console-key", "put back a copy"},
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

// Red when: a fact that the last step changed is not marked, one that it did not is, or
// what came after is counted wrong.
func TestABoxShowsWhatItsBindingIsMadeOf(t *testing.T) {
	t.Parallel()
	s, c := begin(t, "walls", "log")
	ctx := t.Context()
	page := s.page("/desk/fleet/walls")
	wants(t, page, "The box was enrolled.", "revision 2", "It takes new work.", "request limit 30s", "No instance was last run here.", "never given up", "The roster was written once since, and that did not move it.")
	wantsNot(t, page, "changed last")
	wants(t, s.page("/desk/fleet/log/"), "The box was enrolled.", "revision 3", "Nothing was written since.", `data-here="/desk/fleet/log/"`)
	_, err := c.Quarantine(ctx, "walls", "loss-7", fleet.Granted)
	check(t, err)
	for _, label := range []string{"one", "two"} {
		_, err := c.SetLabel(ctx, "walls", label)
		check(t, err)
	}
	shown, err := c.Show(ctx, "walls")
	check(t, err)
	page = s.page("/desk/fleet/walls")
	wants(t, page, "It takes nothing new", "state active → quarantined changed last", "quarantine revision 0 → 1 changed last", "by console main", "loss-7", shown.Binding, shown.Enrollment, shown.Invitation,
		"The roster was written 2 times since, and none of that moved it.", "Quarantine revision 1", "two")
	if got := strings.Count(page, "changed last"); got != 2 {
		t.Errorf("%d facts are marked", got)
	}
	_, err = c.Retire(ctx, "walls", fleet.Granted)
	check(t, err)
	s.enroll(c, enrollment.Invitation{Box: "walls", Uses: 1})
	wants(t, s.page("/desk/fleet"), `href="/desk/fleet/`+shown.Enrollment+`"`, `href="/desk/fleet/walls"`)
	wants(t, s.page("/desk/fleet/"+shown.Enrollment), "retired", "for good", "loss-7")
	wants(t, s.page("/desk/fleet/walls"), "It takes new work.")
	for _, address := range []string{"/desk/fleet/none", "/desk/fleet/log%2f", "/desk/api/v1/fleet/none"} {
		if res := s.get(address); res.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s", address, res.Status)
		}
	}
}

// Red when: a version is left out, a limit is not kept, or a log that is broken is
// refused whole or shown as if it were whole.
func TestTheLogSaysWhatEachVersionChanged(t *testing.T) {
	t.Parallel()
	s, c := begin(t, "walls")
	_, err := c.Quarantine(t.Context(), "walls", "", fleet.Granted)
	check(t, err)
	page := s.page("/desk/fleet/log")
	wants(t, page, "The whole log, 3 versions, back to the first", `id="r-3"`, `id="r-1"`, "box walls quarantined", "Bindings that moved:", "new:", "by main")
	if strings.Index(page, `id="r-3"`) > strings.Index(page, `id="r-1"`) || strings.Contains(page, "Show more") {
		t.Error("it is not the newest first, or not whole")
	}
	page = s.page("/desk/fleet/log?limit=2")
	wants(t, page, "Revisions 3 to 2, the newest first", `href="/desk/fleet/log?limit=102">Show more`)
	if strings.Contains(page, `id="r-1"`) {
		t.Error("more than the limit")
	}
	for _, limit := range []string{"0", "-1", "x", "1001"} {
		for _, at := range []string{"", "/api/v1"} {
			if res := s.get("/desk" + at + "/fleet/log?limit=" + limit); res.StatusCode != http.StatusBadRequest {
				t.Errorf("%s: %s", limit, res.Status)
			}
		}
	}
	check(t, os.Remove(s.logged("0000000001.*")))
	page = s.page("/desk/fleet/log")
	wants(t, page, "The log ends before its beginning", "The roster's log is broken", "What is below was read before that, and is good.", `id="r-3"`)
	wantsNot(t, page, "The whole log")
	if res := s.get("/desk/api/v1/fleet/log"); res.StatusCode != http.StatusServiceUnavailable || !strings.Contains(res.body, "roster-log") {
		t.Errorf("%s %s", res.Status, res.body)
	}
	wantsNot(t, s.page("/desk/fleet"), "The log cannot be read to its end") // nothing so old is asked for
	check(t, os.Remove(s.logged("0000000002.*")))
	_, err = c.SetLabel(t.Context(), "walls", "x")
	check(t, err)
	wants(t, rowOf(t, s.page("/desk/fleet"), "walls"), "quarantine revision 0 → 1") // known before
	s = serveAt(t, s.home)
	page = s.page("/desk/fleet")
	wants(t, page, "The log cannot be read to its end")
	wants(t, rowOf(t, page, "walls"), "not known: the log cannot be read so far")
	wants(t, s.page("/desk/fleet/walls"), "The log cannot be read to its end", "Not known: the log cannot be read so far.", "request limit 30s")
}

// Red when: a document is another than that of the command.
func TestTheDocumentsAreThoseOfTheCommands(t *testing.T) {
	t.Parallel()
	s, c := begin(t, "walls", "log")
	var boxes fleet.Boxes
	s.json("/desk/api/v1/fleet", &boxes)
	want, err := c.Boxes(t.Context())
	check(t, err)
	if diff := cmp.Diff(want, boxes); diff != "" {
		t.Error(diff)
	}
	for _, address := range []string{"/desk/api/v1/fleet/walls", "/desk/api/v1/fleet/log/"} {
		var box fleet.Shown
		s.json(address, &box)
		if box.Binding == "" || box.Moved == nil || len(box.Facts) == 0 || !strings.Contains(address, box.BoxID) {
			t.Errorf("%s: %+v", address, box)
		}
	}
	var log versions
	s.json("/desk/api/v1/fleet/log", &log)
	if len(log.Versions) != 3 || !log.Verified || log.Versions[0].Revision != 3 {
		t.Errorf("%+v", log)
	}
	s.json("/desk/api/v1/fleet/log?limit=1", &log)
	if len(log.Versions) != 1 || log.Verified {
		t.Errorf("%+v", log)
	}
}

// Red when: who asked to come in is not shown, or a refusal is without its words.
func TestWhoAskedToComeInIsShown(t *testing.T) {
	t.Parallel()
	s, c := begin(t)
	ctx := t.Context()
	word, err := c.Invite(ctx, enrollment.Invitation{Box: "walls", Uses: 1}, time.Hour)
	check(t, err)
	ask := func() {
		_, err := fleet.Join(ctx, homeIn(t.TempDir()), word.Token, nil)
		check(t, err)
	}
	ask()
	wants(t, s.page("/desk/fleet"), "Asking to come in", "walls", "A console answers while holdfast up runs in its home.")
	_, err = c.Admit(ctx)
	check(t, err)
	ask()
	_, err = c.Admit(ctx)
	check(t, err)
	page := s.page("/desk/fleet")
	wants(t, page, "Asked to come in, and may not", "that many came in by it")
	wantsNot(t, page, "Asking to come in")
}

// Red when: rows has no bound, a page is lost, or a version that no list reaches is
// linked to.
func TestALongListIsShownInPages(t *testing.T) {
	t.Parallel()
	p := &Pages{Config: Config{}}
	all := make([]row, 450)
	for query, want := range map[string][2]int{"": {0, 200}, "?page=2": {200, 400}, "?page=3": {400, 450}, "?page=99": {400, 450}} {
		for i := range all {
			all[i].Name = strconv.Itoa(i)
		}
		rows, pager, err := p.turn(httptest.NewRequest(http.MethodGet, "/fleet"+query, nil), all)
		if err != nil || len(rows) != want[1]-want[0] || rows[0].Name != strconv.Itoa(want[0]) || !pager.Needed || (pager.Next == "") != (want[1] == 450) || (pager.Previous == "") != (want[0] == 0) {
			t.Errorf("%s: %d rows, %+v, %v", query, len(rows), pager, err)
		}
	}
	for _, query := range []string{"?page=0", "?page=x"} {
		if _, _, err := p.turn(httptest.NewRequest(http.MethodGet, "/fleet"+query, nil), all); problem.KindOf(err) != problem.Usage {
			t.Error(err)
		}
	}
	for back, want := range map[uint64]string{100: "/fleet/log#r-1", 101: "/fleet/log?limit=101#r-1", 1000: "/fleet/log?limit=1000#r-1", 1001: ""} {
		if got := p.versionURL(1, back); got != want {
			t.Errorf("%d back: %q", back, got)
		}
	}
}
