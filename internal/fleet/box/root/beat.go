package root

import (
	"context"
	"slices"
	"time"

	"holdfast/internal/bucket"
	"holdfast/internal/fleet/order"
	"holdfast/internal/problem"
)

// How often the beat is written: at most every beatLeast while something changes, at the
// least every beatMost.
const (
	beatLeast = 2 * time.Second
	beatMost  = 30 * time.Second
)

// beating is what a root has shown of itself.
type beating struct {
	session string
	shown   []order.Beating
	at      time.Time // when that was written
	failed  int       // tries since
	trouble string    // that was logged last
}

// beats shows in the store how the box is, until ctx is done, and then once more where that
// has changed. It is display: nothing waits for it, and what goes wrong is logged once.
func (r *Root) beats(ctx context.Context) {
	var b beating
	for ctx.Err() == nil {
		changed := r.changes()
		r.beat(ctx, &b)
		pause := time.NewTimer(b.pause())
		select {
		case <-ctx.Done():
		case <-pause.C:
			r.untilBeat(ctx, changed, &b)
		}
		pause.Stop()
	}
	last, done := context.WithTimeout(context.WithoutCancel(ctx), beatLeast)
	defer done()
	r.beat(last, &b)
}

// pause is the least time to the next try.
func (b *beating) pause() time.Duration { return min(beatLeast<<min(b.failed, 4), beatMost) }

// untilBeat waits until something has changed, or a beat is due all the same.
func (r *Root) untilBeat(ctx context.Context, changed <-chan struct{}, b *beating) {
	due := time.NewTimer(time.Until(b.at.Add(beatMost)))
	defer due.Stop()
	select {
	case <-ctx.Done():
	case <-changed:
	case <-due.C:
	}
}

// beat writes the beat, if there is anything to be said.
func (r *Root) beat(ctx context.Context, b *beating) {
	s := r.standing()
	if s.id == "" || s.mode == Superseded {
		return
	}
	now, err := r.shows()
	if err == nil && s.id == b.session && slices.Equal(now, b.shown) && time.Since(b.at) < beatMost {
		return
	}
	if err == nil {
		err = r.putBeat(ctx, s, now)
	}
	if err != nil {
		b.failed++
		if words := problem.Words(err); words != b.trouble {
			b.trouble = words
			r.Log.Warn("how the box is cannot be shown in the store", "why", words)
		}
		return
	}
	*b = beating{session: s.id, shown: now, at: time.Now()}
}

// putBeat writes a beat over the one before. A session that is another root's by now is left
// alone.
func (r *Root) putBeat(ctx context.Context, s standing, now []order.Beating) error {
	ctx, done := brief(ctx)
	defer done()
	if mine, err := r.holds(ctx); err != nil || !mine {
		return err
	}
	key, err := order.BeatKey(r.Enrollment)
	if err != nil {
		return err
	}
	_, err = bucket.Update(ctx, r.Store, key, s.box.Beats(r.Evidence), func(order.Beat, bool) (order.Beat, error) {
		return order.Beat{
			Schema: order.BeatSchema, Bucket: r.Bucket, Enrollment: r.Enrollment, BoxSession: s.id,
			At: r.Now().UTC().Truncate(time.Millisecond), Instances: now,
		}, nil
	})
	return err
}

// shows is what the box has, as a beat says it. What was refused, and what a console has
// stopped, is in answers and claims. What was stopped here is in no other place yet.
func (r *Root) shows() ([]order.Beating, error) {
	all, err := r.book.newest()
	if err != nil {
		return nil, err
	}
	list := []order.Beating{}
	for _, i := range all {
		is := r.instance(i)
		if is.State == "refused" || is.State == order.BeatStopped && !i.local || len(list) == order.MaxBeat {
			continue
		}
		list = append(list, order.Beating{
			Instance: is.Instance, Incarnation: is.Incarnation, Session: is.Session, State: is.State, Started: is.Started, Exit: is.Exit,
		})
	}
	return list, nil
}
