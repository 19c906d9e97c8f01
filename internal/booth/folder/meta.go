package folder

import (
	"math"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	dirFlags     = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fileFlags    = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC
	direntBuffer = 64 << 10
)

// FileID tells one file from another that came after it, under the same name
// or with the same inode number. Compare it with ==.
type FileID struct {
	Device, Inode uint64
	Birth         int64 // nanoseconds since 1970; 0 where the file system keeps none
}

// meta is what one stat said. Times are nanoseconds since 1970, cut to what an
// int64 holds (the years 1677 to 2262).
type meta struct {
	FileID

	mode         uint32 // with its file type
	size         int64
	mtime, ctime int64
	born         bool // Birth means something
	mountRoot    bool // it is the root of a mount; known on Linux only
}

func (m meta) isDir() bool     { return m.mode&unix.S_IFMT == unix.S_IFDIR }
func (m meta) isRegular() bool { return m.mode&unix.S_IFMT == unix.S_IFREG }

// same says whether two looks saw the same file.
func (m meta) same(o meta) bool { return m.FileID == o.FileID }

// mountIn says whether m, found in a directory on device dev, lies on another
// mount. A file's device is not asked: an overlay gives its files devices of
// the layers below.
func (m meta) mountIn(dev uint64) bool {
	return m.mountRoot || m.isDir() && m.Device != dev
}

func nanos(sec, nsec int64) int64 {
	const most = math.MaxInt64/int64(time.Second) - 1
	switch {
	case sec > most:
		return math.MaxInt64
	case sec < -most:
		return math.MinInt64
	default:
		return sec*int64(time.Second) + nsec
	}
}

func timeOf(ns int64) time.Time { return time.Unix(0, ns).UTC() }

// again repeats a system call that a signal cut short.
func again[T any](call func() (T, error)) (T, error) {
	for {
		v, err := call()
		if err != unix.EINTR {
			return v, err
		}
	}
}

// retry is [again] for a call that gives nothing but its error.
func retry(call func() error) error {
	_, err := again(func() (struct{}, error) { return struct{}{}, call() })
	return err
}

// onDir runs f on d's descriptor, which stays open until f returns.
func onDir[T any](d *os.File, f func(fd int) (T, error)) (v T, err error) {
	raw, err := d.SyscallConn()
	if err != nil {
		return v, err
	}
	if cerr := raw.Control(func(fd uintptr) { v, err = f(int(fd)) }); cerr != nil {
		return v, cerr
	}
	return v, err
}

func openAt(dir int, name string, flags int) (int, error) {
	return again(func() (int, error) { return unix.Openat(dir, name, flags, 0) })
}

func fsync(fd int) error { return retry(func() error { return unix.Fsync(fd) }) }

// makeDir makes name in dir and has the disk confirm it.
func makeDir(dir int, name string) error {
	if err := retry(func() error { return unix.Mkdirat(dir, name, 0o755) }); err != nil {
		return err
	}
	return fsync(dir)
}

// eachName calls f with the name of every entry of the directory behind fd, in
// no order, until f gives an error. f must leave buf alone. A directory that was
// removed has no entries.
func eachName(fd int, buf []byte, f func(name string) error) error {
	var names []string
	for {
		n, err := again(func() (int, error) { return unix.ReadDirent(fd, buf) })
		if err == unix.ENOENT {
			return nil
		}
		if err != nil {
			return err
		}
		if n <= 0 {
			return nil
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names[:0])
		for _, name := range names {
			if err := f(name); err != nil {
				return err
			}
		}
	}
}
