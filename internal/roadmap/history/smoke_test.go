package history

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/roadmap/event"
)

func TestSmoke(t *testing.T) {
	var line []event.Event
	add := func(b event.Body) event.Event {
		d := event.Draft{Node: "fix-login", Author: "principal:local/studio/ada", At: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), Body: b}
		if len(line) > 0 {
			d.Parents = []event.ID{line[len(line)-1].ID()}
		}
		if err := Admit(Order(line), d); err != nil {
			t.Fatal(err)
		}
		e, err := d.Seal()
		if err != nil {
			t.Fatal(err)
		}
		line = append(line, e)
		return e
	}
	add(event.Opened{Card: event.Card{Title: "x"}})
	c := add(event.Claimed{Assignee: "principal:local/studio/bo", ReturnTo: "principal:local/studio/ada"})
	add(event.CommentCreated{Comment: "c", Body: "hm"})
	add(event.ResultReturned{Attempt: "0123456789abcdef", Claim: c.ID(), Outcome: event.Published{Booth: "b"}})
	s := StateOf("fix-login", line)
	data, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := DecodeState(data)
	if d := cmp.Diff(s, again); d != "" || err != nil {
		t.Fatal(d, err)
	}
	t.Logf("%s", data)
}
