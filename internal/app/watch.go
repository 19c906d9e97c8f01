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
	w := &watcher{house: h, reports: reports}
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
	watched int
}

// follow watches a folder; anything else is let be.
func (w *watcher) follow(path string) {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() || w.watched == maxWatched {
		return
	}
	if err := w.reports.Add(path); err != nil {
		w.log.Warn("a folder is not watched", "err", err)
		return
	}
	w.watched++
}

// relay turns reports into events, until ctx is done.
func (w *watcher) relay(ctx context.Context) {
	var due <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-w.reports.Events:
			if e.Has(fsnotify.Create) && filepath.Dir(e.Name) == w.config.Booths() {
				w.follow(e.Name)
			}
		case <-w.reports.Errors: // reports were lost; that may be a change too
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
