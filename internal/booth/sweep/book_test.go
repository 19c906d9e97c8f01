package sweep

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"holdfast/internal/booth/folder"
	"holdfast/internal/canon"
	"holdfast/internal/durable"
)

const goldenID = "0123456789abcdef0123456789abcdef"

// golden are lines as every version writes and reads them. They tell of one booth
// from its name to its end.
var golden = []string{
	`{"at":"2026-09-22T12:00:00Z","booth":"a%20b","by":"","bytes":7,"event":"aside","folder":"1 2 -3","id":"` + goldenID + `","newest":{"at":"2026-09-21T11:00:00Z","clock":"birth","path":"d%2Ff"},"rule":"counting","seal":"00"}`,
	`{"at":"2026-09-22T12:00:00Z","booth":"a%20b","event":"stuck","id":"` + goldenID + `","outcome":"its name is taken"}`,
	`{"at":"2026-09-22T12:00:00Z","booth":"a%20b","event":"trash","id":"` + goldenID + `","service":60000}`,
	`{"at":"2026-09-22T12:00:00Z","booth":"a%20b","event":"restoring","id":"` + goldenID + `","outcome":"why"}`,
	`{"at":"2026-09-22T12:00:00Z","booth":"a%20b","event":"purging","id":"` + goldenID + `"}`,
	`{"at":"2026-09-22T12:00:00Z","booth":"a%20b","event":"purge-failed","id":"` + goldenID + `","outcome":"why"}`,
	`{"at":"2026-09-22T12:00:00Z","booth":"a%20b","event":"purged","id":"` + goldenID + `","outcome":"deleted"}`,
}

// Red when a member or an event is renamed, or means another thing.
func TestTheJournalIsTheseBytes(t *testing.T) {
	b := book{entries: map[string]*entry{}}
	states := []state{aside, stuck, inTrash, inTrash, purging, purging, 0}
	for i, line := range golden {
		var r record
		check(t, canon.Decode([]byte(line), &r))
		if again, err := canon.Encode(r); err != nil || string(again) != line {
			t.Errorf("written again:\n%s\n%s, %v", line, again, err)
		}
		check(t, b.replay(durable.Record{Line: i + 1, Data: []byte(line)}))
		e := b.entries[goldenID]
		if states[i] == 0 {
			if e != nil {
				t.Errorf("%s: it is under way", line)
			}
			continue
		}
		if e.state != states[i] {
			t.Errorf("%s: state %d, want %d", line, e.state, states[i])
		}
		if e.name.String() != "a b" || e.folder != (folder.FileID{Device: 1, Inode: 2, Birth: -3}) || e.bytes != 7 || e.seal != "00" {
			t.Errorf("%+v", e)
		}
	}
	if b.service != time.Minute {
		t.Errorf("service %v", b.service)
	}
}

// Whatever stands in a journal: it is taken in or refused, and what is refused has
// changed nothing.
func FuzzReplay(f *testing.F) {
	f.Add([]byte(strings.Join(golden, "\n")))
	f.Add([]byte(strings.Join(golden[:2], "\n") + "\n{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		b := book{entries: map[string]*entry{}}
		for line := range bytes.SplitSeq(data, []byte("\n")) {
			before := b.digest()
			if err := b.replay(durable.Record{Line: 1, Data: line}); err != nil && b.digest() != before {
				t.Fatalf("%q was refused (%v) and changed something", line, err)
			}
		}
		for id, e := range b.entries {
			if e.id.String() != id || e.state == 0 || e.name.String() == "" || e.service < 0 {
				t.Fatalf("%q: %+v", id, e)
			}
		}
	})
}

// digest is the book in words.
func (b *book) digest() string {
	var w strings.Builder
	for _, e := range b.sorted() {
		w.WriteString(e.id.String() + e.name.String() + e.at.String() + string(rune('0'+e.state)) + e.trouble + e.service.String())
	}
	return w.String() + b.service.String()
}
