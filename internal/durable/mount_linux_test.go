package durable_test

import "golang.org/x/sys/unix"

// mountSmall mounts a file system of 64 KiB on folder.
func mountSmall(folder string) error {
	return unix.Mount("tmpfs", folder, "tmpfs", 0, "size=64k")
}

func unmount(folder string) error { return unix.Unmount(folder, 0) }
