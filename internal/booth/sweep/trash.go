package sweep

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"holdfast/internal/booth"
	"holdfast/internal/booth/folder"
	"holdfast/internal/booth/lifetime"
	"holdfast/internal/durable"
	"holdfast/internal/problem"
)

const nameTaken = "its name is taken"

// Remove is the operator's delete: whatever the lifetime says, the booth goes to
// the trash. by is the principal. Only a mount inside is refused, and a lock that
// does not become free in ten seconds.
func (s *Sweeper) Remove(ctx context.Context, name folder.Name, by string) (Trashed, error) {
	b, lock, err := s.await(ctx, name)
	if err != nil {
		return Trashed{}, err
	}
	defer b.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.publishLocked()
	e, err := s.removeLocked(ctx, b, by)
	err = errors.Join(err, lock.Release())
	if err != nil {
		return Trashed{}, err
	}
	t := e.trashed()
	t.Purge = s.conf.TrashTTL
	return t, s.purgeAtOnceLocked(ctx, e, s.conf.Clock.Now())
}

func (s *Sweeper) removeLocked(ctx context.Context, b *folder.Booth, by string) (*entry, error) {
	if err := s.mendLocked(); err != nil {
		return nil, err
	}
	if mount := b.Seal(ctx).Mount; mount != "" {
		return nil, problem.Refusal("mount", "The booth %q contains a mount, %s. Nothing was changed.",
			b.Name().String(), booth.Where(mount)).WithHint("Unmount it first.")
	}
	e, why, err := s.discardLocked(ctx, b, order{by: by, rule: "removed by the operator"})
	if err != nil || e == nil {
		return nil, problem.New(problem.Failed, "remove", "The booth %q was not removed: %s.", b.Name().String(), why).Because(err)
	}
	s.conf.Log.Info("removed", "booth", b.Name().String(), "id", e.id.String(), "by", by)
	return e, nil
}

// await opens a booth and waits for its lock. A name that is another folder's by
// then is tried again.
func (s *Sweeper) await(ctx context.Context, name folder.Name) (*folder.Booth, unlocker, error) {
	wait, stop := context.WithTimeout(ctx, s.patience)
	defer stop()
	for {
		b, err := s.conf.Data.Booth(name)
		if err != nil {
			return nil, nil, err
		}
		lock, err := awaitBooth(wait, b)
		if ctx.Err() != nil {
			b.Close()
			return nil, nil, errors.Join(err, ctx.Err())
		}
		if err != nil {
			b.Close()
			return nil, nil, problem.Refusal("busy", "The booth %q is in use. Nothing was changed.", name.String()).Because(err)
		}
		if there, err := s.conf.Data.Standing(name.Place()); err == nil && there == b.ID() {
			return b, lock, nil
		}
		_ = lock.Release()
		b.Close()
	}
}

type unlocker interface{ Release() error }

// awaitBooth waits for a booth's lock. A folder that may not be read cannot be
// locked, by a writer neither, and is the operator's to remove all the same.
func awaitBooth(ctx context.Context, b *folder.Booth) (unlocker, error) {
	lock, err := durable.Await(ctx, func() (*durable.Lock, error) { return lockBooth(b) })
	if errors.Is(err, fs.ErrPermission) {
		return unlocked{}, nil
	}
	return lock, err
}

type unlocked struct{}

func (unlocked) Release() error { return nil }

// Restore takes a booth out of the trash, back to its name. An id that is not
// there is Gone; a name that is taken is refused at step "name-taken".
func (s *Sweeper) Restore(ctx context.Context, id string) (folder.Name, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.publishLocked()
	if err := ctx.Err(); err != nil {
		return folder.Name{}, err
	}
	if err := s.mendLocked(); err != nil {
		return folder.Name{}, err
	}
	e := s.book.entries[id]
	switch {
	case e == nil || e.state == aside || e.state == stuck:
		return folder.Name{}, problem.New(problem.Gone, "trash", "There is no %q in the trash.", id)
	case e.state == purging:
		return folder.Name{}, problem.Refusal("purging", "The booth %q is being deleted: part of it is gone. Nothing was changed.", e.name.String())
	case s.where(e, e.id.Trash()) != here:
		return folder.Name{}, problem.New(problem.Gone, "trash", "The booth %q is not in the trash any more.", e.name.String())
	}
	return e.name, s.restoreLocked(e, "undone by the operator")
}

// restoreLocked gives what is in the trash its name again.
func (s *Sweeper) restoreLocked(e *entry, why string) error {
	refusal := problem.Refusal("name-taken", "The name %q is taken. Nothing was changed.", e.name.String())
	if s.where(e, e.name.Place()) != absent {
		e.trouble = nameTaken
		return refusal
	}
	if err := s.noteLocked(e, evRestoring, why); err != nil {
		return err
	}
	// A crash here: it stays in the trash, or has its name; which, is seen then.
	err := s.do(stepRestore, func() error { return s.conf.Data.Move(e.id.Trash(), e.name.Place()) })
	switch {
	case errors.Is(err, fs.ErrExist):
		e.trouble = nameTaken
		return refusal.Because(err)
	case err != nil:
		return problem.New(problem.Failed, "restore", "The booth %q could not be taken out of the trash.", e.name.String()).Because(err)
	}
	s.conf.Log.Info("restored", "booth", e.name.String(), "id", e.id.String(), "why", why)
	_ = s.noteLocked(e, evRestored, why) // unwritten, it is seen by where it lies
	return nil
}

// tendTrashLocked looks at each booth in the trash at the first tick after it
// came there, and when its time is up.
func (s *Sweeper) tendTrashLocked(ctx context.Context, now time.Time) error {
	var failed []error
	for _, e := range s.book.sorted() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if e.state != inTrash || e.round == s.rounds {
			continue
		}
		due := s.serviceLocked()-e.service >= s.conf.TrashTTL
		if due || !e.checked || e.trouble != "" {
			failed = append(failed, s.tendLocked(ctx, e, now, due))
		}
	}
	return errors.Join(failed...)
}

// purgeAtOnceLocked deletes what came into the trash just now, where nothing is
// to be kept.
func (s *Sweeper) purgeAtOnceLocked(ctx context.Context, e *entry, now time.Time) error {
	if s.conf.TrashTTL > 0 {
		return nil
	}
	return s.tendLocked(ctx, e, now, true)
}

// tendLocked decides once more about a booth in the trash, under its lock: one
// that was touched since comes back, another goes when it is due.
func (s *Sweeper) tendLocked(ctx context.Context, e *entry, now time.Time, due bool) error {
	if s.where(e, e.id.Trash()) != here {
		return nil // resolved at the next tick, or by hand
	}
	b, err := s.conf.Data.OpenAt(e.id.Trash(), e.name)
	if err != nil {
		return err
	}
	defer b.Close()
	lock, err := s.trashLock(b, e)
	if err != nil || lock == nil {
		return err
	}
	defer lock.Release()
	why := s.changed(ctx, b, e, now)
	if err := ctx.Err(); err != nil {
		return err // what was not read to its end says nothing
	}
	if why != "" {
		return s.reviveLocked(e, why)
	}
	e.checked, e.trouble = true, ""
	if !due {
		return nil
	}
	if err := s.noteLocked(e, evPurging, ""); err != nil {
		return err
	}
	s.purgeLocked(ctx, e)
	return nil
}

// trashLock is nil where somebody has the lock: it is tried again.
func (s *Sweeper) trashLock(b *folder.Booth, e *entry) (unlocker, error) {
	lock, err := lockBooth(b)
	var held *durable.Held
	switch {
	case errors.As(err, &held):
		return nil, nil
	case errors.Is(err, fs.ErrPermission) && e.by != "":
		return unlocked{}, nil
	case err != nil:
		return nil, err
	}
	return lock, nil
}

// reviveLocked brings a booth back that was touched in the trash. A taken name
// leaves it there, for as long as it takes.
func (s *Sweeper) reviveLocked(e *entry, why string) error {
	err := s.restoreLocked(e, why)
	if problem.KindOf(err) == problem.Refused && e.trouble == nameTaken {
		e.trouble = why + ", and " + nameTaken
		return nil
	}
	return err
}

// changed is why a booth in the trash is to come back, "" if it is not. What the
// operator removed comes back for its tree alone: the operator asked for holds to
// be ignored, and knew of what could not be read.
func (s *Sweeper) changed(ctx context.Context, b *folder.Booth, e *entry, now time.Time) string {
	seal := b.Seal(ctx)
	switch {
	case seal.Mount != "":
		return "a mount is inside"
	case seal.Sum != e.seal:
		return "it was touched after it was swept"
	case e.by != "":
		return ""
	case seal.Failure != nil:
		return "part of it cannot be read"
	}
	look := booth.At(ctx, b, s.terms(now))
	switch state := look.State.(type) {
	case lifetime.Kept:
		return "it is kept"
	case lifetime.Held:
		switch state.Reason {
		case lifetime.Open, lifetime.MarksHold, lifetime.TreeHold, lifetime.SentinelHold, lifetime.MountHold:
			return look.Line()
		case lifetime.ArrivalHold, lifetime.ReviewHold, lifetime.BusyHold: // of the desk, not of the tree
		}
	case lifetime.Counting:
	}
	return ""
}

// purgeLocked deletes a booth, or goes on with it. There is no decision any more:
// our own deletion has touched the tree.
func (s *Sweeper) purgeLocked(ctx context.Context, e *entry) {
	err := s.conf.Data.Delete(ctx, e.id.Trash(), e.folder, func() error { return s.do(stepUnlink, func() error { return nil }) })
	switch {
	case err == nil:
		_ = s.noteLocked(e, evPurged, "deleted") // unwritten, it is seen by its absence
		s.conf.Log.Info("deleted", "booth", e.name.String(), "id", e.id.String())
	case ctx.Err() != nil: // it goes on at the next tick
	default:
		s.purgeFailedLocked(e, err)
	}
}

// purgeFailedLocked keeps in the journal why, once for each reason.
func (s *Sweeper) purgeFailedLocked(e *entry, err error) {
	why := "part of it could not be deleted: " + problem.Words(err)
	if why == e.trouble {
		return
	}
	s.conf.Log.Error("a booth in the trash could not be deleted", "booth", e.name.String(), "id", e.id.String(), "error", err)
	_ = s.noteLocked(e, evFailed, why)
}
