//go:build linux

package sweep

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/internal/booth"
	"holdfast/internal/booth/folder"
	marksdoc "holdfast/internal/booth/marks"
	"holdfast/internal/problem"
)

// A writer of marks takes the booth's lock, opens the booth by its name again and
// compares, and writes. What it wrote so is never in the trash, whoever is first.
// Red when condemnOneLocked takes no lock, or lets it go before the move.
func TestAnAcceptedWriteNeverEndsInTheTrash(t *testing.T) {
	h := newHome(t)
	accepted, swept := 0, 0
	for i := range 1000 {
		dir := h.booth("a")
		h.ripe()
		var wrote bool
		var wg sync.WaitGroup
		start := make(chan struct{})
		wg.Go(func() {
			<-start
			for range i % 7 { // begin at another moment each time
				os.Lstat(dir)
			}
			wrote = writeMarks(t, h.data)
		})
		close(start)
		h.tick()
		wg.Wait()
		switch {
		case wrote && (h.inTrash("a") || !h.is("a/.marks.json")):
			t.Fatalf("round %d: an accepted write is in the trash", i)
		case wrote:
			accepted++
			check(t, os.RemoveAll(dir))
		default:
			swept++
			h.dropTrash()
		}
	}
	if accepted == 0 || swept == 0 {
		t.Errorf("%d accepted, %d swept: this test shows nothing", accepted, swept)
	}
}

// ripe lets the booths that are there be candidates of the next tick, without the
// two ticks before it.
func (h *home) ripe() {
	h.t.Helper()
	h.s.turn <- struct{}{}
	defer h.s.turn.release()
	r, err := h.s.lookLocked()
	check(h.t, err)
	check(h.t, h.s.arriveLocked(r, true))
	h.clock.pass(day + time.Minute)
	h.s.ticks.Boot, h.s.ticks.Wall = r.boot, h.clock.Now()
	h.s.ticks.Monotonic = h.clock.Monotonic().Truncate(time.Millisecond)
	for _, key := range r.keys {
		h.s.ticks.Nominated[key] = r.mono
	}
}

// dropTrash deletes what is in the trash.
func (h *home) dropTrash() {
	h.t.Helper()
	h.s.turn <- struct{}{}
	for _, e := range h.s.book.sorted() {
		if e.state == inTrash {
			check(h.t, h.s.noteLocked(e, evPurging, ""))
		}
	}
	h.s.turn.release()
	h.s.purgeAll(context.Background())
}

// writeMarks is a writer of marks, the real one; it says whether what it wrote was
// accepted.
func writeMarks(t *testing.T, data *folder.Data) bool {
	_, err := booth.ChangeMarks(t.Context(), data, boothName(t, "a"), func(d *marksdoc.Document) error {
		q := marksdoc.Question{Title: "Accepted?", Parts: []marksdoc.Part{{ID: "a", Kind: marksdoc.Confirm}}}
		_, err := d.Ask(q, marksdoc.Who{By: "a writer", At: time.Now()})
		return err
	})
	if err != nil && problem.KindOf(err) != problem.Gone {
		t.Error(err)
	}
	return err == nil
}

// A removal that waits for the lock of a folder which then loses its name removes
// what has the name. Red when await does not ask for the name again: it ends in an
// error wherever it was quick enough to wait.
func TestARemovalTakesWhatHasTheName(t *testing.T) {
	h := newHome(t)
	h.s.patience = time.Minute // a guard and no claim
	for range 20 {
		h.booth("a")
		h.write("other/new", "new")
		release := lockPath(t, h.path+"/a")
		begun, done := make(chan struct{}), make(chan error)
		go func() {
			close(begun)
			_, err := h.remove("a")
			done <- err
		}()
		<-begun
		for range 1000 {
			os.Lstat(h.path)
		}
		check(t, unix.Renameat2(unix.AT_FDCWD, h.path+"/a", unix.AT_FDCWD, h.path+"/other", unix.RENAME_EXCHANGE))
		release()
		check(t, <-done)
		if h.is("a") || !h.is("other/f") {
			t.Error("the wrong one went")
		}
		check(t, os.RemoveAll(h.path+"/other"))
	}
}

// Ticks and the operator's acts exclude each other; under -race this also says
// that nothing is read beside the lock.
func TestEverybodyAtOnce(t *testing.T) {
	h := newHome(t)
	ctx := context.Background()
	for _, name := range []string{"a", "b", "c"} {
		h.booth(name)
	}
	h.expire()
	h.s.patience = time.Minute // a guard and no claim
	var wg sync.WaitGroup
	for _, act := range []func(){
		func() { _, _ = h.s.Tick(ctx) },
		func() { _, _ = h.s.Sweep(ctx, false) },
		func() { _, _ = h.s.Sweep(ctx, true) },
		func() { _, _ = h.s.Remove(ctx, boothName(t, "b"), "me") },
		func() { _ = h.s.Arrive(ctx) },
		func() {
			for _, e := range h.s.Trash() {
				_, _ = h.s.Restore(ctx, e.ID)
			}
			h.s.Aside()
		},
	} {
		wg.Go(func() {
			for range 10 {
				act()
			}
		})
	}
	wg.Wait()
	names, err := h.data.Names()
	check(t, err)
	if got := len(names) + len(h.s.Trash()); got != 3 {
		t.Errorf("%d of three booths: %v, %+v", got, names, h.s.Trash())
	}
	if len(h.hidden()) != len(h.s.Trash()) {
		t.Errorf("%v, %+v", h.hidden(), h.s.Trash())
	}
}
