package cli

import (
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
