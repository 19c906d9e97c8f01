package fleet

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"holdfast/internal/fleet/box/shim"
	"holdfast/internal/fleet/box/shim/wire"
	"holdfast/internal/fleet/console"
	"holdfast/internal/problem"
)

// Attached is the terminal of an instance: what is written to it is typed there, what is
// read from it is shown. At its end of file the instance has ended, or did not wait for a
// reader that was too slow.
type Attached struct {
	net.Conn
	source *Source
	shim   int
}

// Attach opens the terminal of an instance that runs on the box which the home is.
func Attach(ctx context.Context, h Home, instance string) (*Attached, error) {
	s, err := OpenOutput(ctx, h, instance)
	if err != nil {
		return nil, err
	}
	a, err := s.attach()
	if err != nil {
		s.Close()
	}
	return a, err
}

func (s *Source) attach() (*Attached, error) {
	gone := problem.Refusal("instance-ended", "%s does not run: there is nothing to attach to. Nothing was changed.", s.Instance).
		WithHint("what it has written: holdfast logs %s", s.Instance)
	switch {
	case s.box == nil || s.box.place.Enrollment != s.enrollment:
		return nil, problem.Refusal("not-this-box", "%s is on box %s, and this home is not that box: a terminal is reached only where it is. Nothing was changed.", s.Instance, s.Box).
			WithHint("on that machine: holdfast attach %s; or here: holdfast logs -f %s", s.Instance, s.Instance)
	case !s.Local && s.State == console.StateOrdered:
		return nil, problem.Refusal("instance-not-running", "%s is ordered, and does not run yet. Nothing was changed.", s.Instance).WithHint("holdfast ps")
	case !s.Local:
		return nil, gone
	}
	id, err := shim.ReadIdentity(s.launch)
	if err != nil {
		return nil, err
	}
	alive, is := shim.NewHost(s.box.dir).Attach(s.launch, id).(shim.Alive)
	if !is {
		return nil, gone
	}
	alive.Handle.Close()
	names, err := s.launch.Names()
	if err != nil {
		return nil, err
	}
	if !slices.Contains(names, wire.TerminalFile) {
		return nil, problem.Refusal("no-terminal", "%s has no terminal: it was started without --tty. Nothing was changed.", s.Instance).
			WithHint("what it writes: holdfast logs -f %s", s.Instance)
	}
	conn, err := shim.DialTerminal(s.launch)
	if err != nil {
		return nil, problem.New(problem.Failed, "attach", "The terminal of %s cannot be reached.", s.Instance).Because(err)
	}
	return &Attached{conn, s, id.PID}, nil
}

// Close leaves the terminal. What runs in it goes on.
func (a *Attached) Close() error {
	defer a.source.Close()
	return a.Conn.Close()
}

// Ended says, once the terminal is at its end, whether the instance has ended, and how.
func (a *Attached) Ended(ctx context.Context) (string, bool) {
	select {
	case <-a.source.watch(ctx):
	case <-ctx.Done():
		return "", false
	}
	exit, err := a.source.exit()
	return exit, err == nil
}

// Resize tells the terminal how large its window is, as far as that can be had: the work
// shows itself in the size that it had.
func (a *Attached) Resize(rows, columns uint16) {
	// The first process of the work, the only child of the shim, has the terminal as its
	// standard input.
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(a.shim), "task", strconv.Itoa(a.shim), "children"))
	if err != nil {
		return
	}
	for _, child := range strings.Fields(string(data)) {
		if resize(filepath.Join("/proc", child, "fd/0"), rows, columns) {
			return
		}
	}
}
