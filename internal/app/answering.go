package app

import (
	"context"
	"errors"
	"strings"
	"time"

	"holdfast/internal/fleet"
)

// How often the store of the fleet is looked at for boxes that asked to come in, at
// the least: where it is in a folder of this machine, and where another has to be
// asked. A shorter tick of the desk is theirs too.
const (
	boxesNear = 3 * time.Second
	boxesFar  = 15 * time.Second
)

// answering is what stays from one look to the next.
type answering struct {
	trouble string // that was logged last
	left    string // what was said last of operations that nobody goes on with
	tried   string // the address of the store in S3 that was found to be good
}

// answered answers the boxes that ask to come in, if the home is a console, until ctx
// is done; the channel is closed then. A home may become a console meanwhile. Nothing
// that goes wrong here is the desk's trouble: it is logged, once while it lasts.
func (h *house) answered(ctx context.Context) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		var a answering
		for {
			a.trouble = h.answerBoxes(ctx, &a)
			select {
			case <-ctx.Done():
				return
			case <-time.After(h.boxesPause()):
			}
		}
	}()
	return done
}

// try finds out whether the store honours the conditions of writes, if that is not
// known yet.
func (a *answering) try(ctx context.Context, c *fleet.Console) error {
	if at := c.Store(); isFar(at) && at != a.tried {
		if err := c.Probe(ctx); err != nil {
			return err
		}
		a.tried = at
	}
	return nil
}

// isFar says whether another machine has to be asked for what is in a store.
func isFar(address string) bool { return strings.HasPrefix(address, "s3:") }

func (h *house) boxesPause() time.Duration {
	part, err := fleet.Look(FleetHome(h.config))
	if err == nil && isFar(part.Store) {
		return min(boxesFar, h.config.Tick)
	}
	return min(boxesNear, h.config.Tick)
}

// answerBoxes answers those that asked, and returns what is wrong, as it was said in
// the log. What is the same as last is not said again. A store in S3 is tried first,
// once: nothing is built on one that ignores a condition.
func (h *house) answerBoxes(ctx context.Context, a *answering) string {
	console, err := fleet.OpenConsole(FleetHome(h.config))
	if errors.Is(err, fleet.ErrNoFleet) {
		return ""
	}
	if err == nil {
		defer console.Close()
		err = a.try(ctx, console)
	}
	if err == nil {
		var admitted []fleet.Admitted
		admitted, err = console.Admit(ctx)
		h.logAdmitted(admitted)
	}
	if err == nil {
		err = h.recover(ctx, console, a)
	}
	if err == nil {
		return ""
	}
	if ctx.Err() == nil && err.Error() != a.trouble {
		h.log.Error("the fleet cannot be looked after: who asks to come in is not answered", "err", err)
	}
	return err.Error()
}

// recover goes on with what this console has begun and not finished: what was killed in the
// middle of a run or a stop is not left to whoever says the same again.
func (h *house) recover(ctx context.Context, c *fleet.Console, a *answering) error {
	found, err := c.Work(nil).Recover(ctx)
	for _, key := range found.Driven {
		h.log.Info("went on with an operation, to its end", "operation", key)
	}
	for _, key := range found.Released {
		h.log.Info("a hold that an operation had left was released", "operation", key)
	}
	left := ""
	for _, l := range found.Left {
		left += l.Key + ": " + l.Why + "\n"
		if !strings.Contains(a.left, l.Key+": "+l.Why+"\n") {
			h.log.Debug("a hold stays", "hold", l.Key, "because", l.Why)
		}
	}
	if err == nil {
		a.left = left
	}
	return err
}

func (h *house) logAdmitted(list []fleet.Admitted) {
	for _, a := range list {
		if a.Refused != nil {
			h.log.Warn("a box asked to come into the fleet, and may not", "box", a.BoxID, "enrollment", a.Enrollment, "because", a.Refused)
			continue
		}
		h.log.Info("a box came into the fleet", "box", a.BoxID, "enrollment", a.Enrollment)
	}
}
