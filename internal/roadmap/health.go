package roadmap

import (
	"context"
	"path/filepath"

	"holdfast/internal/problem"
	"holdfast/internal/roadmap/carrier"
	"holdfast/internal/roadmap/snapshot"
)

// Health is what can be told of a plan without changing anything but the index.
type Health struct {
	Remote               string // without a password; empty: the home itself
	Problem              string // why the remote's log cannot be taken as it is; empty: it can
	Hint                 string
	Commit               string // that was read last
	Events               int64
	Refused              int // parts of the log that cannot be read
	Waiting              int // commands in the queue
	Late                 int // refused after they had waited
	Damaged              int // files of the queue that are none
	Alive, Gone, Unknown int // snapshots, by their owners
	Stored               []Stored
}

// Stored is how a repository of this home keeps its objects.
type Stored struct {
	Name         string
	Loose, Packs int
	Bytes        int64
}

// Health looks at the plan.
func (p *Plan) Health(ctx context.Context) (Health, error) {
	h := Health{Remote: p.carrier.Remote()}
	_, err := p.read(ctx, Now, func(r reading) error {
		if rw, ok := r.trust.(carrier.Rewritten); ok {
			refusal := rw.Refusal()
			h.Problem, h.Hint = refusal.Reason, refusal.Hint
		}
		return nil
	})
	if err != nil {
		why := problem.From(err, err.Error())
		h.Problem, h.Hint = why.Reason, why.Hint
	}
	for _, look := range []func(context.Context, *Health) error{p.readHealth, p.queueHealth, p.storeHealth} {
		if err := look(ctx, &h); err != nil {
			return h, err
		}
	}
	return h, nil
}

func (p *Plan) readHealth(ctx context.Context, h *Health) error {
	view, err := p.carrier.View(ctx)
	if err != nil {
		return unreadable(err)
	}
	defer view.Close()
	refused, err := view.Refusals()
	h.Commit, h.Events, h.Refused = view.Position().Commit, view.Position().Seq, len(refused)
	return unreadable(err)
}

func (p *Plan) queueHealth(_ context.Context, h *Health) error {
	doc, err := p.Queue()
	h.Waiting, h.Late, h.Damaged = len(doc.Waiting), len(doc.Late), len(doc.Damaged)
	return err
}

func (p *Plan) storeHealth(ctx context.Context, h *Health) error {
	names, err := p.carrier.Store().Folders()
	if err != nil {
		return censusFailed(err)
	}
	for _, n := range names {
		switch p.carrier.Store().Judge(n).(type) {
		case snapshot.Alive:
			h.Alive++
		case snapshot.Gone:
			h.Gone++
		case snapshot.Unknown:
			h.Unknown++
		}
	}
	stored, err := p.carrier.Stored(ctx)
	for _, s := range stored {
		h.Stored = append(h.Stored, Stored{Name: filepath.Base(s.Dir), Loose: s.Loose, Packs: s.Packs, Bytes: s.Bytes})
	}
	return err
}
