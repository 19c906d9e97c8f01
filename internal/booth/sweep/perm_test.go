//go:build perm

package sweep

// Root may read everything, so these run as an ordinary user: scripts/test-perm.

import (
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"holdfast/internal/permtest"
)

// A tree, a keep marker, or marks that may not be read hold. Red when underLock
// takes a hold for nothing.
func TestPermWhatMayNotBeReadIsNotSwept(t *testing.T) {
	permtest.Ordinary(t)
	for _, mode := range []fs.FileMode{0, 0o100, 0o400} {
		h := newHome(t)
		dir := h.booth("x")
		h.write("x/d/g", "g")
		h.booth("doomed")
		h.expire()
		permtest.Lock(t, dir+"/d", mode)
		h.swept(h.tick(), "doomed")
		permtest.Lock(t, dir+"/d", 0o755)
		permtest.Lock(t, dir, mode)
		h.clock.pass(tick)
		h.swept(h.tick())
		check(t, os.Chmod(dir, 0o755))
		h.there("x")
	}
}

// The operator takes it. What cannot be deleted then stays, says so once in the
// journal, and goes when it can. Red when Delete changes a mode, or its failure
// is written at each tick.
func TestPermWhatCannotBeDeletedStaysInTheTrash(t *testing.T) {
	permtest.Ordinary(t)
	for _, mode := range []fs.FileMode{0, 0o500} {
		h := newHome(t)
		dir := h.booth("x")
		h.write("x/d/g", "g")
		check(t, os.Chmod(dir+"/d", mode))
		_, err := h.remove("x")
		check(t, err)
		h.clock.pass(49 * time.Hour)
		for range 3 {
			h.tick()
			h.clock.pass(tick)
		}
		if got := h.only(); !strings.Contains(got.Trouble, "could not be deleted") {
			t.Errorf("%+v", got)
		}
		if n := strings.Count(strings.Join(h.events(), " "), "purge-failed"); n != 1 {
			t.Errorf("%q", h.events())
		}
		h.reopen()
		if got := h.only(); got.Trouble == "" {
			t.Errorf("%+v", got)
		}
		check(t, os.Chmod(h.path+"/.trash-"+h.only().ID+"/d", 0o755))
		h.tick()
		if len(h.hidden()) != 0 {
			t.Errorf("%q", h.hidden())
		}
	}
}

// A booth whose folder itself may not be read is the operator's all the same.
func TestPermAClosedFolderCanBeRemoved(t *testing.T) {
	permtest.Ordinary(t)
	h := newHome(t)
	permtest.Lock(t, h.booth("x"), 0)
	_, err := h.remove("x")
	check(t, err)
	h.tick()
	_, err = h.s.Restore(t.Context(), h.only().ID)
	check(t, err)
	h.there("x")
}
