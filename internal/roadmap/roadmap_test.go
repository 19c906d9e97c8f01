package roadmap

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/internal/remotetest"
	"holdfast/internal/roadmap/carrier"
	"holdfast/internal/roadmap/census"
	"holdfast/internal/roadmap/event"
	"holdfast/internal/roadmap/index"
)

const ada = event.Principal("principal:local/studio/ada")

type planAt struct {
	*Plan
	plan string // its folder
}

// begun is a home with a plan in it, as carrier.Init makes it.
var begun = remotetest.Prepare(func(t testing.TB, dir string) {
	t.Helper()
	home := homeIn(dir)
	if err := os.Mkdir(home.Plan, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := carrier.Init(t.Context(), home, ""); err != nil {
		t.Fatal(err)
	}
})

func homeIn(dir string) carrier.Home {
	return carrier.Home{Plan: filepath.Join(dir, "plan"), Embedded: filepath.Join(dir, "roadmap.git")}
}

// newPlan is a plan in the embedded repository of an empty home.
func newPlan(t testing.TB) planAt {
	t.Helper()
	home := homeIn(t.TempDir())
	begun.Copy(t, ".", filepath.Dir(home.Plan))
	p, err := Open(t.Context(), home)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return planAt{p, home.Plan}
}

func TestANodeOpensWithItsBlockers(t *testing.T) {
	t.Parallel()
	p := newPlan(t)
	if _, err := p.Open(t.Context(), "base", Opening{Card: event.Card{Title: "The base"}}, Act{Author: ada}); err != nil {
		t.Fatal(err)
	}
	a, err := p.Open(t.Context(), "roof", Opening{Card: event.Card{Title: "The roof"}, BlockedBy: []event.Node{"base"}}, Act{Author: ada})
	if err != nil {
		t.Fatal(err)
	}
	n, err := p.Show(t.Context(), Now, "roof")
	if err != nil {
		t.Fatal(err)
	}
	if len(n.BlockedBy) != 1 || n.BlockedBy[0].Node != "base" || n.Revision != a.Revision || n.Ready || !n.Blocked {
		t.Errorf("%+v, after %+v", n, a)
	}
}

// case R17. Red when: read does not rebuild (leave out the second look).
func TestADamagedIndexIsMadeAnewWhereItIsNoticed(t *testing.T) {
	t.Parallel()
	p := newPlan(t)
	if _, err := p.Open(t.Context(), "base", Opening{Card: event.Card{Title: "The base"}}, Act{Author: ada}); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(p.plan, index.File))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`UPDATE node SET state = 'x'`); err != nil {
		t.Fatal(err)
	}
	for _, fresh := range []Freshness{Now, AsOf} {
		p.board.Store(nil)
		if n, err := p.Show(t.Context(), fresh, "base"); err != nil || n.Title != "The base" {
			t.Errorf("%+v, %v", n, err)
		}
	}
}

// Red when: around sees only the links that a node has itself, or Whole reads its
// history by another way than Log.
func TestAWholeNodeHasWhatStandsAroundIt(t *testing.T) {
	t.Parallel()
	p := newPlan(t)
	for _, n := range []event.Node{"base", "roof", "house", "garden"} {
		if _, err := p.Open(t.Context(), n, Opening{Card: event.Card{Title: "The " + string(n)}}, Act{Author: ada}); err != nil {
			t.Fatal(err)
		}
	}
	for _, l := range []struct {
		node event.Node
		link event.Linked
	}{
		{"roof", event.Linked{Relation: event.BlockedBy, To: "base"}},
		{"roof", event.Linked{Relation: event.ChildOf, To: "house"}},
		{"garden", event.Linked{Relation: event.Related, To: "roof"}},
	} {
		if _, err := p.Append(t.Context(), l.node, l.link, Act{Author: ada}); err != nil {
			t.Fatal(err)
		}
	}
	w, err := p.Whole(t.Context(), Now, "roof")
	if err != nil {
		t.Fatal(err)
	}
	if len(w.Parents) != 1 || w.Parents[0].To != "house" || len(w.Related) != 1 || w.Related[0].To != "garden" {
		t.Errorf("%+v %+v", w.Parents, w.Related)
	}
	if len(w.Around) != 3 || w.Around["base"].Title != "The base" || w.Around["garden"].Standing.Kind != "open" {
		t.Errorf("%+v", w.Around)
	}
	l, err := p.Log(t.Context(), AsOf, "roof")
	if err != nil || len(l.Events) != 3 || len(w.Events) != 3 || w.Events[2].ID != l.Events[2].ID {
		t.Errorf("%v: %+v, and %+v", err, w.Events, l.Events)
	}
	if base, err := p.Whole(t.Context(), AsOf, "base"); err != nil || len(base.Blocks) != 1 || base.Around["roof"].Node != "roof" {
		t.Errorf("%v: %+v", err, base)
	}
}

// Red when: Upkeep leaves out a pass, or ends at the first that fails.
func TestAnUpkeepDoesEachPassWhateverTheOthersDo(t *testing.T) {
	t.Parallel()
	p := newPlan(t)
	if _, err := p.Open(t.Context(), "base", Opening{Card: event.Card{Title: "The base"}}, Act{Author: ada}); err != nil {
		t.Fatal(err)
	}
	receipts := filepath.Join(p.plan, "receipts")
	if err := os.WriteFile(receipts, nil, 0o600); err != nil { // no folder, so no census
		t.Fatal(err)
	}
	if err := p.Upkeep(t.Context(), time.Now()); err == nil {
		t.Error("a census without a receipt is no failure")
	}
	if _, err := os.Stat(filepath.Join(p.plan, "maintenance.json")); err != nil {
		t.Errorf("the repositories were not packed: %v", err)
	}
	if err := os.Remove(receipts); err != nil {
		t.Fatal(err)
	}
	if err := p.Upkeep(t.Context(), time.Now()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(receipts, census.File)); err != nil {
		t.Errorf("no census was taken: %v", err)
	}
}

// Red when: withHead is left out, and the old event is given for what to expect.
func TestARepeatedCommandSaysWhatToExpectNext(t *testing.T) {
	t.Parallel()
	p := newPlan(t)
	a := Act{Author: ada, Key: "once"}
	if _, err := p.Open(t.Context(), "base", Opening{Card: event.Card{Title: "The base"}}, a); err != nil {
		t.Fatal(err)
	}
	newer, err := p.Append(t.Context(), "base", event.Claimed{Assignee: ada, ReturnTo: ada}, Act{Author: ada})
	if err != nil {
		t.Fatal(err)
	}
	again, err := p.Open(t.Context(), "base", Opening{Card: event.Card{Title: "The base"}}, a)
	if err != nil || again.Outcome != "already_present" || again.Revision != newer.ID || again.ID == newer.ID {
		t.Errorf("%+v, %v", again, err)
	}
}

// Killed after the first of its commands was put down, an opening is finished by its
// key. Red when: Open does not take the time of then, so that the links expect an
// event that never was.
func TestAnOpeningIsFinishedByItsKey(t *testing.T) {
	t.Parallel()
	p := newPlan(t)
	if _, err := p.Open(t.Context(), "base", Opening{Card: event.Card{Title: "The base"}}, Act{Author: ada}); err != nil {
		t.Fatal(err)
	}
	key := event.Key(strings.Repeat("k", 128)) // for which a link's key is too long
	first := event.Command{Key: key, Node: "roof", Author: ada, At: time.Now().Add(-time.Hour), Body: event.Opened{Card: event.Card{Title: "The roof"}}}
	if _, err := p.carrier.Queue().Put(first); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := p.Open(t.Context(), "roof", Opening{Card: event.Card{Title: "The roof"}, BlockedBy: []event.Node{"base"}}, Act{Author: ada, Key: key}); err != nil {
			t.Fatal(err)
		}
	}
	n, err := p.Show(t.Context(), Now, "roof")
	if err != nil || n.Ready || len(n.BlockedBy) != 1 || n.Events != 2 {
		t.Errorf("%+v, %v", n, err)
	}
}
