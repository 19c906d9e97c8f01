//go:build linux && failpoints

package main

import (
	"os"

	"golang.org/x/sys/unix"

	"holdfast/internal/fleet/box/shim/wire"
)

// momentFile in the box's folder, which is four above that of a launch, says at which moment
// a shim is to end. The first that does removes it.
const momentFile = "shim-failpoint"

// here ends the shim, if it is the moment. An init cannot kill itself: it leaves at once,
// which ends its namespace as kill -9 from outside does.
func here(moment string) {
	box, err := unix.Openat(wire.FolderFD, "../../../..", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(box)
	fd, err := unix.Openat(box, momentFile, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	text, err := readAll(fd)
	if err == nil && string(text) == moment && unix.Unlinkat(box, momentFile, 0) == nil {
		os.Exit(137)
	}
}
