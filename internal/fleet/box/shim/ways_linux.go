package shim

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/internal/fleet/box/shim/wire"
)

// way is one way to start a shim.
type way struct {
	proof Proof
	attr  syscall.SysProcAttr
}

// strong are the ways that give proof, the one that needs least first. Only uid 0 may make
// namespaces without a user namespace, and in one of those it can become nobody else.
func strong(drops bool) []way {
	const flags = syscall.CLONE_NEWPID | syscall.CLONE_NEWNS
	var all []way
	uid, gid := os.Geteuid(), os.Getegid()
	if uid == 0 {
		all = append(all, way{Namespace, syscall.SysProcAttr{Setsid: true, Cloneflags: flags}})
	}
	if !drops {
		all = append(all, way{Namespace, syscall.SysProcAttr{
			Setsid: true, Cloneflags: flags | syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}},
			// For the mounts. The shim keeps it, which keeps the work, that has none, from
			// looking into the shim.
			AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN},
		}})
	}
	return all
}

func weak() way { return way{Weak, syscall.SysProcAttr{Setsid: true}} }

// child is a shim that was started.
type child struct {
	pid   int
	pidfd *os.File
	gate  *os.File // our end
}

// spawn starts the program in one way. Nothing but what is named here is inherited.
func (w way) spawn(program, folder *os.File, args ...string) (*child, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(pair[1])
	ours := pair[0]
	pidfd := -1
	attr := w.attr
	attr.PidFD = &pidfd
	pid, err := forkExec(program, append([]string{"holdfast-shim"}, args...), &syscall.ProcAttr{
		Dir: "/",
		// One thread for Go is enough, and a small heap.
		Env:   []string{"GOMAXPROCS=1", "GOGC=25"},
		Files: []uintptr{null.Fd(), null.Fd(), null.Fd(), wire.FolderFD: folder.Fd(), wire.GateFD: uintptr(pair[1])},
		Sys:   &attr,
	})
	if err != nil {
		unix.Close(ours)
		return nil, err
	}
	if pidfd < 0 {
		// Of our own child the pid cannot have become another's.
		if pidfd, err = unix.PidfdOpen(pid, 0); err != nil {
			unix.Close(ours)
			_ = syscall.Kill(pid, syscall.SIGKILL)
			_, _ = syscall.Wait4(pid, nil, 0, nil)
			return nil, fmt.Errorf("pidfd: %w", err)
		}
	}
	_ = unix.SetNonblock(ours, true)
	_ = unix.SetNonblock(pidfd, true)
	return &child{pid: pid, pidfd: os.NewFile(uintptr(pidfd), "pidfd"), gate: os.NewFile(uintptr(ours), "gate")}, nil
}

// forkExec starts what program has open. For an instant another thread's child can still have
// the file open for writing that has just been written here.
func forkExec(program *os.File, argv []string, attr *syscall.ProcAttr) (pid int, err error) {
	path := fmt.Sprintf("/proc/self/fd/%d", program.Fd())
	for range 100 {
		if pid, err = syscall.ForkExec(path, argv, attr); !errors.Is(err, syscall.ETXTBSY) {
			return pid, err
		}
		time.Sleep(5 * time.Millisecond)
	}
	return pid, err
}

// refusals says for people why a machine gives no namespaces, as far as it can be told.
func (h *Host) refusals(errs []error) string {
	knob := func(name string) string {
		data, err := os.ReadFile(filepath.Join(h.Proc, "sys", name))
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(data))
	}
	var why []string
	for name, off := range map[string]string{
		"user/max_user_namespaces": "0", "user/max_pid_namespaces": "0", "user/max_mnt_namespaces": "0",
		"kernel/unprivileged_userns_clone": "0", "kernel/apparmor_restrict_unprivileged_userns": "1",
	} {
		if knob(name) == off {
			why = append(why, strings.ReplaceAll(name, "/", ".")+" is "+off)
		}
	}
	if len(why) > 0 {
		return "the system refuses namespaces: " + strings.Join(sorted(why), ", ")
	}
	return "the system refuses namespaces (" + words(errs) + "), as in a container that is not allowed any"
}

func words(errs []error) string {
	var all []string
	for _, err := range errs {
		var no syscall.Errno
		if errors.As(err, &no) {
			all = append(all, no.Error())
		}
	}
	return strings.Join(all, ", then ")
}
