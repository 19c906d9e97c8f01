package sweep

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/internal/durable"
	"holdfast/internal/problem"
)

const guard = 20 * time.Second // for what would hang; no claim

// untilWaiting is a context that ends when somebody waits for it.
type untilWaiting struct {
	context.Context
	end func()
}

func (c untilWaiting) Done() <-chan struct{} { c.end(); return c.Context.Done() }

// Red when any of them waits for its turn without its context.
func TestNobodyWaitsLongerThanItsContext(t *testing.T) {
	h := newHome(t)
	h.booth("a")
	_, err := h.remove("a")
	check(t, err)
	h.booth("b")
	id, b := h.only().ID, boothName(t, "b")
	h.s.turn <- struct{}{} // somebody is at it
	for name, act := range map[string]func(ctx context.Context) error{
		"tick":      func(ctx context.Context) error { _, err := h.s.Tick(ctx); return err },
		"sweep":     func(ctx context.Context) error { _, err := h.s.Sweep(ctx, false); return err },
		"dry sweep": func(ctx context.Context) error { _, err := h.s.Sweep(ctx, true); return err },
		"arrive":    h.s.Arrive,
		"remove":    func(ctx context.Context) error { _, err := h.s.Remove(ctx, b, "me"); return err },
		"restore":   func(ctx context.Context) error { _, err := h.s.Restore(ctx, id); return err },
	} {
		ctx, end := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- act(untilWaiting{ctx, end}) }()
		select {
		case err := <-done:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(guard):
			t.Fatalf("%s still waits", name)
		}
	}
	h.s.turn.release()
	h.there("b")
	if !h.inTrash("a") {
		t.Errorf("%+v", h.s.Trash())
	}
}

// waited is a context that says when somebody waits for it.
type waited struct {
	context.Context
	begun chan struct{}
}

func (c waited) Done() <-chan struct{} {
	select {
	case c.begun <- struct{}{}:
	default:
	}
	return c.Context.Done()
}

// A removal that waits for its turn keeps no writer out. Red when remove locks the
// booth first.
func TestARemovalLocksNothingBeforeItsTurn(t *testing.T) {
	h := newHome(t)
	dir := h.booth("a")
	h.s.turn <- struct{}{}
	ctx, done := waited{t.Context(), make(chan struct{}, 1)}, make(chan error)
	go func() { _, err := h.s.Remove(ctx, boothName(t, "a"), "me"); done <- err }()
	<-ctx.begun
	f, err := os.Open(dir)
	check(t, err)
	for range 2000 {
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			t.Errorf("a writer is kept out: %v", err)
			break
		}
		check(t, unix.Flock(int(f.Fd()), unix.LOCK_UN))
	}
	check(t, f.Close())
	h.s.turn.release()
	check(t, <-done)
}

// atUnlink is a home whose booth "a" is in the trash and due, and which calls act
// once in the midst of its deletion.
func atUnlink(t *testing.T, act func(h *home)) *home {
	t.Helper()
	h := prepare(t)
	begun := false
	h.faults = func(m durable.Moment) error {
		if m == (durable.Moment{Step: stepUnlink}) && !begun {
			begun = true
			act(h)
		}
		return nil
	}
	h.open()
	t.Cleanup(h.close)
	h.booth("a")
	h.write("a/d/g", "g")
	_, err := h.remove("a")
	check(t, err)
	h.clock.pass(49 * time.Hour)
	return h
}

// All that others may want goes on while a booth is being deleted, which is done
// once. Red when purge keeps its turn meanwhile, when Restore gives back what is
// being deleted, or when beginPurge does not ask whether somebody does it already.
func TestOthersHaveTheirTurnsDuringADeletion(t *testing.T) {
	h := atUnlink(t, func(h *home) {
		ctx, end := context.WithTimeout(context.Background(), guard)
		defer end()
		doomed := h.only().ID
		h.booth("b")
		b, err := h.s.Remove(ctx, boothName(h.t, "b"), "me")
		if err != nil {
			h.t.Error(err)
			return
		}
		_, err = h.s.Restore(ctx, doomed)
		if problem.KindOf(err) != problem.Refused || problem.From(err, "").Step != "purging" {
			h.t.Errorf("restored: %v", err)
		}
		_, restored := h.s.Restore(ctx, b.ID)
		_, ticked := h.s.Tick(ctx)
		_, swept := h.s.Sweep(ctx, false)
		if err := errors.Join(restored, ticked, swept, h.s.Arrive(ctx)); err != nil {
			h.t.Error(err)
		}
		if !h.is(".trash-" + doomed + "/f") {
			h.t.Error("another has gone on with the deletion")
		}
	})
	h.tick()
	h.there("b")
	if got := h.events(); len(h.hidden()) != 0 || !slices.Equal(got[len(got)-1:], []string{"purged"}) {
		t.Errorf("%q, %q", h.hidden(), got)
	}
}

// Red when Close does not wait for the deletion: what became of it is not written,
// and another sweeper could begin in the midst of it. Red too when beginPurge does
// not ask whether it is closed.
func TestCloseWaitsForADeletion(t *testing.T) {
	closed := make(chan error, 1)
	h := atUnlink(t, func(h *home) {
		go func() { closed <- h.s.Close() }()
		for begun := false; !begun; {
			h.s.turn <- struct{}{}
			begun = h.s.closed
			h.s.turn.release()
		}
	})
	h.booth("next")
	_, err := h.remove("next")
	check(t, err)
	h.clock.pass(49 * time.Hour)
	s := h.s
	_, err = s.Tick(t.Context())
	check(t, err)
	check(t, <-closed)
	h.s = nil
	got := h.events()
	if n := len(got); n < 3 || !slices.Equal(got[n-3:], []string{"purging", "purging", "purged"}) {
		t.Errorf("%q", got)
	}
	if len(h.hidden()) != 1 {
		t.Errorf("%q", h.hidden())
	}
	h.open() // which goes on
	if len(h.hidden()) != 0 {
		t.Errorf("%q", h.hidden())
	}
}

// Who waits no longer leaves a deletion that goes on at the next tick. Red when
// purge makes trouble of it, or tells nobody.
func TestADeletionThatIsGivenUpGoesOn(t *testing.T) {
	h := prepare(t)
	h.trash = 0
	ctx, end := context.WithCancel(t.Context())
	h.faults = func(m durable.Moment) error {
		if m.Step == stepUnlink {
			end()
		}
		return nil
	}
	h.open()
	t.Cleanup(h.close)
	h.booth("a")
	h.write("a/d/g", "g")
	got, err := h.s.Remove(ctx, boothName(t, "a"), "me")
	if h.there(); err != nil || got.Trouble != goesOn || h.only().Trouble != "" {
		t.Errorf("%+v, %v, %+v", got, err, h.only())
	}
	h.tick()
	if len(h.hidden()) != 0 {
		t.Errorf("%q", h.hidden())
	}
}
