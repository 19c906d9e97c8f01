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

// answered answers the boxes that ask to come in, if the home is a console, until ctx
// is done; the channel is closed then. A home may become a console meanwhile. Nothing
// that goes wrong here is the desk's trouble: it is logged, once while it lasts.
func (h *house) answered(ctx context.Context) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		trouble := ""
		for {
			trouble = h.answerBoxes(ctx, trouble)
			select {
			case <-ctx.Done():
				return
			case <-time.After(h.boxesPause()):
			}
		}
	}()
	return done
}

func (h *house) boxesPause() time.Duration {
	part, err := fleet.Look(FleetHome(h.config))
	if err == nil && strings.HasPrefix(part.Store, "s3:") {
		return min(boxesFar, h.config.Tick)
	}
	return min(boxesNear, h.config.Tick)
}

// answerBoxes answers those that asked, and returns what is wrong, as it was said in
// the log. What is the same as last is not said again.
func (h *house) answerBoxes(ctx context.Context, last string) string {
	console, err := fleet.OpenConsole(FleetHome(h.config))
	if errors.Is(err, fleet.ErrNoFleet) {
		return ""
	}
	if err == nil {
		defer console.Close()
		var admitted []fleet.Admitted
		admitted, err = console.Admit(ctx)
		h.logAdmitted(admitted)
	}
	if err == nil {
		return ""
	}
	if ctx.Err() == nil && err.Error() != last {
		h.log.Error("boxes that ask to come into the fleet cannot be answered", "err", err)
	}
	return err.Error()
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
