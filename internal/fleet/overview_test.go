package fleet_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/internal/fleet"
	"holdfast/internal/fleet/enrollment"
)

// boxes lets boxes of these names in.
func boxes(t *testing.T, c *fleet.Console, names ...string) {
	t.Helper()
	for _, name := range names {
		_, err := join(t, c, homeIn(t.TempDir()), invite(t, c, enrollment.Invitation{Box: name}, time.Hour))
		must(t, err)
	}
}

// moves are the revisions that last moved the bindings, as an overview says.
func moves(o fleet.Overview) string {
	var list []string
	for _, b := range o.Boxes {
		if b.Moved == nil {
			list = append(list, b.BoxID+" ?")
			continue
		}
		list = append(list, fmt.Sprint(b.BoxID, " ", b.Moved.Revision, " ", len(b.Moved.Facts)))
	}
	return strings.Join(list, ", ")
}

// logged are the files of the log, by revision.
func logged(t *testing.T, h fleet.Home, revision int) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(h.Bucket, "control/roster/log", fmt.Sprintf("%010d.*", revision)))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	return found[0]
}

// Red when: a walk stops at the first box that it finds, takes a step that moved nothing,
// or goes on for a box that is retired.
func TestOneWalkFindsWhatMovedEachBox(t *testing.T) {
	h, c := begin(t)
	ctx := t.Context()
	boxes(t, c, "a", "b", "gone") // 2, 3, 4
	_, err1 := c.Quarantine(ctx, "b", "", fleet.Granted)
	_, err2 := c.Retire(ctx, "gone", fleet.Granted)
	_, err3 := c.SetLabel(ctx, "a", "The first")
	must(t, err1, err2, err3)
	first, kept := logged(t, h, 1), filepath.Join(h.Console, "kept")
	must(t, os.Rename(first, kept)) // what revision 2 is a step from
	o, err := c.Overview(ctx, new(fleet.Walked), 200)
	if must(t, err); step(o.LogTrouble) != "roster-log" || moves(o) != "a ?, b 5 2, gone ?" {
		t.Errorf("a log that is broken: %s, %v", moves(o), o.LogTrouble)
	}
	must(t, os.Rename(kept, first))
	o, err = c.Overview(ctx, new(fleet.Walked), 200)
	if must(t, err); o.LogTrouble != nil || moves(o) != "a 2 15, b 5 2, gone ?" || o.Reach != 2 || o.Revision != 7 || o.Writer != "main" {
		t.Errorf("%s, %+v", moves(o), o)
	}
}

// Red when: Overview walks although the roster is the one that it knows, walks past what
// it knows, or keeps what a walk found that ended in trouble.
func TestWhatAWalkFoundIsKept(t *testing.T) {
	h, c := begin(t)
	ctx := t.Context()
	boxes(t, c, "a", "b")
	var walked fleet.Walked
	first, kept := logged(t, h, 1), filepath.Join(h.Console, "kept")
	must(t, os.Rename(first, kept))
	for range 2 {
		if o, err := c.Overview(ctx, &walked, 200); err != nil || step(o.LogTrouble) != "roster-log" {
			t.Fatalf("%v, %v", o.LogTrouble, err)
		}
	}
	must(t, os.Rename(kept, first))
	before, err := c.Overview(ctx, &walked, 200)
	must(t, err, before.LogTrouble)
	for revision := range 2 {
		must(t, os.Remove(logged(t, h, revision+1)))
	}
	again, err := c.Overview(ctx, &walked, 200)
	if must(t, err); again.LogTrouble != nil || moves(again) != moves(before) {
		t.Errorf("unchanged: %s, %v", moves(again), again.LogTrouble)
	}
	_, err = c.Quarantine(ctx, "b", "", fleet.Granted)
	must(t, err)
	after, err := c.Overview(ctx, &walked, 200)
	if must(t, err); after.LogTrouble != nil || moves(after) != "a 2 15, b 4 2" || after.Reach != 2 {
		t.Errorf("a step further: %s, %v", moves(after), after.LogTrouble)
	}
}

// Red, under the race detector, when: last is read or kept without its lock.
func TestSeveralLookAtOnce(t *testing.T) {
	_, c := begin(t)
	boxes(t, c, "a")
	var walked fleet.Walked
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if o, err := c.Overview(context.Background(), &walked, 200); err != nil || moves(o) != "a 2 15" {
				t.Errorf("%s, %v", moves(o), err)
			}
		})
	}
	all.Wait()
}

// Red when: a walk has no bound, or what is beyond it is said to be known.
func TestAWalkEndsAfterSoManyVersions(t *testing.T) {
	_, c := begin(t)
	ctx := t.Context()
	boxes(t, c, "old") // 2
	for i := range 5 {
		_, err := c.SetLabel(ctx, "old", fmt.Sprint(i))
		must(t, err)
	}
	boxes(t, c, "new") // 8
	var walked fleet.Walked
	o, err := c.Overview(ctx, &walked, 6)
	if must(t, err); moves(o) != "new 8 15, old ?" || o.Reach != 3 || o.LogTrouble != nil {
		t.Errorf("%s, %d, %v", moves(o), o.Reach, o.LogTrouble)
	}
	_, err = c.SetLabel(ctx, "old", "x")
	must(t, err)
	if o, err = c.Overview(ctx, &walked, 6); err != nil || moves(o) != "new 8 15, old ?" || o.Reach != 3 {
		t.Errorf("a step further: %s, %d, %v", moves(o), o.Reach, err)
	}
}

// Red when: an overview is shown although its roster is not to be believed.
func TestAnOverviewOfWhatIsRefusedIsNone(t *testing.T) { // case F05
	h, c := begin(t)
	ctx := t.Context()
	var walked fleet.Walked
	roster := filepath.Join(h.Bucket, "control/roster.json")
	old, err := os.ReadFile(roster)
	must(t, err)
	boxes(t, c, "a")
	_, err = c.Overview(ctx, &walked, 200)
	must(t, err, os.WriteFile(roster, old, 0o600))
	if o, err := c.Overview(ctx, &walked, 200); step(err) != "roster-rollback" || o.Boxes != nil {
		t.Errorf("%+v, %v", o, err)
	}
	if _, err := c.Head(ctx); step(err) != "roster-rollback" {
		t.Error(err)
	}
	if _, err := c.Asking(ctx); step(err) != "roster-rollback" {
		t.Error(err)
	}
}

// Red when: the floor of another roster is shown, or a floor that is damaged hides the
// boxes.
func TestAnOverviewSaysWhyAFloorCannotBeRead(t *testing.T) {
	h, c := begin(t)
	ctx := t.Context()
	boxes(t, c, "a")
	_, err := c.PublishFloor(ctx, fleet.Floor{Publication: "spring", MinVersion: "v1.0.0", AllowedProofs: []string{"weak"}}, fleet.Granted)
	must(t, err)
	o, err := c.Overview(ctx, new(fleet.Walked), 200)
	if must(t, err); o.Floor.Floor == nil || o.Floor.Floor.MinVersion != "v1.0.0" || o.FloorTrouble != nil {
		t.Errorf("%+v", o)
	}
	must(t, os.Remove(filepath.Join(h.Bucket, "control/floor/spring.json")))
	o, err = c.Overview(ctx, new(fleet.Walked), 200)
	if must(t, err); step(o.FloorTrouble) != "floor-absent" || o.Floor.Floor != nil || o.Floor.Publication != "spring" || len(o.Boxes) != 1 {
		t.Errorf("%+v", o)
	}
}

// Red when: a machine that waits or was refused is not listed, one that is in is, or all
// that anybody wrote there is read.
func TestWhoAskedAndIsNotInIsListed(t *testing.T) {
	h, c := begin(t)
	ctx := t.Context()
	word := invite(t, c, enrollment.Invitation{Box: "in"}, time.Hour)
	boxes(t, c, "other")
	_, err := join(t, c, homeIn(t.TempDir()), word)
	must(t, err)
	if _, err := join(t, c, homeIn(t.TempDir()), word); step(err) != "invitation-used" {
		t.Fatal(err)
	}
	_, err = fleet.Join(ctx, homeIn(t.TempDir()), invite(t, c, enrollment.Invitation{Box: "waits"}, time.Hour), nil)
	must(t, err)
	list, err := c.Asking(ctx)
	must(t, err)
	if len(list.Waiting) != 1 || list.Waiting[0].BoxID != "waits" || list.Waiting[0].Refused != nil ||
		len(list.Refused) != 1 || list.Refused[0].BoxID != "in" || step(list.Refused[0].Refused) != "invitation-used" {
		t.Fatalf("%+v", list)
	}
	for i := range 30 {
		folder := filepath.Join(h.Bucket, "boxes", fmt.Sprintf("%032x", i))
		must(t, os.MkdirAll(folder, 0o700), os.WriteFile(filepath.Join(folder, "identity.json"), []byte("{"), 0o600))
	}
	list, err = c.Asking(ctx)
	if must(t, err); len(list.Waiting) != 20 || list.MoreWaiting != 11 || list.Waiting[0].BoxID != "" || step(list.Waiting[0].Refused) != "envelope-format" {
		t.Errorf("%+v", list)
	}
}

// Red when: Show finds a box that is retired by nothing but its name, or takes an
// enrollment for what a box is called.
func TestARetiredBoxIsShownByItsEnrollment(t *testing.T) {
	_, c := begin(t)
	ctx := t.Context()
	boxes(t, c, "a")
	first, err := c.Show(ctx, "a")
	must(t, err)
	_, err = c.Retire(ctx, "a", fleet.Granted)
	must(t, err)
	boxes(t, c, "a")
	if s, err := c.Show(ctx, first.Enrollment); err != nil || s.State != "retired" || s.Enrollment != first.Enrollment {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := c.Show(ctx, "a"); err != nil || s.State != "active" {
		t.Errorf("%+v, %v", s, err)
	}
}
