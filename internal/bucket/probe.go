package bucket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"holdfast/internal/problem"
)

// What a store can be refused for. Each is the step of a refusal.
const (
	StepCreateOnly    = "probe-create-only"     // it replaces what a write was to create
	StepIfMatch       = "probe-if-match"        // it writes on a version that is not there any more
	StepIfMatchAbsent = "probe-if-match-absent" // it creates what a write was to replace
	StepWinners       = "probe-winners"         // of writes at the same time several are acknowledged, or none of them stays
	StepReadBack      = "probe-read-back"       // it does not read, or list, what it has just taken
)

// racers is how many writes are sent at the same time.
const racers = 16

// Probe writes under probe/ and finds out whether the store honours what a
// [Store] promises, in earnest: one precondition after the other, then sixteen
// writers at once, creating and replacing. A store that ignores one is Refused,
// by its name, and nothing may be built on it; any other error is that the store
// could not be tried. No error is no proof: a race that a store loses now and
// then it may win here.
//
// Each call leaves two small objects, since nothing is ever deleted.
func Probe(ctx context.Context, s Store) error {
	p := probe{ctx: ctx, store: s}
	name := "probe/" + string(NewWriteID())
	var err, failed error
	p.key, err = ParseKey(name)
	p.other, failed = ParseKey(name + "-race")
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	for _, step := range []func() error{
		p.create, p.createAgain, p.replace, p.replaceStale, p.replaceAbsent, p.listed, p.raceToCreate, p.raceToReplace,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// probe is one call of Probe.
type probe struct {
	ctx   context.Context
	store Store
	key   Key
	other Key // for the races

	old, now Version // of what was written before, and last
	data     []byte  // written last
}

// create writes on nothing.
func (p *probe) create() error { return p.mustTake([]byte("created"), Absent{}) }

// replace writes on what is there.
func (p *probe) replace() error { return p.mustTake([]byte("replaced"), At{p.now}) }

// createAgain tries to create it once more.
func (p *probe) createAgain() error {
	return p.mustRefuse(StepCreateOnly, "it replaced an object by a write that was only to create one (If-None-Match)", p.key, Absent{})
}

// mustTake sends a write whose condition holds.
func (p *probe) mustTake(data []byte, on Condition) error {
	switch e := p.store.Put(p.ctx, p.key, data, on).(type) {
	case Done:
		p.old, p.now, p.data = p.now, e.Version, data
		return p.readBack(p.key)
	case Refused:
		return p.refuse(StepReadBack, "it did not take a write whose condition held", e.Cause)
	case Failed:
		return p.cannot(e.Cause)
	case Unknown:
		return p.cannot(e.Cause)
	}
	return nil
}

// replaceStale writes on what is not there any more.
func (p *probe) replaceStale() error {
	return p.mustRefuse(StepIfMatch, "it wrote on a version that was not there any more (it ignores If-Match)", p.key, At{p.old})
}

// replaceAbsent writes on an object that is not there.
func (p *probe) replaceAbsent() error {
	return p.mustRefuse(StepIfMatchAbsent, "it created an object by a write that was only to replace one (If-Match on an absent key)", p.other, At{p.now})
}

// raceToCreate lets several writers create one object.
func (p *probe) raceToCreate() error { return p.race("created", Absent{}) }

// raceToReplace lets several writers replace it.
func (p *probe) raceToReplace() error { return p.race("replaced", At{p.now}) }

// mustRefuse sends a write whose condition does not hold, and looks that it had no
// effect, whatever was answered.
func (p *probe) mustRefuse(step, fault string, key Key, on Condition) error {
	before, err := p.store.Get(p.ctx, key)
	if err != nil {
		return p.cannot(err)
	}
	switch e := p.store.Put(p.ctx, key, []byte("must be refused: "+step), on).(type) {
	case Done:
		return p.refuse(step, fault, nil)
	case Failed:
		return p.cannot(e.Cause)
	case Unknown:
		return p.cannot(e.Cause)
	case Refused:
	}
	after, err := p.store.Get(p.ctx, key)
	if err != nil {
		return p.cannot(err)
	}
	if before.Unmoved() != after.Unmoved() {
		return p.refuse(step, fault, nil)
	}
	return nil
}

// race sends several writes on one condition at once. One must be acknowledged,
// and be what is there then.
func (p *probe) race(what string, on Condition) error {
	var all sync.WaitGroup
	endings := make([]Ending, racers)
	data := func(i int) []byte { return fmt.Appendf(nil, "%s by %d of %d", what, i, racers) }
	for i := range racers {
		all.Go(func() { endings[i] = p.store.Put(p.ctx, p.other, data(i), on) })
	}
	all.Wait()
	winners := 0
	for i, e := range endings {
		switch e := e.(type) {
		case Done:
			winners++
			p.old, p.now, p.data = p.now, e.Version, data(i)
		case Failed:
			return p.cannot(e.Cause)
		case Unknown:
			return p.cannot(e.Cause)
		case Refused:
		}
	}
	if winners != 1 {
		return p.refuse(StepWinners, fmt.Sprintf("of %d writes at the same time, of which one may win, it acknowledged %d", racers, winners), nil)
	}
	return p.readBack(p.other)
}

// readBack reads what was acknowledged under key.
func (p *probe) readBack(key Key) error {
	reading, err := p.store.Get(p.ctx, key)
	if err != nil {
		return p.cannot(err)
	}
	if found, ok := reading.(Found); !ok || found.Version != p.now || !bytes.Equal(found.Data, p.data) {
		return p.refuse(StepReadBack, "what it read was not what it had just acknowledged", nil)
	}
	return nil
}

// listed looks for the object in a list.
func (p *probe) listed() error {
	keys, err := p.store.List(p.ctx, p.key.String())
	if err != nil {
		return p.cannot(err)
	}
	if len(keys) != 1 || keys[0] != p.key {
		return p.refuse(StepReadBack, "its list did not name, alone, what it had just acknowledged", nil)
	}
	return nil
}

// refuse names a fault of the store.
func (p *probe) refuse(step, fault string, cause error) error {
	return problem.Refusal(step, "the store cannot be used: when it was tried, %s; nothing but small objects under probe/ was written", fault).
		WithHint("use a store that honours If-Match and If-None-Match").Because(cause)
}

// cannot says that the store could not be tried.
func (p *probe) cannot(cause error) error {
	return problem.New(problem.Failed, "probe-failed", "the store could not be tried: %s", problem.Words(cause)).Because(cause)
}
