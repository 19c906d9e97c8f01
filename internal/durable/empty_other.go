//go:build !linux

package durable

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// enter opens the folder name in d. EXDEV: it is on another device.
func (d *Dir) enter(name string) (*os.File, error) {
	defer runtime.KeepAlive(d)
	f, err := d.openAt(name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	var here, there unix.Stat_t
	err = unix.Fstat(d.fd(), &here)
	if err == nil {
		err = unix.Fstat(int(f.Fd()), &there)
	}
	if err == nil && here.Dev != there.Dev {
		err = unix.EXDEV
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
