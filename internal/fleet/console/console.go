// Package console is what a console does with instances: run, stop, and say how they
// are.
//
// An [Ops] drives operations (package operation) over a bucket and the roster. It
// decides nothing that the operation's steps decide: each effect is one function here,
// which says what came of it. What a store or another console refuses, what cannot be
// reached, what may or may not have been written, and what is not what it should be are
// told apart, since the steps go on from each in its own way.
//
// What is noted is never lost: a call that is cut off (its context ends, the process is
// killed) is gone on with by saying the same again with the same key, or by
// [Ops.Resume], or, where it left a hold, by [Ops.Recover]. A call whose context ends
// before it saw the end is an error of kind Unknown, step operation-unsettled.
//
// What is shown of instances ([Ops.List]) is put together from claims, the boxes'
// answers, and their beats. A beat is display, and how old it is stands beside it.
package console

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	mathrand "math/rand/v2"
	"strings"
	"time"

	"holdfast/internal/bucket"
	"holdfast/internal/fleet/enrollment"
	"holdfast/internal/fleet/operation"
	"holdfast/internal/fleet/order"
	"holdfast/internal/fleet/roster"
	"holdfast/internal/fleet/rosterstore"
	"holdfast/internal/problem"
	"holdfast/internal/sign"
)

// Ops drives the operations of one console. It is safe for concurrent use, and beside
// other consoles.
type Ops struct {
	Bucket bucket.Store
	Roster *rosterstore.Store
	Name   string // of the console
	Key    sign.Key
	Now    func() time.Time
	Waker  Waker
	// Proofs are the proofs of a stop that the floor counts which v names, nil if it
	// names none. Without it no floor is looked at.
	Proofs func(ctx context.Context, v *rosterstore.Version) ([]string, error)
	// Progress is told what is waited for, each time that it changes, by each operation for
	// itself. It may be nil.
	Progress func(key, why string)
}

// Waker is how long to wait before the next look, after so many looks in vain.
type Waker func(looks int) time.Duration

// InFolder is for a store in a folder, which is read at no cost: 20 ms, and twice as
// long each time, up to a second.
func InFolder(looks int) time.Duration { return jitter(20 * time.Millisecond << min(looks, 6)) }

// Remote is for a store that is reached over a network: a second.
func Remote(int) time.Duration { return jitter(time.Second) }

// jitter is between half of d and d, at most a second.
func jitter(d time.Duration) time.Duration {
	d = min(d, time.Second)
	return d/2 + mathrand.N(d/2)
}

// NewKey is the key of an operation that nobody has.
func NewKey() string { return strings.ToLower(rand.Text()) }

// errAbsent is the error of an object that is not there.
var errAbsent = fmt.Errorf("the object is not there: %w", fs.ErrNotExist)

// get reads an object, or errAbsent.
func (o *Ops) get(ctx context.Context, key bucket.Key) ([]byte, error) {
	reading, err := o.Bucket.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	switch r := reading.(type) {
	case bucket.Found:
		return r.Data, nil
	case bucket.Nothing:
	}
	return nil, errAbsent
}

// box is how the words of an enrolled box are verified.
func (o *Ops) box(ctx context.Context, r *roster.Roster, enrolled string) (order.Box, error) {
	key, err := enrollment.IdentityKey(enrolled)
	if err != nil {
		return order.Box{}, err
	}
	data, err := o.get(ctx, key)
	if errors.Is(err, errAbsent) {
		return order.Box{}, problem.Refusal("identity-absent", "The identity of box %s is not in the store.", r.Boxes[enrolled].BoxID)
	}
	if err != nil {
		return order.Box{}, err
	}
	asked, err := enrollment.ReadRequest(data, enrolled)
	if err != nil {
		return order.Box{}, err
	}
	return order.NewBox(r, enrolled, asked.PublicKey)
}

// session is the box's present session, or errAbsent.
func (o *Ops) session(ctx context.Context, b order.Box) (order.Session, error) {
	key, err := order.SessionKey(b.Enrollment())
	if err != nil {
		return order.Session{}, err
	}
	data, err := o.get(ctx, key)
	if err != nil {
		return order.Session{}, err
	}
	return b.ReadSession(data)
}

// ack is the box's answer to an operation, or errAbsent.
func (o *Ops) ack(ctx context.Context, b order.Box, key string) (order.Ack, error) {
	at, err := order.AckKey(b.Enrollment(), key)
	if err != nil {
		return order.Ack{}, err
	}
	data, err := o.get(ctx, at)
	if err != nil {
		return order.Ack{}, err
	}
	return b.ReadAck(data, key)
}

// noted is the operation of a key, or errAbsent.
func (o *Ops) noted(ctx context.Context, r *roster.Roster, key string) (operation.Operation, error) {
	at, err := operation.Key(key)
	if err != nil {
		return operation.Operation{}, err
	}
	data, err := o.get(ctx, at)
	if err != nil {
		return operation.Operation{}, err
	}
	return operation.Read(data, r, key)
}

// proofs are those that the floor of v counts, nil where there is none.
func (o *Ops) proofs(ctx context.Context, v *rosterstore.Version) ([]string, error) {
	if o.Proofs == nil {
		return nil, nil
	}
	return o.Proofs(ctx, v)
}
