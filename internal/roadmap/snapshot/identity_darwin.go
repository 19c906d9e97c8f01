package snapshot

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

func machineID() string { return "" } // the name of the host has to do

func bootID() string {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
}

// A file system that is local is this kernel's alone.
func locksOfThisKernel(f *os.File) (bool, error) {
	defer runtime.KeepAlive(f)
	var s unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &s); err != nil {
		return false, err
	}
	return s.Flags&unix.MNT_LOCAL != 0, nil
}
