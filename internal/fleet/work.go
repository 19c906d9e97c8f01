package fleet

import (
	"context"
	"strings"

	"holdfast/internal/fleet/console"
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
