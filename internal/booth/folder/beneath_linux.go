package folder

import "golang.org/x/sys/unix"

const resolve = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV

// statBeneath looks at what path names below root without opening it: a link
// at its end is looked at itself.
func statBeneath(root int, path string) (meta, error) {
	fd, err := openat2(root, path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC)
	if noOpenat2(err) {
		return statStepwise(root, path)
	}
	if err != nil {
		return meta{}, err
	}
	defer unix.Close(fd)
	return statFD(fd)
}

// openBeneath opens the file that path names below root. The caller has looked
// at it first, and compares.
func openBeneath(root int, path string) (int, error) {
	fd, err := openat2(root, path, fileFlags)
	if noOpenat2(err) {
		return openStepwise(root, path)
	}
	return fd, err
}

func openat2(root int, path string, flags uint64) (int, error) {
	how := &unix.OpenHow{Flags: flags, Resolve: resolve}
	return again(func() (int, error) { return unix.Openat2(root, path, how) })
}

// noOpenat2 says whether one call cannot do it: a kernel before 5.6; a sandbox,
// which may say EPERM; a path of exactly 4096 bytes. Going stepwise is right in
// any case.
func noOpenat2(err error) bool {
	return err == unix.ENOSYS || err == unix.EPERM || err == unix.ENAMETOOLONG
}
