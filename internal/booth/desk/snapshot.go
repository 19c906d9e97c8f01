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
// are looked at again whatever the age, and those of which it is known that they
// have not are not, for a while: see [entry.stands].
const (
	renewAt = time.Second
	maxAge  = 2 * time.Second
)

// A booth of which no change was reported is looked at again all the same after
// this long, and half of that more, the one sooner than the other: there are ways
// to write into a file that no system reports.
const trustFor = 30 * time.Second

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

	id       folder.FileID
	modified time.Time // of the booth's folder
	facts    lifetime.Facts
	folders  bool // it has some, which are not watched
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
	done, last := make(chan struct{}), s.last
	s.renewal, s.missed = done, rung{}
	d.background.Go(func() {
		made, err := d.take(d.life, last)
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

// take looks at all booths, but for those of which the last snapshot says all that
// there is to say.
func (d *Desk) take(ctx context.Context, last *snapshot) (*snapshot, error) {
	made := &snapshot{at: d.Now(), booths: map[string]*entry{}}
	glances, err := d.Data.Glances()
	if err != nil {
		return nil, err
	}
	terms := d.terms()
	var again []folder.Name
	for _, g := range glances {
		name := g.Name.String()
		if e := last.of(name); e != nil && e.stands(g, terms) && d.Watched(name) {
			made.booths[name] = e
			continue
		}
		again = append(again, g.Name)
	}
	looks, err := booth.Looks(ctx, d.Data, again, terms)
	if err != nil {
		return nil, err
	}
	for _, l := range looks {
		made.booths[l.Name.String()] = d.entry(l)
	}
	made.lanes = lanesOf(made.booths)
	return made, nil
}

// of is the entry of a booth, nil for none.
func (s *snapshot) of(name string) *entry {
	if s == nil {
		return nil
	}
	return s.booths[name]
}

// stands says that a booth which is watched, and in which nothing was reported, is
// as it was: it is the same folder, nothing came or went in it, the desk's own
// records say the same, and nothing about it can change without a report.
func (e *entry) stands(g folder.Glance, t booth.Terms) bool {
	if g.Err != nil || e.id != g.ID || !e.modified.Equal(g.Modified) || e.folders {
		return false
	}
	if age := t.Now.Sub(e.read); age < 0 || age > trustFor+time.Duration(g.ID.Inode%16)*trustFor/32 {
		return false
	}
	return e.steady() && t.Records.Arrival(g.Name, g.ID, t.Now) == e.facts.Arrival && t.Records.Review(g.Name) == e.facts.Review
}

// steady says that the lifetime of a booth rests on what is reported when it
// changes. A lock, a mount and what cannot be read are not.
func (e *entry) steady() bool {
	if _, seen := e.facts.Arrival.(lifetime.ArrivalSeen); !seen {
		return false // it counts from each look
	}
	switch s := e.state.(type) {
	case lifetime.Kept:
		return s.Marks == ""
	case lifetime.Held:
		return s.Reason == lifetime.Open || s.Reason == lifetime.ReviewHold
	case lifetime.Counting:
	}
	return true
}

func (d *Desk) entry(l booth.Look) *entry {
	e := &entry{
		name: l.Name.String(), card: d.card(l), state: l.State, open: l.Marks.Open() > 0,
		newest: l.Newest().At, since: l.Newest().At, read: l.At,
		id: l.ID, modified: l.Survey.Modified, facts: l.Facts, folders: l.Survey.Folders > 0,
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
