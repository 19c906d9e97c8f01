package bucket

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"holdfast/internal/problem"
)

// Codec is how the values of one kind of object become bytes. Its methods are
// pure, and are called once for each read and each write.
type Codec[T any] interface {
	// Decode reads data strictly, and verifies what is to be verified. Its error
	// is shown to people as it is.
	Decode(data []byte) (T, History, error)
	// Encode writes value with the history h inside, so that Decode returns both.
	Encode(value T, h History) ([]byte, error)
}

// ErrUnchanged is what a change returns that finds nothing to do, as when it was
// made before: the object is left as it is, and that is no failure.
var ErrUnchanged = errors.New("nothing is to be changed")

// Change makes the next value out of the present one. Exists is false, and the
// value T's zero, where there is no object yet. It is called anew each time that
// somebody else was faster; so it is pure, and idempotent by the key of the
// operation that it is for: where the value says that this was done already, it
// returns [ErrUnchanged]. Any other error ends the update, and is the answer.
type Change[T any] func(value T, exists bool) (T, error)

// Updated is what the object is after an update.
type Updated[T any] struct {
	Value   T
	History History // of Value; its WriteID is the update's own only if it wrote
	// WriteID is the write that made the change, empty if nothing was to be
	// changed. Others may have written since.
	WriteID WriteID
	// Revision is that write's, or, where nothing was to be changed, the object's.
	Revision uint64
}

// Unsettled is the error of an update of which it cannot be told whether it took
// effect. It wraps a *problem.Error of kind Unknown.
type Unsettled struct {
	Key     Key
	WriteID WriteID
	Cause   error
}

// Error is the public words.
func (e *Unsettled) Error() string { return e.words().Error() }

// Unwrap gives the public words.
func (e *Unsettled) Unwrap() error { return e.words() }

func (e *Unsettled) words() *problem.Error {
	return problem.New(problem.Unknown, "bucket-unknown",
		"whether write %s of %s took effect cannot be told: it was sent, and may still arrive", e.WriteID, e.Key).
		WithHint("look at it again later; asking again with the same key is safe").Because(e.Cause)
}

// Update changes the object under key by change.
//
// It reads, lets change make the next value, and writes that once, on the
// condition that the object is still what was read. What its answers mean:
//
//   - No error: the change is in the object, or was there before. The store said
//     so, or the object's own history names the write.
//   - The error of change or of the codec: nothing of this update was written. If
//     it wrote on an older version before, that is provably without effect: the
//     history does not name it, and goes back to what it was based on.
//   - Failed or Refused: the same, and the reason says what stood in the way.
//   - *[Unsettled]: a write was sent, and neither was it seen in the object nor did
//     the object move past it before ctx ended. It may still take effect.
//
// An answer of the store is only where it starts: after any but [Done] and
// [Failed] it reads, and what the object says decides ([Settle]). A refusal may
// be the echo of a request that was delivered twice, the first time with effect.
// While the object is still what was read, it sends the same bytes on the same
// content again, whatever the store answered: whichever copy arrives, it is the
// one write, and when the object has moved the others are dead.
//
// It goes on until ctx ends, which should have a deadline, pausing longer each time, by chance, so that many
// writers of one object get out of each other's way.
func Update[T any](ctx context.Context, s Store, key Key, codec Codec[T], change Change[T]) (Updated[T], error) {
	u := update[T]{store: s, key: key, codec: codec, change: change}
	now, err := u.read(ctx)
	for err == nil {
		var done bool
		if done, now, err = u.attempt(ctx, now); done {
			return u.result, nil
		}
	}
	return Updated[T]{}, err
}

// update is one call of Update.
type update[T any] struct {
	store  Store
	key    Key
	codec  Codec[T]
	change Change[T]
	pauses pauses
	result Updated[T]
}

// state is the object as it was read.
type state[T any] struct {
	on      Condition
	exists  bool
	value   T
	history History
}

// read reads the object and decodes it.
func (u *update[T]) read(ctx context.Context) (state[T], error) {
	reading, err := u.store.Get(ctx, u.key)
	if err != nil {
		return state[T]{}, err
	}
	switch r := reading.(type) {
	case Nothing:
		return state[T]{on: r.Unmoved()}, nil
	case Found:
		value, history, err := u.codec.Decode(r.Data)
		if err == nil {
			err = history.Check()
		}
		if err != nil {
			return state[T]{}, damaged(u.key, err)
		}
		return state[T]{on: r.Unmoved(), exists: true, value: value, history: history}, nil
	}
	return state[T]{}, fmt.Errorf("a reading of another kind: %T", reading)
}

// write is a write about to be sent: always the same bytes on the same content.
type write[T any] struct {
	on    Condition
	next  Updated[T]
	bytes []byte
	// loose: a copy of it was sent, and not provably without effect.
	loose bool
}

// attempt makes one write on base and finds out what became of it. Unless it is
// done or an error it returns the object as it is now, which others have written.
func (u *update[T]) attempt(ctx context.Context, base state[T]) (done bool, now state[T], err error) {
	w, err := u.prepare(base)
	if errors.Is(err, ErrUnchanged) {
		u.result = Updated[T]{Value: base.value, History: base.history, Revision: base.history.Revision()}
		return true, state[T]{}, nil
	}
	for err == nil {
		switch e := u.store.Put(ctx, u.key, w.bytes, w.on).(type) {
		case Done:
			u.result = w.next
			return true, state[T]{}, nil
		case Failed:
			return false, state[T]{}, u.stop(w, e.Cause)
		case Refused:
			w.loose = true
			now, err = u.look(ctx, w, e.Cause)
		case Unknown:
			w.loose = true
			now, err = u.look(ctx, w, e.Cause)
		}
		if err != nil {
			break
		}
		switch v := Settle(w.next.WriteID, base.history, now.history).(type) {
		case Landed:
			u.result = Updated[T]{Value: now.value, History: now.history, WriteID: w.next.WriteID, Revision: v.Revision}
			return true, state[T]{}, nil
		case Passed:
			return false, now, u.pauses.pause(ctx, u.contended)
		case Beyond:
			return false, state[T]{}, u.stop(w, errors.New("the object's history does not go back to what was written on"))
		case Pending:
			// The same content may be called by another version than it was.
			w.on = now.on
			err = u.pauses.pause(ctx, func(cause error) error { return u.stop(w, cause) })
		}
	}
	return false, state[T]{}, err
}

// prepare makes the write that changes base.
func (u *update[T]) prepare(base state[T]) (*write[T], error) {
	value, err := u.change(base.value, base.exists)
	if err != nil {
		return nil, err
	}
	id := NewWriteID()
	history := base.history.Next(id)
	data, err := u.codec.Encode(value, history)
	if err != nil {
		return nil, err
	}
	next := Updated[T]{Value: value, History: history, WriteID: id, Revision: history.Revision()}
	return &write[T]{on: base.on, next: next, bytes: data}, nil
}

// look reads the object after w was sent, again and again until it can be read:
// before that nothing can be said of w. An object that can be read and not be
// decoded is the end: that does not mend itself.
func (u *update[T]) look(ctx context.Context, w *write[T], sent error) (state[T], error) {
	for {
		now, err := u.read(ctx)
		var bad *Damaged
		if err == nil {
			return now, nil
		}
		if errors.As(err, &bad) {
			return now, u.stop(w, err)
		}
		if err := u.pauses.pause(ctx, func(error) error { return u.stop(w, errors.Join(sent, err)) }); err != nil {
			return now, err
		}
	}
}

// stop is the answer of an update that ends at w because of cause.
func (u *update[T]) stop(w *write[T], cause error) error {
	if w.loose {
		return &Unsettled{Key: u.key, WriteID: w.next.WriteID, Cause: cause}
	}
	return cause
}

// contended is the answer of an update whose time was up while others wrote.
func (u *update[T]) contended(cause error) error {
	return problem.Refusal("bucket-contended", "others kept writing %s until the time was up; nothing of this was written", u.key).
		WithHint("try again").Because(cause)
}

// Damaged is the error of an object that was read and is not what it should be.
type Damaged struct {
	Key   Key
	Cause error
}

func damaged(key Key, cause error) error { return &Damaged{key, cause} }

// Error names the object and says what is wrong.
func (e *Damaged) Error() string { return fmt.Sprintf("%s: %v", e.Key, e.Cause) }

// Unwrap gives the public words: the codec's, where it has some.
func (e *Damaged) Unwrap() error {
	return problem.From(e.Cause, "the object "+e.Key.String()+" is not what it should be; nothing was written")
}

// pauses is how long to wait, which doubles.
type pauses struct{ most time.Duration }

const (
	firstPause = 10 * time.Millisecond
	lastPause  = 2 * time.Second
)

// pause waits, up to twice as long as the last time, and returns what ended makes
// of it if ctx ends first.
func (p *pauses) pause(ctx context.Context, ended func(error) error) error {
	p.most = min(max(2*p.most, firstPause), lastPause)
	select {
	case <-ctx.Done():
		return ended(context.Cause(ctx))
	case <-time.After(rand.N(p.most)):
		return nil
	}
}
