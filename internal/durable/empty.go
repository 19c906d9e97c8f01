package durable

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// ErrMount: another file system is mounted there.
var ErrMount = errors.New("a file system is mounted there")

// Empty removes all that is in d but what keep, where it is given, wants kept: it is
// asked for what lies in d itself. Everything is removed by its name in a folder that
// is held open; no link is followed and no mount entered. After an error part of it
// may be gone; calling again goes on. A crash may bring things back.
func (d *Dir) Empty(ctx context.Context, keep func(name string, mode fs.FileMode) bool) error {
	names, err := d.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		mode, err := d.mode(name)
		if errors.Is(err, fs.ErrNotExist) || err == nil && keep != nil && keep(name, mode) {
			continue
		}
		if err == nil {
			err = d.remove(ctx, name, mode)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// RemoveDir removes the folder called name, which must be empty. One that is not
// there is as good as removed. A crash may bring it back.
func (d *Dir) RemoveDir(name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	defer runtime.KeepAlive(d)
	err := again(func() error { return unix.Unlinkat(d.fd(), name, unix.AT_REMOVEDIR) })
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return pathError("remove", name, err)
}

// remove removes what is called name, with all that is in it.
func (d *Dir) remove(ctx context.Context, name string, mode fs.FileMode) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !mode.IsDir() {
		return pathError("remove", name, d.unlink(name)) // a folder in its place by now is refused by the system
	}
	f, err := d.enter(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if errors.Is(err, unix.EXDEV) {
		err = ErrMount
	}
	if err != nil {
		return pathError("remove", name, err)
	}
	sub := &Dir{file: f, Faults: d.Faults}
	defer sub.Close()
	if err := sub.Empty(ctx, nil); err != nil {
		return err
	}
	return d.RemoveDir(name)
}

// mode is the kind of what is called name in d, a link's its
// own.
func (d *Dir) mode(name string) (fs.FileMode, error) {
	defer runtime.KeepAlive(d)
	var s unix.Stat_t
	if err := again(func() error { return unix.Fstatat(d.fd(), name, &s, unix.AT_SYMLINK_NOFOLLOW) }); err != nil {
		return 0, pathError("stat", name, err)
	}
	switch uint32(s.Mode) & unix.S_IFMT {
	case unix.S_IFDIR:
		return fs.ModeDir, nil
	case unix.S_IFREG:
		return 0, nil
	default:
		return fs.ModeIrregular, nil
	}
}

// Mode is what kind of thing name in d is: 0 for a regular file, [fs.ModeDir] for a
// folder, [fs.ModeIrregular] for all else, a link among it.
func (d *Dir) Mode(name string) (fs.FileMode, error) {
	if err := checkName(name); err != nil {
		return 0, err
	}
	return d.mode(name)
}

// IsDir reports whether name in d is a folder: no link to one.
func (d *Dir) IsDir(name string) (bool, error) {
	if err := checkName(name); err != nil {
		return false, err
	}
	mode, err := d.mode(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return mode.IsDir(), err
}

func pathError(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &os.PathError{Op: op, Path: name, Err: err}
}
