package reach

import (
	"context"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"holdfast/internal/booth"
	"holdfast/internal/booth/folder"
	"holdfast/internal/booth/marks"
)

// How often a booth is looked at without a report: one whose folder cannot be
// watched, and one that is, in case a report was lost on a network's disk.
const (
	pollPause  = time.Second
	checkPause = time.Minute
)

// Watch gives a booth's marks as soon as their rev is another one than since,
// lower included, or they are damaged. A booth that goes away is Gone. If ctx
// ends first the error is ctx's, and the marks are those that were read last.
// That somebody waits for the questions that are named is noted for the desk.
func (l Local) Watch(ctx context.Context, name string, since int64, waiting []string) (marks.Reading, error) {
	n, err := folder.Existing(name)
	if err != nil {
		return marks.Reading{}, err
	}
	w := watchFolder(filepath.Join(l.Data.Dir().Name(), n.String()))
	defer w.close()
	for {
		r, err := booth.Marks(l.Data, n) // after the watch began, so that nothing falls between
		if err != nil || !r.Whole() || r.Rev != since {
			return r, err
		}
		_ = l.Ledger.Waiting(n, r.Asked(waiting), time.Now()) // who waits decides nothing, and cannot fail a wait
		if err := w.next(ctx, l.after); err != nil {
			return r, err
		}
	}
}

// after is a channel on which something comes after d.
func (l Local) after(d time.Duration) <-chan time.Time {
	if l.tick != nil {
		return l.tick(d)
	}
	return time.After(d)
}

// watched is a folder whose marks are watched; without reports if that is not
// possible.
type watched struct {
	path    string
	reports *fsnotify.Watcher
}

func watchFolder(path string) *watched {
	w := &watched{path: path}
	reports, err := fsnotify.NewWatcher()
	if err != nil {
		return w
	}
	if reports.Add(path) != nil {
		reports.Close()
		return w
	}
	w.reports = reports
	return w
}

func (w *watched) close() {
	if w.reports != nil {
		w.reports.Close()
	}
}

// next returns when there is reason to look again, or with ctx's error.
func (w *watched) next(ctx context.Context, after func(time.Duration) <-chan time.Time) error {
	if w.reports == nil {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-after(pollPause):
			return nil
		}
	}
	check := after(checkPause)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-check:
			return nil
		case <-w.reports.Errors: // reports were lost
			return nil
		case e := <-w.reports.Events:
			if w.concerns(e) {
				return nil
			}
		}
	}
}

// concerns says whether a report may be about the marks, or the booth's own
// folder. When that one went away another may take its name, and is watched then.
func (w *watched) concerns(e fsnotify.Event) bool {
	if e.Name != w.path {
		return filepath.Base(e.Name) == marks.File
	}
	if e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) {
		_ = w.reports.Remove(w.path)
		if w.reports.Add(w.path) != nil {
			w.close()
			w.reports = nil
		}
	}
	return true
}
