package snapshot

import (
	"os"
	"runtime"
	"slices"

	"golang.org/x/sys/unix"
)

func machineID() string { return firstLine("/etc/machine-id", "/var/lib/dbus/machine-id") }

func bootID() string { return firstLine("/proc/sys/kernel/random/boot_id") }

// localSystems is the file systems that one kernel at a time has, where flock is its
// own. A network file system makes something else of it, which a child does not
// share; what is not known is taken for one.
var localSystems = []int64{
	unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC,
	unix.TMPFS_MAGIC, unix.RAMFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC,
	0x2fc12fc1, // zfs
	0xca451a4e, // bcachefs
}

func locksOfThisKernel(f *os.File) (bool, error) {
	defer runtime.KeepAlive(f)
	var s unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &s); err != nil {
		return false, err
	}
	return slices.Contains(localSystems, int64(s.Type)), nil
}
