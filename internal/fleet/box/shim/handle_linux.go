package shim

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/internal/durable"
	"holdfast/internal/fleet/box/shim/wire"
	"holdfast/internal/problem"
)

// Handle is a shim that was alive when it was taken, and can be no other process. It is safe
// for concurrent use up to Close.
type Handle struct {
	id    Identity
	pidfd *os.File
	dir   *durable.Dir
}

// Identity is whose handle it is.
func (h *Handle) Identity() Identity { return h.id }

// Close lets the handle go; the shim goes on.
func (h *Handle) Close() { h.pidfd.Close() }

// signal sends a signal to the shim. One that has ended has got it, as it were.
func (h *Handle) signal(sig unix.Signal) error {
	err := h.control(func(fd int) error { return unix.PidfdSendSignal(fd, sig, nil, 0) })
	if err == nil || errors.Is(err, unix.ESRCH) {
		return nil
	}
	return problem.New(problem.Failed, "shim-signal", "The process that watches over the work could not be told to end.").Because(err)
}

func (h *Handle) control(do func(fd int) error) error {
	raw, err := h.pidfd.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if err := raw.Control(func(fd uintptr) { inner = do(int(fd)) }); err != nil {
		return err
	}
	return inner
}

// Term asks all of the work to end; the shim ends what has not when the grace of its launch is
// over. Asking again changes nothing.
func (h *Handle) Term() error { return h.signal(unix.SIGTERM) }

// Cut ends all of the work now, and leaves word of its exit.
func (h *Handle) Cut() error { return h.signal(unix.SIGUSR1) }

// Kill ends the shim itself. In a namespace that ends all of the work, and nobody learns its
// exit; of weak work nothing is proved any more. It is for a shim that does not answer.
func (h *Handle) Kill() error { return h.signal(unix.SIGKILL) }

// killMargin is how long a shim has to end what is left before it is ended itself.
const killMargin = 5 * time.Second

// Stop ends the work: TERM, and after the grace KILL, whatever its launch said. It returns nil
// when nothing of it is alive, and otherwise the error of ctx, at which it may still be ending.
func (h *Handle) Stop(ctx context.Context, grace time.Duration) error {
	if err := h.Term(); err != nil {
		return err
	}
	steps := []struct {
		after time.Duration
		do    func() error
	}{{grace, h.Cut}, {killMargin, h.Kill}}
	for _, s := range steps {
		wait, cancel := context.WithTimeout(ctx, s.after)
		err := h.Ended(wait)
		cancel()
		if err == nil || ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		if h.id.Proof == Weak && s.after == killMargin {
			break // killing the watcher would lose sight of what it watches
		}
		if err := s.do(); err != nil {
			return err
		}
	}
	return h.Ended(ctx)
}

// Ended returns nil when the shim has ended, and with it all of its work. It waits for that
// without a thread. The error is the context's; or Unknown, for a weak shim that was killed.
func (h *Handle) Ended(ctx context.Context) error {
	var own int
	err := h.control(func(fd int) (err error) {
		own, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, lowest)
		return err
	})
	if err != nil {
		return failed("The descriptor of the shim cannot be used", err)
	}
	f := os.NewFile(uintptr(own), "pidfd")
	defer f.Close()
	defer context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Unix(1, 0)) })()
	raw, err := f.SyscallConn()
	if err == nil {
		err = raw.Read(func(fd uintptr) bool { return over(int(fd)) })
	}
	if err != nil {
		if over(own) {
			reap(own)
			return h.swept()
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("waiting for the shim: %w", err)
	}
	reap(own)
	return h.swept()
}

// over reports whether the process of a pidfd has ended.
func over(pidfd int) bool {
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		return err == nil && n > 0
	}
}

// reap takes the exit of a shim that has ended, if it is a child of ours, so that its number
// is free again.
func reap(pidfd int) { _ = unix.Waitid(unix.P_PIDFD, pidfd, nil, unix.WEXITED|unix.WNOHANG, nil) }

// swept says whether the end of the shim is the end of its work.
func (h *Handle) swept() error {
	if h.id.Proof == Namespace || h.dir == nil {
		return nil
	}
	if swept, err := sweptAll(h.dir); err != nil {
		return failed("It cannot be read what the shim left", err)
	} else if !swept {
		return problem.New(problem.Unknown, "shim-killed", "The process that watched over the work was killed. Without a namespace that ends nothing else: the work may still run.").
			WithHint("Look for its processes on the box.")
	}
	return nil
}

// sweptAll reports whether a weak shim in dir saw the last of its work end, or never had any.
func sweptAll(dir *durable.Dir) (bool, error) {
	if _, err := dir.Mode(wire.ExitFile); !errors.Is(err, fs.ErrNotExist) {
		return err == nil, err
	}
	went, err := Went(dir)
	return !went, err
}

// startOf is when a process was started, in ticks since the boot.
func (h *Host) startOf(pid int) (uint64, error) {
	data, err := os.ReadFile(filepath.Join(h.Proc, strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, err
	}
	stat := string(data)
	// The second field is in brackets and may hold anything.
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return 0, errors.New("stat is too short")
	}
	return strconv.ParseUint(fields[19], 10, 64)
}

// Attach finds a recorded shim again. dir is the folder of its launch, and stays the caller's.
func (h *Host) Attach(dir *durable.Dir, id Identity) Found {
	at, err := h.Machine()
	if err != nil {
		return Unclear{Why: problem.Words(err)}
	}
	if id.MachineID != at.ID {
		return OtherMachine{Was: id.MachineID, Is: at.ID}
	}
	if id.BootID != at.Boot {
		return OtherBoot{Was: id.BootID, Is: at.Boot}
	}
	outer, err := h.namespaceOf("self")
	if err != nil {
		return Unclear{Why: "the kernel does not say which PID namespace this is: " + problem.Words(err)}
	}
	if id.OuterNamespace != outer {
		return Unclear{Why: "it was started from another PID namespace of this machine, in which its number means another process"}
	}
	// The descriptor first: from here on the number cannot become another's unnoticed.
	fd, err := unix.PidfdOpen(id.PID, unix.PIDFD_NONBLOCK)
	switch {
	case errors.Is(err, unix.ESRCH), errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOENT):
		return gone(dir, id) // nobody has the number, or a thread has
	case err != nil:
		return Unclear{Why: "its process cannot be opened: " + problem.Words(err)}
	}
	handle := &Handle{id: id, pidfd: os.NewFile(uintptr(fd), "pidfd"), dir: dir}
	same, why := h.same(id)
	if ended := over(fd); ended || why == "" && !same {
		handle.Close()
		return gone(dir, id)
	}
	if why != "" {
		handle.Close()
		return Unclear{Why: why}
	}
	return Alive{Handle: handle}
}

// same reports whether the process that has id's number is id's.
func (h *Host) same(id Identity) (same bool, why string) {
	start, err := h.startOf(id.PID)
	if err != nil {
		return false, "it cannot be told when its process was started: " + problem.Words(err)
	}
	if start != id.Start {
		return false, ""
	}
	namespace, err := h.namespaceOf(strconv.Itoa(id.PID))
	if err != nil {
		return false, "it cannot be told in which namespace its process is: " + problem.Words(err)
	}
	return namespace == id.Namespace, ""
}

// gone is the answer where the recorded process is not there any more, unless something else
// speaks against it.
func gone(dir *durable.Dir, id Identity) Found {
	lock, err := dir.LockFile(wire.LockFile)
	var held *durable.Held
	switch {
	case errors.As(err, &held):
		return Unclear{Why: "its process is not to be found, but its lock is held"}
	case err == nil:
		lock.Release()
	}
	went, err := Went(dir)
	if err != nil {
		return Unclear{Why: "it cannot be told whether its work was started: " + problem.Words(err)}
	}
	if id.Proof == Weak {
		if swept, err := sweptAll(dir); err != nil || !swept {
			return Unclear{Why: "the process that watched over it was killed, and without a namespace its work may still run"}
		}
	}
	return Gone{Went: went}
}
