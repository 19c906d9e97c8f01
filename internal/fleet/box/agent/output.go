package agent

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"time"

	"holdfast/internal/bucket"
	"holdfast/internal/durable"
	"holdfast/internal/fleet/box/output"
	"holdfast/internal/fleet/box/root"
	"holdfast/internal/fleet/box/shim/wire"
)

// What is done of the output in one look, which comes every outputEvery, or when something
// has ended.
const (
	outputEvery = 2 * time.Second
	mostLooked  = 16 // incarnations
	mostPut     = 8  // segments
)

// carrying is what is known of the output on this box: incarnations of which something may
// still have to be put into the store.
type carrying struct {
	box    *durable.Dir
	open   map[output.Of]*carried
	done   map[output.Of]bool // all of it is in the store; of newest incarnations
	cursor output.Of          // the last that was looked at
	left   int                // segments that may be put in this look
}

// carried is how much of an incarnation is in the store.
type carried struct {
	asked  bool // the store, for what it has
	stored map[uint64]bool
	ended  bool
}

// carry puts finished output into the store until ctx is done.
func (a *Agent) carry(ctx context.Context) {
	var c *carrying
	trouble := ""
	for ctx.Err() == nil {
		s, moved := a.known()
		if s.Mode != "" {
			var err error
			if c == nil {
				c, err = a.carrying()
			}
			if err == nil {
				err = a.look(ctx, c, s)
			}
			trouble = a.tell(ctx, trouble, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(jitter(outputEvery)):
		case <-moved:
		}
	}
	if c != nil {
		c.box.Close()
	}
}

// carrying begins with all that lies on this box.
func (a *Agent) carrying() (*carrying, error) {
	box, err := durable.OpenDir(a.Path)
	if err != nil {
		return nil, err
	}
	all, err := output.All(box)
	if err != nil {
		box.Close()
		return nil, err
	}
	c := &carrying{box: box, open: map[output.Of]*carried{}, done: map[output.Of]bool{}}
	for _, of := range all {
		c.open[of] = &carried{stored: map[uint64]bool{}, ended: true} // unless root says otherwise
	}
	return c, nil
}

// take makes c know what root says.
func (c *carrying) take(s root.Status) {
	for _, i := range s.Instances {
		of := output.Of{Instance: i.Instance, Incarnation: i.Incarnation}
		if i.Folder == "" || c.done[of] {
			continue
		}
		is := c.open[of]
		if is == nil {
			is = &carried{stored: map[uint64]bool{}}
			c.open[of] = is
		}
		is.ended = i.State == "exited" || i.State == "stopped" || i.State == "refused"
	}
	newest := map[string]uint64{}
	for _, i := range s.Instances {
		newest[i.Instance] = i.Incarnation
	}
	for of, is := range c.open {
		is.ended = is.ended || of.Incarnation < newest[of.Instance]
	}
	for of := range c.done {
		if newest[of.Instance] != of.Incarnation {
			delete(c.done, of) // root does not speak of it any more
		}
	}
}

// due is what is looked at now: what has ended first, and of the rest the next ones.
func (c *carrying) due() []output.Of {
	var ended, rest []output.Of
	for of, is := range c.open {
		if is.ended {
			ended = append(ended, of)
		} else {
			rest = append(rest, of)
		}
	}
	slices.SortFunc(ended, output.Of.Compare)
	slices.SortFunc(rest, output.Of.Compare)
	next, _ := slices.BinarySearchFunc(rest, c.cursor, func(of, at output.Of) int {
		if of.Compare(at) <= 0 {
			return -1
		}
		return 1
	})
	due := slices.Concat(ended, rest[next:], rest[:next])
	return due[:min(len(due), mostLooked)]
}

// look does one look at the output.
func (a *Agent) look(ctx context.Context, c *carrying, s root.Status) error {
	c.take(s)
	c.left = mostPut
	for _, of := range c.due() {
		is := c.open[of]
		whole, err := a.carryOne(ctx, c, of, is)
		if err != nil {
			return err
		}
		if !is.ended {
			c.cursor = of
		} else if whole {
			delete(c.open, of)
			c.done[of] = true
		}
		if c.left == 0 {
			return nil
		}
	}
	return nil
}

// carryOne puts what is finished of an incarnation, and says whether nothing of that is
// left.
func (a *Agent) carryOne(ctx context.Context, c *carrying, of output.Of, is *carried) (bool, error) {
	launch, err := output.Open(c.box, of)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	defer launch.Close()
	segments, err := output.Segments(launch)
	if err != nil {
		return false, err
	}
	if !is.ended && len(segments) > 0 {
		segments = segments[:len(segments)-1] // it is being written
	}
	segments = slices.DeleteFunc(segments, func(n uint64) bool { return is.stored[n] })
	if len(segments) > 0 && !is.asked {
		if err := a.stored(ctx, of, is); err != nil {
			return false, err
		}
		segments = slices.DeleteFunc(segments, func(n uint64) bool { return is.stored[n] })
	}
	for _, n := range segments {
		if c.left == 0 {
			return false, nil
		}
		if err := a.putSegment(ctx, launch, of, n); err != nil {
			return false, err
		}
		is.stored[n] = true
		c.left--
	}
	return true, nil
}

// stored asks what of an incarnation is in the store already.
func (a *Agent) stored(ctx context.Context, of output.Of, is *carried) error {
	under, err := output.Under(a.Enrollment, of)
	if err != nil {
		return err
	}
	keys, err := a.Store.List(ctx, under)
	for _, key := range keys {
		if n, ok := output.Number(key, under); ok {
			is.stored[n] = true
		}
	}
	is.asked = err == nil
	return err
}

// putSegment puts one. What is there already stays: it is the same, unless somebody else
// wrote it. One that went from here meanwhile is lost.
func (a *Agent) putSegment(ctx context.Context, launch *durable.Dir, of output.Of, n uint64) error {
	f, err := output.OpenSegment(launch, n)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, wire.SegmentSize))
	if err != nil {
		return err
	}
	key, err := output.Key(a.Enrollment, of, n)
	if err != nil {
		return err
	}
	switch e := a.Store.Put(ctx, key, data, bucket.Absent{}).(type) {
	case bucket.Failed:
		return e.Cause
	case bucket.Unknown:
		return e.Cause
	case bucket.Done, bucket.Refused:
	}
	return nil
}
