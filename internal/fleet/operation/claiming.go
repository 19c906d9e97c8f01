package operation

import (
	"holdfast/internal/bucket"
	"holdfast/internal/fleet/claim"
)

// standing is what a claim is to an operation.
type standing uint8

const (
	// free: it is as it was when the operation was noted.
	free standing = iota + 1
	// ours: the box has it, by the operation (run), or as the operation found it (stop).
	ours
	// forgone: the operation had its turn, and gave it up (run).
	forgone
	// proved: it notes that the incarnation was stopped (stop).
	proved
	// past: it went on to somebody else.
	past
	// lost: it is older than what the operation was noted on.
	lost
)

// run is what the claim c is to the run o.
func (o Operation) run(c claim.Claim, exists bool) standing {
	switch {
	case !exists && o.BaseSession == 0:
		return free
	case !exists || c.Session < o.BaseSession || c.Instance != o.Instance:
		return lost
	case c.Session == o.BaseSession && c.State == claim.Released:
		return free
	case c.Session == o.Session && c.Operation == o.Key && c.State == claim.Held:
		return ours
	case c.Session == o.Session && c.Operation == o.Key:
		return forgone
	}
	return past
}

// stop is what the claim c is to the stop o.
func (o Operation) stop(c claim.Claim, exists bool) standing {
	_, noted := o.noted(c)
	switch {
	case !exists || c.Session < o.Session || c.Instance != o.Instance:
		return lost
	case noted:
		return proved
	case c.Session == o.Session && c.State == claim.Held:
		return ours
	}
	return past
}

// noted is what c notes of the stop of o's incarnation.
func (o Operation) noted(c claim.Claim) (claim.Noted, bool) {
	for _, n := range c.Receipts {
		if n.Enrollment == o.Enrollment && n.Incarnation == o.Incarnation {
			return n, true
		}
	}
	return claim.Noted{}, false
}

// take gives the claim to o's box.
func (o Operation) take(c *claim.Claim, exists bool) error {
	return c.Take(exists, claim.Taking{
		Bucket: o.Bucket, Instance: o.Instance, Console: o.Console, Operation: o.Key,
		BoxID: o.BoxID, Enrollment: o.Enrollment, Binding: o.Binding, BaseSession: o.BaseSession,
	})
}

// Taking gives the claim to o's box, if it is as it was when o was noted. Else it
// leaves it as it is; what it is then says whether o has it.
func (o Operation) Taking() bucket.Change[claim.Claim] {
	return func(c claim.Claim, exists bool) (claim.Claim, error) {
		if o.run(c, exists) != free {
			return c, bucket.ErrUnchanged
		}
		err := o.take(&c, exists)
		return c, err
	}
}

// Forgoing gives the claim to o and takes it back, in one write, if it is as it was when
// o was noted: from then on o is nobody's way to the claim.
func (o Operation) Forgoing() bucket.Change[claim.Claim] {
	return func(c claim.Claim, exists bool) (claim.Claim, error) {
		if o.run(c, exists) != free {
			return c, bucket.ErrUnchanged
		}
		if err := o.take(&c, exists); err != nil {
			return c, err
		}
		err := c.Abandon(o.Key)
		return c, err
	}
}

// Abandoning takes the claim back that o has. It is for a run that the box refused.
func (o Operation) Abandoning() bucket.Change[claim.Claim] {
	return func(c claim.Claim, exists bool) (claim.Claim, error) {
		if o.run(c, exists) != ours {
			return c, bucket.ErrUnchanged
		}
		err := c.Abandon(o.Key)
		return c, err
	}
}

// Releasing notes the receipt of the stop o, and releases the claim.
func (o Operation) Releasing(n claim.Noted) bucket.Change[claim.Claim] {
	return func(c claim.Claim, exists bool) (claim.Claim, error) {
		if o.stop(c, exists) != ours {
			return c, bucket.ErrUnchanged
		}
		err := c.Release(o.Key, n)
		return c, err
	}
}
