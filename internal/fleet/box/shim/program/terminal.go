//go:build linux

package main

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"holdfast/internal/fleet/box/shim/wire"
)

// terminal is output through a terminal of the work's own. What is read from it goes to the
// log and to whoever is attached; what they write is typed.
func (s *shim) terminal() (*output, error) {
	master, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, errors.New("a terminal: " + err.Error())
	}
	if err := unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err != nil {
		return nil, errors.New("unlocking its terminal: " + err.Error())
	}
	// By the master, so that it matters nothing which devpts is mounted.
	slave, _, no := unix.Syscall(unix.SYS_IOCTL, uintptr(master), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
	if no != 0 {
		return nil, errors.New("opening its terminal: " + no.Error())
	}
	_ = unix.IoctlSetWinsize(master, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80})
	if s.launch.Drop {
		_ = unix.Fchown(int(slave), int(s.launch.UID), -1)
	}
	o := s.through(int(slave), master)
	o.audience = &audience{typed: o.outer}
	return o, o.audience.open(s.folder)
}

// audience is who is attached to a terminal.
type audience struct {
	typed   *os.File
	mu      sync.Mutex
	members []int // sockets; guarded by mu
}

// open lets people in through a socket in the folder, which its path does not lead to any more.
func (a *audience) open(f folder) error {
	door, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	path := "/proc/self/fd/" + strconv.Itoa(int(f)) + "/" + wire.TerminalFile
	if err := unix.Bind(door, &unix.SockaddrUnix{Name: path}); err != nil {
		return errors.New("the socket of its terminal: " + err.Error())
	}
	if err := unix.Fchmodat(int(f), wire.TerminalFile, 0o600, 0); err != nil {
		return err
	}
	if err := unix.Listen(door, 8); err != nil {
		return err
	}
	go func() {
		for {
			fd, _, err := unix.Accept4(door, unix.SOCK_CLOEXEC)
			if errors.Is(err, unix.EINTR) || errors.Is(err, unix.ECONNABORTED) {
				continue
			}
			if err != nil {
				return
			}
			a.mu.Lock()
			a.members = append(a.members, fd)
			a.mu.Unlock()
			go a.listen(fd)
		}
	}()
	return nil
}

// listen types what a member writes, until it leaves.
func (a *audience) listen(fd int) {
	buffer := make([]byte, 1024)
	for {
		n, err := unix.Read(fd, buffer)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n <= 0 {
			break
		}
		if _, err := a.typed.Write(buffer[:n]); err != nil {
			break
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.members = slices.DeleteFunc(a.members, func(m int) bool { return m == fd })
	unix.Close(fd)
}

// tell shows data to all. Who does not keep up is let go: the work must not wait for them.
func (a *audience) tell(data []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, fd := range a.members {
		n, err := unix.SendmsgN(fd, data, nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		if err != nil || n < len(data) {
			_ = unix.Shutdown(fd, unix.SHUT_RDWR)
		}
	}
}
