package reach

import (
	"context"
	"time"

	"holdfast/internal/booth"
	"holdfast/internal/booth/folder"
	"holdfast/internal/problem"
)

// Kept is what keeping a booth, or releasing it, did, in JSON.
type Kept struct {
	Name    string      `json:"name"`
	Changed bool        `json:"changed"`
	State   booth.State `json:"state"`
}

// Trashed is a booth in the trash, in JSON. Times are RFC 3339 in UTC; URL is the
// exact name, escaped. PurgeAfter is empty where that cannot be told.
type Trashed struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	URL        string `json:"url"`
	At         string `json:"at"`
	By         string `json:"by"`
	PurgeAfter string `json:"purge_after"`
}

// Trash is everything in the trash, in JSON.
type Trash struct {
	Trash []Trashed `json:"trash"`
}

// Restored is a booth that came back from the trash, in JSON.
type Restored struct {
	Name string `json:"name"`
}

// Report is what a sweep did, or would do, in JSON.
type Report struct {
	Swept  []string `json:"swept"`
	Spared []Spared `json:"spared"`
}

// Spared is a booth that a sweep left alone.
type Spared struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

// Sweeper deletes: at somebody's word, or when the time has come. There is one
// for a data folder; opening a second is refused. A booth that is not there is
// Gone at step "booth", an entry of the trash Gone at step "trash".
type Sweeper interface {
	Remove(ctx context.Context, name folder.Name, by string) (Trashed, error)
	Restore(ctx context.Context, id string) (folder.Name, error)
	Trash() []Trashed
	Sweep(ctx context.Context, dry bool) (Report, error)
	Close() error
}

// Acts is how what deletes is reached from here: through the desk that serves
// the home, since that has the one sweeper, else by opening it.
type Acts struct {
	// Desk is the desk that serves the home, its operator reaching it; nil for
	// none.
	Desk func(context.Context) (*Remote, error)
	// Open opens the sweeper of a home that no desk serves; nil where this binary
	// has none.
	Open func() (Sweeper, error)
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
		return problem.Refusal("not-available", "Without a desk, this cannot be done yet. Nothing was changed.").
			WithHint("start the desk: holdfast up")
	}
	s, err := a.Open()
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
func (l Local) Remove(ctx context.Context, name string) (gone Trashed, err error) {
	n, err := folder.Existing(name)
	if err != nil {
		return Trashed{}, err
	}
	err = l.Acts.sweeping(ctx,
		func(r Remote) (err error) { gone, err = r.Remove(ctx, name); return err },
		func(s Sweeper) (err error) { gone, err = s.Remove(ctx, n, l.By); return err })
	return gone, err
}

// Restore brings a booth back from the trash.
func (l Local) Restore(ctx context.Context, id string) (back Restored, err error) {
	err = l.Acts.sweeping(ctx,
		func(r Remote) (err error) { back, err = r.Restore(ctx, id); return err },
		func(s Sweeper) error {
			n, err := s.Restore(ctx, id)
			if err == nil {
				back.Name = n.String()
			}
			return err
		})
	return back, err
}

// Trash is what lies in the trash.
func (l Local) Trash(ctx context.Context) (all Trash, err error) {
	err = l.Acts.sweeping(ctx,
		func(r Remote) (err error) { all, err = r.Trash(ctx); return err },
		func(s Sweeper) error { all.Trash = s.Trash(); return nil })
	return all.listed(), err
}

// Sweep sweeps as the desk does at each tick; dry changes nothing.
func (l Local) Sweep(ctx context.Context, dry bool) (done Report, err error) {
	err = l.Acts.sweeping(ctx,
		func(r Remote) (err error) { done, err = r.Sweep(ctx, dry); return err },
		func(s Sweeper) (err error) { done, err = s.Sweep(ctx, dry); return err })
	return done.listed(), err
}

// listed has lists where there is nothing to list.
func (t Trash) listed() Trash {
	if t.Trash == nil {
		t.Trash = []Trashed{}
	}
	return t
}

func (r Report) listed() Report {
	if r.Swept == nil {
		r.Swept = []string{}
	}
	if r.Spared == nil {
		r.Spared = []Spared{}
	}
	return r
}

// Keep keeps a booth until it is released; why may be empty.
func (l Local) Keep(ctx context.Context, name string, why booth.Keeping) (Kept, error) {
	return l.keeping(ctx, name, func(n folder.Name, now time.Time) (bool, error) {
		return booth.Keep(ctx, l.Data, n, why.Why, l.By, now)
	})
}

// Unkeep releases a booth: it counts down from now, unless something holds it.
func (l Local) Unkeep(ctx context.Context, name string) (Kept, error) {
	return l.keeping(ctx, name, func(n folder.Name, now time.Time) (bool, error) {
		return booth.Release(ctx, l.Data, n, now)
	})
}

func (l Local) keeping(ctx context.Context, name string, change func(folder.Name, time.Time) (bool, error)) (Kept, error) {
	n, err := folder.Existing(name)
	if err != nil {
		return Kept{}, err
	}
	changed, err := change(n, time.Now())
	if err != nil {
		return Kept{}, err
	}
	look, err := l.look(ctx, name)
	s := look.Summary()
	return Kept{s.Name, changed, s.State}, err
}

// Census counts the booths by what becomes of them.
func (l Local) Census(ctx context.Context) (booth.Census, error) {
	looks, err := booth.List(ctx, l.Data, l.terms())
	return booth.NewCensus(looks), err
}
