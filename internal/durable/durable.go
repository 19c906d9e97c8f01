// Package durable puts bytes on disk so that they are still there, whole, after
// a crash, and says honestly how far it came.
//
// A [Dir] is a folder held open by its descriptor. Everything is named inside
// one, by a single path element; symbolic links are never followed, whoever
// renames or replaces what above it.
//
// A write is a temporary file in the same folder, written, synced, put in place
// in one step, and the folder synced. So a reader finds the old content or the
// new, never a mixture, and after a crash too. It ends in one of three ways,
// which [OutcomeOf] tells apart: [Done], it is there and will stay; [Refused],
// nothing has changed; [Unknown], it may have taken effect, or has and may not
// outlast a crash: read it again before building on it.
//
// A temporary file whose writer was killed stays behind under a name that begins
// with [TemporaryPrefix]. [Dir.RemoveAbandoned] removes those whose writer is
// provably gone: a writer holds a lock on its own.
//
// A [Lock] is advisory (flock) and ends with the process that took it, however
// that ends. A [Journal] is a file that only grows, a JSON record to a line.
//
// Every effect on the disk is a [Step], before and after which [Faults] can make
// it fail. The promises hold on local file systems of Linux and macOS; on a
// network file system they are those of its server.
package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// Dir is a folder held open. It is safe for concurrent use up to Close.
type Dir struct {
	// Faults is asked before and after each effect. It is nil outside tests, and
	// must be set before the first use.
	Faults Faults

	file *os.File
}

// OpenDir holds the folder at path open. Here alone a symbolic link is followed:
// the path is the operator's word.
func OpenDir(path string) (*Dir, error) {
	var fd int
	err := again(func() (err error) {
		fd, err = unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return nil, &fs.PathError{Op: "open folder", Path: path, Err: err}
	}
	return &Dir{file: os.NewFile(uintptr(fd), path)}, nil
}

// FromFile holds the folder that f has open. The caller still closes f.
func FromFile(f *os.File) (*Dir, error) {
	fd, err := unix.Openat(int(f.Fd()), ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	runtime.KeepAlive(f)
	if err != nil {
		return nil, &fs.PathError{Op: "open folder", Path: f.Name(), Err: err}
	}
	return &Dir{file: os.NewFile(uintptr(fd), f.Name())}, nil
}

// Sub holds the folder called name in d open.
func (d *Dir) Sub(name string) (*Dir, error) {
	f, err := d.openAt(name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open folder", Path: name, Err: err}
	}
	return &Dir{file: f, Faults: d.Faults}, nil
}

// MakeSub is Sub, after making the folder with perm (less the umask) if there is
// nothing of that name. The name is durable when it returns.
func (d *Dir) MakeSub(name string, perm fs.FileMode) (*Dir, error) {
	if err := checkName(name); err != nil {
		return nil, refused(name, StepName, err)
	}
	err := d.do(StepMakeDir, func() error {
		err := again(func() error { return unix.Mkdirat(d.fd(), name, uint32(perm.Perm())) })
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		return err
	})
	if err != nil {
		return nil, d.settleDir(name, err)
	}
	if err := d.syncDir(name); err != nil {
		return nil, err
	}
	return d.Sub(name)
}

// settleDir says how the making of a folder ended that failed for cause.
func (d *Dir) settleDir(name string, cause error) error {
	sub, err := d.Sub(name)
	if errors.Is(err, fs.ErrNotExist) {
		return refused(name, StepMakeDir, cause)
	}
	if err == nil {
		sub.Close()
	}
	return unknown(name, StepMakeDir, cause)
}

// Reopen holds d's folder open once more, to be closed on its own.
func (d *Dir) Reopen() (*Dir, error) {
	other, err := FromFile(d.file)
	if err != nil {
		return nil, err
	}
	other.Faults = d.Faults
	return other, nil
}

// File is d's folder, open once more, to be handed to a child process. It is closed by the
// caller.
func (d *Dir) File() (*os.File, error) { return d.reopen() }

// Name is the path that d was opened with, for messages only.
func (d *Dir) Name() string { return d.file.Name() }

// Close lets the folder go.
func (d *Dir) Close() error { return d.file.Close() }

// fd is d's descriptor. Whoever uses it holds d.
func (d *Dir) fd() int { return int(d.file.Fd()) }

// openAt opens name in d, following no link and waiting for nobody.
func (d *Dir) openAt(name string, flags int, perm fs.FileMode) (*os.File, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	defer runtime.KeepAlive(d)
	flags |= unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC
	var fd int
	err := again(func() (err error) {
		fd, err = unix.Openat(d.fd(), name, flags, uint32(perm.Perm()))
		return err
	})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// names reports whether name in d is the very file f. An error means that it
// could not be looked up.
func (d *Dir) names(name string, f *os.File) (bool, error) {
	defer runtime.KeepAlive(d)
	var there, ours unix.Stat_t
	err := again(func() error { return unix.Fstatat(d.fd(), name, &there, unix.AT_SYMLINK_NOFOLLOW) })
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := unix.Fstat(int(f.Fd()), &ours); err != nil {
		return false, err
	}
	return there.Dev == ours.Dev && there.Ino == ours.Ino, nil
}

// unlink removes name from d. A name that is not there is as good as removed.
func (d *Dir) unlink(name string) error {
	defer runtime.KeepAlive(d)
	err := again(func() error { return unix.Unlinkat(d.fd(), name, 0) })
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Sync makes the names in d durable that others gave, whether or not they lived to do
// it. The error is a [*WriteError]; nothing is known then.
func (d *Dir) Sync() error { return d.syncDir(".") }

// syncDir makes the names in d durable. Whatever was renamed is Unknown if it
// fails.
func (d *Dir) syncDir(name string) error {
	if err := d.do(StepSyncDir, d.file.Sync); err != nil {
		return unknown(name, StepSyncDir, err)
	}
	return nil
}

// checkName refuses what is not one element of a path.
func checkName(name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
		return fmt.Errorf("%q is no file name: %w", name, fs.ErrInvalid)
	}
	return nil
}

// again repeats a system call that a signal interrupted.
func again(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
