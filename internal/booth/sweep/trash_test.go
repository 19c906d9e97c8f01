package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/internal/durable"
	"holdfast/internal/problem"
)

// case B18: a writer that has a file open across the rename and writes after it.
// Red when changed does not compare seals, or tendTrashLocked looks only at what
// is due.
func TestAWriterAcrossTheRenameGetsTheBoothBack(t *testing.T) {
	h := newHome(t)
	dir := h.booth("a")
	h.booth("b")
	h.expire()
	f, err := os.OpenFile(dir+"/f", os.O_WRONLY|os.O_APPEND, 0)
	check(t, err)
	defer f.Close()
	h.swept(h.tick(), "a", "b")
	_, err = f.WriteString("late")
	check(t, err)
	h.clock.pass(tick)
	h.tick()
	h.there("a")
	if data, err := os.ReadFile(dir + "/f"); err != nil || string(data) != "flate" {
		t.Errorf("%q, %v", data, err)
	}
	if !h.inTrash("b") || h.inTrash("a") {
		t.Errorf("%+v", h.s.Trash())
	}
	h.clock.pass(day - tick) // it counts from its return
	h.tick()
	h.clock.pass(tick)
	h.tick()
	h.there("a")
}

// The same, when the write comes after the first look and before the purge. Red
// when tendLocked goes by what it saw before.
func TestAWriteBeforeThePurgeBringsTheBoothBack(t *testing.T) {
	h := newHome(t)
	h.booth("a")
	h.expire()
	h.tick()
	h.clock.pass(tick)
	h.tick()
	h.clock.pass(49 * time.Hour)
	check(t, os.WriteFile(h.path+"/.trash-"+h.only().ID+"/late", nil, 0o644))
	h.tick()
	h.there("a")
	if !h.is("a/late") {
		t.Error("what was written is not there")
	}
}

// Red when service time counts while nobody is at work, or trash_ttl is not asked.
func TestTheTrashIsKeptForAsLongAsASweeperWasAtWork(t *testing.T) {
	h := newHome(t)
	h.booth("a")
	h.expire()
	h.tick()
	if left := h.only().Purge; left != 48*time.Hour {
		t.Errorf("%v left", left)
	}
	h.clock.pass(47 * time.Hour)
	h.tick()
	if left := h.only().Purge; left != time.Hour {
		t.Errorf("%v left", left)
	}
	h.close()
	h.clock.pass(100 * time.Hour) // nobody at work
	h.open()
	if left := h.only().Purge; left != time.Hour {
		t.Errorf("%v left after a pause", left)
	}
	h.clock.reboot()
	h.reopen()
	h.clock.pass(59 * time.Minute)
	h.tick()
	if left := h.only().Purge; left != time.Minute {
		t.Errorf("%v left after a start of the machine", left)
	}
	h.clock.pass(time.Minute)
	h.tick()
	if len(h.s.Trash()) != 0 || len(h.hidden()) != 0 {
		t.Errorf("%v, %v", h.s.Trash(), h.hidden())
	}
	if got := h.events(); !slices.Equal(got, []string{"aside", "trash", "purging", "purged"}) {
		t.Errorf("%q", got)
	}
}

// Red when purgeAtOnceLocked waits for a tick.
func TestWithoutATrashTimeItIsGoneAtOnce(t *testing.T) {
	h := prepare(t)
	h.trash = 0
	h.open()
	t.Cleanup(h.close)
	h.booth("a")
	h.booth("b")
	h.expire()
	_, err := h.remove("b")
	check(t, err)
	if got := h.hidden(); len(got) != 0 || h.is("b") {
		t.Errorf("%v", got)
	}
	h.swept(h.tick(), "a")
	if got := h.hidden(); len(got) != 0 || h.is("a") {
		t.Errorf("%v", got)
	}
}

// The booth is gone from its name, and what is left of it is said. Red when Remove
// makes an error of what only the deletion came to.
func TestARemovalThatIsNotDeletedHasTrouble(t *testing.T) {
	for _, c := range []struct {
		at   durable.Moment
		says string
	}{
		{durable.Moment{Step: "journal-purging"}, "not deleted yet"},
		{durable.Moment{Step: stepUnlink}, "could not be deleted"},
	} {
		h := prepare(t)
		h.trash = 0
		h.faults = func(m durable.Moment) error {
			if m == c.at {
				return errCut
			}
			return nil
		}
		h.open()
		t.Cleanup(h.close)
		h.booth("a")
		got, err := h.remove("a")
		if h.there(); err != nil || !strings.Contains(got.Trouble, c.says) || h.only().Trouble != got.Trouble {
			t.Errorf("%+v, %v, %+v", got, err, h.only())
		}
		h.s.conf.Faults = nil
		h.tick()
		if len(h.hidden()) != 0 {
			t.Errorf("%q", h.hidden())
		}
	}
}

// A booth that came back is not said to be gone. Red when removeAtOnceLocked does
// not ask.
func TestARemovalThatComesBackAtOnceIsNone(t *testing.T) {
	h := prepare(t)
	h.trash = 0
	h.faults = func(m durable.Moment) error {
		h.touchAside(m)
		return nil
	}
	h.open()
	t.Cleanup(h.close)
	h.booth("a")
	h.clock.pass(time.Minute)
	_, err := h.remove("a")
	publicly(t, err, problem.Failed, "remove", "touched")
	h.there("a")
}

// counted is a context that counts how often it was asked.
type counted struct {
	context.Context
	asked atomic.Int64
}

func (c *counted) Err() error { c.asked.Add(1); return c.Context.Err() }

// A walk asks its context at each folder. Red when removeLocked walks once for the
// mount and again for the seal.
func TestARemovalWalksOnce(t *testing.T) {
	const folders = 100
	h := newHome(t)
	for i := range folders {
		h.write(fmt.Sprintf("a/%d/f", i), "f")
	}
	ctx := &counted{Context: t.Context()}
	_, err := h.s.Remove(ctx, boothName(t, "a"), "me")
	check(t, err)
	if n := ctx.asked.Load(); n < folders || n >= 2*folders {
		t.Errorf("asked %d times for %d folders", n, folders)
	}
}

// What cannot be told is neither gone nor taken. Red when Restore or restoreLocked
// take unsure for anything else.
func TestWhatCannotBeToldIsNotSaid(t *testing.T) {
	h := newHome(t)
	h.booth("a")
	_, err := h.remove("a")
	check(t, err)
	check(t, h.data.Close()) // each stat fails from now on
	_, err = h.s.Restore(t.Context(), h.only().ID)
	publicly(t, err, problem.Failed, "trash", "in the trash could not be told")
	err = h.s.restoreLocked(h.s.book.entries[h.only().ID], "why")
	publicly(t, err, problem.Failed, "trash", "is free could not be told")
	if got := h.only(); got.Trouble != "" || len(h.events()) != 2 {
		t.Errorf("%+v, %q", got, h.events())
	}
}

// A name that is a file's is another's, and no riddle. Red when where does not tell
// it apart: the entry would be kept for ever.
func TestAFileUnderTheNameIsAnothers(t *testing.T) {
	h := newHome(t)
	h.booth("a")
	_, err := h.remove("a")
	check(t, err)
	check(t, os.RemoveAll(h.path+"/.trash-"+h.only().ID))
	check(t, os.WriteFile(h.path+"/a", nil, 0o644))
	h.tick()
	if got := h.events(); !slices.Equal(got, []string{"aside", "trash", "lost"}) {
		t.Errorf("%q", got)
	}
}

// What the operator removed is undone by the operator, whatever its stamps say.
// A stamp in the future does not move it: it is no touch. Red when the seal goes
// by the clock.
func TestARemovalStaysUntilItIsUndone(t *testing.T) {
	h := newHome(t)
	dir := h.booth("a")
	ahead := h.clock.Now().Add(time.Hour)
	check(t, os.Chtimes(dir+"/f", ahead, ahead))
	h.write("a/.forever", "")
	removed, err := h.remove("a")
	check(t, err)
	h.clock.pass(2 * time.Hour)
	h.tick()
	if got := h.only(); got.ID != removed.ID || got.By != "principal:test" || got.Purge != 46*time.Hour {
		t.Errorf("%+v", got)
	}
	name, err := h.s.Restore(context.Background(), removed.ID)
	check(t, err)
	if name.String() != "a" || !h.is("a/.forever") || len(h.s.Trash()) != 0 {
		t.Errorf("%q, %v", name, h.s.Trash())
	}
	_, err = h.s.Restore(context.Background(), removed.ID)
	publicly(t, err, problem.Gone, "trash", removed.ID)
}

// Red when restoreLocked does not look at the name first (that it renames over
// nothing is TestAMoveNeverReplaces of package folder), or when tendTrashLocked does
// not try again what was touched.
func TestATakenNameIsNeverReplaced(t *testing.T) {
	h := newHome(t)
	h.booth("a")
	h.expire()
	h.tick()
	id := h.only().ID
	check(t, os.WriteFile(h.path+"/a", []byte("a file"), 0o644)) // taken by whatever it is
	_, err := h.s.Restore(context.Background(), id)
	publicly(t, err, problem.Refused, "name-taken", `"a"`)
	check(t, os.Remove(h.path+"/a"))
	check(t, os.Mkdir(h.path+"/a", 0o755)) // which rename(2) would replace
	_, err = h.s.Restore(context.Background(), id)
	publicly(t, err, problem.Refused, "name-taken", `"a"`)
	if got := h.events(); !slices.Equal(got, []string{"aside", "trash"}) {
		t.Errorf("a refusal is in the journal: %q", got)
	}
	h.touch(h.path + "/.trash-" + id + "/f")
	h.clock.pass(100 * time.Hour)
	h.tick()
	if got := h.only(); got.Trouble != "it was touched after it was swept, and its name is taken" {
		t.Errorf("%+v", got)
	}
	check(t, os.Remove(h.path+"/a"))
	h.clock.pass(tick)
	h.tick()
	h.there("a")
	if !h.is("a/f") || len(h.s.Trash()) != 0 {
		t.Error("it did not come back")
	}
}

// Red when putBackLocked forgets what is stuck, or does not try again.
func TestWhatCannotGoBackIsShownAndTriedAgain(t *testing.T) {
	h := prepare(t)
	h.faults = func(m durable.Moment) error {
		if h.touchAside(m) {
			h.write("a/new", "new")
		}
		return nil
	}
	h.open()
	t.Cleanup(h.close)
	h.booth("a")
	h.expire()
	r := h.tick()
	h.swept(r)
	h.spared(r, Spared{"a", whyTouched})
	for range 2 {
		if got := h.s.Aside(); len(got) != 1 || got[0].Name.String() != "a" || got[0].At.IsZero() {
			t.Fatalf("%+v", got)
		}
		h.reopen()
	}
	check(t, os.RemoveAll(h.path+"/a"))
	h.clock.pass(tick)
	h.tick()
	if !h.is("a/f") || len(h.s.Aside()) != 0 {
		t.Errorf("%+v", h.s.Aside())
	}
}

// A hold that comes to what the timer swept brings it back, whatever the stamps.
// Red when changed asks for the tree alone.
func TestAHoldInTheTrashBringsTheBoothBack(t *testing.T) {
	h := newHome(t)
	h.booth("a")
	h.expire()
	h.tick()
	h.s.book.entries[h.only().ID].seal = h.sealWith(func(dir string) { marks(t, dir, openPick) })
	h.clock.pass(tick)
	h.tick()
	h.there("a")
}

// sealWith changes the one booth in the trash, and gives the seal that it has
// then: as if the change could not be seen by it.
func (h *home) sealWith(change func(dir string)) string {
	h.t.Helper()
	e := h.s.book.entries[h.only().ID]
	change(h.path + "/" + e.id.Trash().String())
	b, err := h.data.OpenAt(e.id.Trash(), e.name)
	check(h.t, err)
	defer b.Close()
	return b.Seal(context.Background()).Sum
}

// Somebody who has the lock of what is in the trash is alive. Red when tendLocked
// does not lock.
func TestWhatIsInUseIsNotPurged(t *testing.T) {
	h := newHome(t)
	h.booth("a")
	h.expire()
	h.tick()
	release := lockPath(t, h.path+"/.trash-"+h.only().ID)
	h.clock.pass(100 * time.Hour)
	h.tick()
	if h.only().Name.String() != "a" {
		t.Error("it went")
	}
	release()
	h.tick()
	if len(h.s.Trash()) != 0 {
		t.Error("it stayed")
	}
}

// What lies under a name of ours and is another folder is not deleted. Red when
// where, and Delete, do not compare the folder.
func TestAnotherFolderInTheTrashIsNotDeleted(t *testing.T) {
	h := newHome(t)
	h.booth("a")
	h.expire()
	h.tick()
	place := h.path + "/.trash-" + h.only().ID
	check(t, os.Rename(place, h.desk+"/out"))
	check(t, os.Mkdir(place, 0o755))
	check(t, os.WriteFile(place+"/theirs", nil, 0o644))
	h.clock.pass(100 * time.Hour)
	h.tick()
	if _, err := os.Stat(place + "/theirs"); err != nil {
		t.Error(err)
	}
	if _, err := h.s.Restore(context.Background(), h.only().ID); problem.KindOf(err) != problem.Gone {
		t.Errorf("%v", err)
	}
}

// Red when warnLocked touches, or tells the log at each tick.
func TestWhatTheJournalDoesNotNameIsLeftAloneAndNamedOnce(t *testing.T) {
	h := newHome(t)
	h.write(strange, "strange")
	h.write(".sweeping-odd/f", "strange")
	for range 3 {
		h.clock.pass(100 * time.Hour)
		h.tick()
	}
	if !h.is(strange) || !h.is(".sweeping-odd/f") {
		t.Error("it was touched")
	}
	if n := strings.Count(h.log.String(), "left alone"); n != 2 {
		t.Errorf("the log has %d lines of it:\n%s", n, h.log)
	}
}

// A page asks while things come and go. Red when newestFirst is not total, or
// Trash gives what is not its own.
func TestTheTrashIsListedNewestFirst(t *testing.T) {
	h := newHome(t)
	for _, name := range []string{"a", "b", "c"} {
		h.booth(name)
		_, err := h.remove(name)
		check(t, err)
		if name != "b" {
			h.clock.pass(time.Minute)
		}
	}
	first := h.s.Trash()
	if first[0].At.Before(first[1].At) || first[1].At != first[0].At && first[2].At.After(first[1].At) || first[2].Name.String() != "a" {
		t.Errorf("%+v", first)
	}
	if first[0].ID > first[1].ID {
		t.Error("two of one time are in no order")
	}
	first[0].Name = first[2].Name
	h.reopen()
	if again := h.s.Trash(); again[0].Name == again[2].Name || again[0].ID != first[0].ID {
		t.Errorf("%+v", again)
	}
}

// The journal is the record too: the line says which file and clock decided.
func TestTheJournalSaysWhatDecided(t *testing.T) {
	h := newHome(t)
	h.booth("a b")
	h.clock.pass(time.Minute) // so that it was seen after it was made
	h.expire()
	h.tick()
	var lines []record
	_, err := h.dir.ReadJournal(journalFile, maxRecord, func(line durable.Record) error {
		var r record
		err := json.Unmarshal(line.Data, &r)
		lines = append(lines, r)
		return err
	})
	check(t, err)
	first := lines[0]
	if first.Booth != "a%20b" || *first.By != "" || first.Newest == nil || first.Newest.Clock != "first_seen" || !strings.HasPrefix(first.Rule, "counting") {
		t.Errorf("%+v, %+v", first, first.Newest)
	}
	if lines[1].Service == nil || *lines[1].Service == 0 {
		t.Errorf("%+v", lines[1])
	}
}

// A journal that cannot be written moves nothing, and one that can be again goes
// on. Red when discardLocked or restoreLocked rename before their line, or mendLocked
// is not asked.
func TestNothingMovesWithoutAJournal(t *testing.T) {
	h := newHome(t)
	h.booth("a")
	h.booth("b")
	h.booth("c")
	h.expire()
	_, err := h.remove("c")
	check(t, err)
	broken := true
	h.dir.Faults = func(m durable.Moment) error {
		if broken && (m.Step == durable.StepAppend || m.Step == durable.StepTruncate) {
			return errCut
		}
		return nil
	}
	r, err := h.s.Tick(context.Background())
	if err == nil || len(r.Swept) != 0 {
		t.Errorf("%v, %v", r, err)
	}
	if _, err = h.remove("a"); err == nil {
		t.Error("removed")
	}
	if _, err = h.s.Restore(context.Background(), h.only().ID); err == nil {
		t.Error("restored")
	}
	h.there("a", "b")
	if got := h.hidden(); len(got) != 1 {
		t.Errorf("%q", got)
	}
	broken = false
	h.clock.pass(tick)
	h.swept(h.tick(), "a", "b")
}

// Nor does it stay in the trash without its line there. Red when toTrashLocked
// leaves it: until the next tick nobody would see it anywhere.
func TestNothingIsInTheTrashWithoutItsLine(t *testing.T) {
	h := prepare(t)
	h.faults = func(m durable.Moment) error {
		if m == (durable.Moment{Step: "journal-trash"}) {
			return errCut
		}
		return nil
	}
	h.open()
	t.Cleanup(h.close)
	h.booth("a")
	h.expire()
	if r, err := h.s.Tick(context.Background()); !errors.Is(err, errCut) || len(r.Swept) != 0 {
		t.Errorf("%v, %v", r, err)
	}
	h.there("a")
	if got := h.hidden(); len(got) != 0 {
		t.Errorf("%q", got)
	}
}

// Red when Open counts service from nothing: the trash would be kept for as long
// again as the sweeper was ever at work.
func TestLostTicksDoNotKeepTheTrashForEver(t *testing.T) {
	h := newHome(t)
	h.booth("a")
	h.expire()
	h.tick()
	h.close()
	check(t, os.Remove(h.desk+"/ticks.json"))
	h.open()
	if left := h.only().Purge; left != 48*time.Hour {
		t.Errorf("%v left", left)
	}
}

// A folder that takes the name between the line and the move is not the one that
// was decided about: it goes straight back. Red when discardLocked does not look at
// what it moved.
func TestAnotherFolderUnderTheNameGoesStraightBack(t *testing.T) {
	h := prepare(t)
	h.faults = func(m durable.Moment) error {
		if m == (durable.Moment{Step: "journal-aside", Done: true}) {
			check(t, os.Rename(h.path+"/a", h.desk+"/out"))
			h.write("a/new", "new")
		}
		return nil
	}
	h.open()
	t.Cleanup(h.close)
	h.booth("a")
	h.expire()
	h.swept(h.tick())
	if !h.is("a/new") || len(h.hidden()) != 0 || len(h.s.Trash()) != 0 {
		t.Errorf("%q, %+v", h.hidden(), h.s.Trash())
	}
}
