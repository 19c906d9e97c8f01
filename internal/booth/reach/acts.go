package reach

import (
	"context"
	"time"

	"holdfast/internal/booth"
	"holdfast/internal/booth/folder"
	"holdfast/internal/booth/sweep"
	"holdfast/internal/problem"
)

// Sweeper deletes: at somebody's word, or when the time has come. There is one
// for a data folder; opening a second is refused. A booth that is not there is
// Gone at step "booth", an entry of the trash Gone at step "trash".
type Sweeper interface {
	Remove(ctx context.Context, name folder.Name, by string) (sweep.Trashed, error)
	Restore(ctx context.Context, id string) (folder.Name, error)
	Trash() []sweep.Trashed
	Sweep(ctx context.Context, dry bool) (sweep.Report, error)
	Close() error
}

// Acts is how what deletes is reached from here: through the desk that serves
// the home, since that has the one sweeper, else by opening it.
type Acts struct {
	// Desk is the desk that serves the home, its operator reaching it; nil for
	// none.
	Desk func(context.Context) (*Remote, error)
	// Open opens the sweeper of a home that no desk serves; nil where there is no
	// home.
	Open func(context.Context) (Sweeper, error)
}

// sweeping does far where a desk serves the home, else near.
func (a Acts) sweeping(ctx context.Context, far func(Remote) error, near func(Sweeper) error) error {
	if a.Desk != nil {
		desk, err := a.Desk(ctx)
		if err != nil {
			return err
		}
		if desk != nil {
			return far(*desk)
		}
	}
	if a.Open == nil {
		return problem.Refusal("home", "Deleting takes the home that the booth is in, and only its folder is known here. Nothing was changed.").
			WithHint("name the home with --home DIR")
	}
	s, err := a.Open(ctx)
	if err != nil {
		return err
	}
	err = near(s)
	if failed := s.Close(); err == nil {
		err = failed
	}
	return err
}

// Remove moves a booth to the trash, whatever its lifetime says.
func (l Local) Remove(ctx context.Context, name string) (gone booth.Trashed, err error) {
	n, err := folder.Existing(name)
	if err != nil {
		return gone, err
	}
	err = l.Acts.sweeping(ctx,
		func(r Remote) (err error) { gone, err = r.Remove(ctx, name); return err },
		func(s Sweeper) error {
			t, err := s.Remove(ctx, n, l.By)
			if err == nil {
				gone = t.Document()
			}
			return err
		})
	return gone, err
}

// Restore brings a booth back from the trash.
func (l Local) Restore(ctx context.Context, id string) (back booth.Restored, err error) {
	err = l.Acts.sweeping(ctx,
		func(r Remote) (err error) { back, err = r.Restore(ctx, id); return err },
		func(s Sweeper) error {
			n, err := s.Restore(ctx, id)
			if err == nil {
				back = booth.NewRestored(n)
			}
			return err
		})
	return back, err
}

// Trash is what lies in the trash, the last first.
func (l Local) Trash(ctx context.Context) (booth.Trash, error) {
	all := booth.Trash{Trash: []booth.Trashed{}}
	err := l.Acts.sweeping(ctx,
		func(r Remote) (err error) { all, err = r.Trash(ctx); return err },
		func(s Sweeper) error {
			for _, t := range s.Trash() {
				all.Trash = append(all.Trash, t.Document())
			}
			return nil
		})
	return all, err
}

// Sweep sweeps as the desk does at each tick; dry changes nothing.
func (l Local) Sweep(ctx context.Context, dry bool) (done sweep.Report, err error) {
	err = l.Acts.sweeping(ctx,
		func(r Remote) (err error) { done, err = r.Sweep(ctx, dry); return err },
		func(s Sweeper) (err error) { done, err = s.Sweep(ctx, dry); return err })
	return done, err
}

// Keep keeps a booth until it is released; why may be empty.
func (l Local) Keep(ctx context.Context, name string, why booth.Keeping) (booth.Kept, error) {
	return l.keeping(ctx, name, func(n folder.Name, now time.Time) (bool, error) {
		return booth.Keep(ctx, l.Data, n, why.Why, l.By, now)
	})
}

// Unkeep releases a booth: it counts down from now, unless something holds it.
func (l Local) Unkeep(ctx context.Context, name string) (booth.Kept, error) {
	return l.keeping(ctx, name, func(n folder.Name, now time.Time) (bool, error) {
		return booth.Release(ctx, l.Data, n, now)
	})
}

func (l Local) keeping(ctx context.Context, name string, change func(folder.Name, time.Time) (bool, error)) (booth.Kept, error) {
	n, err := folder.Existing(name)
	if err != nil {
		return booth.Kept{}, err
	}
	changed, err := change(n, time.Now())
	if err != nil {
		return booth.Kept{}, err
	}
	look, err := l.look(ctx, name)
	return look.Keeping(changed), err
}

// Census counts the booths by what becomes of them.
func (l Local) Census(ctx context.Context) (booth.Census, error) {
	looks, err := booth.List(ctx, l.Data, l.terms())
	return booth.NewCensus(looks), err
}
