package attempt

import (
	"errors"
	"fmt"
	"io/fs"

	"holdfast/internal/durable"
	"holdfast/internal/plain"
	"holdfast/internal/problem"
	"holdfast/internal/roadmap/event"
)

// Where the attempts are in the plan's folder: each has a folder of its own name.
const (
	folder = "attempts"
	file   = "request-binding.json"
)

// Store is the attempts that were begun in one home. It may be used concurrently, by
// several processes too.
type Store struct{ plan *durable.Dir }

// At is the attempts in the plan's folder, which stays the caller's.
func At(plan *durable.Dir) Store { return Store{plan} }

// Begin begins the attempt that a binding is of. When it returns without an error the
// binding outlasts a crash. Begun again with the same binding it is the same attempt;
// with another one, or where the one that is there cannot be read, it is refused at
// [StepBinding] and what is there stays.
func (s Store) Begin(b Binding) (event.Attempt, error) {
	a := b.Attempt()
	data, err := b.encode()
	if err != nil {
		return "", problem.New(problem.Usage, StepBinding, "It cannot be bound: %s", err)
	}
	dir, err := s.makeFolder(a)
	if err != nil {
		return "", problem.New(problem.Failed, StepBinding, "The attempt %s was not begun: %s.", a, problem.Words(err)).Because(err)
	}
	defer dir.Close()
	// Killed here, the attempt has a folder and no binding: it was not begun.
	switch err = dir.Create(file, data, 0o600); {
	case errors.Is(err, fs.ErrExist):
		err = join(dir, b)
	case err != nil:
		err = notBegun(a, err)
	}
	if err != nil {
		return "", err
	}
	return a, nil
}

func (s Store) makeFolder(a event.Attempt) (*durable.Dir, error) {
	all, err := s.plan.MakeSub(folder, 0o700)
	if err != nil {
		return nil, err
	}
	defer all.Close()
	return all.MakeSub(string(a), 0o700)
}

// join takes the binding that is there for b, if it is b. Whoever wrote it may have
// been killed before its name was durable, so that this makes sure of it.
func join(dir *durable.Dir, b Binding) error {
	there, err := read(dir)
	if err != nil {
		return unreadable(b.Attempt(), err)
	}
	if there != b {
		return problem.Refusal(StepBinding, "The attempt %s was begun by %s for %s, and is not begun again for another. What binds it stays.", b.Attempt(), there.Holder, there.Node)
	}
	if err := dir.Sync(); err != nil {
		return notBegun(b.Attempt(), err)
	}
	return nil
}

// notBegun is how a write of the binding ended that did not end well.
func notBegun(a event.Attempt, err error) error {
	if durable.OutcomeOf(err) == durable.Unknown {
		return problem.New(problem.Unknown, StepBinding, "Whether the attempt %s was begun is not known: %s.", a, problem.Words(err)).Because(err)
	}
	return problem.New(problem.Failed, StepBinding, "The attempt %s was not begun: %s.", a, problem.Words(err)).Because(err)
}

// Read is what an attempt was begun under. A name of which nothing was begun here is
// refused at [StepAttempt], what cannot be read, or is of another attempt, at
// [StepBinding].
func (s Store) Read(a event.Attempt) (Binding, error) {
	if !keyShape.MatchString(string(a)) {
		return Binding{}, neverBegun(fmt.Sprintf("%.40q is no name of an attempt, which is 16 hexadecimal digits", string(a)))
	}
	b, err := s.lookUp(a)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Binding{}, neverBegun("No attempt " + string(a) + " was begun in this home")
	case err != nil:
		return Binding{}, unreadable(a, err)
	case b.Attempt() != a:
		return Binding{}, problem.Refusal(StepBinding, "What binds the attempt %s is the binding of %s, so it binds nothing. Nothing was changed.", a, b.Attempt()).
			WithHint("%s", where(a))
	}
	return b, nil
}

func (s Store) lookUp(a event.Attempt) (Binding, error) {
	all, err := s.plan.Sub(folder)
	if err != nil {
		return Binding{}, err
	}
	defer all.Close()
	dir, err := all.Sub(string(a))
	if err != nil {
		return Binding{}, err
	}
	defer dir.Close()
	return read(dir)
}

// read reads the binding in an attempt's folder.
func read(dir *durable.Dir) (Binding, error) {
	data, err := dir.ReadFile(file, maxBinding)
	if err != nil {
		return Binding{}, err
	}
	return Decode(data)
}

func neverBegun(what string) error {
	return problem.Refusal(StepAttempt, "%s. Nothing was changed.", what).
		WithHint("roadmap_claim begins an attempt, and says what it is called")
}

func unreadable(a event.Attempt, err error) error {
	return problem.Refusal(StepBinding, "What binds the attempt %s cannot be read: %s. It was let be.", a, plain.Text(problem.Words(err))).
		WithHint("%s", where(a)).Because(err)
}

// where is where the operator finds what binds an attempt.
func where(a event.Attempt) string {
	return "look at plan/" + folder + "/" + string(a) + "/" + file + " in the home"
}
