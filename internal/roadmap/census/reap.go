package census

import (
	"context"

	"holdfast/internal/problem"
	"holdfast/internal/roadmap/snapshot"
)

// Reaped is what a reaping came to.
type Reaped struct {
	Removed []snapshot.Name
	Spared  []Seen                 // whose owner is not gone
	Failed  []snapshot.CloseFailed // gone, and still there
}

// Reap removes the snapshots whose owner is gone, and what is left of owners that
// have none.
func Reap(ctx context.Context, s *snapshot.Store) (Reaped, error) {
	var report Reaped
	all, err := observe(ctx, s)
	if err != nil {
		return report, err
	}
	for _, one := range all {
		got := s.Reap(ctx, one.Name) // which asks whose it is, under the owner's lock
		switch c := got.Close.(type) {
		case snapshot.Removed:
			report.Removed = append(report.Removed, one.Name)
		case snapshot.CloseFailed:
			report.Failed = append(report.Failed, c)
		case snapshot.NotOpened:
			report.Spared = append(report.Spared, Seen{one.Name, one.Where, got.Owner})
		}
	}
	if err := s.ReapOwners(ctx); err != nil {
		return report, problem.New(problem.Failed, "reap-owners", "The files of owners that are gone could not all be removed: %s.", problem.Words(err)).Because(err)
	}
	return report, nil
}
