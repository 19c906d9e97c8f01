package console

import (
	"context"
	"errors"
	"maps"
	"slices"

	"holdfast/internal/fleet/operation"
	"holdfast/internal/fleet/order"
	"holdfast/internal/problem"
)

// Resumed is what an operation that was gone on with came to: the one or the other.
type Resumed struct {
	Ran     *Ran     `json:"ran,omitempty"`
	Stopped *Stopped `json:"stopped,omitempty"`
}

// Resume goes on with the operation of a key, whichever console began it.
func (o *Ops) Resume(ctx context.Context, key string) (Resumed, error) {
	doc, err := o.owned(ctx, key)
	if errors.Is(err, errAbsent) {
		return Resumed{}, problem.New(problem.Gone, "operation-unknown", "No operation is noted under the key %s.", key)
	}
	if err != nil {
		return Resumed{}, err
	}
	out, err := o.drive(ctx, doc, true)
	if err != nil {
		return Resumed{}, err
	}
	if doc.Kind == order.Stop {
		s, err := stopped(doc, out)
		return Resumed{Stopped: &s}, err
	}
	r, err := ran(doc, out)
	return Resumed{Ran: &r}, err
}

// Recovered is what was found behind the holds of the roster.
type Recovered struct {
	Released []string // their operations were over
	Driven   []string // they were under way, and came to their end
	Left     []Left
}

// Left is a hold that stays.
type Left struct{ Key, Why string }

// Recover looks behind every hold in the roster. One whose operation is over is
// released, whoever reserved it: a driver that came late may have reserved it again.
// One of this console's own operations is gone on with, as far as it goes without
// waiting. What was never noted as an operation was made by hand, and is left.
func (o *Ops) Recover(ctx context.Context) (Recovered, error) {
	v, err := o.Roster.Read(ctx)
	if err != nil {
		return Recovered{}, err
	}
	found := Recovered{}
	for _, key := range slices.Sorted(maps.Keys(v.Holds)) {
		leave := func(why string) { found.Left = append(found.Left, Left{key, why}) }
		doc, err := o.noted(ctx, v.Roster, key)
		switch {
		case errors.Is(err, errAbsent) || problem.KindOf(err) == problem.Usage:
			leave("no operation of that key was ever noted: it was made by hand")
			continue
		case err != nil:
			leave(problem.Words(err))
			continue
		case doc.Outcome != nil:
			if err := o.cancelHold(ctx, key); err != nil {
				return found, err
			}
			found.Released = append(found.Released, key)
			continue
		case doc.Console != o.Name:
			leave("it is the operation of console " + doc.Console + ", and under way")
			continue
		}
		if err := o.goOn(ctx, doc); err != nil {
			if ctx.Err() != nil {
				return found, err
			}
			leave(problem.Words(err))
			continue
		}
		found.Driven = append(found.Driven, key)
	}
	return found, nil
}

func (o *Ops) goOn(ctx context.Context, doc operation.Operation) error {
	_, err := o.drive(ctx, doc, false)
	return err
}
