package durable

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// enter opens the folder name in d. EXDEV: it is a mount, of the same device too.
func (d *Dir) enter(name string) (*os.File, error) {
	defer runtime.KeepAlive(d)
	var fd int
	err := again(func() (err error) {
		fd, err = unix.Openat2(d.fd(), name, &unix.OpenHow{
			Flags:   unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC,
			Resolve: unix.RESOLVE_NO_XDEV | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_BENEATH,
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}
