// Package folder is a booth's folder, held by descriptor: its list, its
// stamps, its files and its zip.
//
// The model. [Data] is the data folder, [Booth] one of its direct
// subdirectories. Both hold a directory descriptor and reach everything below
// relative to it; a path string is looked at by [ParseName] and [ParseItem] for
// its form, never as a way to a file. What a booth holds is hostile: a worker
// may plant links, FIFOs, sockets, devices and mounts, and change them while we
// look.
//
// What it promises:
//   - No link is followed and no mount inside a booth is crossed, by any verb.
//     A booth that is itself a mount point opens, and its survey says so.
//   - Nothing but regular files and directories is ever opened, so nothing
//     blocks on a FIFO and no device notices. What an open gave is compared
//     with what was looked at before it.
//   - [Booth.Survey] reads the whole tree, strictly: whatever it could not see
//     is in its result as a [Failure], beside all that it could.
//   - A write ends done, refused or failed with nothing changed, or, where the
//     disk did not confirm a rename, unknown.
//   - [Data.Move] never replaces, and [Data.Delete] removes nothing that is not in
//     the one folder that is meant, whatever is swapped meanwhile. Only package
//     sweep calls them.
//   - Names are bytes and come back byte for byte.
//
// What it does not promise: that two calls see the same tree. A caller that
// destroys must lock the booth's descriptor and survey again after its rename.
//
// Errors carry public words (package problem). A caller branches on
// [*Unserved] (something is there, but is nothing that we open),
// fs.ErrNotExist, fs.ErrPermission and [ErrTooLarge], through errors.As and
// errors.Is.
package folder

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"holdfast/internal/problem"
)

// Data is the data folder, whose direct subdirectories are booths. It is safe
// for concurrent use.
type Data struct{ dir *os.File }

// OpenData opens the data folder. A link at path is followed: the operator
// chose it. Nothing below it is.
func OpenData(path string) (*Data, error) {
	fd, err := openAt(unix.AT_FDCWD, path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC)
	if err != nil {
		return nil, problem.New(problem.Failed, "data", "The data folder %q cannot be opened.", path).Because(err)
	}
	return &Data{os.NewFile(uintptr(fd), path)}, nil
}

// Close lets go of the folder. Booths opened from it stay open.
func (d *Data) Close() error { return d.dir.Close() }

// Dir is the folder's descriptor, for locks and renames. It is borrowed: it is
// good until Close, and not to be closed or read from.
func (d *Data) Dir() *os.File { return d.dir }

// Names lists the booths: direct subdirectories, no links, not those that begin
// with a dot, in bytewise order. One that cannot be looked at is listed, so
// that it does not disappear; opening it says why.
func (d *Data) Names() ([]Name, error) {
	var names []Name
	err := d.each(func(fd int, s string) {
		if n, err := ParseName(s); err == nil && maybeBooth(fd, s) {
			names = append(names, n)
		}
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(names, func(a, b Name) int { return strings.Compare(a.s, b.s) })
	return names, nil
}

// each calls f with the folder's descriptor and the name of each thing in it.
func (d *Data) each(f func(fd int, name string)) error {
	_, err := onDir(d.dir, func(fd int) (struct{}, error) {
		self, err := openAt(fd, ".", dirFlags) // a descriptor, and so a read position, of our own
		if err != nil {
			return struct{}{}, err
		}
		defer unix.Close(self)
		return struct{}{}, eachName(self, make([]byte, direntBuffer), func(name string) error {
			f(fd, name)
			return nil
		})
	})
	if err != nil {
		return problem.New(problem.Failed, "data", "The data folder cannot be listed.").Because(err)
	}
	return nil
}

func maybeBooth(data int, name string) bool {
	m, err := statAt(data, name)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	return m.isDir()
}

// Booth opens a booth. One that is absent, or is not a directory, or is a link
// to one, is Gone at step "booth".
func (d *Data) Booth(name Name) (*Booth, error) { return d.OpenAt(name.Place(), name) }

// Create makes a booth's folder if there is none, and opens it. Something else
// of that name is refused.
func (d *Data) Create(name Name) (*Booth, error) {
	_, err := onDir(d.dir, func(fd int) (struct{}, error) {
		return struct{}{}, makeDir(fd, name.s)
	})
	switch {
	case err == nil, errors.Is(err, fs.ErrExist):
	case isAny(err, unix.ENOSPC, unix.EDQUOT):
		return nil, noSpace().Because(err)
	default:
		return nil, problem.New(problem.Failed, "booth", "The booth %q cannot be made.", name.s).Because(err)
	}
	b, err := d.Booth(name)
	if isAny(err, unix.ENOTDIR, unix.ELOOP) {
		return nil, problem.Refusal("booth", "%q is there and is not a folder. Nothing was changed.", name.s).Because(err)
	}
	return b, err
}

// Fill opens a booth, making it if there is none, and lets fill put something
// into it. Where that fails, a booth that was made for it and is still empty is
// taken away again: what was refused has changed nothing.
func (d *Data) Fill(name Name, fill func(*Booth) error) error {
	_, err := onDir(d.dir, func(fd int) (meta, error) { return statAt(fd, name.s) })
	absent := errors.Is(err, fs.ErrNotExist)
	b, err := d.Create(name)
	if err != nil {
		return err
	}
	defer b.Close()
	err = fill(b)
	if err != nil && absent {
		// Only an empty folder can be removed so; whatever else came meanwhile stays.
		_, _ = onDir(d.dir, func(fd int) (struct{}, error) {
			return struct{}{}, retry(func() error { return unix.Unlinkat(fd, name.s, unix.AT_REMOVEDIR) })
		})
	}
	return err
}
