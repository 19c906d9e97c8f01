package carrier

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"holdfast/internal/canon"
	"holdfast/internal/problem"
	"holdfast/internal/roadmap/git"
	"holdfast/internal/roadmap/snapshot"
)

const (
	maintenanceFile   = "maintenance.json"
	maintenanceSchema = "holdfast-maintenance/1"

	// maintainEvery is how often the repositories are packed, and maxLoose how
	// many loose objects there may be before that.
	maintainEvery = 24 * time.Hour
	maxLoose      = 20_000
	// maintainWithin is how long all of it may take: nothing is appended meanwhile,
	// and whoever wants to waits no longer than [patience].
	maintainWithin = 45 * time.Second
	// pruneAfter is how long an object is kept that nothing reaches.
	pruneAfter = 14 * 24 * time.Hour
)

// Maintained is what a maintenance did.
type Maintained struct {
	Due    bool // else nothing was done
	Pruned bool // what nothing reached was removed, too
	Forgot int  // outcomes that were kept long enough
}

type maintenance struct {
	Schema string    `json:"schema"`
	At     time.Time `json:"at"`
}

// Maintain packs the plan's repositories, if it is time for that or they have many
// loose objects, and forgets old outcomes. What nothing reaches is removed from
// the carrier's own repository after two weeks, and only while every snapshot is
// surely nobody's any more. Nothing is ever removed from the embedded one: the
// carrier's own reads its objects.
func (c *Carrier) Maintain(ctx context.Context, now time.Time) (Maintained, error) {
	due, err := c.due(ctx, now)
	if err != nil || !due {
		return Maintained{}, err
	}
	lock, err := c.lock(ctx, appendLock, "packing the plan's repositories")
	if err != nil {
		return Maintained{}, err
	}
	defer lock.Release()
	ctx, cancel := context.WithTimeout(ctx, maintainWithin)
	defer cancel()
	if due, err = c.due(ctx, now); err != nil || !due { // somebody else did it meanwhile
		return Maintained{}, err
	}
	did := Maintained{Due: true}
	for _, repo := range c.repositories() {
		if err := repo.Repack(ctx, git.Within(maintainWithin)); err != nil {
			return did, maintenanceFailed(err)
		}
	}
	if did.Pruned, err = c.prune(ctx, now); err != nil {
		return did, maintenanceFailed(err)
	}
	if did.Forgot, err = c.queue.Forget(now); err != nil {
		return did, maintenanceFailed(err)
	}
	data, err := canon.Encode(maintenance{Schema: maintenanceSchema, At: now.UTC().Truncate(time.Second)})
	if err == nil {
		err = c.plan.WriteFile(maintenanceFile, data, 0o600)
	}
	if err != nil {
		return did, maintenanceFailed(err)
	}
	return did, nil
}

func maintenanceFailed(err error) error {
	return problem.New(problem.Failed, "maintenance", "The plan's repositories could not be packed: %s. Nothing of the plan is lost.", problem.Words(err)).Because(err)
}

// repositories is those that belong to this home.
func (c *Carrier) repositories() []*git.Repo {
	if e, ok := c.remote.(embedded); ok {
		return []*git.Repo{c.repo, e.repo}
	}
	return []*git.Repo{c.repo}
}

// due says whether it is time. What was noted and cannot be read is as good as
// nothing noted: to pack too often does no harm.
func (c *Carrier) due(ctx context.Context, now time.Time) (bool, error) {
	var last maintenance
	data, err := c.plan.ReadFile(maintenanceFile, 4096)
	if err == nil {
		err = canon.Decode(data, &last)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.log.Warn("when the plan's repositories were packed last cannot be read", "because", err)
	}
	if err != nil || last.Schema != maintenanceSchema || now.Sub(last.At) >= maintainEvery || now.Before(last.At) {
		return true, nil
	}
	for _, repo := range c.repositories() {
		counts, err := repo.Counts(ctx)
		if err != nil {
			return false, maintenanceFailed(err)
		}
		if counts.Loose > maxLoose {
			return true, nil
		}
	}
	return false, nil
}

// prune removes what nothing reaches, unless a snapshot may still need it.
func (c *Carrier) prune(ctx context.Context, now time.Time) (bool, error) {
	folders, err := c.store.Folders()
	if err != nil {
		return false, err
	}
	registered, err := c.store.Worktrees(ctx)
	if err != nil {
		return false, err
	}
	for _, name := range append(folders, registered...) {
		if _, gone := c.store.Judge(name).(snapshot.Gone); !gone {
			return false, nil
		}
	}
	return true, c.repo.Prune(ctx, now.Add(-pruneAfter), git.Within(maintainWithin))
}

// Stored is how one of the plan's repositories keeps its objects.
type Stored struct {
	Dir string
	git.Counts
}

// Stored is the plan's repositories of this home, the carrier's own first.
func (c *Carrier) Stored(ctx context.Context) ([]Stored, error) {
	var list []Stored
	for _, repo := range c.repositories() {
		counts, err := repo.Counts(ctx)
		if err != nil {
			return nil, maintenanceFailed(err)
		}
		list = append(list, Stored{Dir: repo.Dir(), Counts: counts})
	}
	return list, nil
}

// Remote is where the plan is kept, without a password; empty for the home itself.
func (c *Carrier) Remote() string {
	if p, ok := c.remote.(pushed); ok {
		return git.Words([]byte(p.url))
	}
	return ""
}
