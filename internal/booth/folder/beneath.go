package folder

import (
	"strings"

	"golang.org/x/sys/unix"
)

// The errors of lookups below a booth, however they are done: ELOOP, a link is
// in the way; EXDEV, a mount is; ENOTDIR, something else is.

// stepInto opens the directory name in dir with flags, after looking that it is
// one, on device dev, and comparing that look with what the open gave.
func stepInto(dir int, name string, dev uint64, flags int) (int, error) {
	m, err := statAt(dir, name)
	if err != nil {
		return -1, err
	}
	switch {
	case m.mode&unix.S_IFMT == unix.S_IFLNK:
		return -1, unix.ELOOP
	case m.mountIn(dev):
		return -1, unix.EXDEV
	case !m.isDir():
		return -1, unix.ENOTDIR
	}
	fd, err := openAt(dir, name, flags)
	if err != nil {
		return -1, err
	}
	if opened, err := statFD(fd); err != nil || !opened.same(m) {
		unix.Close(fd)
		if err == nil {
			err = &Unserved{name, Changed}
		}
		return -1, err
	}
	return fd, nil
}

// stepwise calls f with the directory that holds path's last component, and
// that component. It goes there one directory at a time: what openat2 does in
// one call, for systems without it.
func stepwise[T any](root int, path string, f func(dir int, base string) (T, error)) (v T, err error) {
	top, err := statFD(root)
	if err != nil {
		return v, err
	}
	dir := root
	for {
		name, rest, more := strings.Cut(path, "/")
		if !more {
			v, err = f(dir, name)
			break
		}
		var next int
		if next, err = stepInto(dir, name, top.Device, lookFlags); err != nil {
			break
		}
		if dir != root {
			unix.Close(dir)
		}
		dir, path = next, rest
	}
	if dir != root {
		unix.Close(dir)
	}
	return v, err
}

// statStepwise is [statBeneath] without openat2.
func statStepwise(root int, path string) (meta, error) {
	return stepwise(root, path, func(dir int, base string) (meta, error) {
		m, err := statAt(dir, base)
		if err != nil {
			return meta{}, err
		}
		if d, err := statFD(dir); err != nil || m.mountIn(d.Device) {
			return meta{}, orElse(err, unix.EXDEV)
		}
		return m, nil
	})
}

// openStepwise is [openBeneath] without openat2.
func openStepwise(root int, path string) (int, error) {
	return stepwise(root, path, func(dir int, base string) (int, error) {
		return openAt(dir, base, fileFlags)
	})
}

func orElse(err, other error) error {
	if err != nil {
		return err
	}
	return other
}
