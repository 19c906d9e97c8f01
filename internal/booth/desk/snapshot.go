package desk

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"holdfast/internal/booth"
	"holdfast/internal/booth/folder"
	"holdfast/internal/booth/lifetime"
)

// The index shows a snapshot. One older than maxAge is never shown, unless
// looking at all booths takes longer than that; asking for one older than
// renewAt has the next one made meanwhile. Booths that are known to have changed
// are looked at again whatever the age.
const (
	renewAt = time.Second
	maxAge  = 2 * time.Second
)

// snapshots holds the last snapshot of all booths.
type snapshots struct {
	mu      sync.Mutex
	last    *snapshot     // guarded by mu; nil for none
	err     error         // guarded by mu; of the last renewal
	renewal chan struct{} // guarded by mu; closed when the renewal that runs has ended
	missed  rung          // guarded by mu; changed while it runs, and so perhaps not in it
}

// snapshot is all booths, as of a moment. It does not change.
type snapshot struct {
	at     time.Time
	booths map[string]*entry
	lanes  []lane
}

// entry is one booth in a snapshot.
type entry struct {
	name   string
	card   card
	cover  folder.ItemPath // zero for none
	state  lifetime.State
	open   bool
	newest time.Time
	since  time.Time // since when its oldest open question waits
	read   time.Time // when it was looked at
}

// snapshot is a snapshot that is no older than [maxAge], or was begun after it was
// asked for.
func (d *Desk) snapshot(ctx context.Context) (*snapshot, error) {
	s := &d.snapshots
	asked := d.Now()
	for {
		if err := d.update(ctx); err != nil {
			return nil, err
		}
		s.mu.Lock()
		last := s.last
		if last != nil && asked.Sub(last.at) <= maxAge {
			if asked.Sub(last.at) > renewAt {
				d.renewLocked()
			}
			s.mu.Unlock()
			return last, nil
		}
		done := d.renewLocked()
		s.mu.Unlock()
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-done:
		}
		s.mu.Lock()
		err := s.err
		s.mu.Unlock()
		if err != nil {
			return nil, err
		}
	}
}

// renewLocked has a new snapshot made, unless one is being made.
func (d *Desk) renewLocked() <-chan struct{} {
	s := &d.snapshots
	if s.renewal != nil {
		return s.renewal
	}
	done := make(chan struct{})
	s.renewal, s.missed = done, rung{}
	d.background.Go(func() {
		made, err := d.take(d.life)
		s.mu.Lock()
		defer s.mu.Unlock()
		if err == nil {
			s.last = made
			d.bells.note(s.missed)
		}
		s.err, s.renewal = err, nil
		close(done)
	})
	return done
}

// update looks again at the booths that changed since the last time. It looks
// without the lock: of two looks at one booth the later one stays.
func (d *Desk) update(ctx context.Context) error {
	s := &d.snapshots
	s.mu.Lock()
	changed := d.bells.take()
	if s.renewal != nil {
		s.missed.join(changed)
	}
	if changed.all {
		s.last = nil
	}
	none := s.last == nil || len(changed.names) == 0
	s.mu.Unlock()
	if none {
		return nil
	}
	began := d.Now()
	fresh := map[string]*entry{}
	for name := range changed.names {
		n, err := folder.ParseName(name)
		if err != nil {
			continue
		}
		fresh[name] = nil
		if l := booth.Named(ctx, d.Data, n, d.terms()); l != nil {
			fresh[name] = d.entry(*l)
		}
	}
	if err := ctx.Err(); err != nil { // a look that was cut short holds
		d.bells.note(changed)
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last != nil {
		s.last = s.last.with(fresh, began)
	}
	return nil
}

// with is the snapshot with some booths as they were found from began on, nil for
// one that is gone.
func (s *snapshot) with(fresh map[string]*entry, began time.Time) *snapshot {
	next := &snapshot{at: s.at, booths: maps.Clone(s.booths)}
	for name, e := range fresh {
		old := next.booths[name]
		switch {
		case old != nil && old.read.After(began): // by now somebody else looked later
		case e == nil:
			delete(next.booths, name)
		default:
			next.booths[name] = e
		}
	}
	next.lanes = lanesOf(next.booths)
	return next
}

// take looks at all booths.
func (d *Desk) take(ctx context.Context) (*snapshot, error) {
	made := &snapshot{at: d.Now(), booths: map[string]*entry{}}
	looks, err := booth.List(ctx, d.Data, d.terms())
	if err != nil {
		return nil, err
	}
	for _, l := range looks {
		made.booths[l.Name.String()] = d.entry(l)
	}
	made.lanes = lanesOf(made.booths)
	return made, nil
}

func (d *Desk) entry(l booth.Look) *entry {
	e := &entry{
		name: l.Name.String(), card: d.card(l), state: l.State, open: l.Marks.Open() > 0,
		newest: l.Newest().At, since: l.Newest().At, read: l.At,
	}
	e.cover, _ = cover(l.Items)
	if oldest, ok := l.Marks.Oldest(); ok {
		e.since = oldest
	}
	return e
}

// sorted are the booths of a snapshot in a total order.
func sorted(booths map[string]*entry, order func(a, b *entry) int) []*entry {
	return slices.SortedFunc(maps.Values(booths), func(a, b *entry) int {
		return cmp.Or(order(a, b), strings.Compare(a.name, b.name))
	})
}
