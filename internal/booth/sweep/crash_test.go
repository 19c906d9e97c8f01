package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/internal/durable"
	"holdfast/internal/problem"
)

// scenario is an act about the booth "a" that is cut off at each of its moments,
// in three ways: by an error, by a simulated crash, and by a real kill.
type scenario struct {
	trash   time.Duration // while it runs
	prepare func(h *home)
	// during is what somebody else does at a moment, before it fails.
	during func(h *home, m durable.Moment)
	run    func(h *home) error
	// cut is where a may be after the cut and a new start, end where after three
	// more ticks.
	cut, end []string
}

const gone = "gone" // and at the name, aside, in the trash: "name", "aside", "trash"

var scenarios = map[string]scenario{
	"sweep": {
		prepare: func(h *home) { h.booth("a"); h.expire() },
		run:     runTick, cut: []string{"name", "trash"}, end: []string{"trash"},
	},
	"sweep of what is touched aside": {
		prepare: func(h *home) { h.booth("a"); h.expire() },
		during:  func(h *home, m durable.Moment) { h.touchAside(m) },
		run:     runTick, cut: []string{"name"}, end: []string{"name", "trash"},
	},
	"sweep of what cannot go back": {
		prepare: func(h *home) { h.booth("a"); h.expire() },
		during: func(h *home, m durable.Moment) {
			if h.touchAside(m) {
				h.write("a/new", "new")
			}
		},
		run: runTick, cut: []string{"name", "aside"}, end: []string{"name", "aside", "trash"},
	},
	"sweep without a trash": {
		trash:   -1,
		prepare: func(h *home) { h.booth("a"); h.expire() },
		run:     runTick, cut: []string{"name", "trash", gone}, end: []string{gone},
	},
	"purge": {
		prepare: func(h *home) {
			h.booth("a")
			h.write("a/d/g", "g")
			h.expire()
			h.tick()
			h.clock.pass(49 * time.Hour)
			h.s.conf.TrashTTL = 1000 * time.Hour // so that this tick only counts
			h.tick()
		},
		run: runTick, cut: []string{"trash", gone}, end: []string{gone},
	},
	"return of what was touched in the trash": {
		prepare: func(h *home) {
			h.booth("a")
			h.expire()
			h.tick()
			h.touch(h.path + "/.trash-" + h.only().ID + "/f")
			h.clock.pass(tick)
		},
		run: runTick, cut: []string{"trash", "name"}, end: []string{"name"},
	},
	"remove": {
		prepare: func(h *home) { h.booth("a"); h.write("a/.forever", ""); h.tick() },
		run: func(h *home) error {
			_, err := h.remove("a")
			return err
		},
		cut: []string{"name", "trash"}, end: []string{"name", "trash"},
	},
	"restore": {
		prepare: func(h *home) {
			h.booth("a")
			_, err := h.remove("a")
			check(h.t, err)
		},
		run: func(h *home) error {
			_, err := h.s.Restore(context.Background(), h.only().ID)
			return err
		},
		cut: []string{"name", "trash"}, end: []string{"name", "trash"},
	},
}

func runTick(h *home) error {
	_, err := h.s.Tick(context.Background())
	return err
}

// touchAside touches a at the moment at which it lies aside.
func (h *home) touchAside(m durable.Moment) bool {
	if m != (durable.Moment{Step: stepAside, Done: true}) {
		return false
	}
	for _, p := range glob(h.path + "/.sweeping-*/f") {
		h.touch(p)
	}
	return true
}

func glob(pattern string) []string {
	found, _ := filepath.Glob(pattern)
	return found
}

// ready is a home in which sc can run, with its neighbours: one that is kept, and
// two with a name like ours that are not in the journal.
func ready(t testing.TB, sc scenario) *home {
	h := newHome(t)
	h.booth("kept")
	h.write("kept/.forever", "")
	h.write(strange, "strange")
	h.write(".sweeping-x/f", "strange")
	sc.prepare(h)
	if h.trash = 48 * time.Hour; sc.trash < 0 {
		h.trash = 0
	}
	h.close()
	return h
}

const strange = ".trash-00000000000000000000000000000000/f"

// fate is where a's file f is.
func (h *home) fate() string {
	h.t.Helper()
	var at []string
	for place, pattern := range map[string]string{"name": "/a/f", "aside": "/.sweeping-*/f", "trash": "/.trash-*/f"} {
		for _, p := range glob(h.path + pattern) {
			if data, err := os.ReadFile(p); err == nil && string(data) == "f" {
				at = append(at, place)
			}
		}
	}
	switch len(at) {
	case 0:
		return gone
	case 1:
		return at[0]
	}
	h.t.Fatalf("a is in several places: %v", at)
	return ""
}

// sound fails unless a is at one of these places, what lies about is what the
// sweeper says, and nothing else was touched.
func (h *home) sound(want []string) {
	h.t.Helper()
	fate := h.fate()
	if !slices.Contains(want, fate) {
		h.t.Errorf("a is at %q, want one of %q\n%s", fate, want, h.log)
	}
	known := []string{".sweeping-x", filepath.Dir(strange)}
	for _, e := range h.s.Trash() {
		known = append(known, ".trash-"+e.ID)
	}
	for _, e := range h.s.Aside() {
		known = append(known, ".sweeping-"+e.ID)
	}
	slices.Sort(known)
	if got := h.hidden(); !slices.Equal(got, known) {
		h.t.Errorf("there are %q, and the sweeper knows of %q\n%s", got, known, h.log)
	}
	if slices.Contains(h.events(), string(evLost)) {
		h.t.Errorf("something is said to be lost: %q", h.events())
	}
	for _, p := range []string{"kept/f", "kept/.forever", strange, ".sweeping-x/f"} {
		if !h.is(p) {
			h.t.Errorf("%s went", p)
		}
	}
}

// later lets three ticks pass.
func (h *home) later() {
	h.t.Helper()
	for range 3 {
		h.clock.pass(tick)
		h.tick()
	}
}

// moments are those that sc passes.
func moments(t *testing.T, sc scenario, also bool) []durable.Moment {
	t.Helper()
	h := ready(t, sc)
	var all []durable.Moment
	h.cutAt(sc, also, func(m durable.Moment) error { all = append(all, m); return nil })
	h.open()
	all = nil // of the opening
	check(t, sc.run(h))
	return all
}

// cutAt lets fail decide at each moment of the sweeper, and those of the desk's
// files too where also says so.
func (h *home) cutAt(sc scenario, also bool, fail durable.Faults) {
	h.faults = func(m durable.Moment) error {
		if sc.during != nil {
			sc.during(h, m)
		}
		return fail(m)
	}
	if also {
		h.dir.Faults = fail
	}
}

var errCut = errors.New("cut off")

// cut runs sc with its n-th moment failing, and those after it too if it is to be
// a crash.
func cut(t *testing.T, sc scenario, n int, crash bool) *home {
	t.Helper()
	h := ready(t, sc)
	seen := -1 << 30 // until it is open
	h.cutAt(sc, true, func(durable.Moment) error {
		seen++
		if seen-1 == n || crash && seen > n {
			return errCut
		}
		return nil
	})
	h.open()
	seen = 0
	_ = sc.run(h) // whatever it says
	h.faults, h.s.conf.Faults, h.dir.Faults = nil, nil, nil
	return h
}

// Whatever fails or dies at whatever moment: nothing is lost that should not be,
// nothing is touched that is not in the journal, and it comes to its end. Red
// when any line of the journal is written after its move, when resolveAsideLocked
// forgets a place, or when leftoversLocked is not called by Open (a crash) or by
// beginLocked (an error).
func TestEveryMomentCanFail(t *testing.T) {
	for name, sc := range scenarios {
		all := moments(t, sc, true)
		for i, m := range all {
			t.Run(fmt.Sprintf("%s/error %d %s %v", name, i, m.Step, m.Done), func(t *testing.T) {
				t.Parallel()
				h := cut(t, sc, i, false)
				h.later()
				h.sound(sc.end)
			})
			t.Run(fmt.Sprintf("%s/crash %d %s %v", name, i, m.Step, m.Done), func(t *testing.T) {
				t.Parallel()
				h := cut(t, sc, i, true)
				h.reopen()
				h.sound(sc.cut)
				h.later()
				h.sound(sc.end)
			})
		}
	}
}

// A test that needs another process starts this binary again.
const childVariable = "HOLDFAST_TEST_SWEEP"

// part is what the child is told.
type part struct {
	Scenario   string
	Moment     int
	Data, Desk string
	Now        time.Time
	Mono       time.Duration
	Trash      time.Duration
}

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) == "" {
		os.Exit(m.Run())
	}
	var p part
	if err := json.Unmarshal([]byte(os.Getenv(childVariable)), &p); err != nil {
		panic(err)
	}
	testing.Init()
	testing.Main(func(_, _ string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "child", F: p.play}}, nil, nil)
}

// play runs a scenario and kills this process at one of its moments.
func (p part) play(t *testing.T) {
	h := &home{
		t: t, path: p.Data, desk: p.Desk, ttl: day, trash: p.Trash, log: &strings.Builder{},
		clock: &clock{now: p.Now, mono: p.Mono, boot: "boot"},
	}
	h.hold()
	sc := scenarios[p.Scenario]
	n := -1 << 30
	h.cutAt(sc, false, func(durable.Moment) error {
		if n++; n-1 == p.Moment {
			_ = unix.Kill(os.Getpid(), unix.SIGKILL)
			select {} // until it arrives
		}
		return nil
	})
	h.open()
	n = 0
	check(t, sc.run(h))
}

// Nothing of the program runs after a SIGKILL: no defer, no clean-up.
func TestAKilledSweeperLosesNothing(t *testing.T) {
	self, err := os.Executable()
	check(t, err)
	for name, sc := range scenarios {
		for i, m := range moments(t, sc, false) {
			t.Run(fmt.Sprintf("%s/%d %s %v", name, i, m.Step, m.Done), func(t *testing.T) {
				t.Parallel()
				h := ready(t, sc)
				told, err := json.Marshal(part{name, i, h.path, h.desk, h.clock.now, h.clock.mono, h.trash})
				check(t, err)
				child := exec.CommandContext(t.Context(), self)
				child.Env = append(os.Environ(), childVariable+"="+string(told))
				out, err := child.CombinedOutput()
				var exit *exec.ExitError
				if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
					t.Fatalf("the child was not killed: %v\n%s", err, out)
				}
				h.open()
				h.sound(sc.cut)
				h.later()
				h.sound(sc.end)
			})
		}
	}
}

// Red when replay takes in what it does not know, or says not where it is.
func TestAJournalThatIsNotUnderstoodIsRefused(t *testing.T) {
	const id = "0123456789abcdef0123456789abcdef"
	whole := `{"at":"2026-01-02T03:04:05Z","booth":"a","by":"","bytes":0,"event":"aside","folder":"1 2 3","id":"` + id + `","rule":"r","seal":"s"}`
	lines := map[string]string{
		"an unknown event":     strings.Replace(whole, `"aside"`, `"flown"`, 1),
		"an end with no begin": `{"at":"2026-01-02T03:04:05Z","booth":"a","event":"purged","id":"` + id + `"}`,
		"no id":                strings.Replace(whole, id, strings.ToUpper(id), 1),
		"no name":              strings.Replace(whole, `"booth":"a"`, `"booth":".a"`, 1),
		"no escape":            strings.Replace(whole, `"booth":"a"`, `"booth":"%"`, 1),
		"no folder":            strings.Replace(whole, "1 2 3", "1 2", 1),
		"no seal":              strings.Replace(whole, `,"seal":"s"`, "", 1),
		"an unknown member":    strings.Replace(whole, `"by"`, `"bye":1,"by"`, 1),
		"no JSON":              "hello",
		"twice":                whole + "\n" + whole,
		"purging before trash": whole + "\n" + `{"at":"2026-01-02T03:04:05Z","booth":"a","event":"purging","id":"` + id + `"}`,
		"trash unmeasured":     whole + "\n" + `{"at":"2026-01-02T03:04:05Z","booth":"a","event":"trash","id":"` + id + `"}`,
		"unknown, known id":    whole + "\n" + `{"at":"2026-01-02T03:04:05Z","booth":"a","event":"flown","id":"` + id + `"}`,
	}
	for name, bad := range lines {
		t.Run(name, func(t *testing.T) {
			h := prepare(t)
			check(t, os.WriteFile(h.desk+"/"+journalFile, []byte(bad+"\n"), 0o600))
			_, err := Open(context.Background(), h.config())
			at := "line " + strconv.Itoa(1+strings.Count(bad, "\n"))
			publicly(t, err, problem.Failed, "journal", at)
			if got, err := os.ReadFile(h.desk + "/" + journalFile); err != nil || string(got) != bad+"\n" {
				t.Errorf("the journal was changed: %q, %v", got, err)
			}
			check(t, os.Remove(h.desk+"/"+journalFile))
			h.open() // the lock of the folder was let go
			h.close()
		})
	}
}

// An entry of which nothing is left anywhere is said to be lost, once.
func TestWhatSomebodyElseTookIsSaidToBeLost(t *testing.T) {
	h := newHome(t)
	h.booth("a")
	_, err := h.remove("a")
	check(t, err)
	check(t, os.Rename(h.path+"/.trash-"+h.only().ID, h.desk+"/out"))
	h.tick()
	h.tick()
	if got := h.events(); !slices.Equal(got, []string{"aside", "trash", "lost"}) || len(h.s.Trash()) != 0 {
		t.Errorf("%q, %v", got, h.s.Trash())
	}
}
