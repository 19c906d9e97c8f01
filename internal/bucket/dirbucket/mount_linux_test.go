package dirbucket_test

import (
	"testing"

	"golang.org/x/sys/unix"
)

// mountSmall mounts a file system of 256 KiB on folder for the length of the test,
// if it may.
func mountSmall(t *testing.T, folder string) bool {
	if unix.Mount("tmpfs", folder, "tmpfs", 0, "size=256k") != nil {
		return false
	}
	// What the test opened is closed only after this.
	t.Cleanup(func() {
		if err := unix.Unmount(folder, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return true
}
