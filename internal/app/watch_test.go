package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
)

const guard = 20 * time.Second // for what would hang; no claim

// heard is what a desk was told.
type heard struct{ said []string }

func (h *heard) Changed(name string) { h.said = append(h.said, "changed "+name) }
func (h *heard) Touched(name string) { h.said = append(h.said, "touched "+name) }
func (h *heard) ChangedAll()         { h.said = append(h.said, "changed all") }

// newTestWatcher watches with the system's reports, of which nobody reads any.
func newTestWatcher(t *testing.T) (*watcher, *heard) {
	t.Helper()
	h, _ := newTestHouse(t, nil)
	reports, err := fsnotify.NewWatcher()
	check(t, err)
	t.Cleanup(func() { reports.Close() })
	w, desk := newWatcher(h, reports), &heard{}
	w.bells = desk
	return w, desk
}

// Who waits for a booth's marks is not woken by a worker that writes a log. Red
// when note tells Changed of anything but the marks and the coming and going of the
// booth, or only Touched of these; or tells of, follows or has recorded what begins
// with a dot.
func TestOnlyMarksAndComingAndGoingWake(t *testing.T) {
	for _, c := range []struct {
		path string
		op   fsnotify.Op
		says string
		came bool
	}{
		{"mine/.marks.json", fsnotify.Create, "changed mine", false},
		{"mine/.marks.json", fsnotify.Write, "changed mine", false},
		{"mine/.marks.json", fsnotify.Remove, "changed mine", false},
		{"mine/log.txt", fsnotify.Write, "touched mine", false},
		{"mine/log.txt", fsnotify.Create, "touched mine", false},
		{"mine/.forever", fsnotify.Create, "touched mine", false},
		{"mine/mine", fsnotify.Remove, "touched mine", false},
		{"mine", fsnotify.Create, "changed mine, touched mine", true},
		{"mine", fsnotify.Remove, "changed mine", false},
		{"mine", fsnotify.Rename, "changed mine", false},
		{"mine", fsnotify.Chmod, "touched mine", false},
		{".trash-1", fsnotify.Create, "", false},
		{".sweeping-1", fsnotify.Rename, "", false},
		{".sweeper.json", fsnotify.Write, "", false},
	} {
		w, desk := newTestWatcher(t)
		mkdir(t, filepath.Join(w.config.Booths(), ".trash-1"))
		w.note(fsnotify.Event{Name: filepath.Join(w.config.Booths(), c.path), Op: c.op})
		what := fmt.Sprintf("%s %s", c.op, c.path)
		if got := strings.Join(desk.said, ", "); got != c.says {
			t.Errorf("%s: said %q, want %q", what, got, c.says)
		}
		if got := len(w.came) == 1; got != c.came {
			t.Errorf("%s: to be recorded: %v", what, got)
		}
		if got := len(w.watched) == 1; got != c.came {
			t.Errorf("%s: watched %v", what, w.watched)
		}
	}
}

// The sweeper may be at a tick for long; the reports are taken meanwhile, and what
// came meanwhile is recorded afterwards. The end waits for the record. Red when
// relay records, when arrived waits or forgets, or when run does not wait for
// arrivals.
func TestRecordingArrivalsKeepsNoReportWaiting(t *testing.T) {
	w, _ := newTestWatcher(t)
	events := make(chan fsnotify.Event)
	w.reports.Events = events
	begun, goOn := make(chan struct{}), make(chan struct{})
	recorded := 0
	w.record = func(context.Context) error {
		begun <- struct{}{}
		<-goOn
		recorded++
		return nil
	}
	ctx, end := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); w.run(ctx) }()
	at := w.events.Current()
	came := fsnotify.Event{Name: filepath.Join(w.config.Booths(), "mine"), Op: fsnotify.Create}
	send := func() {
		select {
		case events <- came:
		case <-time.After(guard):
			t.Fatal("a report is not taken")
		}
	}
	send()
	<-begun // and is busy now
	for range 10 {
		send()
	}
	for late := time.Now().Add(guard); w.events.Current() == at; {
		if time.Now().After(late) {
			t.Fatal("the pages are not told")
		}
		time.Sleep(time.Millisecond)
	}
	goOn <- struct{}{}
	<-begun // of those that came meanwhile, once
	end()
	for range 1000 {
		os.Lstat(w.config.Home)
	}
	select {
	case <-done:
		t.Error("it ended while an arrival was recorded")
	default:
	}
	goOn <- struct{}{}
	<-done
	if recorded != 2 {
		t.Errorf("recorded %d times", recorded)
	}
}

// After reports were lost, whatever came is watched and recorded, and the pages are
// told. Red when lost does nothing.
func TestLostReportsAreMadeUpFor(t *testing.T) {
	w, _ := newTestWatcher(t)
	w.followAll()
	mkdir(t, filepath.Join(w.config.Booths(), "unseen"))
	mkdir(t, filepath.Join(w.config.Booths(), ".trash-1"))
	check(t, os.Rename(filepath.Join(w.config.Booths(), "other"), filepath.Join(w.config.Home, "out")))
	problems := make(chan error)
	w.reports.Events, w.reports.Errors = nil, problems
	came := make(chan struct{})
	w.record = func(context.Context) error { close(came); return nil }
	at := w.events.Current()
	ctx, end := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); w.run(ctx) }()
	problems <- errors.New("an overflow")
	<-came
	for late := time.Now().Add(guard); w.events.Current() == at && time.Now().Before(late); {
		time.Sleep(time.Millisecond)
	}
	if w.events.Current() == at {
		t.Error("the pages are not told")
	}
	end()
	<-done
	var watched []string
	for path := range w.watched {
		watched = append(watched, strings.TrimPrefix(path, w.config.Booths()))
	}
	if slices.Sort(watched); !slices.Equal(watched, []string{"", "/mine", "/unseen"}) {
		t.Errorf("%q", watched)
	}
}
