package roadmap

import (
	"database/sql"
	"path/filepath"
	"slices"
	"testing"

	"holdfast/internal/roadmap/event"
	"holdfast/internal/roadmap/index"
)

// Red when: what is looked for is spelt as encoding/json does, or its letters beyond
// ASCII are brought into another case than the index can.
func TestASearchFindsWhatIsShownHoweverItIsWritten(t *testing.T) {
	t.Parallel()
	p := newPlan(t)
	card := event.Card{Title: "R&D <now>", Body: "Ärger with \"quotes\", a \\ and a\ttab\u2028over"}
	if _, err := p.Open(t.Context(), "base", Opening{Card: card}, Act{Author: ada}); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{
		"R&D": 1, "r&d <NOW>": 1, "Ärger": 1, "ärger WITH": 1, "\"quotes\"": 1, "\\ and a\ttab\u2028over": 1, "&": 1, "\"": 1, "ß": 0, "a &": 0,
	} {
		if l, err := p.List(t.Context(), AsOf, Filter{Text: text}); err != nil || len(l.Nodes) != want {
			t.Errorf("%q finds %d nodes, %v", text, len(l.Nodes), err)
		}
	}
}

// case R17. Red when: Since begins again after an index that was made anew.
func TestAnExportThroughADamagedIndexHasEachEventOnce(t *testing.T) {
	t.Parallel()
	p := newPlan(t)
	for _, n := range []event.Node{"a", "b", "c", "d"} {
		if _, err := p.Open(t.Context(), n, Opening{Card: event.Card{Title: "One"}}, Act{Author: ada}); err != nil {
			t.Fatal(err)
		}
	}
	db, err := sql.Open("sqlite", filepath.Join(p.plan, index.File))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`UPDATE event SET bytes = 'x' WHERE seq = 3`); err != nil {
		t.Fatal(err)
	}
	var got []int64
	if _, err := p.Export(t.Context(), Now, func(e event.Envelope) error { got = append(got, e.Seq); return nil }); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, []int64{1, 2, 3, 4}) {
		t.Errorf("the export has the places %v", got)
	}
}
