package sweep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"holdfast/internal/booth"
	"holdfast/internal/booth/folder"
	"holdfast/internal/booth/lifetime"
	"holdfast/internal/durable"
	"holdfast/internal/problem"
)

const (
	nameTaken = "its name is taken"
	inUse     = "it is not deleted while it is in use"
	goesOn    = "its deletion goes on at the next tick"
)

// Remove is the operator's delete: whatever the lifetime says, the booth goes to
// the trash. by is the principal. Only a mount inside is refused. A lock that does
// not become free in three seconds is gone past, which the rule then says. Where
// the trash keeps nothing, what could not be deleted from there is in Trouble.
func (s *Sweeper) Remove(ctx context.Context, name folder.Name, by string) (Trashed, error) {
	t, doomed, err := s.remove(ctx, name, by)
	if doomed {
		t.Trouble = s.purge(ctx, t.ID)
	}
	return t, err
}

// remove also says whether what it put into the trash is to be deleted now.
func (s *Sweeper) remove(ctx context.Context, name folder.Name, by string) (Trashed, bool, error) {
	if err := s.turn.take(ctx); err != nil {
		return Trashed{}, false, fmt.Errorf("remove: %w", err)
	}
	defer s.turn.release()
	defer s.publishLocked()
	e, err := s.removeLocked(ctx, name, by)
	if err == nil && s.conf.TrashTTL <= 0 {
		err = s.removeAtOnceLocked(ctx, e)
	}
	if err != nil {
		return Trashed{}, false, err
	}
	t := e.trashed()
	t.Purge = s.conf.TrashTTL
	return t, e.state == purging, nil
}

func (s *Sweeper) removeLocked(ctx context.Context, name folder.Name, by string) (*entry, error) {
	if err := s.mendLocked(); err != nil {
		return nil, err
	}
	b, lock, though, err := s.await(ctx, name)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	defer lock.Release()
	seal := b.Seal(ctx)
	if seal.Mount != "" {
		return nil, problem.Refusal("mount", "The booth %q contains a mount, %s. Nothing was changed.",
			name.String(), booth.Where(seal.Mount)).WithHint("Unmount it first.")
	}
	e, why, err := s.discardLocked(ctx, b, seal, order{by: by, rule: "removed by the operator" + though})
	if err != nil || e == nil {
		return nil, notRemoved(name, why).Because(err)
	}
	s.conf.Log.Info("removed", "booth", name.String(), "id", e.id.String(), "by", by, "rule", e.rule)
	return e, nil
}

func notRemoved(name folder.Name, why string) *problem.Error {
	return problem.New(problem.Failed, "remove", "The booth %q was not removed: %s.", name.String(), why)
}

// removeAtOnceLocked decides about what came into a trash that keeps nothing. The
// booth is gone from its name, so what goes wrong is no error, unless it came back.
func (s *Sweeper) removeAtOnceLocked(ctx context.Context, e *entry) error {
	err := s.tendLocked(ctx, e, s.conf.Clock.Now(), true)
	switch {
	case s.book.entries[e.id.String()] == nil:
		return notRemoved(e.name, "it was touched meanwhile").Because(err)
	case err != nil:
		e.trouble = "it is not deleted yet: " + problem.Words(err)
	}
	return nil
}

// What a removal without the lock adds to its rule.
const (
	thoughBusy   = ", though it was in use"
	thoughClosed = ", though it could not be locked"
)

// await opens a booth and waits for its lock, in vain perhaps, which though says. A
// name that is another folder's by then is tried again.
func (s *Sweeper) await(ctx context.Context, name folder.Name) (b *folder.Booth, lock unlocker, though string, err error) {
	wait, stop := context.WithTimeout(ctx, s.patience)
	defer stop()
	for {
		b, err := s.conf.Data.Booth(name)
		if err != nil {
			return nil, nil, "", err
		}
		lock, though, err := awaitBooth(wait, b)
		if err == nil && ctx.Err() != nil {
			_ = lock.Release()
			err = fmt.Errorf("remove: %w", ctx.Err())
		}
		if err != nil {
			b.Close()
			return nil, nil, "", err
		}
		if there, err := s.conf.Data.Standing(name.Place()); err == nil && there == b.ID() {
			return b, lock, though, nil
		}
		_ = lock.Release()
		b.Close()
	}
}

type unlocker interface{ Release() error }

// awaitBooth waits for a booth's lock. One that does not become free is somebody's
// who is at work, or forgot it; a folder that may not be read cannot be locked, by a
// writer neither. Both are the operator's to remove all the same.
func awaitBooth(ctx context.Context, b *folder.Booth) (lock unlocker, though string, err error) {
	lock, err = durable.Await(ctx, func() (*durable.Lock, error) { return lockBooth(b) })
	var held *durable.Held
	switch {
	case err == nil:
		return lock, "", nil
	case errors.As(err, &held):
		return unlocked{}, thoughBusy, nil
	case errors.Is(err, fs.ErrPermission):
		return unlocked{}, thoughClosed, nil
	}
	return nil, "", notRemoved(b.Name(), "it cannot be locked").Because(err)
}

type unlocked struct{}

func (unlocked) Release() error { return nil }

// Restore takes a booth out of the trash, back to its name. An id that is not
// there is Gone; a name that is taken is refused at step "name-taken". Where it
// cannot be told what lies where, it is Failed at step "trash".
func (s *Sweeper) Restore(ctx context.Context, id string) (folder.Name, error) {
	if err := s.turn.take(ctx); err != nil {
		return folder.Name{}, fmt.Errorf("restore: %w", err)
	}
	defer s.turn.release()
	defer s.publishLocked()
	if err := s.mendLocked(); err != nil {
		return folder.Name{}, err
	}
	e := s.book.entries[id]
	switch {
	case e == nil || e.state == aside || e.state == stuck:
		return folder.Name{}, problem.New(problem.Gone, "trash", "There is no %q in the trash.", id)
	case e.state == purging:
		return folder.Name{}, problem.Refusal("purging", "The booth %q is being deleted: part of it is gone. Nothing was changed.", e.name.String())
	}
	switch s.where(e, e.id.Trash()) {
	case unsure:
		return folder.Name{}, untold("Whether the booth %q is in the trash could not be told. Nothing was changed.", e.name)
	case other, absent:
		return folder.Name{}, problem.New(problem.Gone, "trash", "The booth %q is not in the trash any more.", e.name.String())
	case here:
	}
	return e.name, s.restoreLocked(e, "undone by the operator")
}

func untold(format string, name folder.Name) *problem.Error {
	return problem.New(problem.Failed, "trash", format, name.String())
}

// restoreLocked gives what is in the trash its name again.
func (s *Sweeper) restoreLocked(e *entry, why string) error {
	refusal := problem.Refusal("name-taken", "The name %q is taken. Nothing was changed.", e.name.String())
	switch s.where(e, e.name.Place()) {
	case unsure:
		return untold("Whether the name %q is free could not be told. Nothing was changed.", e.name)
	case here, other:
		e.trouble = nameTaken
		return refusal
	case absent:
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

// purgeAtOnceLocked dooms what came into the trash just now, where nothing is to be
// kept.
func (s *Sweeper) purgeAtOnceLocked(ctx context.Context, e *entry, now time.Time) error {
	if s.conf.TrashTTL > 0 {
		return nil
	}
	return s.tendLocked(ctx, e, now, true)
}

// tendLocked decides once more about a booth in the trash, under its lock: one
// that was touched since comes back, another is doomed when it is due, for
// [Sweeper.purge] to delete. What somebody has locked may come back, and stays else.
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
	if err != nil {
		return err
	}
	busy := lock == nil
	if !busy {
		defer lock.Release()
	}
	why := s.changed(ctx, b, e, now)
	if err := ctx.Err(); err != nil {
		return err // what was not read to its end says nothing
	}
	if why != "" {
		return s.reviveLocked(e, why)
	}
	e.checked, e.trouble = !busy, ""
	switch {
	case !due:
		return nil
	case busy:
		e.trouble = inUse
		return nil
	}
	return s.noteLocked(e, evPurging, "")
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

// purgeAll goes on with every deletion that the journal says has begun.
func (s *Sweeper) purgeAll(ctx context.Context) {
	if s.turn.take(ctx) != nil {
		return // at the next tick
	}
	var ids []string
	for _, e := range s.book.sorted() {
		if e.state == purging {
			ids = append(ids, e.id.String())
		}
	}
	s.turn.release()
	for _, id := range ids {
		s.purge(ctx, id)
	}
}

// purge deletes a booth, or goes on with it, and says why it is not gone. There is
// no decision any more: our own deletion has touched the tree. Others have their
// turns meanwhile, and do not take up what is being deleted.
func (s *Sweeper) purge(ctx context.Context, id string) string {
	e, ok := s.beginPurge(ctx, id)
	if !ok {
		return goesOn
	}
	err := s.conf.Data.Delete(ctx, e.id.Trash(), e.folder, func() error { return s.do(stepUnlink, func() error { return nil }) })
	return s.endPurge(ctx, id, err)
}

// beginPurge gives a copy of the entry that nobody else deletes until endPurge.
func (s *Sweeper) beginPurge(ctx context.Context, id string) (entry, bool) {
	if s.turn.take(ctx) != nil {
		return entry{}, false
	}
	defer s.turn.release()
	if s.closed || s.mendLocked() != nil {
		return entry{}, false
	}
	e := s.book.entries[id]
	if e == nil || e.state != purging || s.deleting[id] || s.where(e, e.id.Trash()) != here {
		return entry{}, false
	}
	s.deleting[id] = true
	s.deletions.Add(1)
	return *e, true
}

// endPurge takes in what came of a deletion, whether or not its caller still waits.
func (s *Sweeper) endPurge(ctx context.Context, id string, err error) string {
	s.turn <- struct{}{}
	defer s.turn.release()
	defer s.deletions.Done()
	defer s.publishLocked()
	delete(s.deleting, id)
	if s.mendLocked() != nil {
		return goesOn // what lies there says how far it came
	}
	e := s.book.entries[id]
	switch {
	case err == nil:
		_ = s.noteLocked(e, evPurged, "deleted") // unwritten, it is seen by its absence
		s.conf.Log.Info("deleted", "booth", e.name.String(), "id", id)
		return ""
	case ctx.Err() != nil:
		return goesOn
	}
	return s.purgeFailedLocked(e, err)
}

// purgeFailedLocked says why, and keeps it in the journal, once for each reason.
func (s *Sweeper) purgeFailedLocked(e *entry, err error) string {
	why := "part of it could not be deleted: " + problem.Words(err)
	if why != e.trouble {
		s.conf.Log.Error("a booth in the trash could not be deleted", "booth", e.name.String(), "id", e.id.String(), "error", err)
		_ = s.noteLocked(e, evFailed, why)
	}
	return why
}
