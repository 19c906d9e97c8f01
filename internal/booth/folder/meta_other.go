//go:build !linux

package folder

import "golang.org/x/sys/unix"

const lookFlags = dirFlags

// statAt looks at name in dir, never through a link.
func statAt(dir int, name string) (meta, error) {
	var s unix.Stat_t
	err := retry(func() error { return unix.Fstatat(dir, name, &s, unix.AT_SYMLINK_NOFOLLOW) })
	return metaOf(&s), err
}

// statFD looks at what fd is open on.
func statFD(fd int) (meta, error) {
	var s unix.Stat_t
	err := retry(func() error { return unix.Fstat(fd, &s) })
	return metaOf(&s), err
}

func metaOf(s *unix.Stat_t) meta {
	m := meta{
		FileID: FileID{Device: uint64(s.Dev), Inode: s.Ino},
		mode:   uint32(s.Mode),
		size:   s.Size,
		mtime:  nanos(s.Mtim.Unix()),
		ctime:  nanos(s.Ctim.Unix()),
	}
	if sec, nsec := s.Btim.Unix(); sec > 0 {
		m.Birth, m.born = nanos(sec, nsec), true
	}
	return m
}

func openBoothAt(data int, name string) (int, error) { return openAt(data, name, dirFlags) }
