package fleet

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"holdfast/internal/bucket"
	"holdfast/internal/durable"
	"holdfast/internal/fleet/box/output"
	"holdfast/internal/fleet/box/root"
	"holdfast/internal/fleet/box/shim"
	"holdfast/internal/fleet/console"
	"holdfast/internal/fleet/order"
	"holdfast/internal/problem"
)

// Piece is a piece of what an instance has written.
type Piece struct {
	Segment uint64
	Data    []byte
	Lost    uint64 // segments before it that are not there, or not any more
}

// Source is the output of the newest incarnation of an instance, as far as this home
// reaches it. Close it after the last call.
type Source struct {
	Instance    string
	Incarnation uint64
	Box         string
	// Local: it is read where it is written. Otherwise it is what has come to the store:
	// segments that are finished.
	Local bool
	// State is that of the instance, empty where the home is no console.
	State string

	of         output.Of
	enrollment string
	console    *Console
	box        *box
	launch     *durable.Dir
}

// Close lets the folders go.
func (s *Source) Close() {
	if s.launch != nil {
		s.launch.Close()
	}
	if s.box != nil {
		s.box.Close()
	}
	if s.console != nil {
		s.console.Close()
	}
}

// OpenOutput finds the output of an instance: as a console knows it, and in the box's own
// folder where the home is that box. A home that is only a box knows what is on it.
func OpenOutput(ctx context.Context, h Home, instance string) (*Source, error) {
	s := &Source{Instance: instance}
	err := s.open(ctx, h)
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Source) open(ctx context.Context, h Home) (err error) {
	if s.box, err = openBox(h); err != nil && !errors.Is(err, ErrNoBox) {
		return err
	}
	switch s.console, err = OpenConsole(h); {
	case err == nil:
		err = s.claimed(ctx)
	case errors.Is(err, ErrNoFleet) && s.box != nil:
		err = s.newest()
	}
	if err != nil || s.box == nil || s.box.place.Enrollment != s.enrollment {
		return err
	}
	s.launch, err = output.Open(s.box.dir, s.of)
	s.Local = err == nil
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// claimed asks the console which incarnation is meant.
func (s *Source) claimed(ctx context.Context) error {
	shown, err := s.console.Work(nil).Show(ctx, s.Instance)
	if err != nil {
		return err
	}
	s.State, s.Box, s.Incarnation, s.enrollment = shown.State, shown.Box, shown.Incarnation, shown.Enrollment
	s.of = output.Of{Instance: s.Instance, Incarnation: s.Incarnation}
	if s.State == console.StateRefused {
		return problem.New(problem.Gone, "output-absent", "Incarnation %d of %s was never started, and has written nothing: %s", s.Incarnation, s.Instance, shown.Refusal)
	}
	return nil
}

// newest is the newest incarnation on this box.
func (s *Source) newest() error {
	all, err := output.All(s.box.dir)
	for _, of := range all {
		if of.Instance == s.Instance {
			s.of, s.Incarnation, s.enrollment = of, of.Incarnation, s.box.place.Enrollment
		}
	}
	if err == nil && s.Incarnation == 0 {
		err = problem.New(problem.Gone, "instance-unknown", "No instance that is called %.80q was ever on this box.", s.Instance)
	}
	return err
}

// watched is how often output that grows is looked at: where it is written, and in a store.
const (
	watchedHere = 50 * time.Millisecond
	watchedFar  = time.Second
)

// Read gives what was written to each, the oldest first, and with follow also what comes,
// until the instance has ended. It says how it ended, "" where that is not known.
func (s *Source) Read(ctx context.Context, follow bool, each func(Piece) error) (string, error) {
	if s.Local {
		return s.readHere(ctx, follow, each)
	}
	return "", s.readStore(ctx, follow, each)
}

// watch is closed when the launch has ended.
func (s *Source) watch(ctx context.Context) <-chan struct{} {
	ended := make(chan struct{})
	id, err := shim.ReadIdentity(s.launch)
	if err != nil {
		close(ended)
		return ended
	}
	alive, is := shim.NewHost(s.box.dir).Attach(s.launch, id).(shim.Alive)
	if !is {
		close(ended)
		return ended
	}
	go func() {
		defer alive.Handle.Close()
		if alive.Handle.Ended(ctx) == nil || ctx.Err() == nil {
			close(ended)
		}
	}()
	return ended
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func (s *Source) readHere(ctx context.Context, follow bool, each func(Piece) error) (string, error) {
	ctx, done := context.WithCancel(ctx)
	defer done()
	ended := s.watch(ctx)
	at := reading{launch: s.launch, each: each}
	defer at.close()
	for {
		over := isClosed(ended) // before the look: what it finds then is all
		if err := at.look(); err != nil {
			return "", err
		}
		switch {
		case over:
			return s.exit()
		case !follow:
			return "", nil
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-ended:
		case <-time.After(watchedHere):
		}
	}
}

// exit is how the launch has ended.
func (s *Source) exit() (string, error) {
	exit, err := shim.Exit(s.launch)
	if err != nil {
		return "", err
	}
	return root.ExitWords(exit), nil
}

// reading is how far the segments of a launch were read.
type reading struct {
	launch *durable.Dir
	each   func(Piece) error
	number uint64   // of the segment
	file   *os.File // nil before the first
}

func (r *reading) close() {
	if r.file != nil {
		r.file.Close()
	}
}

// look reads all that is there by now.
func (r *reading) look() error {
	for {
		next, err := r.following() // before the end is read: then this segment is finished
		if err != nil {
			return err
		}
		if err := r.rest(); err != nil {
			return err
		}
		if next == 0 {
			return nil
		}
		file, err := output.OpenSegment(r.launch, next)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it went meanwhile
		}
		if err != nil {
			return err
		}
		lost := next - r.number - 1
		r.close()
		r.file, r.number = file, next
		if lost > 0 {
			if err := r.each(Piece{Segment: next, Lost: lost}); err != nil {
				return err
			}
		}
	}
}

// following is the next segment, 0 where there is none yet.
func (r *reading) following() (uint64, error) {
	all, err := output.Segments(r.launch)
	for _, n := range all {
		if n > r.number {
			return n, err
		}
	}
	return 0, err
}

func (r *reading) rest() error {
	if r.file == nil {
		return nil
	}
	buffer := make([]byte, 64<<10)
	for {
		n, err := r.file.Read(buffer)
		if n > 0 {
			if err := r.each(Piece{Segment: r.number, Data: buffer[:n]}); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// quiet is how many looks at a store find nothing more after the end, before it is believed
// that nothing more comes.
const quiet = 5

// readStore reads what the box has put into the store.
func (s *Source) readStore(ctx context.Context, follow bool, each func(Piece) error) error {
	if s.console == nil { // a box alone, on which nothing of it was ever let go
		return nil
	}
	last, silent := uint64(0), 0
	for {
		n, err := s.fetch(ctx, last, each)
		if err != nil || !follow {
			return err
		}
		if n == last {
			silent++
		} else {
			last, silent = n, 0
		}
		if silent >= quiet {
			over, err := s.over(ctx)
			if err != nil || over {
				return err
			}
			silent = 0
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(watchedFar):
		}
	}
}

// over says whether the instance runs no more, as the console knows it.
func (s *Source) over(ctx context.Context) (bool, error) {
	shown, err := s.console.Work(nil).Show(ctx, s.Instance)
	if err != nil {
		return false, err
	}
	goesOn := []string{console.StateOrdered, order.BeatInstalled, order.BeatRunning, order.BeatStopping}
	return shown.Incarnation != s.Incarnation || !slices.Contains(goesOn, shown.State), nil
}

// fetch gives the segments after last, and says which was the last.
func (s *Source) fetch(ctx context.Context, last uint64, each func(Piece) error) (uint64, error) {
	under, err := output.Under(s.enrollment, s.of)
	if err != nil {
		return last, err
	}
	keys, err := s.console.bucket.List(ctx, under)
	if err != nil {
		return last, err
	}
	var numbers []uint64
	for _, key := range keys {
		if n, ok := output.Number(key, under); ok && n > last {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers) // the keys are in the order of their bytes
	for _, n := range numbers {
		key, err := output.Key(s.enrollment, s.of, n)
		if err != nil {
			return last, err
		}
		reading, err := s.console.bucket.Get(ctx, key)
		if err != nil {
			return last, err
		}
		found, ok := reading.(bucket.Found)
		if !ok {
			continue
		}
		if err := each(Piece{Segment: n, Data: found.Data, Lost: n - last - 1}); err != nil {
			return last, err
		}
		last = n
	}
	return last, nil
}
