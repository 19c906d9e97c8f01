package durable

import (
	"os"
	"strconv"
)

// locate is what the system calls the folder that the descriptor has open.
func (d *Dir) locate() (string, error) {
	return os.Readlink("/proc/self/fd/" + strconv.Itoa(d.fd()))
}
