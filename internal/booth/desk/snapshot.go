package desk

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"holdfast/internal/booth"
	"holdfast/internal/booth/folder"
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
	last    *snapshot       // guarded by mu; nil for none
	err     error           // guarded by mu; of the last renewal
	renewal chan struct{}   // guarded by mu; closed when the renewal that runs has ended
	missed  map[string]bool // guarded by mu; changed while it runs, and so perhaps not in it
}

// snapshot is all booths, as of a moment. It does not change.
type snapshot struct {
	at     time.Time
	booths map[string]*entry
	lanes  []lane
}

// entry is one booth in a snapshot.
type entry struct {
	card  card
	cover folder.ItemPath // zero for none
	look  booth.Look      // without its items
}

// snapshot is a snapshot that is no older than [maxAge].
func (d *Desk) snapshot(ctx context.Context) (*snapshot, error) {
	s := &d.snapshots
	asked := d.Now()
	for {
		s.mu.Lock()
		if age := asked.Sub(s.lastAt()); age <= maxAge && age >= -time.Minute {
			if age > renewAt {
				d.renewLocked()
			}
			last, err := d.updateLocked(ctx)
			s.mu.Unlock()
			return last, err
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

// lastAt is when the last snapshot was begun. s.mu is held.
func (s *snapshots) lastAt() time.Time {
	if s.last == nil {
		return time.Time{}
	}
	return s.last.at
}

// renewLocked has a new snapshot made, unless one is being made.
func (d *Desk) renewLocked() <-chan struct{} {
	s := &d.snapshots
	if s.renewal != nil {
		return s.renewal
	}
	done := make(chan struct{})
	s.renewal, s.missed = done, map[string]bool{}
	go func() { // it ends with the walk over the booths, which waits for nobody
		made, err := d.take(context.Background())
		s.mu.Lock()
		defer s.mu.Unlock()
		if err == nil {
			s.last = made
			d.bells.note(s.missed)
		}
		s.err, s.renewal = err, nil
		close(done)
	}()
	return done
}

// updateLocked looks again at the booths that changed since the last time.
func (d *Desk) updateLocked(ctx context.Context) (*snapshot, error) {
	s := &d.snapshots
	changed := d.bells.take()
	if len(changed) == 0 {
		return s.last, nil
	}
	if s.renewal != nil {
		maps.Copy(s.missed, changed)
	}
	next := &snapshot{at: s.last.at, booths: maps.Clone(s.last.booths)}
	for name := range changed {
		delete(next.booths, name)
		n, err := folder.ParseName(name)
		if err != nil {
			continue
		}
		if l := booth.Named(ctx, d.Data, n, d.terms()); l != nil {
			next.booths[name] = d.entry(*l)
		}
	}
	if err := ctx.Err(); err != nil { // a look that was cut short holds
		d.bells.note(changed)
		return nil, err
	}
	next.lanes = lanesOf(next.booths)
	s.last = next
	return next, nil
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
	e := &entry{card: d.card(l), look: l}
	e.cover, _ = cover(l.Items)
	e.look.Items, e.look.Survey.Items = nil, nil
	return e
}

// sorted are the booths of a snapshot in a total order.
func sorted(booths map[string]*entry, order func(a, b booth.Look) int) []*entry {
	return slices.SortedFunc(maps.Values(booths), func(a, b *entry) int {
		if c := order(a.look, b.look); c != 0 {
			return c
		}
		return strings.Compare(a.look.Name.String(), b.look.Name.String())
	})
}
