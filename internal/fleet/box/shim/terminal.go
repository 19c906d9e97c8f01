package shim

import (
	"net"
	"path/filepath"
	"strconv"

	"holdfast/internal/durable"
	"holdfast/internal/fleet/box/shim/wire"
)

// DialTerminal connects to the terminal of the launch whose folder is dir. It goes by the
// folder's descriptor, since a path may be too long for a socket.
func DialTerminal(dir *durable.Dir) (net.Conn, error) {
	folder, err := dir.File()
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	return net.Dial("unix", filepath.Join("/proc/self/fd", strconv.Itoa(int(folder.Fd())), wire.TerminalFile))
}
