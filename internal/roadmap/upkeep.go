package roadmap

import (
	"context"
	"errors"
	"time"
)

// upkeepWithin is how long each pass of an upkeep may take.
const upkeepWithin = 3 * time.Minute

// Upkeep is what has to be done for a plan now and then, by whoever runs for long:
// publish what waits in the queue, take a census of the snapshots, pack the
// repositories once a day. Each pass is on its own: one that fails does not keep
// the others back. Everything is in the error, in order.
func (p *Plan) Upkeep(ctx context.Context, now time.Time) error {
	var failed []error
	for _, pass := range []func(context.Context) error{
		p.publishWaiting,
		func(ctx context.Context) error { _, err := p.Census(ctx); return err },
		func(ctx context.Context) error { _, err := p.carrier.Maintain(ctx, now); return err },
	} {
		within, cancel := context.WithTimeout(ctx, upkeepWithin)
		failed = append(failed, pass(within))
		cancel()
	}
	return errors.Join(failed...)
}

// publishWaiting publishes the queue, if anything waits in it.
func (p *Plan) publishWaiting(ctx context.Context) error {
	doc, err := p.Queue()
	if err != nil || len(doc.Waiting) == 0 {
		return err
	}
	_, _, err = p.Publish(ctx) // a snapshot that is left is in the journal
	return err
}
