package fleet

import (
	"context"
	"errors"
	"strings"

	"holdfast/internal/fleet/console"
	"holdfast/internal/fleet/operation"
	"holdfast/internal/fleet/rosterstore"
)

// Work runs and stops instances, as this console. Progress is told what is waited for; it
// may be nil.
func (c *Console) Work(progress func(key, why string)) *console.Ops {
	wake := console.InFolder
	if strings.HasPrefix(c.place.Store, "s3:") {
		wake = console.Remote
	}
	return &console.Ops{
		Bucket: c.bucket, Roster: c.roster, Name: c.place.Console, Key: c.key, Now: c.now, Waker: wake, Progress: progress,
		Proofs: func(ctx context.Context, v *rosterstore.Version) ([]string, error) {
			f, err := c.readFloor(ctx, v.Roster)
			if err != nil || f == nil {
				return nil, err
			}
			return f.AllowedProofs, nil
		},
	}
}

// PlacedHere says whether a run that is wished so goes to the box that this home is. One
// that goes nowhere goes not here: the run says why.
func (c *Console) PlacedHere(ctx context.Context, w operation.Wish) (bool, error) {
	b, err := openBox(c.home)
	if errors.Is(err, ErrNoBox) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer b.Close()
	v, err := c.roster.Read(ctx)
	if err != nil {
		return false, err
	}
	at, err := operation.Place(v.Roster, w)
	return err == nil && at == b.place.Enrollment, nil
}
