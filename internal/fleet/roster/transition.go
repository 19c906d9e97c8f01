package roster

import (
	"maps"
	"slices"

	"holdfast/internal/problem"
)

// Transition says whether next may follow prev, whoever wrote it. The rules know no
// writers: they are what must be true of every step between two that are valid by
// themselves. Its refusals have the step
// roster-transition; nothing is changed by asking.
func Transition(prev, next *Roster) error {
	s := step{prev: prev, next: next}
	s.head()
	s.deployment()
	for enrollment, was := range prev.Boxes {
		is, ok := next.Boxes[enrollment]
		if s.must(ok, "the row of box %s is gone; rows stay, retired ones too", was.BoxID); ok {
			s.row(was, is)
		}
	}
	for enrollment, is := range next.Boxes {
		if _, known := prev.Boxes[enrollment]; !known {
			s.must(is.State == Active && is.QuarantineRevision == 0 && is.CensusPublicKey == "", "box %s comes in with a past", is.BoxID)
		}
	}
	s.kept()
	return s.err
}

type step struct {
	prev, next *Roster
	err        error
}

func (s *step) must(ok bool, format string, args ...any) {
	if ok || s.err != nil {
		return
	}
	e := problem.Refusal("roster-transition", format, args...)
	e.Reason = "No writer of the roster may do this: " + e.Reason + ". Nothing was changed."
	s.err = e
}

func (s *step) head() {
	s.must(s.next.Revision == s.prev.Revision+1, "revision %d does not follow %d", s.next.Revision, s.prev.Revision)
	keep := s.next.Writes[:max(0, len(s.next.Writes)-1)]
	s.must(len(keep) < len(s.next.Writes) && len(keep) >= min(len(s.prev.Writes), maxWrites-1) &&
		slices.Equal(keep, s.prev.Writes[len(s.prev.Writes)-min(len(keep), len(s.prev.Writes)):]), "its list of writes does not go on where the last one ended")
	s.must(s.next.PrevSHA256 != "", "it does not name the version before")
}

func (s *step) deployment() {
	p, n := s.prev, s.next
	s.must(n.Bucket == p.Bucket, "the bucket is another")
	s.must(p.HomeRegion == "" || n.HomeRegion == p.HomeRegion, "the home region is set once")
	published := n.Publication != p.Publication
	s.must(!published || n.FloorSHA256 == "", "a publication and its floor are two writes")
	s.must(!published || n.Publication != "", "a publication is not taken back")
	s.must(published || p.FloorSHA256 == "" || n.FloorSHA256 == p.FloorSHA256, "the floor of publication %s is fixed", p.Publication)
}

// row judges what became of one row.
func (s *step) row(was, is Box) {
	id := was.BoxID
	s.must(is.BoxID == id && is.Namespace == was.Namespace && is.Region == was.Region && is.Pool == was.Pool && is.Cloud == was.Cloud &&
		is.EvidenceSHA256 == was.EvidenceSHA256 && is.Invitation == was.Invitation && is.EnrolledAt.Equal(was.EnrolledAt),
		"what box %s was enrolled with is changed", id)
	s.must(was.CensusPublicKey == "" || is.CensusPublicKey == was.CensusPublicKey, "the census key of box %s is set once", id)
	s.must(len(is.LossIDs) >= len(was.LossIDs) && slices.Equal(is.LossIDs[:min(len(is.LossIDs), len(was.LossIDs))], was.LossIDs), "loss ids of box %s are gone", id)
	quarantined := is.QuarantineRevision == was.QuarantineRevision+1
	s.must(quarantined || is.QuarantineRevision == was.QuarantineRevision, "the quarantine revision of box %s goes from %d to %d", id, was.QuarantineRevision, is.QuarantineRevision)
	s.must(len(is.LossIDs)-len(was.LossIDs) <= 1 && (quarantined || len(is.LossIDs) == len(was.LossIDs)), "box %s is given up for lost without a quarantine", id)
	s.must(!quarantined || is.State == Quarantined, "box %s is quarantined and %s", id, is.State)
	switch was.State {
	case Retired:
		s.must(is.State == Retired && !quarantined, "box %s is retired, for good", id)
	case Active:
		s.must(is.State != Quarantined || quarantined, "box %s is quarantined without its quarantine revision", id)
	case Quarantined:
	}
}

// kept judges what may come and go but not change.
func (s *step) kept() {
	for id, h := range s.prev.Holds {
		is, ok := s.next.Holds[id]
		s.must(!ok || is == h, "hold %s is changed; it is released and reserved anew", id)
	}
	for id, a := range s.prev.Activations {
		is, ok := s.next.Activations[id]
		s.must(!ok || is == a, "activation %s is changed", id)
	}
	for id, a := range s.prev.EnrollmentAttempts {
		is, ok := s.next.EnrollmentAttempts[id]
		s.must(!ok || is == a, "the attempt %s is changed", id)
	}
	for id, c := range s.prev.Consoles {
		is, ok := s.next.Consoles[id]
		s.must(ok && is.PublicKey == c.PublicKey, "console %s is gone, or has another key", id)
	}
	for _, id := range slices.Sorted(maps.Keys(s.prev.Regions)) {
		_, ok := s.next.Regions[id]
		s.must(ok, "region %s is gone", id)
	}
}

// Keep takes over from newer what no restoring of an older version may undo: rows
// stay, with all that is never taken back in them. A box that came in since is still
// in, a retired one retired, one in quarantine stays there until somebody readmits it,
// and no binding that a quarantine ended comes back.
func (r *Roster) Keep(newer *Roster) {
	for enrollment, is := range newer.Boxes {
		b, ok := r.Boxes[enrollment]
		if !ok {
			b = is
		}
		b.State = max(b.State, is.State)
		b.QuarantineRevision = max(b.QuarantineRevision, is.QuarantineRevision)
		if len(is.LossIDs) > len(b.LossIDs) {
			b.LossIDs = slices.Clone(is.LossIDs)
		}
		if is.CensusPublicKey != "" {
			b.CensusPublicKey = is.CensusPublicKey
		}
		r.Boxes[enrollment] = b
		delete(r.EnrollmentAttempts, enrollment)
	}
}
