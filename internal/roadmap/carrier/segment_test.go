package carrier

import (
	"bytes"
	"fmt"
	"testing"

	"holdfast/internal/remotetest"
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

// case R08. Red when: insertRest puts each refusal in again that it does not take out.
func TestAnOddFileAmongTheSegmentsIsSaidOnce(t *testing.T) {
	t.Parallel()
	repo := remotetest.Path(t)
	repo.Commit(branch, remotetest.Put(formatPath, formatText), remotetest.Put("segments/odd", "x"))
	c, other := begin(t, newHome(t), repo.Dir), begin(t, newHome(t), repo.Dir)
	for i := range 3 {
		appended(t, other, command(fmt.Sprintf("k%d", i), event.Node(fmt.Sprintf("n%d", i)), opened("Mend it")))
		refresh(t, c)
	}
	v, err := c.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	if list, err := v.Refusals(); err != nil || len(list) != 1 || list[0].Step != StepLayout {
		t.Errorf("%+v, %v", list, err)
	}
}

// FuzzLog reads bytes as a segment and as a file of the tail: nothing of them is lost
// without a word, and what is taken is newer than all before it. Red when: readLines
// passes over a line that is no envelope.
func FuzzLog(f *testing.F) {
	var w writing
	first, second := w.envelope(f, "n"), w.envelope(f, "n")
	f.Add(lines([]event.Envelope{first, second}), tailPath(first))
	f.Add(lines([]event.Envelope{second, first}), tailPath(second))
	f.Add(first.Bytes(), tailPath(first))
	f.Add([]byte("\n\xff{}\n"), "tail/0000000001-000000000000.json")
	f.Fuzz(func(t *testing.T, data []byte, path string) {
		id := git.SHA1.Blob(data)
		file := git.File{Path: segmentPath(1), Mode: "100644", Type: "blob", ID: id}
		r := reader{format: git.SHA1, objects: memory{id.String(): data}}
		if err := r.readSegment(1, file); err != nil {
			t.Fatal(err)
		}
		if got := len(r.update.Events) + len(r.update.Refusals); got < min(bytes.Count(data, []byte("\n")), maxTail) {
			t.Errorf("of %q came %d events and refusals", data, got)
		}
		if _, _, ok := parseTail(path); ok {
			file.Path = path
			if err := r.readTail([]git.File{file}); err != nil {
				t.Fatal(err)
			}
		}
		last := int64(0)
		for _, e := range r.update.Events {
			if e.Seq <= last {
				t.Errorf("place %d comes after place %d", e.Seq, last)
			}
			last = e.Seq
		}
	})
}
