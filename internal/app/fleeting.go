package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast/internal/fleet"
	"holdfast/internal/fleet/pages"
	"holdfast/internal/page"
)

// fleetPages is the fleet's pages.
func (h *house) fleetPages(frame *page.House) (*pages.Pages, error) {
	return pages.New(pages.Config{
		House: frame, Base: h.base, Home: FleetHome(h.config), Live: h.live, Changed: func() { h.events.Publish(pages.Topic) }, Now: time.Now, Log: h.log,
	})
}

// fleeting tells open pages that the roster moved, until ctx is done; the channel is
// closed then.
func (h *house) fleeting(ctx context.Context) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		last := ""
		for {
			last = h.lookAtFleet(ctx, last)
			select {
			case <-ctx.Done():
				return
			case <-time.After(h.boxesPause()):
			}
		}
	}()
	return done
}

// lookAtFleet publishes that the roster is another one than at last, or is believed no
// more, or again, if anybody listens.
func (h *house) lookAtFleet(ctx context.Context, last string) string {
	if !h.events.Heard() {
		return last
	}
	is := h.roster(ctx)
	if is != last && ctx.Err() == nil {
		h.events.Publish(pages.Topic)
	}
	return is
}

// roster is which version of the roster there is, or why none is to be told.
func (h *house) roster(ctx context.Context) string {
	c, err := fleet.OpenConsole(FleetHome(h.config))
	if errors.Is(err, fleet.ErrNoFleet) {
		return "none"
	}
	if err != nil {
		return err.Error()
	}
	defer c.Close()
	head, err := c.Head(ctx)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(head.Revision)
}
