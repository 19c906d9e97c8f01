package folder

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/internal/problem"
)

// Booth is one booth's folder, open. It stays the same folder when it is
// renamed. It is safe for concurrent use.
type Booth struct {
	dir  *os.File
	name Name
	meta meta // at the open
}

// Close lets go of the folder. Files opened from it stay open.
func (b *Booth) Close() error { return b.dir.Close() }

// Dir is the folder's descriptor, for its lock and for renames. It is borrowed:
// it is good until Close, and not to be closed or read from. Where the folder
// may not be read it is a place only, which no lock can be taken on.
func (b *Booth) Dir() *os.File { return b.dir }

// Name is the name that the booth was opened under.
func (b *Booth) Name() Name { return b.name }

// ID is the folder itself, whatever its name.
func (b *Booth) ID() FileID { return b.meta.FileID }

// Locked says whether somebody has the folder's lock at this moment. It asks by
// sharing the lock for an instant, so that those who only ask do not see each
// other. A lock is taken on a descriptor of its own, never on b's, or this would
// let it go. A folder that cannot be locked is not locked.
func (b *Booth) Locked() bool {
	held, _ := onDir(b.dir, func(fd int) (bool, error) {
		err := retry(func() error { return unix.Flock(fd, unix.LOCK_SH|unix.LOCK_NB) })
		if err != nil {
			return err == unix.EWOULDBLOCK, nil
		}
		return false, unix.Flock(fd, unix.LOCK_UN)
	})
	return held
}

const (
	sentinelName = ".forever"
	viewName     = ".viewed"
)

// Sentinel says whether ".forever" is there, as any kind of file. With an error
// that cannot be told.
func (b *Booth) Sentinel() (bool, error) {
	_, err := onDir(b.dir, func(fd int) (meta, error) { return statAt(fd, sentinelName) })
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, readWords(sentinelName, err)
	}
	return true, nil
}

// RecordView sets the time of ".viewed" to now, and makes it if it is absent.
// Whatever lies there is not opened; anything but a regular file is refused.
func (b *Booth) RecordView(now time.Time) error {
	_, err := onDir(b.dir, func(fd int) (struct{}, error) { return struct{}{}, recordView(fd, now) })
	return writeWords(viewName, err)
}

func recordView(dir int, now time.Time) error {
	const fresh = unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC
	fd, err := again(func() (int, error) { return unix.Openat(dir, viewName, fresh, 0o644) })
	switch {
	case err == nil:
		unix.Close(fd)
	case err != unix.EEXIST:
		return err
	}
	m, err := statAt(dir, viewName)
	if err != nil {
		return err
	}
	if why := reasonOf(m); why != 0 {
		return &Unserved{viewName, why}
	}
	if m.mountRoot {
		return &Unserved{viewName, Mount}
	}
	// Something else in its place by now has its own time set, and no more: the
	// call neither opens nor follows.
	ts, err := unix.TimeToTimespec(now)
	if err != nil {
		return err
	}
	return retry(func() error {
		return unix.UtimesNanoAt(dir, viewName, []unix.Timespec{ts, ts}, unix.AT_SYMLINK_NOFOLLOW)
	})
}

// ReadDot reads a small file at the booth's top, whole: one of its own dot
// files, or "links.md". The error's chain has fs.ErrNotExist where it is
// absent, an [*Unserved] where it is no regular file, [ErrTooLarge] where it is
// over limit bytes, fs.ErrPermission where it may not be read.
func (b *Booth) ReadDot(name string, limit int64) ([]byte, error) {
	if !oneComponent(name) {
		return nil, problem.New(problem.Failed, problem.StepInternal, "%q is no file name", name)
	}
	f, err := b.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := readAtMost(f, limit)
	if errors.Is(err, ErrTooLarge) {
		return nil, tooLarge(name, limit)
	}
	return data, readWords(name, err)
}

// RemoveSentinel takes ".forever" away, whatever kind of file it is; a folder
// that holds something is refused. removed says that it was there and is gone,
// with an error too.
func (b *Booth) RemoveSentinel() (removed bool, err error) {
	removed, err = onDir(b.dir, func(fd int) (bool, error) {
		m, err := statAt(fd, sentinelName)
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		flags := 0
		if m.isDir() {
			flags = unix.AT_REMOVEDIR
		}
		err = retry(func() error { return unix.Unlinkat(fd, sentinelName, flags) })
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return false, nil
		case err != nil:
			return false, err
		}
		return true, confirm(fd, sentinelName)
	})
	if isAny(err, unix.ENOTEMPTY, unix.EEXIST) {
		return false, problem.Refusal("keep-marker", "The keep marker (.forever) is a folder with something in it, so it was not removed. The booth is still kept.").
			Because(err).WithHint("empty that folder first")
	}
	if isAny(err, unix.EBUSY) {
		return false, problem.Refusal("keep-marker", "The keep marker (.forever) is a mount point, so it was not removed. The booth is still kept.").Because(err)
	}
	return removed, writeWords(sentinelName, err)
}

// Exchange swaps two files at the booth's top in one step, whatever kinds of
// file they are.
func (b *Booth) Exchange(one, other string) error {
	if !oneComponent(one) || !oneComponent(other) {
		return problem.New(problem.Failed, problem.StepInternal, "%q or %q is no file name", one, other)
	}
	_, err := onDir(b.dir, func(fd int) (struct{}, error) {
		if err := retry(func() error { return exchange(fd, one, other) }); err != nil {
			return struct{}{}, err
		}
		return struct{}{}, confirm(fd, other)
	})
	return writeWords(other, err)
}

// Discard removes a file at the booth's top that the caller made and nobody has
// a use for.
func (b *Booth) Discard(name string) error {
	if !oneComponent(name) {
		return problem.New(problem.Failed, problem.StepInternal, "%q is no file name", name)
	}
	_, err := onDir(b.dir, func(fd int) (struct{}, error) {
		return struct{}{}, retry(func() error { return unix.Unlinkat(fd, name, 0) })
	})
	return writeWords(name, err)
}

// confirm has the disk confirm what was done to name in dir.
func confirm(dir int, name string) error {
	if err := fsync(dir); err != nil {
		return problem.New(problem.Unknown, "sync-directory", "Whether the change of %q outlasts a crash cannot be told: look again.", name).Because(err)
	}
	return nil
}
