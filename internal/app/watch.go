package app

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// topicBooths is the event that says that some booth changed.
const topicBooths = "booths"

// Changes that come close together are one event; a booth beyond maxWatched is
// seen at the next reload.
const (
	settle     = 250 * time.Millisecond
	maxWatched = 8192
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
	w := &watcher{house: h, reports: reports, watched: map[string]bool{}}
	w.follow(h.config.Booths())
	names, err := h.data.Names()
	if err != nil {
		h.log.Warn("booths are not watched", "err", err)
	}
	for _, n := range names {
		w.follow(filepath.Join(h.config.Booths(), n.String()))
	}
	go func() {
		defer close(done)
		defer reports.Close()
		w.relay(ctx)
	}()
	return done
}

type watcher struct {
	*house
	reports *fsnotify.Watcher
	watched map[string]bool
	arrived bool // a folder came since the arrivals were last recorded
}

// arrive has the sweeper record the booths that came: a copy brings old times
// along, and counts from now.
func (w *watcher) arrive(ctx context.Context) {
	if !w.arrived {
		return
	}
	w.arrived = false
	if err := w.sweeper.Arrive(ctx); err != nil && ctx.Err() == nil {
		w.log.Warn("arrivals are recorded at the next tick", "err", err)
	}
}

// follow watches a folder; anything else is let be.
func (w *watcher) follow(path string) {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() || w.watched[path] {
		return
	}
	if len(w.watched) == maxWatched {
		w.log.Warn("too many booths to watch them all: changes in some show at the next reload", "watched", maxWatched)
		return
	}
	if err := w.reports.Add(path); err != nil {
		w.log.Warn("a folder is not watched", "err", err)
		return
	}
	w.watched[path] = true
}

// forget stops watching a folder that is not there any more under its name.
func (w *watcher) forget(path string) {
	if w.watched[path] {
		delete(w.watched, path)
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
		case <-w.reports.Errors: // reports were lost; that may be a change too
		case <-due:
			due = nil
			w.arrive(ctx)
			w.events.Publish(topicBooths)
			continue
		}
		if due == nil {
			due = time.After(settle)
		}
	}
}

// note tells the desk which booth it is about, at once, and follows the booths
// as they come and go.
func (w *watcher) note(e fsnotify.Event) {
	if in := filepath.Dir(e.Name); in != w.config.Booths() {
		w.desk.Changed(filepath.Base(in))
		return
	}
	w.desk.Changed(filepath.Base(e.Name))
	if e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) {
		w.forget(e.Name)
	}
	if e.Has(fsnotify.Create) {
		w.follow(e.Name)
		w.arrived = true
	}
}
