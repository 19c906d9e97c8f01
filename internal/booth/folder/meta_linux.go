package folder

import "golang.org/x/sys/unix"

const (
	statMask = unix.STATX_TYPE | unix.STATX_INO | unix.STATX_SIZE |
		unix.STATX_MTIME | unix.STATX_CTIME | unix.STATX_BTIME
	lookFlags = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
)

// statAt looks at name in dir, never through a link.
func statAt(dir int, name string) (meta, error) {
	return statx(dir, name, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT)
}

// statFD looks at what fd is open on.
func statFD(fd int) (meta, error) { return statx(fd, "", unix.AT_EMPTY_PATH) }

func statx(dir int, name string, flags int) (meta, error) {
	var s unix.Statx_t
	for {
		err := unix.Statx(dir, name, flags, statMask, &s)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return meta{}, err
		}
		break
	}
	m := meta{
		FileID:    FileID{Device: unix.Mkdev(s.Dev_major, s.Dev_minor), Inode: s.Ino},
		mode:      uint32(s.Mode),
		size:      int64(s.Size),
		mtime:     nanos(s.Mtime.Sec, int64(s.Mtime.Nsec)),
		ctime:     nanos(s.Ctime.Sec, int64(s.Ctime.Nsec)),
		mountRoot: s.Attributes&s.Attributes_mask&unix.STATX_ATTR_MOUNT_ROOT != 0,
	}
	if s.Mask&unix.STATX_BTIME != 0 && (s.Btime.Sec != 0 || s.Btime.Nsec != 0) {
		m.Birth, m.born = nanos(s.Btime.Sec, int64(s.Btime.Nsec)), true
	}
	return m, nil
}

// openBoothAt opens a booth's directory. One that may not be read is still
// opened, as a place only, so that its survey can say so.
func openBoothAt(data int, name string) (int, error) {
	fd, err := openAt(data, name, dirFlags)
	if err == unix.EACCES {
		return openAt(data, name, lookFlags)
	}
	return fd, err
}
