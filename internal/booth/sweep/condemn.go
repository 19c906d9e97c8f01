package sweep

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"time"

	"holdfast/internal/booth"
	"holdfast/internal/booth/folder"
	"holdfast/internal/booth/ledger"
	"holdfast/internal/booth/lifetime"
	"holdfast/internal/durable"
	"holdfast/internal/problem"
)

// The effects on the data folder, beside the lines of the journal, which are
// called journal- and their event.
const (
	stepAside   durable.Step = "move-aside"
	stepTrash   durable.Step = "move-trash"
	stepBack    durable.Step = "move-back"
	stepRestore durable.Step = "move-restore"
	stepUnlink  durable.Step = "unlink"
)

// condemnLocked decides about each candidate, and keeps what that did to the
// nominations. An error of the journal or the disk ends it: the next would meet
// the same.
func (s *Sweeper) condemnLocked(ctx context.Context, r *round, candidates []folder.Glance) error {
	before := len(r.nominated)
	verdicts := s.consider(ctx, r, candidates)
	err := ctx.Err()
	for i, g := range candidates {
		if err != nil {
			break
		}
		if v := verdicts[i]; v.stays {
			r.stays(g, v)
			continue
		}
		if err = s.condemnOneLocked(ctx, r, g); err == nil {
			err = ctx.Err()
		}
	}
	if len(r.nominated) != before {
		err = errors.Join(err, s.conf.Ledger.SetTicks(s.ticks))
	}
	return err
}

// condemnOneLocked decides about one booth, under its lock, and puts it into the
// trash if it still is expired.
func (s *Sweeper) condemnOneLocked(ctx context.Context, r *round, g folder.Glance) error {
	key := ledger.Key(g.Name, g.ID)
	b, err := s.conf.Data.Booth(g.Name)
	if err != nil {
		if problem.KindOf(err) == problem.Gone {
			delete(r.nominated, key)
			return nil
		}
		r.spare(g.Name, problem.Words(err))
		return nil
	}
	defer b.Close()
	lock, err := lockBooth(b)
	var held *durable.Held
	switch {
	case errors.As(err, &held): // whatever is at work on it is alive
		r.spare(g.Name, lifetime.Line(lifetime.Held{Reason: lifetime.BusyHold}, r.now))
		return nil
	case err != nil:
		r.spare(g.Name, "cannot be locked: "+problem.Words(err))
		return nil
	}
	e, why, err := s.underLockLocked(ctx, r, g, b)
	// The lock was held until the tree was in the trash or back in place.
	err = errors.Join(err, lock.Release())
	switch {
	case e != nil:
		delete(r.nominated, key)
		r.report.Swept = append(r.report.Swept, g.Name.String())
		s.conf.Log.Info("swept", "booth", g.Name.String(), "id", e.id.String(), "rule", e.rule)
		return errors.Join(err, s.purgeAtOnceLocked(ctx, e, r.now))
	case why != "":
		r.spare(g.Name, why)
	}
	return err
}

// underLockLocked is the decision. It gives the entry in the trash, or why the
// booth stays, or neither where it is another booth by now.
func (s *Sweeper) underLockLocked(ctx context.Context, r *round, g folder.Glance, b *folder.Booth) (*entry, string, error) {
	key := ledger.Key(g.Name, g.ID)
	there, err := s.conf.Data.Standing(g.Name.Place())
	if err != nil || there != b.ID() || there != g.ID {
		delete(r.nominated, key) // it went, or its name is another folder's
		return nil, "", nil
	}
	look := booth.At(ctx, b, s.terms(r.now))
	if err := ctx.Err(); err != nil {
		return nil, "the sweep was ended", err
	}
	if why := spared(look); why != "" {
		r.stays(g, verdict{overdue: overdue(look)})
		return nil, why, nil
	}
	again := func() string {
		second := booth.At(ctx, b, s.terms(r.now))
		if why := spared(second); why != "" {
			return why
		}
		if second.Newest().At.After(look.Newest().At) {
			return whyTouched
		}
		return ""
	}
	stamp := look.Newest()
	e, why, err := s.discardLocked(ctx, b, b.Seal(ctx), order{
		rule:   lifetime.Rule(look.State, s.conf.TTL),
		newest: &newest{url.PathEscape(stamp.Path), stamp.At.UTC(), stamp.Clock.String()},
		again:  again,
	})
	if why != "" && err == nil {
		delete(r.nominated, key) // it qualifies anew
	}
	return e, why, err
}

// verdict is what a strict read without the lock says of a candidate. That it
// stays is final, for this tick; that it goes is not.
type verdict struct {
	stays   bool
	why     string // "" where it is not there any more
	overdue bool   // so that it needs no second nomination
}

// stays takes in that a candidate does.
func (r *round) stays(g folder.Glance, v verdict) {
	if !v.overdue {
		delete(r.nominated, ledger.Key(g.Name, g.ID))
	}
	if v.why != "" {
		r.spare(g.Name, v.why)
	}
}

// consider reads each candidate, two at a time: most of those that were nominated
// are held, and stay so tick after tick.
func (s *Sweeper) consider(ctx context.Context, r *round, candidates []folder.Glance) []verdict {
	verdicts := make([]verdict, len(candidates))
	eachOf(len(candidates), func(share func() (int, bool)) {
		for i, ok := share(); ok && ctx.Err() == nil; i, ok = share() {
			verdicts[i] = s.considerOne(ctx, r, candidates[i])
		}
	})
	return verdicts
}

func (s *Sweeper) considerOne(ctx context.Context, r *round, g folder.Glance) verdict {
	b, err := s.conf.Data.Booth(g.Name)
	switch {
	case problem.KindOf(err) == problem.Gone:
		return verdict{stays: true}
	case err != nil:
		return verdict{stays: true, why: problem.Words(err), overdue: true}
	}
	defer b.Close()
	if settled := booth.Settled(b); settled != nil { // from now on a tick that nominates asks no more than this
		return verdict{stays: true, why: lifetime.Line(settled, r.now)}
	}
	look := booth.At(ctx, b, booth.Terms{Now: r.now, TTL: s.conf.TTL, Records: r.records})
	if why := spared(look); why != "" {
		return verdict{stays: true, why: why, overdue: overdue(look)}
	}
	return verdict{}
}

func (s *Sweeper) terms(now time.Time) booth.Terms {
	return booth.Terms{Now: now, TTL: s.conf.TTL, Records: s.conf.Ledger.Records(), Ours: true}
}

// spared is why a booth is not taken on time, "" if it is to go.
func spared(l booth.Look) string {
	switch state := l.State.(type) {
	case lifetime.Counting:
		if l.At.After(state.Until) {
			return ""
		}
		return whyTouched
	case lifetime.Kept, lifetime.Held:
	}
	return l.Line()
}

// overdue says whether a booth that stays is expired by its age alone, or may be
// for all that is known, so that it needs no second nomination. A kept one counts
// from when it is released.
func overdue(l booth.Look) bool {
	if _, kept := l.State.(lifetime.Kept); kept {
		return false
	}
	until, ok := lifetime.Expiry(l.Facts, l.TTL)
	return !ok || l.At.After(until)
}

// lockBooth takes a booth's own lock, if it is free.
func lockBooth(b *folder.Booth) (*durable.Lock, error) {
	dir, err := durable.FromFile(b.Dir())
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.LockDir()
}

// order is what is to go, by whom and why.
type order struct {
	by     string
	rule   string
	newest *newest
	again  func() string // why it is to go back after all, "" if not; nil does not ask
}

// discardLocked takes a booth, sealed just now, to the trash. It gives the entry
// there, or why the booth stays where it was. After an error whatever has happened
// is in the journal, and the next tick puts it in order.
func (s *Sweeper) discardLocked(ctx context.Context, b *folder.Booth, seal folder.Seal, o order) (*entry, string, error) {
	if err := ctx.Err(); err != nil {
		return nil, "the sweep was ended", err
	}
	e := &entry{id: folder.NewID(), name: b.Name()}
	line := s.line(e, evAside, "")
	line.By, line.Rule, line.Newest = &o.by, o.rule, o.newest
	line.Folder, line.Seal, line.Bytes = folderText(b.ID()), seal.Sum, &seal.Bytes
	if err := s.writeLocked(line); err != nil {
		return nil, "the record of what is swept cannot be written", err
	}
	e = s.book.entries[e.id.String()]
	// A crash here: the name has its folder, and the line is settled.
	err := s.do(stepAside, func() error { return s.conf.Data.Move(e.name.Place(), e.id.Aside()) })
	if err != nil {
		s.resolveLocked(e)
		return nil, "it cannot be put aside: " + problem.Words(linkCause(err)), err
	}
	// A crash here, or at any moment up to the next move: it is put back.
	why := ""
	if moved, err := s.conf.Data.Standing(e.id.Aside()); err != nil || moved != b.ID() {
		why = "its name was given to another folder"
	} else if o.again != nil {
		why = s.afterwards(ctx, b, seal, o)
	}
	if why != "" {
		s.putBackLocked(e, why)
		return nil, why, nil
	}
	return s.toTrashLocked(e)
}

// afterwards decides again, on the tree that has no name any more: whoever finds
// a booth by its name does not find this one.
func (s *Sweeper) afterwards(ctx context.Context, b *folder.Booth, seal folder.Seal, o order) string {
	why := o.again()
	if now := b.Seal(ctx); why == "" && now.Sum != seal.Sum {
		why = whyTouched
	}
	return why
}

// toTrashLocked takes what lies aside to the trash.
func (s *Sweeper) toTrashLocked(e *entry) (*entry, string, error) {
	if err := s.do(stepTrash, func() error { return s.conf.Data.Move(e.id.Aside(), e.id.Trash()) }); err != nil {
		s.resolveLocked(e)
		return nil, "it cannot be put into the trash: " + problem.Words(linkCause(err)), err
	}
	// A crash here: it is in the trash, and recorded when next we look.
	if err := s.trashLineLocked(e); err != nil {
		// Without a record it does not stay there; if this fails too, it is as
		// after a crash.
		_ = s.do(stepBack, func() error { return s.conf.Data.Move(e.id.Trash(), e.name.Place()) })
		return nil, "the record of what is swept cannot be written", err
	}
	e.round = s.rounds
	return e, "", nil
}

func (s *Sweeper) trashLineLocked(e *entry) error {
	line := s.line(e, evTrash, "")
	service := s.serviceLocked().Milliseconds()
	line.Service = &service
	return s.writeLocked(line)
}

// putBackLocked gives what lies aside its name again. A name that is taken
// leaves it where it is, to be tried again.
func (s *Sweeper) putBackLocked(e *entry, why string) {
	err := s.do(stepBack, func() error { return s.conf.Data.Move(e.id.Aside(), e.name.Place()) })
	switch {
	case err == nil:
		_ = s.noteLocked(e, evBack, why) // unwritten, it is settled later
		s.forgetLocked(e)
	case errors.Is(err, fs.ErrExist) && e.state == aside:
		_ = s.noteLocked(e, evStuck, "its name is taken")
		s.conf.Log.Warn("a booth that was put aside cannot go back: its name is taken", "booth", e.name.String(), "id", e.id.String())
	case !errors.Is(err, fs.ErrExist):
		s.conf.Log.Error("a booth that was put aside cannot go back", "booth", e.name.String(), "id", e.id.String(), "error", err)
	}
}

// forgetLocked takes back the nomination of a booth that has its name again: it
// qualifies anew.
func (s *Sweeper) forgetLocked(e *entry) { delete(s.ticks.Nominated, ledger.Key(e.name, e.folder)) }
