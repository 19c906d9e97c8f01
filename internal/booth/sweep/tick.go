package sweep

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/internal/booth"
	"holdfast/internal/booth/folder"
	"holdfast/internal/booth/ledger"
	"holdfast/internal/booth/lifetime"
)

const (
	whyFirst   = "seen expired for the first time"
	whyLately  = "seen expired less than half a tick ago"
	whyTouched = "touched"
)

// round is one pass over the data folder.
type round struct {
	now     time.Time
	mono    time.Duration
	boot    string
	glances []folder.Glance
	keys    []string // of each glance
	records ledger.Records
	// nominated is what ticks.json is to say after it, by key; fresh of them are
	// those that this pass has added.
	nominated map[string]time.Duration
	fresh     map[string]bool
	report    Report
}

func (r *round) spare(name folder.Name, why string) {
	r.report.Spared = append(r.report.Spared, Spared{name.String(), why})
}

// done is the report in order.
func (r *round) done() Report {
	slices.Sort(r.report.Swept)
	slices.SortFunc(r.report.Spared, func(a, b Spared) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Why, b.Why)) })
	return r.report
}

// Tick is one tick of the service. With an error it may have done part of it;
// the report says which.
func (s *Sweeper) Tick(ctx context.Context) (Report, error) {
	report, err := s.tick(ctx)
	s.purgeAll(ctx)
	return report, err
}

func (s *Sweeper) tick(ctx context.Context) (Report, error) {
	if err := s.turn.take(ctx); err != nil {
		return newRound().done(), fmt.Errorf("tick: %w", err)
	}
	defer s.turn.release()
	defer s.publishLocked()
	s.rounds++
	r, err := s.beginLocked(ctx, true)
	if err != nil {
		return r.done(), err
	}
	s.forgetAsked(r)
	candidates := s.nominateLocked(ctx, r)
	if err := ctx.Err(); err != nil {
		return r.done(), fmt.Errorf("tick: %w", err)
	}
	s.ticks = ledger.Ticks{Boot: r.boot, Wall: r.now, Monotonic: r.mono, Service: s.ticks.Service, Nominated: r.nominated}
	// Before anything is condemned: a crash from here on leaves a tick that was.
	if err := s.conf.Ledger.SetTicks(s.ticks); err != nil {
		return r.done(), err
	}
	if err := s.condemnLocked(ctx, r, candidates); err != nil {
		return r.done(), err
	}
	return r.done(), s.tendTrashLocked(ctx, r.now)
}

// Sweep does what the next tick would do about booths that a tick before
// nominated. It nominates like a tick, for its report only. A dry one changes
// nothing, and its Swept is what would go.
func (s *Sweeper) Sweep(ctx context.Context, dry bool) (Report, error) {
	report, err := s.sweep(ctx, dry)
	if !dry {
		s.purgeAll(ctx)
	}
	return report, err
}

func (s *Sweeper) sweep(ctx context.Context, dry bool) (Report, error) {
	if err := s.turn.take(ctx); err != nil {
		return newRound().done(), fmt.Errorf("sweep: %w", err)
	}
	defer s.turn.release()
	if dry {
		return s.rehearseLocked(ctx)
	}
	defer s.publishLocked()
	r, err := s.beginLocked(ctx, false)
	if err != nil {
		return r.done(), err
	}
	candidates := s.nominateLocked(ctx, r)
	if err := ctx.Err(); err != nil {
		return r.done(), fmt.Errorf("sweep: %w", err)
	}
	maps.DeleteFunc(r.nominated, func(key string, _ time.Duration) bool { return r.fresh[key] })
	if s.continuesLocked(r) {
		s.ticks.Nominated = r.nominated
		if err := s.conf.Ledger.SetTicks(s.ticks); err != nil {
			return r.done(), err
		}
	}
	err = s.condemnLocked(ctx, r, candidates) // which fills in the report
	return r.done(), err
}

func (s *Sweeper) rehearseLocked(ctx context.Context) (Report, error) {
	r, err := s.lookLocked()
	if err != nil {
		return r.done(), err
	}
	r.records = s.conf.Ledger.Records()
	candidates := s.nominateLocked(ctx, r)
	for i, v := range s.consider(ctx, r, candidates) {
		if v.stays {
			r.stays(candidates[i], v)
		} else {
			r.report.Swept = append(r.report.Swept, candidates[i].Name.String())
		}
	}
	if err := ctx.Err(); err != nil {
		return newRound().done(), fmt.Errorf("sweep: %w", err)
	}
	return r.done(), nil
}

// Arrive records the booths that were not seen before. It is for folders that
// appear between two ticks.
func (s *Sweeper) Arrive(ctx context.Context) error {
	if err := s.turn.take(ctx); err != nil {
		return fmt.Errorf("arrive: %w", err)
	}
	defer s.turn.release()
	r, err := s.lookLocked()
	if err != nil {
		return err
	}
	return s.arriveLocked(r, false)
}

// beginLocked does what comes before any decision: the journal is whole, what
// was left aside is back, and every booth's arrival is on the disk. Those that
// are not found are forgotten where forget says so.
func (s *Sweeper) beginLocked(ctx context.Context, forget bool) (*round, error) {
	if err := s.mendLocked(); err != nil {
		return newRound(), err
	}
	s.leftoversLocked(ctx)
	r, err := s.lookLocked()
	if err != nil {
		return r, err
	}
	s.ticks.Service, s.since = s.serviceLocked(), r.mono
	if err := s.arriveLocked(r, forget); err != nil {
		return r, err
	}
	r.records = s.conf.Ledger.Records()
	return r, nil
}

func newRound() *round {
	return &round{
		nominated: map[string]time.Duration{},
		fresh:     map[string]bool{},
		report:    Report{Swept: []string{}, Spared: []Spared{}},
	}
}

// lookLocked glances at every booth.
func (s *Sweeper) lookLocked() (*round, error) {
	r := newRound()
	r.now = s.conf.Clock.Now().UTC().Round(0)
	r.mono = s.conf.Clock.Monotonic().Truncate(time.Millisecond) // as ticks.json keeps it
	r.boot = s.conf.Clock.Boot()
	var err error
	if r.glances, err = s.conf.Data.Glances(); err != nil {
		return r, err
	}
	r.keys = make([]string, len(r.glances))
	for i, g := range r.glances {
		if g.Err == nil {
			r.keys[i] = ledger.Key(g.Name, g.ID)
		}
	}
	return r, nil
}

// serviceLocked is for how long a sweeper has been at work by now.
func (s *Sweeper) serviceLocked() time.Duration {
	return s.ticks.Service + max(0, s.conf.Clock.Monotonic()-s.since)
}

// arriveLocked records the booths that were not seen before, as of now. A record
// that cannot be read is left alone: it holds every booth until it is mended.
func (s *Sweeper) arriveLocked(r *round, forget bool) error {
	old, err := s.conf.Ledger.Records().Seen()
	if err != nil {
		s.conf.Log.Warn("the record of arrivals cannot be read: nothing is swept", "error", err)
		return nil
	}
	seen := make(map[string]time.Time, len(r.keys))
	if !forget {
		maps.Copy(seen, old)
	}
	changed := false
	for _, key := range r.keys {
		if key == "" {
			continue
		}
		at, ok := old[key]
		if !ok {
			at, changed = r.now, true
		}
		seen[key] = at
	}
	if !changed && len(seen) == len(old) {
		return nil
	}
	return s.conf.Ledger.SetArrivals(seen)
}

// forgetAsked removes what is kept of who waits for answers in booths that are not
// there: another of that name begins with nothing.
func (s *Sweeper) forgetAsked(r *round) {
	names := make([]folder.Name, len(r.glances))
	for i, g := range r.glances {
		names[i] = g.Name
	}
	if err := s.conf.Ledger.KeepAsked(names); err != nil {
		s.conf.Log.Warn("who waited for answers in booths that are gone is not forgotten", "error", err)
	}
}

// continuesLocked says whether the ticks so far count: the machine did not start
// again, and its clock did not jump, since the last.
func (s *Sweeper) continuesLocked(r *round) bool {
	if s.ticks.Boot != r.boot || r.mono < s.ticks.Monotonic {
		return false
	}
	jump := r.now.Sub(s.ticks.Wall) - (r.mono - s.ticks.Monotonic)
	return jump.Abs() <= s.conf.Tick
}

// nominateLocked fills in what this pass nominates, and gives those booths that
// an earlier tick nominated, long enough ago. These are not walked: whoever
// condemns them reads them anyway.
func (s *Sweeper) nominateLocked(ctx context.Context, r *round) []folder.Glance {
	earlier := s.ticks.Nominated
	if !s.continuesLocked(r) {
		earlier = nil
	}
	var candidates, walk []folder.Glance
	var keys []string
	for i, g := range r.glances {
		key := r.keys[i]
		first, was := earlier[key]
		switch {
		case g.Err != nil:
		case was && r.mono-first >= s.conf.Tick/2:
			r.nominated[key] = first
			candidates = append(candidates, g)
		case s.mayBeStale(r, g):
			walk, keys = append(walk, g), append(keys, key)
		}
	}
	for i, p := range s.probe(ctx, walk, r.now) {
		first, was := earlier[keys[i]]
		switch {
		case p.settled != nil:
			r.spare(walk[i].Name, lifetime.Line(p.settled, r.now))
		case !p.stale:
		case was:
			r.nominated[keys[i]] = first
			r.spare(walk[i].Name, whyLately)
		default:
			r.nominated[keys[i]], r.fresh[keys[i]] = r.mono, true
			r.spare(walk[i].Name, whyFirst)
		}
	}
	return candidates
}

// mayBeStale says whether a booth is worth a walk: neither its folder nor its
// arrival is fresh. An arrival that is not known nominates nothing.
func (s *Sweeper) mayBeStale(r *round, g folder.Glance) bool {
	cut := r.now.Add(-s.conf.TTL)
	if !g.Modified.Before(cut) {
		return false
	}
	came, ok := lifetime.Came(r.records.Arrival(g.Name, g.ID, r.now))
	return ok && came.Before(cut)
}

// probed is what is known of a booth that may have expired.
type probed struct {
	stale bool
	// settled is its lifetime where its age was not asked; nil where it was.
	settled lifetime.State
}

// probe asks of each booth whether it is stale, two at a time. What cannot be
// read is not: it is held, and its age is not known.
func (s *Sweeper) probe(ctx context.Context, booths []folder.Glance, now time.Time) []probed {
	out := make([]probed, len(booths))
	eachOf(len(booths), func(share func() (int, bool)) {
		for i, ok := share(); ok; i, ok = share() {
			var err error
			if out[i], err = s.probeOne(ctx, booths[i].Name, now); err != nil {
				s.conf.Log.Debug("a booth could not be looked through", "booth", booths[i].Name.String(), "error", err)
			}
		}
	})
	return out
}

func (s *Sweeper) probeOne(ctx context.Context, name folder.Name, now time.Time) (probed, error) {
	b, err := s.conf.Data.Booth(name)
	if err != nil {
		return probed{}, err
	}
	defer b.Close()
	if s := booth.Settled(b); s != nil {
		return probed{settled: s}, nil
	}
	stale, err := b.Stale(ctx, now.Add(-s.conf.TTL))
	return probed{stale: stale}, err
}

// eachOf lets two goroutines share out the numbers below n, and waits for them.
func eachOf(n int, work func(share func() (int, bool))) {
	var taken atomic.Int64
	share := func() (int, bool) {
		i := int(taken.Add(1)) - 1
		return i, i < n
	}
	var wg sync.WaitGroup
	for range min(2, n) {
		wg.Go(func() { work(share) })
	}
	wg.Wait()
}
