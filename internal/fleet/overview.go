package fleet

import (
	"context"
	"sync"

	"holdfast/internal/bucket"
	"holdfast/internal/fleet/enrollment"
	"holdfast/internal/fleet/roster"
	"holdfast/internal/fleet/rosterstore"
)

// Overview is the whole fleet at a glance, all of it but the requests and the floor's
// text from one read of the roster.
type Overview struct {
	Boxes       []Standing // by box id; the retired ones too
	Holds       []Hold     // by key of the operation
	Activations []Hold
	// Floor is the one in force. FloorTrouble is why it could not be read, or is not
	// the one that the roster names.
	Floor        InForce
	FloorTrouble error
	// Reach is the oldest revision that was looked at to find what moved the bindings.
	Reach uint64
	// LogTrouble is why the log was looked at no further.
	LogTrouble error
	At
}

// Standing is a box, and the step that last moved its binding: nil where that is
// before Reach, or the box is retired and was not looked for.
type Standing struct {
	Box
	LossIDs []string
	Moved   *Step
}

// Walked is what walks through the log have found, kept so that a roster that did not
// change costs no walk, and one that did only the way to the last. It is true of a
// version whatever store that came from, since it is kept by the version's digest.
// Its zero value is good, and it is safe for concurrent use.
type Walked struct {
	mu   sync.Mutex // guards last; nobody holds it while a store is asked
	last walk
}

// walk is what was found from one version back.
type walk struct {
	digest string
	reach  uint64
	moved  map[string]*Step // by enrollment; no entry: before reach
}

// Overview reads the roster, and what of the log has to be read to say what last moved
// the binding of each box that is not retired: at most so many versions.
func (c *Console) Overview(ctx context.Context, walked *Walked, most int) (Overview, error) {
	v, err := c.roster.Read(ctx)
	if err != nil {
		return Overview{}, err
	}
	o := Overview{Boxes: []Standing{}, Holds: holdsOf(v), Activations: activationsOf(v), At: at(v)}
	o.Floor, o.FloorTrouble = c.floorOf(ctx, v)
	found, err := c.walk(ctx, v, walked, most)
	o.Reach, o.LogTrouble = found.reach, err
	for _, e := range v.Enrollments() {
		o.Boxes = append(o.Boxes, Standing{boxOf(v, e), v.Boxes[e].LossIDs, found.moved[e]})
	}
	return o, ctx.Err()
}

// walk finds which steps last moved the bindings in v. What could be read is returned
// beside an error, and is not kept.
func (c *Console) walk(ctx context.Context, v *rosterstore.Version, walked *Walked, most int) (walk, error) {
	walked.mu.Lock()
	last := walked.last
	walked.mu.Unlock()
	if last.digest == v.Digest {
		return last, nil
	}
	w := walk{v.Digest, v.Revision, map[string]*Step{}}
	missing := map[string]bool{}
	for e, b := range v.Boxes {
		if b.State != roster.Retired {
			missing[e] = true
		}
	}
	steps := 0
	err := c.roster.Log(ctx, func(e rosterstore.Entry) bool {
		if e.Revision > v.Revision {
			return true // written since
		}
		w.reach = e.Revision
		for enrollment := range missing {
			if changed := changed(e, enrollment); len(changed) > 0 {
				w.moved[enrollment] = &Step{changed, at(e.Version)}
				delete(missing, enrollment)
			}
		}
		if e.Before != nil && e.Before.Digest == last.digest { // from there on it is known
			w.join(last, missing)
			return false
		}
		steps++
		return len(missing) > 0 && steps < most
	})
	if err != nil {
		return w, err
	}
	walked.mu.Lock()
	defer walked.mu.Unlock()
	walked.last = w
	return w, nil
}

// join adds what an older walk found of the boxes that are missing.
func (w *walk) join(older walk, missing map[string]bool) {
	w.reach = older.reach
	for enrollment := range missing {
		if step := older.moved[enrollment]; step != nil {
			w.moved[enrollment] = step
		}
	}
}

// Asking is a machine that asked to come in and is not in.
type Asking struct {
	// BoxID is what it calls itself: nothing of that is proved. It is empty where the
	// request cannot be read.
	BoxID      string
	Enrollment string
	// Refused is the answer that it was given, or why there is no telling; nil for one
	// that waits.
	Refused error
}

// Askings are the requests of machines that are not in.
type Askings struct {
	Waiting, Refused []Asking // at most maxAsking each, by enrollment
	// MoreWaiting and MoreRefused are how many there are beyond those.
	MoreWaiting, MoreRefused int
}

// maxAsking is how many requests are read of each sort: who can write to the store can
// write as many as they please.
const maxAsking = 20

// Asking lists the machines that asked to come in and wait, or may not.
func (c *Console) Asking(ctx context.Context) (Askings, error) {
	v, err := c.roster.Read(ctx)
	if err != nil {
		return Askings{}, err
	}
	waiting, refused, err := c.outside(ctx, v)
	if err != nil {
		return Askings{}, err
	}
	var list Askings
	list.MoreWaiting, list.MoreRefused = max(0, len(waiting)-maxAsking), max(0, len(refused)-maxAsking)
	for _, id := range waiting[:len(waiting)-list.MoreWaiting] {
		asked, err := c.request(ctx, id)
		list.Waiting = append(list.Waiting, Asking{asked.Box, id, err})
	}
	for _, id := range refused[:len(refused)-list.MoreRefused] {
		list.Refused = append(list.Refused, c.refused(ctx, v, id))
	}
	return list, ctx.Err()
}

// refused reads a request that was refused, and the answer.
func (c *Console) refused(ctx context.Context, v *rosterstore.Version, id string) Asking {
	is := Asking{Enrollment: id}
	asked, err := c.request(ctx, id)
	if err != nil {
		is.Refused = err
		return is
	}
	is.BoxID = asked.Box
	key, err := enrollment.RefusalKey(asked.Invitation, id)
	if err != nil {
		is.Refused = err
		return is
	}
	data, err := bucket.Read(ctx, c.bucket, key)
	if err == nil {
		err = enrollment.ReadRefusal(data, v.Roster, id)
	}
	is.Refused = err
	return is
}
