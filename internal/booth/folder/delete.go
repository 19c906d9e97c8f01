package folder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"
)

// Delete removes the folder that lies at p and all that is in it. It needs to be
// the folder id, whose device is not asked: that changes with a reboot.
//
// Everything is removed by its name in a directory that is held by descriptor;
// no link is followed and no mount is crossed, whatever is swapped meanwhile.
// before is asked ahead of each removal, and an error of it ends the deletion.
// After an error part of the tree may be gone; calling again goes on.
func (d *Data) Delete(ctx context.Context, p Place, id FileID, before func() error) error {
	_, err := onDir(d.dir, func(data int) (struct{}, error) {
		x := deletion{ctx: ctx, before: before}
		return struct{}{}, x.tree(data, p.at, id)
	})
	if err != nil {
		return fmt.Errorf("delete %s: %w", p.at, err)
	}
	return nil
}

// SameAcrossBoots says whether two identities are of one folder on one file system, of
// which the device number may have changed in between.
func (f FileID) SameAcrossBoots(o FileID) bool { return f.Inode == o.Inode && f.Birth == o.Birth }

type deletion struct {
	ctx    context.Context
	before func() error
	device uint64
}

func (x *deletion) tree(data int, name string, id FileID) error {
	m, err := statAt(data, name)
	if err != nil {
		return err
	}
	x.device = m.Device
	err = x.dir(data, name, func(m meta) bool { return m.SameAcrossBoots(id) })
	if err != nil {
		return err
	}
	return fsync(data)
}

// dir removes the directory name in parent, if what was opened is the right one.
func (x *deletion) dir(parent int, name string, right func(meta) bool) error {
	fd, err := stepInto(parent, name, x.device, dirFlags|unix.O_NONBLOCK)
	if err != nil {
		return orGone(err)
	}
	defer unix.Close(fd)
	m, err := statFD(fd)
	switch {
	case err != nil:
		return err
	case !right(m):
		return &Unserved{name, Changed}
	}
	if err := x.empty(fd); err != nil {
		return err
	}
	return x.unlink(parent, name, unix.AT_REMOVEDIR)
}

// empty removes what is in the directory behind fd. The names come first: a
// directory that changes while it is read may leave some out.
func (x *deletion) empty(fd int) error {
	var names []string
	err := eachName(fd, make([]byte, direntBuffer), func(name string) error {
		names = append(names, name)
		return nil
	})
	for _, name := range names {
		if err != nil {
			break
		}
		err = x.entry(fd, name)
	}
	return err
}

func (x *deletion) entry(dir int, name string) error {
	m, err := statAt(dir, name)
	switch {
	case err != nil:
		return orGone(err)
	case m.mountIn(x.device):
		return &Unserved{name, Mount}
	case m.isDir():
		return x.dir(dir, name, m.same)
	default: // a directory in its place by now is refused by the system
		return x.unlink(dir, name, 0)
	}
}

func (x *deletion) unlink(dir int, name string, flags int) error {
	if err := x.ctx.Err(); err != nil {
		return err
	}
	if err := x.before(); err != nil {
		return err
	}
	return orGone(retry(func() error { return unix.Unlinkat(dir, name, flags) }))
}

// orGone takes what is not there for removed.
func orGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
