package sweep

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"holdfast/internal/booth/folder"
	"holdfast/internal/booth/ledger"
	"holdfast/internal/problem"
)

// Red when nominateLocked gives a booth that it has just nominated as a
// candidate, or Tick/2 is not asked for.
func TestNothingIsSweptTheFirstTimeItIsSeenExpired(t *testing.T) {
	h := newHome(t)
	h.booth("a")
	h.swept(h.tick())
	h.clock.pass(day + time.Minute)
	r := h.tick()
	h.swept(r)
	h.spared(r, Spared{"a", whyFirst})
	h.clock.pass(tick/2 - time.Second)
	r = h.tick()
	h.swept(r)
	h.spared(r, Spared{"a", whyLately})
	h.clock.pass(time.Second)
	r = h.tick()
	h.swept(r, "a")
	h.spared(r)
	h.there()
	if got := h.only(); got.Name.String() != "a" || got.By != "" || got.Bytes != 1 || got.Rule == "" {
		t.Errorf("%+v", got)
	}
}

// case B16: rsync -a, cp -a, tar x and mv keep every mtime, and mv the birth
// times too, so everything in the folder is three days old when it comes. Red
// when arriveLocked records nothing, or mayBeStale and Decide drop the arrival.
func TestAFolderThatComesOldCountsFromItsArrival(t *testing.T) {
	brought := map[string]func(t *testing.T, old, to string){
		"mv":    func(t *testing.T, old, to string) { check(t, os.Rename(old, to)) },
		"cp -a": run("cp", "-a"),
		"tar x": func(t *testing.T, old, to string) {
			check(t, os.Mkdir(to, 0o755))
			run("sh", "-c", `tar -C "$0" -cp . | tar -C "$1" -xp`)(t, old, to)
		},
	}
	for how, bring := range brought {
		t.Run(how, func(t *testing.T) {
			h := newHome(t)
			old := scratch(t) + "/old"
			check(t, os.MkdirAll(old+"/sub", 0o755))
			check(t, os.WriteFile(old+"/sub/f", []byte("f"), 0o644))
			for _, p := range []string{old + "/sub/f", old + "/sub", old} {
				then := h.clock.Now().Add(-3 * day)
				check(t, os.Chtimes(p, then, then))
			}
			h.tick()
			h.clock.pass(3 * day) // as old are the births
			bring(t, old, h.path+"/x")
			for i := 0; i < int(day/tick); i++ {
				r := h.tick()
				h.swept(r)
				h.spared(r)
				h.clock.pass(tick)
			}
			h.swept(h.tick())
			h.clock.pass(tick)
			h.tick()
			h.clock.pass(tick)
			h.swept(h.tick(), "x")
		})
	}
}

func run(name string, args ...string) func(t *testing.T, old, to string) {
	return func(t *testing.T, old, to string) {
		t.Helper()
		if out, err := exec.CommandContext(t.Context(), name, append(args, old, to)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
}

// case B17: a stamp in the future is one of now for as long as it lies ahead, and
// one of 1970 is none. Red when stale or the survey take a stamp as it stands the
// wrong way round (a future one then is swept early; as its own time plus TTL it
// would live for as long as it says).
func TestStampsOfOtherCenturies(t *testing.T) {
	h := newHome(t)
	ahead := h.clock.Now().Add(1000 * time.Hour)
	check(t, os.Chtimes(h.booth("future")+"/f", ahead, ahead))
	check(t, os.Chtimes(h.booth("past")+"/f", time.Unix(0, 0), time.Unix(0, 0)))
	h.swept(h.tick())
	h.expire()
	h.swept(h.tick(), "past")
	h.clock.pass(900 * time.Hour)
	h.swept(h.tick())
	h.clock.pass(tick)
	h.swept(h.tick())
	h.there("future")
	h.clock.pass(100*time.Hour + day)
	h.tick()
	h.clock.pass(tick)
	h.swept(h.tick(), "future")
}

// A clock that is three days off for one tick, and back. Red when continuesLocked
// does not compare wall with monotonic time.
func TestAClockThatJumpsStartsTheCountAgain(t *testing.T) {
	h := newHome(t)
	h.booth("a")
	h.tick()
	for _, off := range []time.Duration{3 * day, -3 * day} {
		h.clock.pass(tick)
		h.clock.jump(off)
		h.swept(h.tick())
	}
	h.clock.pass(tick)
	h.swept(h.tick())
	h.there("a")
	// Off while something was nominated in earnest: it starts again.
	h.expire()
	h.clock.jump(tick + time.Second)
	h.swept(h.tick())
	h.clock.pass(tick)
	h.swept(h.tick(), "a")
}

// Red when continuesLocked does not compare the boot: monotonic time begins
// again, and a nomination of before says nothing.
func TestAStartOfTheMachineStartsTheCountAgain(t *testing.T) {
	h := newHome(t)
	h.booth("a")
	h.expire()
	h.clock.boot = "another" // as long ago as the last one was
	h.reopen()
	h.swept(h.tick())
	h.clock.pass(tick)
	h.swept(h.tick(), "a")
}

// Red when Open does not read ticks.json, or Tick writes it after it condemned
// only: a restart of the process in one boot loses nothing.
func TestANominationOutlastsTheProcess(t *testing.T) {
	h := newHome(t)
	h.booth("a")
	h.expire()
	h.reopen()
	h.swept(h.tick(), "a")
}

// Red when a damaged ticks.json is taken for the nominations it held, or keeps the
// sweeper from opening.
func TestADamagedRecordOfTicksStartsTheCountAgain(t *testing.T) {
	for _, bytes := range []string{"", "{", `{"schema":"holdfast.ticks/v2"}`} {
		h := newHome(t)
		h.booth("a")
		h.expire()
		h.close()
		check(t, os.WriteFile(h.desk+"/ticks.json", []byte(bytes), 0o600))
		h.open()
		h.swept(h.tick())
		if !strings.Contains(h.log.String(), "the count starts again") {
			t.Errorf("%q: the log has %s", bytes, h.log)
		}
		h.clock.pass(tick)
		h.swept(h.tick(), "a")
	}
}

// Red when the arrivals are kept in memory only: after the restart the booth is
// new, and lives for another day.
func TestArrivalsOutlastTheProcess(t *testing.T) {
	h := newHome(t)
	h.booth("a")
	h.tick()
	before, err := h.ledger.Records().Seen()
	check(t, err)
	h.clock.pass(time.Hour)
	h.hold() // and with it a ledger that has read nothing yet
	h.reopen()
	h.tick()
	after, err := h.ledger.Records().Seen()
	check(t, err)
	if len(after) != 1 {
		t.Fatalf("%v", after)
	}
	for key, at := range before {
		if !after[key].Equal(at) {
			t.Errorf("%s: %v, was %v", key, after[key], at)
		}
	}
}

// Red when arriveLocked writes over what it could not read, or nominateLocked
// takes an arrival that is not known for an old one.
func TestADamagedRecordOfArrivalsHoldsEverything(t *testing.T) {
	h := newHome(t)
	h.booth("a")
	h.booth("b")
	h.expire()
	damage := []byte(`{"schema":"holdfast.seen/v1","seen":{`)
	check(t, os.WriteFile(h.desk+"/seen.json", damage, 0o600))
	r := h.tick()
	h.swept(r)
	h.spared(r, Spared{"a", "held · arrival unknown"}, Spared{"b", "held · arrival unknown"})
	h.booth("c")
	check(t, h.s.Arrive(context.Background()))
	if got, err := os.ReadFile(h.desk + "/seen.json"); err != nil || string(got) != string(damage) {
		t.Errorf("%q, %v", got, err)
	}
}

// A booth that is gone when a tick comes by is forgotten: its inode number can be
// another one's at once. Red when arriveLocked keeps what it did not find.
func TestAnArrivalThatIsNotFoundIsForgotten(t *testing.T) {
	h := newHome(t)
	dir := h.booth("a")
	h.tick()
	check(t, os.Rename(dir, h.desk+"/out"))
	h.tick()
	if seen, err := h.ledger.Records().Seen(); err != nil || len(seen) != 0 {
		t.Errorf("%v, %v", seen, err)
	}
}

// Moved out and back between two ticks it is the same booth under the same name;
// under another name it came just now. Red when Key leaves out the name or the
// folder.
func TestMovedOutAndBackBetweenTicks(t *testing.T) {
	h := newHome(t)
	dir := h.booth("a")
	other := h.booth("b")
	h.expire()
	check(t, os.Rename(dir, h.desk+"/out"))
	check(t, os.Rename(h.desk+"/out", dir))
	check(t, os.Rename(other, h.desk+"/out"))
	check(t, os.Rename(h.desk+"/out", h.path+"/c"))
	h.swept(h.tick(), "a")
	h.clock.pass(tick)
	h.swept(h.tick())
	h.there("c")
}

// Red when a walk's answer does not take the nomination back.
func TestABoothThatIsTouchedLosesItsNomination(t *testing.T) {
	h := newHome(t)
	dir := h.booth("a")
	h.expire()
	h.touch(dir + "/f")
	r := h.tick()
	h.swept(r)
	h.spared(r, Spared{"a", whyTouched})
	h.clock.pass(day + time.Minute)
	h.swept(h.tick())
	h.clock.pass(tick)
	h.swept(h.tick(), "a")
}

// Arrive records, and forgets nothing. Red when it passes forget, or records
// nothing.
func TestArriveRecordsBetweenTicks(t *testing.T) {
	h := newHome(t)
	h.booth("a")
	check(t, h.s.Arrive(context.Background()))
	came := h.clock.Now()
	h.clock.pass(time.Hour)
	check(t, os.Rename(h.path+"/a", h.desk+"/out"))
	h.booth("b")
	check(t, h.s.Arrive(context.Background()))
	check(t, os.Rename(h.desk+"/out", h.path+"/a"))
	seen, err := h.ledger.Records().Seen()
	check(t, err)
	b, err := h.data.Booth(boothName(t, "a"))
	check(t, err)
	defer b.Close()
	if at := seen[ledger.Key(b.Name(), b.ID())]; len(seen) != 2 || !at.Equal(came) {
		t.Errorf("%v, want two and %v", seen, came)
	}
}

// The operator's sweep takes what a tick nominated, and nominates nothing that a
// later one would take. Red when Sweep keeps what it nominated.
func TestASweepTakesOnlyWhatATickNominated(t *testing.T) {
	h := newHome(t)
	h.booth("a")
	h.tick()
	h.clock.pass(day + time.Minute)
	for range 3 {
		r, err := h.s.Sweep(context.Background(), false)
		check(t, err)
		h.swept(r)
		h.spared(r, Spared{"a", whyFirst})
		h.clock.pass(tick)
	}
	h.tick()
	h.clock.pass(tick)
	r, err := h.s.Sweep(context.Background(), false)
	check(t, err)
	h.swept(r, "a")
	h.there()
}

// Red when rehearseLocked moves, or writes, anything, or does not ask who is at
// work.
func TestADrySweepChangesNothing(t *testing.T) {
	h := newHome(t)
	h.booth("a")
	h.booth("held")
	h.write("held/.marks.json", openPick)
	lockPath(t, h.booth("busy"))
	h.expire()
	h.booth("new")
	before := h.everything()
	r, err := h.s.Sweep(context.Background(), true)
	check(t, err)
	h.swept(r, "a")
	h.spared(r, Spared{"busy", "held · in use"}, Spared{"held", "held until answered"})
	if after := h.everything(); after != before {
		t.Errorf("was\n%s\nis\n%s", before, after)
	}
}

// everything is each file of data folder and desk, with its time and size.
func (h *home) everything() string {
	h.t.Helper()
	out, err := exec.CommandContext(h.t.Context(), "find", h.path, h.desk, "-printf", "%p %T@ %s %i\n").Output()
	check(h.t, err)
	return string(out)
}

// Red when Report's lists begin as nil.
func TestAnEmptyReportHasListsInJSON(t *testing.T) {
	h := newHome(t)
	got, err := json.Marshal(h.tick())
	if err != nil || string(got) != `{"swept":[],"spared":[]}` {
		t.Errorf("%s, %v", got, err)
	}
}

// JSON holds Unicode only, and says what ls says; who gets the report has the exact
// name. Red when MarshalJSON is not there (each byte is one U+FFFD then), or Swept
// is what JSON says.
func TestAReportInJSONIsUnicode(t *testing.T) {
	r := Report{Swept: []string{"a\xff\xfe<"}, Spared: []Spared{{"\xff\xfeb", "held · cannot be read: \xff\xfe"}}}
	var got strings.Builder
	enc := json.NewEncoder(&got)
	enc.SetEscapeHTML(false)
	check(t, enc.Encode(r))
	want := `{"swept":["a�<"],"spared":[{"name":"�b","why":"held · cannot be read: �"}]}` + "\n"
	if got.String() != strings.ReplaceAll(want, `\uFFFD`, "\uFFFD") {
		t.Errorf("%s, want %s", got.String(), want)
	}
	h := newHome(t)
	h.booth("\xff\xfe")
	h.expire()
	h.swept(h.tick(), "\xff\xfe")
}

// Who waited for an answer in a booth that is gone did not wait in the next one of
// its name. Red when a tick does not forget, or Sweep or Arrive forget too.
func TestATickForgetsWhoWaitedInWhatIsGone(t *testing.T) {
	h := newHome(t)
	a, b := boothName(t, "a"), boothName(t, "b")
	h.booth("a")
	h.booth("b")
	for _, n := range []folder.Name{a, b} {
		check(t, h.ledger.Waiting(n, []string{"p"}, h.clock.Now()))
	}
	h.tick()
	_, err := h.remove("a")
	check(t, err)
	check(t, h.s.Arrive(context.Background()))
	_, err = h.s.Sweep(context.Background(), false)
	check(t, err)
	if len(h.ledger.Asked(a)) != 1 || len(h.ledger.Asked(b)) != 1 {
		t.Errorf("%v, %v", h.ledger.Asked(a), h.ledger.Asked(b))
	}
	h.tick()
	if len(h.ledger.Asked(a)) != 0 || len(h.ledger.Asked(b)) != 1 {
		t.Errorf("%v, %v", h.ledger.Asked(a), h.ledger.Asked(b))
	}
}

// A name of 255 bytes is as good as another. Red when the names of what lies aside
// have the booth's in them.
func TestTheLongestNameIsSwept(t *testing.T) {
	h := newHome(t)
	odd := "\xff #?%\n" + strings.Repeat("x", 249)
	h.booth(odd)
	h.expire()
	h.swept(h.tick(), odd)
	h.reopen()
	name, err := h.s.Restore(context.Background(), h.only().ID)
	if err != nil || name.String() != odd {
		t.Errorf("%q, %v", name, err)
	}
	h.there(odd)
}

// Red when taken does not read the holder, or Open does not lock.
func TestASecondSweeperIsToldWhoHasIt(t *testing.T) {
	h := newHome(t)
	second := h.config()
	second.Holder = "the second"
	_, err := Open(context.Background(), second)
	publicly(t, err, problem.Refused, "sweeper", "the test")
	publicly(t, err, problem.Refused, "sweeper", "process ")
	h.reopen() // which Close makes possible
}

// The system's clock is one that goes forward in a boot that has a name.
func TestTheSystemsClock(t *testing.T) {
	c := SystemClock()
	if a, b := c.Monotonic(), c.Monotonic(); a <= 0 || b < a || c.Boot() == "" || c.Now().IsZero() {
		t.Errorf("%v %v %q %v", a, b, c.Boot(), c.Now())
	}
}

// A name whose folder is a link, or was never a booth, is none of ours. Red when
// Glances lists what Names does not.
func TestWhatIsNoBoothIsNotSwept(t *testing.T) {
	h := newHome(t)
	outside := t.TempDir()
	check(t, os.WriteFile(outside+"/f", []byte("f"), 0o644))
	check(t, os.Symlink(outside, h.path+"/link"))
	h.write("file", "f")
	h.write(".hidden/f", "f")
	h.expire()
	h.swept(h.tick())
	h.clock.pass(100 * time.Hour)
	h.swept(h.tick())
	if !h.is("link") || !h.is("file") || !h.is(".hidden/f") {
		t.Error("something went")
	}
}

// Where the other tests are in memory, this is on the disk.
func TestOnTheDisk(t *testing.T) {
	h := prepare(t)
	h.path, h.desk = t.TempDir(), t.TempDir()
	h.hold()
	h.open()
	t.Cleanup(h.close)
	h.booth("a")
	h.write("a/d/g", "g")
	h.expire()
	h.swept(h.tick(), "a")
	h.clock.pass(49 * time.Hour)
	h.tick()
	if got := h.hidden(); len(got) != 0 {
		t.Errorf("%q is left", got)
	}
	h.reopen()
	h.tick()
}
