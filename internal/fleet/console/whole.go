package console

import (
	"context"
	"errors"
	"sync"

	"holdfast/internal/bucket"
	"holdfast/internal/fleet/claim"
	"holdfast/internal/fleet/receipt"
	"holdfast/internal/fleet/roster"
	"holdfast/internal/problem"
)

// Whole is what is known of an instance, and what its receipts say.
type Whole struct {
	Shown
	// Trouble is why the claim, which is there, is not believed. Then nothing is known of
	// the instance but its name.
	Trouble error
	Proofs  []Proved // those of Receipts, in their order
}

// Proved is a receipt as it is shown. That it can be read is not that it holds: see
// [Ops.Verify].
type Proved struct {
	claim.Noted
	Receipt receipt.Receipt
	Trouble error // it cannot be read, and Receipt is none
}

// Whole is what is known of an instance and its receipts. An instance that was never
// claimed is an error of kind Gone.
func (o *Ops) Whole(ctx context.Context, instance string) (Whole, error) {
	if err := roster.CheckName("instance", instance); err != nil {
		return Whole{}, unknownInstance(instance)
	}
	v, err := o.Roster.Read(ctx)
	if err != nil {
		return Whole{}, err
	}
	c, err := o.claim(ctx, v.Roster, instance)
	switch {
	case errors.Is(err, errAbsent):
		return Whole{}, unknownInstance(instance)
	case err != nil && problem.KindOf(err) == problem.Failed:
		return Whole{}, err
	case err != nil:
		damaged := Instance{Instance: instance, State: StateDamaged, Refusal: problem.Words(err)}
		return Whole{Shown: Shown{Instance: damaged, Receipts: []claim.Noted{}}, Trouble: err}, nil
	}
	l := o.looksFor(v.Roster)
	w := Whole{}
	if w.Shown, err = l.shown(ctx, c); err != nil {
		return Whole{}, err
	}
	for _, n := range c.Receipts {
		p, err := l.proved(ctx, n)
		if err != nil {
			return Whole{}, err
		}
		w.Proofs = append(w.Proofs, p)
	}
	return w, nil
}

// proved reads a receipt. An error is that of a store that cannot be asked.
func (l *looks) proved(ctx context.Context, n claim.Noted) (Proved, error) {
	p := Proved{Noted: n}
	s, err := l.box(ctx, n.Enrollment)
	if err != nil {
		return p, err
	}
	if s.box.Enrollment() == "" {
		p.Trouble = problem.Refusal("box-unknown", "The box that signed it cannot be verified: %s.", s.why)
		return p, nil
	}
	key, err := bucket.ParseKey(n.Key)
	if err != nil {
		p.Trouble = err
		return p, nil
	}
	data, err := l.get(ctx, key)
	switch {
	case errors.Is(err, errAbsent):
		p.Trouble = problem.Refusal("receipt-absent", "The receipt is not in the store any more.")
		return p, nil
	case err != nil:
		return p, err
	case !n.Is(data):
		p.Trouble = problem.Refusal("receipt-other", "The receipt in the store is not the one that the claim notes: its bytes have another digest.")
		return p, nil
	}
	p.Receipt, p.Trouble = receipt.Read(data, s.box.Evidence())
	return p, nil
}

// Life is what is known of a box's root: its present session, or why none is shown.
type Life struct {
	Session *BoxSession // nil: none
	Why     string      // the session cannot be believed; empty where there never was one
}

// Lives are the lives of the roots of these boxes, by enrollment.
func (o *Ops) Lives(ctx context.Context, enrolled []string) (map[string]Life, error) {
	v, err := o.Roster.Read(ctx)
	if err != nil {
		return nil, err
	}
	l := o.looksFor(v.Roster)
	lives, failed := make([]Life, len(enrolled)), make([]error, len(enrolled))
	room := make(chan struct{}, atOnce)
	var looking sync.WaitGroup
	for n, id := range enrolled {
		room <- struct{}{}
		looking.Go(func() {
			defer func() { <-room }()
			lives[n], failed[n] = l.life(ctx, id)
		})
	}
	looking.Wait()
	all := map[string]Life{}
	for n, id := range enrolled {
		if failed[n] != nil {
			return nil, failed[n]
		}
		all[id] = lives[n]
	}
	return all, nil
}

// life is the life of a box's root. An error is that of a store that cannot be asked.
func (l *looks) life(ctx context.Context, enrolled string) (Life, error) {
	s, err := l.box(ctx, enrolled)
	if err != nil {
		return Life{}, err
	}
	if s.box.Enrollment() == "" {
		return Life{Why: s.why}, nil
	}
	now, err := l.session(ctx, s.box)
	switch {
	case errors.Is(err, errAbsent):
		return Life{}, nil
	case err != nil && problem.KindOf(err) == problem.Failed:
		return Life{}, err
	case err != nil:
		return Life{Why: problem.Words(err)}, nil
	}
	return Life{Session: sessionOf(now)}, nil
}
