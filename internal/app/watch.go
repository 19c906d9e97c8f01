package app

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"holdfast/internal/booth/marks"
)

// topicBooths is the event that says that some booth changed.
const topicBooths = "booths"

// Changes that come close together are one event; a booth beyond maxWatched is
// seen at the next reload.
const (
	settle     = 250 * time.Millisecond
	maxWatched = 65536
)

// watch tells the open pages that something changed in the data folder, until
// ctx is done; the channel is closed then. What the system reports is a hint:
// the pages look for themselves, and where nothing can be watched they are only
// not live.
func (h *house) watch(ctx context.Context) <-chan struct{} {
	done := make(chan struct{})
	reports, err := fsnotify.NewWatcher()
	if err != nil {
		h.log.Warn("pages are not live: the data folder cannot be watched", "err", err)
		close(done)
		return done
	}
	w := newWatcher(h, reports)
	w.followAll()
	h.watcher.Store(w)
	go func() {
		defer close(done)
		defer reports.Close()
		w.run(ctx)
	}()
	return done
}

type watcher struct {
	*house

	reports *fsnotify.Watcher
	mu      sync.Mutex
	watched map[string]bool // guarded by mu; by path
	bells   bells
	record  func(context.Context) error // of what came
	came    chan struct{}               // of one: a folder came since record began
}

// bells are those of the desk: Changed wakes whoever waits on a booth, Touched only
// has it looked at again for the index, and ChangedAll is both for all of them.
type bells interface {
	Changed(name string)
	Touched(name string)
	ChangedAll()
}

func newWatcher(h *house, reports *fsnotify.Watcher) *watcher {
	return &watcher{
		house: h, reports: reports, watched: map[string]bool{}, bells: h.desk, record: h.sweeper.Arrive, came: make(chan struct{}, 1),
	}
}

// run relays and records until ctx is done and both have ended.
func (w *watcher) run(ctx context.Context) {
	var both sync.WaitGroup
	both.Go(func() { w.relay(ctx) })
	both.Go(func() { w.arrivals(ctx) })
	both.Wait()
}

// arrivals has the sweeper record the booths that came: a copy brings old times
// along, and counts from now. The sweeper may be busy for long, so nobody waits for
// this.
func (w *watcher) arrivals(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.came:
		}
		if err := w.record(ctx); err != nil && ctx.Err() == nil {
			w.log.Warn("arrivals are recorded at the next tick", "err", err)
		}
	}
}

// arrived has the arrivals recorded, once more if that is under way.
func (w *watcher) arrived() {
	select {
	case w.came <- struct{}{}:
	default:
	}
}

// followAll watches the data folder and each booth, anew where one of that name was
// watched before.
func (w *watcher) followAll() {
	w.mu.Lock()
	clear(w.watched)
	w.mu.Unlock()
	w.follow(w.config.Booths())
	names, err := w.data.Names()
	if err != nil {
		w.log.Warn("booths are not watched", "err", err)
	}
	for _, n := range names {
		w.follow(filepath.Join(w.config.Booths(), n.String()))
	}
}

// watches says whether changes in the folder at path are reported.
func (w *watcher) watches(path string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.watched[path]
}

// follow watches a folder; anything else is let be. What was there before it was
// watched has to be looked at once more.
func (w *watcher) follow(path string) {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() || w.watches(path) {
		return
	}
	w.mu.Lock()
	full := len(w.watched) == maxWatched
	w.mu.Unlock()
	if full {
		w.log.Warn("too many booths to watch them all: changes in some show at the next reload", "watched", maxWatched)
		return
	}
	if err := w.reports.Add(path); err != nil {
		w.log.Warn("a folder is not watched", "err", err)
		return
	}
	w.mu.Lock()
	w.watched[path] = true
	w.mu.Unlock()
	if path != w.config.Booths() {
		w.bells.Touched(filepath.Base(path))
	}
}

// forget stops watching a folder that is not there any more under its name.
func (w *watcher) forget(path string) {
	if w.watches(path) {
		w.mu.Lock()
		delete(w.watched, path)
		w.mu.Unlock()
		_ = w.reports.Remove(path) // it may be gone with its folder already
	}
}

// relay turns reports into events, until ctx is done.
func (w *watcher) relay(ctx context.Context) {
	var due <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-w.reports.Events:
			w.note(e)
		case err := <-w.reports.Errors:
			w.lost(err)
		case <-due:
			due = nil
			w.events.Publish(topicBooths)
			continue
		}
		if due == nil {
			due = time.After(settle)
		}
	}
}

// lost takes in that reports were lost, which may have been of anything.
func (w *watcher) lost(err error) {
	w.log.Warn("changes in the data folder were missed: all of it is looked at again", "err", err)
	w.followAll()
	w.arrived()
	w.bells.ChangedAll()
}

// note tells the desk which booth it is about, at once, and follows the booths
// as they come and go. Who waits on a booth waits for its marks, or for it to come
// or go, and is not woken for anything else.
func (w *watcher) note(e fsnotify.Event) {
	in, base := filepath.Dir(e.Name), filepath.Base(e.Name)
	switch {
	case in != w.config.Booths():
		if base == marks.File {
			w.bells.Changed(filepath.Base(in))
		} else {
			w.bells.Touched(filepath.Base(in))
		}
		return
	case strings.HasPrefix(base, "."): // the sweeper's, or no booth
		return
	case !e.Has(fsnotify.Create) && !e.Has(fsnotify.Remove) && !e.Has(fsnotify.Rename):
		w.bells.Touched(base)
		return
	}
	w.bells.Changed(base)
	if e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) {
		w.forget(e.Name)
	}
	if e.Has(fsnotify.Create) {
		w.follow(e.Name)
		w.arrived()
	}
}
