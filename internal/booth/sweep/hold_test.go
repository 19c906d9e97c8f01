package sweep

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/internal/booth/folder"
	"holdfast/internal/durable"
	"holdfast/internal/problem"
)

const (
	openPick = `{"schema":"holdfast.marks/v1","rev":1,"marks":[{"id":"p1","shape":"pick","title":"t","parts":[{"id":"a","kind":"confirm"}]}]}`
	note     = `{"schema":"holdfast.marks/v1","rev":1,"marks":[{"id":"n1","shape":"note","text":"hm"}]}`
)

// holds are the ways in which a timer is kept from a booth that is old enough,
// by what they leave in it (a mount is in mount_test.go, a tree and a marker that
// cannot be read in perm_test.go).
var holds = []struct {
	name string
	set  func(t *testing.T, h *home, dir string)
	line string
}{
	{"kept", func(t *testing.T, h *home, dir string) { check(t, os.WriteFile(dir+"/.forever", nil, 0o644)) }, ""},
	{"open", func(t *testing.T, h *home, dir string) { marks(t, dir, openPick) }, "held until answered"},
	{"marks blank", func(t *testing.T, h *home, dir string) { marks(t, dir, " ") }, "held · marks unreadable"},
	{"marks cut", func(t *testing.T, h *home, dir string) { marks(t, dir, openPick[:40]) }, "held · marks unreadable"},
	{"marks are a pipe", func(t *testing.T, h *home, dir string) { check(t, unix.Mkfifo(dir+"/.marks.json", 0o644)) }, "held · marks unreadable"},
	{"marks are a link", func(t *testing.T, h *home, dir string) { check(t, os.Symlink("f", dir+"/.marks.json")) }, "held · marks unreadable"},
	{"review", func(t *testing.T, h *home, dir string) {
		check(t, h.ledger.SetHolds(map[folder.Name]string{boothName(t, "x"): "n-1"}))
	}, "held until n-1 is reviewed"},
	{"busy", func(t *testing.T, h *home, dir string) { lockPath(t, dir) }, "held · in use"},
}

func marks(t testing.TB, dir, content string) {
	t.Helper()
	check(t, os.WriteFile(dir+"/.marks.json", []byte(content), 0o644))
}

// lockPath has a booth's lock until the test ends, as a writer would.
func lockPath(t testing.TB, dir string) (release func()) {
	t.Helper()
	f, err := os.Open(dir)
	check(t, err)
	check(t, unix.Flock(int(f.Fd()), unix.LOCK_EX))
	t.Cleanup(func() { f.Close() })
	return func() { f.Close() }
}

// INV-2 and INV-6: a hold keeps the timer away, and the booth beside it goes all
// the same. The operator takes it, the one that somebody is at work on too, and
// then the record says so. Red when spared lets a Held, or the lock's error, pass,
// or awaitBooth refuses one that is locked or says nothing of it.
func TestEachHoldBindsTheTimerAndNotTheOperator(t *testing.T) {
	for _, c := range holds {
		t.Run(c.name, func(t *testing.T) {
			h := newHome(t)
			dir := h.booth("x")
			h.booth("doomed")
			h.tick()
			c.set(t, h, dir)
			h.clock.pass(10 * day)
			h.tick()
			for range 3 {
				h.clock.pass(tick)
				r := h.tick()
				if h.there("x"); len(r.Swept) > 1 || len(r.Swept) == 1 && r.Swept[0] != "doomed" {
					t.Errorf("swept %q", r.Swept)
				}
				if c.line != "" {
					h.spared(r, Spared{"x", c.line})
				}
			}
			if !h.inTrash("doomed") {
				t.Error("the booth beside it was not swept")
			}
			got, err := h.remove("x")
			if check(t, err); got.By != "principal:test" || !h.inTrash("x") || strings.Contains(got.Rule, thoughBusy) != (c.name == "busy") {
				t.Errorf("%+v", got)
			}
			h.clock.pass(tick)
			h.tick() // it does not come back for a hold that the operator ignored
			if h.there(); !h.inTrash("x") {
				t.Error("the operator's delete was undone")
			}
		})
	}
}

// Red when what is marked between two ticks goes by what the nomination saw.
func TestAHoldThatComesAfterTheNominationCounts(t *testing.T) {
	h := newHome(t)
	dir := h.booth("x")
	h.expire()
	marks(t, dir, openPick) // born now, which is a day ago: not fresh by the clock
	r := h.tick()
	h.swept(r)
	h.spared(r, Spared{"x", "held until answered"})
	marks(t, dir, note) // which owes nothing
	h.clock.pass(tick)
	r = h.tick() // it is nominated anew
	h.swept(r)
	h.spared(r, Spared{"x", whyFirst})
	h.clock.pass(tick)
	h.swept(h.tick(), "x")
}

// A hold that comes while the booth lies aside, and leaves no trace in it. Red when
// the second decision asks for stamps alone.
func TestAHoldThatComesWhileItLiesAsideCounts(t *testing.T) {
	h := prepare(t)
	h.faults = func(m durable.Moment) error {
		if m == (durable.Moment{Step: stepAside, Done: true}) {
			return h.ledger.SetHolds(map[folder.Name]string{boothName(t, "x"): "n-1"})
		}
		return nil
	}
	h.open()
	t.Cleanup(h.close)
	h.booth("x")
	h.expire()
	r := h.tick()
	h.swept(r)
	h.spared(r, Spared{"x", "held until n-1 is reviewed"})
	h.there("x")
}

// Red when overdue keeps the nomination of a kept booth: it would go at the first
// tick after it was released.
func TestAReleasedBoothIsNominatedAnew(t *testing.T) {
	h := newHome(t)
	dir := h.booth("x")
	h.expire()
	check(t, os.WriteFile(dir+"/.forever", nil, 0o644))
	h.swept(h.tick())
	check(t, os.Remove(dir+"/.forever"))
	check(t, os.Chtimes(dir, time.Unix(1, 0), time.Unix(1, 0)))
	h.clock.pass(tick)
	h.swept(h.tick())
	h.clock.pass(tick)
	h.swept(h.tick(), "x")
}

// Red when await does not open the booth first.
func TestWhatIsNotThereCannotBeRemoved(t *testing.T) {
	h := newHome(t)
	_, err := h.remove("nothing")
	publicly(t, err, problem.Gone, "booth", "nothing")
}

// Who had the lock when the operator went past it, and writes, has the booth back
// at the next tick, and one who does nothing keeps it from being deleted, which is
// said. Red when tendLocked looks at nothing that is locked, or deletes it.
func TestARemovalPastALockIsUndoneByItsWriter(t *testing.T) {
	h := newHome(t)
	writer := h.booth("writer")
	h.booth("idle")
	f, err := os.OpenFile(writer+"/f", os.O_WRONLY|os.O_APPEND, 0)
	check(t, err)
	defer f.Close()
	lockPath(t, writer)
	release := lockPath(t, h.path+"/idle")
	for _, name := range []string{"writer", "idle"} {
		_, err := h.remove(name)
		check(t, err)
	}
	_, err = f.WriteString("late")
	check(t, err)
	h.clock.pass(100 * time.Hour)
	h.tick()
	if h.there("writer"); h.only().Trouble != inUse {
		t.Errorf("%+v", h.only())
	}
	release()
	h.tick()
	if len(h.s.Trash()) != 0 || len(h.hidden()) != 0 {
		t.Errorf("%+v", h.s.Trash())
	}
}

// A caller who gives up is not told that the booth is in use.
func TestARemovalThatIsGivenUpSaysSo(t *testing.T) {
	h := newHome(t)
	lockPath(t, h.booth("x"))
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if _, err := h.s.Remove(ctx, boothName(t, "x"), "me"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := h.s.Tick(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if err := h.s.Arrive(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if strings.Join(h.hidden(), "") != "" {
		t.Errorf("%v", h.hidden())
	}
}
