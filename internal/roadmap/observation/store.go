package observation

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"holdfast/internal/durable"
	"holdfast/internal/plain"
	"holdfast/internal/problem"
)

// Where the index and the bodies are, in the plan's folder.
const (
	folder = "receipts"
	file   = "served-observation.json"
	bodies = "served" // in it
	lock   = "served-observation.lock"
)

const (
	maxIndex = 64 << 10
	maxBody  = 256 << 20
)

// Steps at which there is no observation to show.
const (
	StepAbsent     = "observation-absent"
	StepUnreadable = "observation-unreadable"
	StepMissing    = "observation-body-missing"
	StepDigest     = "observation-digest"
)

// Store is the observations of one plan.
type Store struct{ plan *durable.Dir }

// At is the observations in the plan's folder, which stays the caller's.
func At(plan *durable.Dir) Store { return Store{plan} }

// Write puts an observation down: its bodies, then its index, and then what is
// named no more goes. An error says which of it was not done.
func (s Store) Write(ctx context.Context, at time.Time, of Of, list []Body) error {
	dir, err := s.plan.MakeSub(folder, 0o700)
	if err != nil {
		return notWritten(err)
	}
	defer dir.Close()
	held, err := durable.Await(ctx, func() (*durable.Lock, error) { return dir.TryLock(lock, "writing an observation of the plan") })
	if err != nil {
		return notWritten(err)
	}
	defer held.Release()
	into, err := dir.MakeSub(bodies, 0o700)
	if err != nil {
		return notWritten(err)
	}
	defer into.Close()
	o := Observation{ObservedAt: at.UTC().Truncate(time.Second), Of: of}
	for _, b := range list {
		o.Surfaces = append(o.Surfaces, b.surface())
	}
	slices.SortFunc(o.Surfaces, func(a, b Surface) int { return cmp.Compare(a.Name, b.Name) })
	index, err := encode(o)
	if err != nil {
		return notWritten(err)
	}
	before, beforeErr := readIndex(dir)
	for _, b := range list {
		if err := put(into, b); err != nil {
			return notWritten(err)
		}
	}
	// Killed here, bodies are there that no index names; the next writer removes them.
	if err := dir.WriteFile(file, index, 0o600); err != nil {
		return notWritten(err)
	}
	if beforeErr != nil && !errors.Is(beforeErr, fs.ErrNotExist) {
		return nil // what an unreadable index names is not known, so that nothing goes
	}
	return clean(dir, into, slices.Concat(o.Surfaces, before.Surfaces))
}

func notWritten(err error) error {
	return problem.New(problem.Failed, "observation-write", "The observation of the plan was not written: %s. The one before stays.", problem.Words(err)).Because(err)
}

// put writes a body under its digest. One that is there stays, unless its bytes
// are not those of its name.
func put(into *durable.Dir, b Body) error {
	name := Digest(b.Data)
	if have, err := into.ReadFile(name, int64(len(b.Data))); err == nil && Digest(have) == name {
		return nil
	}
	return into.WriteFile(name, b.Data, 0o600)
}

// clean removes the bodies that are not kept.
func clean(dir, from *durable.Dir, keep []Surface) error {
	_, _ = dir.RemoveAbandoned() // of a writer that was killed; they do no harm
	_, _ = from.RemoveAbandoned()
	names, err := from.Names()
	for _, n := range names {
		named := slices.ContainsFunc(keep, func(s Surface) bool { return s.Digest == n })
		if digestShape.MatchString(n) && !named {
			err = errors.Join(err, from.Remove(n))
		}
	}
	if err != nil {
		return problem.New(problem.Failed, "observation-clean", "The observation was written, but old bodies could not be removed: %s.", problem.Words(err)).Because(err)
	}
	return nil
}

func readIndex(dir *durable.Dir) (Observation, error) {
	data, err := dir.ReadFile(file, maxIndex)
	if err != nil {
		return Observation{}, err
	}
	return decode(data)
}

// Read is the newest observation, and the body of one of its surfaces.
func (s Store) Read(surface string) (Observation, Body, error) {
	dir, err := s.plan.Sub(folder)
	if err != nil {
		return Observation{}, Body{}, unread(err)
	}
	defer dir.Close()
	o, err := readIndex(dir)
	if err != nil {
		return o, Body{}, unread(err)
	}
	for {
		b, err := o.body(dir, surface)
		if problem.KindOf(err) != problem.Refused {
			return o, b, err
		}
		// Two writers may have been here since the index was read.
		again, lost := readIndex(dir)
		if lost != nil || again.ObservedAt.Equal(o.ObservedAt) {
			return o, b, err
		}
		o = again
	}
}

func unread(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return problem.Refusal(StepAbsent, "The plan was not observed here yet: there is no %s.", file).
			WithHint("wait for the next tick of holdfast up")
	}
	return problem.Refusal(StepUnreadable, "The last observation of the plan cannot be read: %s. It was let be.", plain.Text(problem.Words(err))).
		WithHint("the next tick writes it anew").Because(err)
}

// body reads the bytes of a surface. Refused is what another index may cure.
func (o Observation) body(dir *durable.Dir, name string) (Body, error) {
	i := slices.IndexFunc(o.Surfaces, func(s Surface) bool { return s.Name == name })
	if i < 0 {
		return Body{}, problem.New(problem.Gone, problem.StepNotFound, "The last observation has no surface %.64q.", name)
	}
	s := o.Surfaces[i]
	from, err := dir.Sub(bodies)
	if err == nil {
		defer from.Close()
		var data []byte
		data, err = from.ReadFile(s.Digest, s.Bytes)
		if err == nil && Digest(data) == s.Digest {
			return Body{Name: s.Name, MediaType: s.MediaType, Data: data}, nil
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return Body{}, problem.Refusal(StepMissing, "The body of the last observation's surface %s is not there: %.12s…", s.Name, s.Digest).
			WithHint("the next tick writes it anew")
	}
	if err == nil || errors.Is(err, durable.ErrTooLarge) {
		return Body{}, problem.Refusal(StepDigest, "The body of the last observation's surface %s is not what its index names: its bytes are others than those of %.12s…", s.Name, s.Digest).
			WithHint("the next tick writes it anew")
	}
	return Body{}, problem.New(problem.Failed, "observation-body", "The body of the last observation's surface %s cannot be read: %s.", s.Name, problem.Words(err)).Because(err)
}
