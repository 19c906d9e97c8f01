package agent

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/fsnotify/fsnotify"
)

// hints says that something may have been written in one folder of a store in a folder of
// this machine. They only save waiting: none may come though something was written, and
// then the next look finds it.
type hints struct {
	reports *fsnotify.Watcher
	came    chan struct{}
	store   string // the store's folder

	mu     sync.Mutex
	folder string // in it, "" before it is known
	seen   string // what is watched: it, or what of its path is there
}

// newHints watches nothing yet. It is nil where nothing can be watched: then none come.
func newHints(store string) *hints {
	if store == "" {
		return nil
	}
	reports, err := fsnotify.NewWatcher()
	if err != nil {
		return nil
	}
	return &hints{reports: reports, came: make(chan struct{}, 1), store: store}
}

// serve passes on what the kernel reports until ctx is done.
func (h *hints) serve(ctx context.Context) {
	defer h.reports.Close()
	for {
		select {
		case <-ctx.Done():
			return
		case _, ok := <-h.reports.Errors:
			if !ok {
				return
			}
			h.come() // some were lost
		case e, ok := <-h.reports.Events:
			if !ok {
				return
			}
			if e.Has(fsnotify.Create) || e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) {
				h.forget(e.Name)
				h.follow()
				h.come()
			}
		}
	}
}

// forget is for a folder that was watched and is gone, or is another by now.
func (h *hints) forget(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if name == h.seen {
		h.seen = ""
	}
}

func (h *hints) come() {
	select {
	case h.came <- struct{}{}:
	default:
	}
}

// on watches a prefix of the store, which ends in a slash.
func (h *hints) on(prefix string) <-chan struct{} {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	h.folder = strings.TrimSuffix(prefix, "/")
	h.mu.Unlock()
	h.follow()
	return h.came
}

// follow watches the folder, or as long as that is not there the one above it that is.
func (h *hints) follow() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.folder == "" {
		return
	}
	for { // it may be made between the look and the watch
		at := h.deepest()
		if at == h.seen {
			return
		}
		if h.seen != "" {
			_ = h.reports.Remove(h.seen) // gone, maybe
			h.seen = ""
		}
		if h.reports.Add(at) != nil {
			return // the next look tries again
		}
		h.seen = at
	}
}

func (h *hints) deepest() string {
	at := filepath.Join(h.store, filepath.FromSlash(h.folder))
	for at != h.store {
		if info, err := os.Stat(at); err == nil && info.IsDir() {
			break
		}
		at = filepath.Dir(at)
	}
	return at
}
