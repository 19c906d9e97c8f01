package fleet

import "golang.org/x/sys/unix"

// resize sets the size of the terminal at path, and says whether there is one.
func resize(path string, rows, columns uint16) bool {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns}) == nil
}
