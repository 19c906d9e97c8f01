package sweep

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"

	"holdfast/internal/booth/folder"
)

// leftoversLocked puts in order what did not come to its end, here or in a
// process that died, and names to the log what is not ours to touch.
func (s *Sweeper) leftoversLocked(ctx context.Context) {
	before := len(s.ticks.Nominated)
	for _, e := range s.book.sorted() {
		if ctx.Err() != nil {
			return
		}
		s.resolveLocked(e)
	}
	if len(s.ticks.Nominated) != before {
		if err := s.conf.Ledger.SetTicks(s.ticks); err != nil {
			s.conf.Log.Error("what was put back is still nominated on the disk", "error", err)
		}
	}
	s.warnLocked()
}

// warnLocked tells the log, once each, of what looks like ours and is not in the
// journal. It is never touched.
func (s *Sweeper) warnLocked() {
	places, err := s.conf.Data.Swept()
	if err != nil {
		s.conf.Log.Error("what lies aside cannot be listed", "error", err)
		return
	}
	for _, p := range places {
		if id, ok := p.ID(); ok && s.book.entries[id.String()] != nil || s.warned[p.String()] {
			continue
		}
		s.warned[p.String()] = true
		s.conf.Log.Warn("this has the name of something swept, but the journal does not know it: it is left alone", "name", p.String())
	}
}

// resolveLocked does what is to be done about one entry, by what lies where. It
// runs after each failure and at each tick, so what recovers from a crash is
// everyday code.
func (s *Sweeper) resolveLocked(e *entry) {
	switch e.state {
	case aside, stuck:
		s.resolveAsideLocked(e)
	case inTrash, purging:
		s.resolveTrashLocked(e)
	}
}

func (s *Sweeper) resolveAsideLocked(e *entry) {
	atAside, atTrash, atName := s.where(e, e.id.Aside()), s.where(e, e.id.Trash()), s.where(e, e.name.Place())
	switch {
	case atAside == here:
		s.putBackLocked(e, "put back")
	case atTrash == here:
		if s.trashLineLocked(e) == nil {
			e.round = s.rounds
		}
	case atName == here:
		_ = s.noteLocked(e, evSettled, "it never lost its name")
		s.forgetLocked(e)
	case atAside == absent && atTrash == absent && atName != unsure:
		s.lostLocked(e)
	}
}

func (s *Sweeper) resolveTrashLocked(e *entry) {
	if s.deleting[e.id.String()] {
		return // whoever does that says what comes of it
	}
	switch s.where(e, e.id.Trash()) {
	case here, other, unsure:
		return
	case absent:
	}
	switch s.where(e, e.name.Place()) {
	case here:
		_ = s.noteLocked(e, evRestored, "it has its name again")
	case absent, other:
		if e.state == purging {
			_ = s.noteLocked(e, evPurged, "deleted")
			return
		}
		s.lostLocked(e)
	case unsure:
	}
}

func (s *Sweeper) lostLocked(e *entry) {
	if s.noteLocked(e, evLost, "it is neither aside nor in the trash, nor under its name") == nil {
		s.conf.Log.Warn("a booth that was put aside is not there any more", "booth", e.name.String(), "id", e.id.String())
	}
}

// whereabouts is what lies at a place, as far as an entry is concerned.
type whereabouts uint8

const (
	here   whereabouts = iota + 1 // the entry's folder
	other                         // something else
	absent                        // nothing
	unsure                        // it cannot be told
)

func (s *Sweeper) where(e *entry, p folder.Place) whereabouts {
	id, err := s.conf.Data.Standing(p)
	switch {
	case err == nil && id.SameAcrossBoots(e.folder):
		return here
	case err == nil, errors.Is(err, syscall.ENOTDIR): // a file, a link
		return other
	case errors.Is(err, fs.ErrNotExist):
		return absent
	default:
		return unsure
	}
}

// linkCause is a rename's error without the names, which the reader knows.
func linkCause(err error) error {
	var link *os.LinkError
	if errors.As(err, &link) {
		return link.Err
	}
	return err
}
