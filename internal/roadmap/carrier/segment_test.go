package carrier

import (
	"bytes"
	"testing"

	"holdfast/internal/roadmap/event"
	"holdfast/internal/roadmap/git"
)

// case R08. Whoever may push could otherwise have every reader make something of each
// of 256 million line ends. Red when: decode takes as many lines as there are.
func TestASegmentOfMoreLinesThanItMayHaveIsReadNoFurther(t *testing.T) {
	var w writing
	var list []event.Envelope
	for range maxTail + 1 {
		list = append(list, w.envelope(t, "n"))
	}
	for name, c := range map[string]struct {
		data             []byte
		events, refusals int
	}{
		"whole":           {lines(list[:maxTail]), maxTail, 0},
		"an event more":   {lines(list), maxTail, 1},
		"line ends alone": {bytes.Repeat([]byte("\n"), 1<<20), 0, maxTail + 1},
	} {
		id := git.SHA1.Blob(c.data)
		r := reader{format: git.SHA1, objects: memory{id.String(): c.data}}
		if err := r.readSegment(1, git.File{Path: segmentPath(1), Mode: "100644", Type: "blob", ID: id}); err != nil {
			t.Fatal(err)
		}
		if len(r.update.Events) != c.events || len(r.update.Refusals) != c.refusals {
			t.Errorf("%s: %d events and %d refusals", name, len(r.update.Events), len(r.update.Refusals))
		}
	}
}
