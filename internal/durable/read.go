package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

var (
	// ErrNotRegular: the name stands for a link, a folder, a pipe or the like.
	ErrNotRegular = errors.New("not a regular file")
	// ErrTooLarge: the file is larger than its reader allows.
	ErrTooLarge = errors.New("larger than allowed")
	// ErrNotOwner: a secret belongs to another user.
	ErrNotOwner = errors.New("belongs to another user")
)

// Exposed: others than its owner can read or change a secret.
type Exposed struct{ Mode fs.FileMode }

// Error says its mode.
func (e *Exposed) Error() string { return fmt.Sprintf("open to others: its mode is %#o", e.Mode) }

// ReadFile reads name in d, at most limit bytes. Absent is [fs.ErrNotExist];
// empty is no error. What is no regular file is [ErrNotRegular], and neither
// followed nor waited for; a larger one is [ErrTooLarge].
func (d *Dir) ReadFile(name string, limit int64) ([]byte, error) {
	return d.read(name, limit, func(*os.File) error { return nil })
}

// ReadPrivate is ReadFile for a secret: one that belongs to another user is
// [ErrNotOwner], and one whose mode opens it to anybody else is [*Exposed].
func (d *Dir) ReadPrivate(name string, limit int64) ([]byte, error) {
	return d.read(name, limit, func(f *os.File) error {
		var stat unix.Stat_t
		if err := unix.Fstat(int(f.Fd()), &stat); err != nil {
			return err
		}
		switch {
		case int(stat.Uid) != os.Geteuid():
			return &fs.PathError{Op: "read", Path: name, Err: ErrNotOwner}
		case stat.Mode&0o077 != 0:
			return &fs.PathError{Op: "read", Path: name, Err: &Exposed{fs.FileMode(stat.Mode & 0o777)}}
		}
		return nil
	})
}

// read reads name in d once it is open and check has nothing against it.
func (d *Dir) read(name string, limit int64, check func(*os.File) error) ([]byte, error) {
	f, err := d.openRegular(name, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := check(f); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("%w: over %d bytes", ErrTooLarge, limit)}
	}
	return data, nil
}

// openRegular opens name in d if it is a regular file, checked on the
// descriptor.
func (d *Dir) openRegular(name string, flags int) (*os.File, error) {
	f, err := d.openAt(name, flags, 0o600)
	if err != nil {
		if oddFile(err) {
			err = ErrNotRegular
		}
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: ErrNotRegular}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// oddFile reports whether err is how opening a link, a socket, a pipe without a
// reader, or a folder for writing fails.
func oddFile(err error) bool {
	for _, odd := range []error{unix.ELOOP, unix.EMLINK, unix.ENXIO, unix.EOPNOTSUPP, unix.EISDIR} {
		if errors.Is(err, odd) {
			return true
		}
	}
	return false
}

// Version tells a file's content from what it was before: [Dir.WriteFile] always
// gives another one. The zero Version is no file's.
type Version struct {
	device, inode uint64
	size          int64
	mtime, ctime  unix.Timespec
}

// Version looks which version of name is there, without reading it.
func (d *Dir) Version(name string) (Version, error) {
	if err := checkName(name); err != nil {
		return Version{}, err
	}
	defer runtime.KeepAlive(d)
	var s unix.Stat_t
	if err := again(func() error { return unix.Fstatat(d.fd(), name, &s, unix.AT_SYMLINK_NOFOLLOW) }); err != nil {
		return Version{}, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	return Version{uint64(s.Dev), s.Ino, s.Size, s.Mtim, s.Ctim}, nil
}
