package durable_test

import "golang.org/x/sys/unix"

// locatesByDescriptor: a folder is found wherever it was moved.
const locatesByDescriptor = true

// mountSmall mounts a file system of 64 KiB on folder.
func mountSmall(folder string) error {
	return unix.Mount("tmpfs", folder, "tmpfs", 0, "size=64k")
}

func unmount(folder string) error { return unix.Unmount(folder, 0) }

// bind mounts what folder has at place too.
func bind(folder, place string) error { return unix.Mount(folder, place, "", unix.MS_BIND, "") }
