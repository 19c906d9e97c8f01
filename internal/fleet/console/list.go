package console

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"holdfast/internal/fleet/claim"
	"holdfast/internal/fleet/document"
	"holdfast/internal/fleet/operation"
	"holdfast/internal/fleet/order"
	"holdfast/internal/fleet/roster"
	"holdfast/internal/problem"
)

// States of an instance, as they are listed, besides those that a box says in its beat.
const (
	StateOrdered = "ordered" // the box has not answered yet
	StateStopped = "stopped"
	StateRefused = "refused" // it was not started
	StateLost    = "lost"    // its box was given up
	StateDamaged = "damaged" // what is known of it cannot be read
)

// Instance is an instance as lists show it. What a box said in its beat is marked by
// Seen.
type Instance struct {
	Instance    string `json:"instance"`
	Box         string `json:"box"`
	State       string `json:"state"`
	Incarnation uint64 `json:"incarnation"`
	Binding     string `json:"binding"`
	// Started is by the box's clock; it is left out where the box has not said.
	Started time.Time `json:"started,omitzero"`
	// Refusal is why it was not started, or why nothing more is known of it.
	Refusal string `json:"refusal"`
	Exit    string `json:"exit,omitempty"` // how it ended by itself
	// Enrollment is the box's, and empty where the claim cannot be read.
	Enrollment string `json:"-"`
	// Seen is when the box last showed it, by the box's clock, and AgeNS how long ago by
	// this one: both only where the state is from a beat.
	Seen  time.Time `json:"seen,omitzero"`
	AgeNS int64     `json:"age_ns,omitempty"`
}

// List is every instance, by name.
func (o *Ops) List(ctx context.Context) ([]Instance, error) {
	v, err := o.Roster.Read(ctx)
	if err != nil {
		return nil, err
	}
	keys, err := o.Bucket.List(ctx, claim.Under)
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, key := range keys {
		name, ok := strings.CutSuffix(strings.TrimPrefix(key.String(), claim.Under), ".json")
		if ok && roster.CheckName("instance", name) == nil { // no claim stands under another
			names = append(names, name)
		}
	}
	return o.looksFor(v.Roster).all(ctx, names)
}

// atOnce is how many instances are looked at at a time: each takes some reads of a store
// that may be far away.
const atOnce = 16

// all looks at instances, and stops at the first that the store keeps it from.
func (l *looks) all(ctx context.Context, names []string) ([]Instance, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	list, failed := make([]Instance, len(names)), make([]error, len(names))
	room := make(chan struct{}, atOnce)
	var looking sync.WaitGroup
	for n, name := range names {
		room <- struct{}{}
		looking.Go(func() {
			defer func() { <-room }()
			if list[n], failed[n] = l.named(ctx, name); failed[n] != nil {
				cancel() // which the others then fail of
			}
		})
	}
	looking.Wait()
	for _, err := range failed {
		if err != nil && !errors.Is(err, context.Canceled) {
			return nil, err
		}
	}
	if err := errors.Join(failed...); err != nil { // whoever asked has gone
		return nil, err
	}
	return list, nil
}

// named is the instance called name. What of it cannot be read is shown as damaged; its
// error is that of a store that cannot be asked: then nothing is shown.
func (l *looks) named(ctx context.Context, name string) (Instance, error) {
	c, err := l.claim(ctx, l.roster, name)
	switch {
	case err != nil && problem.KindOf(err) == problem.Failed:
		return Instance{}, err
	case err != nil:
		return Instance{Instance: name, State: StateDamaged, Refusal: problem.Words(err)}, nil
	}
	return l.at(ctx, c)
}

// looks is one look at several instances: each box is read once.
type looks struct {
	*Ops
	roster *roster.Roster

	mu    sync.Mutex
	boxes map[string]*seen
}

func (o *Ops) looksFor(r *roster.Roster) *looks {
	return &looks{Ops: o, roster: r, boxes: map[string]*seen{}}
}

// seen is what was read of a box.
type seen struct {
	once sync.Once
	err  error // the store: nothing can be said
	box  order.Box
	beat *order.Beat
	why  string // why nothing is known
}

func (l *looks) box(ctx context.Context, enrolled string) (*seen, error) {
	l.mu.Lock()
	s := l.boxes[enrolled]
	if s == nil {
		s = &seen{}
		l.boxes[enrolled] = s
	}
	l.mu.Unlock()
	s.once.Do(func() { s.read(ctx, l, enrolled) })
	return s, s.err
}

func (s *seen) read(ctx context.Context, l *looks, enrolled string) {
	b, err := l.Ops.box(ctx, l.roster, enrolled)
	if err == nil {
		s.box = b
		s.beat, err = l.beat(ctx, b)
	}
	switch {
	case err != nil && problem.KindOf(err) == problem.Failed:
		s.err = err
	case err != nil:
		s.why = problem.Words(err)
	}
}

// beat is the box's last one, nil if there is none.
func (l *looks) beat(ctx context.Context, b order.Box) (*order.Beat, error) {
	key, err := order.BeatKey(b.Enrollment())
	if err != nil {
		return nil, err
	}
	data, err := l.get(ctx, key)
	if errors.Is(err, errAbsent) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	beat, err := b.ReadBeat(data)
	return &beat, err
}

// at is the instance whose claim is c.
func (l *looks) at(ctx context.Context, c claim.Claim) (Instance, error) {
	i := Instance{Instance: c.Instance, Box: c.BoxID, Enrollment: c.Enrollment, Incarnation: c.Incarnation, Binding: c.Binding.String()}
	if c.State == claim.Released {
		if n, ok := newest(c); ok && n.Incarnation == c.Incarnation {
			i.State = StateStopped
			return i, nil
		}
		i.State = StateRefused
		return l.refused(ctx, c, i)
	}
	row := l.roster.Boxes[c.Enrollment]
	if row.State != roster.Active && len(row.LossIDs) > 0 {
		i.State, i.Refusal = StateLost, "box "+row.BoxID+" was given up for lost"
		return i, nil
	}
	s, err := l.box(ctx, c.Enrollment)
	if err != nil {
		return i, err
	}
	if s.why != "" {
		i.State, i.Refusal = StateDamaged, s.why
		return i, nil
	}
	return l.held(ctx, c, i, s)
}

// held is an instance that a box has: as the box answered, and then as it shows it.
func (l *looks) held(ctx context.Context, c claim.Claim, i Instance, s *seen) (Instance, error) {
	a, err := l.ack(ctx, s.box, c.Operation)
	switch {
	case errors.Is(err, errAbsent):
		i.State = StateOrdered
	case err != nil && problem.KindOf(err) == problem.Failed:
		return i, err
	case err != nil:
		i.State, i.Refusal = StateDamaged, problem.Words(err)
	default:
		i.State = order.Phase(a.Answer)
		if r, refused := a.Answer.(order.Refused); refused {
			i.Refusal = r.Reason
			return i, nil // for good
		}
	}
	if s.beat == nil {
		return i, nil
	}
	if b, ok := s.beat.Of(c.Instance, c.Incarnation, c.Session); ok {
		if b.State != order.BeatInstalled || i.State == StateOrdered { // else the beat is older than the answer
			i.State = b.State
		}
		i.Started, i.Exit = b.Started, b.Exit
		i.Seen, i.AgeNS = s.beat.At, int64(document.Stamp(l.Now()).Sub(s.beat.At))
	}
	return i, nil
}

// refused is an instance that was not started, with the words of the run.
func (l *looks) refused(ctx context.Context, c claim.Claim, i Instance) (Instance, error) {
	doc, err := l.noted(ctx, l.roster, c.Operation)
	switch {
	case err != nil && problem.KindOf(err) == problem.Failed && !errors.Is(err, errAbsent):
		return i, err
	case err != nil:
		return i, nil
	}
	if r, ok := doc.Outcome.(operation.Refusal); ok {
		i.Refusal = r.Reason
	}
	return i, nil
}
