package shim

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/internal/durable"
	"holdfast/internal/fleet/box/shim/wire"
	"holdfast/internal/problem"
)

func sorted(s []string) []string { slices.Sort(s); return s }

// Waiting is a shim that waits at the gate. Nothing of its work exists.
type Waiting struct {
	handle *Handle
	gate   *os.File
	words  *bufio.Reader
}

// Start starts a shim in dir, which is empty and stays the caller's, and brings it to the gate.
// After an error nothing of it is left but files.
func (h *Host) Start(ctx context.Context, dir *durable.Dir, l Launch) (*Waiting, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	if err := checkLimits(l.Limits); err != nil {
		return nil, err
	}
	if l.User != nil && os.Geteuid() != 0 {
		return nil, problem.Refusal("other-user", "Only root can start work as another user. Nothing was started.")
	}
	at, err := h.Machine()
	if err != nil {
		return nil, err
	}
	outer, err := h.namespaceOf("self")
	if err != nil {
		return nil, failed("The kernel does not say which PID namespace this is", err)
	}
	program, err := h.program()
	if err != nil {
		return nil, err
	}
	defer program.Close()
	if err := dir.Create(wire.LaunchFile, l.wire(at, outer).Encode(), 0o600); err != nil {
		return nil, err
	}
	folder, err := dir.File()
	if err != nil {
		return nil, failed("Its folder cannot be opened", err)
	}
	defer folder.Close()
	c, proof, err := h.spawn(program, folder, &l)
	if err != nil {
		return nil, err
	}
	return h.toTheGate(ctx, dir, c, proof)
}

func failed(what string, cause error) error {
	return problem.New(problem.Failed, "shim-start", "%s. Nothing was started.", what).Because(cause)
}

// spawn starts the shim in the first way that the machine allows.
func (h *Host) spawn(program, folder *os.File, l *Launch) (*child, Proof, error) {
	var refused []error
	for _, w := range strong(l.User != nil) {
		c, err := w.spawn(program, folder, wire.AsInit)
		if err == nil {
			return c, w.proof, nil
		}
		refused = append(refused, err)
	}
	why := h.refusals(refused)
	if !l.AllowWeak {
		return nil, "", problem.Refusal("proof-weak", "Of work on this box only weak proof of its end could be had: %s. Nothing was started.", why).
			WithHint("Allow weak proof in the configuration of the box, or allow it namespaces.").Because(errors.Join(refused...))
	}
	c, err := weak().spawn(program, folder, wire.AsWeak, why)
	if err != nil {
		return nil, "", failed("The process that watches over the work could not be started", errors.Join(append(refused, err)...))
	}
	return c, Weak, nil
}

// toTheGate waits until the shim is ready and makes sure that it is who it says.
func (h *Host) toTheGate(ctx context.Context, dir *durable.Dir, c *child, proof Proof) (*Waiting, error) {
	w := &Waiting{gate: c.gate, words: bufio.NewReader(c.gate), handle: &Handle{pidfd: c.pidfd, dir: dir}}
	w.handle.id.Proof = proof
	word, err := w.hear(ctx)
	if err == nil && word != wire.Ready {
		err = said(word)
	}
	if err == nil {
		err = h.introduce(w.handle, c.pid, proof)
	}
	if err != nil {
		w.abandon()
		var public *problem.Error
		if errors.As(err, &public) {
			return nil, err
		}
		return nil, failed("The process that watches over the work did not get ready", err)
	}
	return w, nil
}

// said is a word of refusal as an error.
func said(word string) error {
	why, is := strings.CutPrefix(word, wire.Failed)
	if !is {
		return fmt.Errorf("an unknown word: %q", word)
	}
	return problem.New(problem.Failed, "shim-start", "The process that watches over the work failed at %s. Nothing was started.", why)
}

// introduce compares what the shim wrote of itself with the process that was started.
func (h *Host) introduce(handle *Handle, pid int, proof Proof) error {
	id, err := ReadIdentity(handle.dir)
	if err != nil {
		return err
	}
	at, err := h.Machine()
	if err != nil {
		return err
	}
	outer, err := h.namespaceOf("self")
	if err != nil {
		return err
	}
	start, err := h.startOf(pid)
	if err != nil {
		return err
	}
	namespace, err := h.namespaceOf(fmt.Sprint(pid))
	if err != nil {
		return err
	}
	want := id
	want.BootID, want.MachineID, want.OuterNamespace = at.Boot, at.ID, outer
	want.PID, want.Start, want.Namespace, want.Proof, want.Protocol = pid, start, namespace, proof, wire.Protocol
	if id != want {
		return fmt.Errorf("it says that it is %+v, and is %+v", id, want)
	}
	handle.id = id
	return nil
}

// hear reads one line of the shim's.
func (w *Waiting) hear(ctx context.Context) (string, error) {
	defer context.AfterFunc(ctx, func() { _ = w.gate.SetReadDeadline(time.Unix(1, 0)) })()
	line, err := w.words.ReadString('\n')
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return strings.TrimSuffix(line, "\n"), err
}

// Identity is who waits.
func (w *Waiting) Identity() Identity { return w.handle.id }

// Go opens the gate, and returns when the work's program runs. Refused and failed mean that it
// does not and will not; unknown, that it may: the shim is to be asked again ([Host.Attach]),
// or stopped. In each case w is used up.
func (w *Waiting) Go(ctx context.Context) (*Handle, error) {
	if _, err := w.gate.WriteString(wire.Go + "\n"); err != nil {
		w.abandon()
		return nil, problem.New(problem.Failed, "shim-start", "The process that watches over the work ended at the gate. Nothing was started.").Because(err)
	}
	word, err := w.hear(ctx)
	switch {
	case err != nil:
		w.gate.Close()
		w.handle.Close()
		return nil, problem.New(problem.Unknown, "shim-start", "The work was told to go, and no answer came. It may run.").Because(err)
	case word != wire.Started:
		w.gate.Close()
		w.handle.Close()
		return nil, problem.New(problem.Failed, "work-start", "The work could not be started: %s.", strings.TrimPrefix(word, wire.Failed))
	}
	w.gate.Close()
	return w.handle, nil
}

// Cancel closes the gate, and returns when the shim has ended. Nothing was started.
func (w *Waiting) Cancel(ctx context.Context) error {
	w.gate.Close()
	defer w.handle.Close()
	return w.handle.Ended(ctx)
}

// abandon ends a shim that did not come to its gate, or not through it: it has no work.
func (w *Waiting) abandon() {
	w.gate.Close()
	_ = w.handle.signal(unix.SIGKILL)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_ = w.handle.Ended(ctx)
	w.handle.Close()
}

// checkLimits refuses a limit that would have to be raised.
func checkLimits(l Limits) error {
	for _, one := range []struct {
		name  string
		what  int
		value uint64
	}{
		{"files", unix.RLIMIT_NOFILE, l.Files},
		{"processes", unix.RLIMIT_NPROC, l.Processes},
		{"file_size", unix.RLIMIT_FSIZE, l.FileSize},
		{"cpu_seconds", unix.RLIMIT_CPU, l.CPUSeconds},
		{"address_space", unix.RLIMIT_AS, l.AddressSpace},
	} {
		var now syscall.Rlimit
		if err := syscall.Getrlimit(one.what, &now); err != nil {
			return failed("The limits of this process cannot be read", err)
		}
		if one.value > now.Max {
			return problem.Refusal("limit-too-high", "The limit %s is to be %d, and this box allows %d at most. Nothing was started.", one.name, one.value, now.Max)
		}
	}
	return nil
}

// Probe tries what this machine can give to work, by starting a shim that does nothing.
func (h *Host) Probe(ctx context.Context) (Means, error) {
	program, err := h.program()
	if err != nil {
		return Means{}, err
	}
	defer program.Close()
	folder, err := h.Box.File()
	if err != nil {
		return Means{}, failed("The folder of the box cannot be opened", err)
	}
	defer folder.Close()
	var refused []error
	for _, way := range strong(false) {
		c, err := way.spawn(program, folder, wire.AsProbe)
		if err != nil {
			refused = append(refused, err)
			continue
		}
		w := &Waiting{gate: c.gate, words: bufio.NewReader(c.gate), handle: &Handle{pidfd: c.pidfd}}
		word, err := w.hear(ctx)
		w.abandon()
		if err != nil {
			return Means{}, failed("The process that was to try namespaces did not answer", err)
		}
		f := strings.SplitN(word, " ", 4)
		if len(f) != 4 || f[0] != wire.Ready {
			return Means{}, failed("The process that was to try namespaces failed", said(word))
		}
		return Means{Proof: way.proof, Isolation: f[1], FreshProc: f[2] == "true", IsolationWhy: f[3]}, nil
	}
	why := h.refusals(refused)
	return Means{Proof: Weak, ProofWhy: why, Isolation: "none", IsolationWhy: why}, nil
}
