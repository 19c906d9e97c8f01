package carrier

import (
	"context"
	"fmt"
	"testing"
	"time"

	"holdfast/internal/roadmap/event"
	"holdfast/internal/roadmap/git"
	"holdfast/internal/roadmap/index"
)

// memory is objects that are there without git.
type memory map[string][]byte

func (m memory) Read(name string, _ int64) (git.Object, error) {
	return git.Object{Data: m[name]}, nil
}

// BenchmarkFirstIndex reads a log of 100,000 events of 10,000 nodes without git:
// what is decoded, checked, folded and stored.
func BenchmarkFirstIndex(b *testing.B) {
	objects, files := memory{}, []git.File{{Path: formatPath, Mode: "100644", Type: "blob", ID: git.SHA1.Blob([]byte(formatText))}}
	var w writing
	for number := 1; w.seq < 100_000; number++ {
		var list []event.Envelope
		for range maxTail {
			list = append(list, w.envelope(b, event.Node(fmt.Sprintf("n%d", w.seq%10_000))))
		}
		data := lines(list)
		id := git.SHA1.Blob(data)
		objects[id.String()] = data
		files = append(files, git.File{Path: segmentPath(number), Mode: "100644", Type: "blob", ID: id})
	}
	for b.Loop() {
		began := time.Now()
		r := reader{format: git.SHA1, objects: objects}
		u, err := r.read(files)
		if err != nil || len(u.Events) < 100_000 {
			b.Fatal(len(u.Events), err)
		}
		u.To.Commit, u.To.Committed, u.To.Read = "x", time.Now(), time.Now()
		b.ReportMetric(time.Since(began).Seconds(), "read-s")
		idx, err := index.Open(context.Background(), b.TempDir())
		if err != nil {
			b.Fatal(err)
		}
		began = time.Now()
		if err := idx.Apply(context.Background(), u); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(time.Since(began).Seconds(), "apply-s")
		idx.Close()
	}
}
