package root

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"holdfast/internal/durable"
)

// within is the socket's path by the descriptor of its folder: a path of any length.
func within(fd uintptr) string { return fmt.Sprintf("/proc/self/fd/%d/%s", fd, SocketName) }

// listen makes the socket in d. One that an earlier root left is replaced: whoever calls
// this has the box's lock.
func listen(d *durable.Dir) (net.Listener, error) {
	if err := d.Remove(SocketName); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	folder, err := d.File()
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: within(folder.Fd())})
	if err != nil {
		return nil, err
	}
	ln.SetUnlinkOnClose(false) // by then it may be another root's
	return ln, os.Chmod(within(folder.Fd()), 0o600)
}

func dial(ctx context.Context, folder *os.File) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "unix", within(folder.Fd()))
}

// peers accepts connections of this user alone, as the kernel says who they are of.
type peers struct{ net.Listener }

// Accept closes those of others.
func (p peers) Accept() (net.Conn, error) {
	for {
		c, err := p.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if mine(c) {
			return c, nil
		}
		c.Close()
	}
}

func mine(c net.Conn) bool {
	raw, err := c.(*net.UnixConn).SyscallConn()
	if err != nil {
		return false
	}
	own := false
	if err := raw.Control(func(fd uintptr) {
		who, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		own = err == nil && (int(who.Uid) == os.Getuid() || who.Uid == 0)
	}); err != nil {
		return false
	}
	return own
}
