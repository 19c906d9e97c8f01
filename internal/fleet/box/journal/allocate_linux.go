package journal

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// allocate gives f its bytes on the disk.
func allocate(f *os.File, size int64) error {
	for {
		err := unix.Fallocate(int(f.Fd()), 0, 0, size)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
