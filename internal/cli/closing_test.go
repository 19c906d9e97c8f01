package cli

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"holdfast/internal/roadmap"
)

// A snapshot that could not be removed: a report says it after its own text. What was
// appended stays a success, and invites nobody to do it again. Red when either is the
// other way about, or what git said reaches the terminal as it is.
func TestASnapshotThatWasLeftIsSaidAfterTheText(t *testing.T) {
	left := roadmap.Closing{Kind: "failed", Detail: "/plan/snapshots/x: \x1b[31mbusy"}
	var out strings.Builder
	r := &run{out: &out}
	r.printHead(roadmap.Head{AsOf: roadmap.AsOfCommit{Commit: "0123456789abcdef", At: time.Unix(0, 0)}, Close: left})
	want := "as of 0123456789ab, 1970-01-01 00:00 UTC\n" + `besides, a snapshot was left (/plan/snapshots/x: \x1b[31mbusy): holdfast roadmap census` + "\n"
	if out.String() != want {
		t.Errorf("%q", out.String())
	}
	out.Reset()
	err := r.appended(roadmap.Appended{Node: "base", Outcome: "appended", Close: left}, func(roadmap.Appended) string { return "done" })
	if err != nil || r.status != 0 || out.String() != "done\n" {
		t.Errorf("%q, exit %d, %v", out.String(), r.status, err)
	}
}

// publishing is a plan in which a command waits.
type publishing struct {
	left   roadmap.Closing // by the publication
	failed error           // of it
}

func (publishing) Queue() (roadmap.QueueDocument, error) {
	return roadmap.QueueDocument{Waiting: []roadmap.Queued{{}}}, nil
}

func (p publishing) Publish(context.Context) (int, roadmap.Closing, error) {
	return 1, p.left, p.failed
}

// A read that publishes what waits has up to three snapshots. Red when: read drops how
// that of the publication closed, or of the first look, or of the last.
func TestASnapshotThatWasLeftByAPublicationIsSaidByTheRead(t *testing.T) {
	fine, left := roadmap.Closing{Kind: "removed"}, roadmap.Closing{Kind: "failed", Detail: "busy"}
	for name, c := range map[string]struct {
		first, published, last roadmap.Closing
		failed                 error
	}{
		"by the first look":              {left, fine, fine, nil},
		"by the publication":             {fine, left, fine, nil},
		"by the last look":               {fine, fine, left, nil},
		"by a publication that failed":   {fine, left, fine, errors.New("no remote")},
		"by the look before it did not":  {left, fine, fine, errors.New("no remote")},
		"by a publication and no others": {roadmap.Closing{Kind: "not_opened"}, left, roadmap.Closing{Kind: "not_opened"}, nil},
	} {
		looks := []roadmap.Closing{c.first, c.last}
		l, err := read(t.Context(), publishing{c.published, c.failed}, roadmap.Now, func(l *roadmap.List) *roadmap.Head { return &l.Head },
			func(roadmap.Freshness) (roadmap.List, error) {
				doc := roadmap.List{Head: roadmap.Head{Close: looks[0]}}
				looks = looks[1:]
				return doc, nil
			})
		if err != nil || l.Close != left {
			t.Errorf("%s: it says %+v, %v", name, l.Close, err)
		}
	}
}
