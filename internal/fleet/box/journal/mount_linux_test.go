package journal_test

import "golang.org/x/sys/unix"

// mount mounts a file system of so many bytes on folder.
func mount(folder, size string) error { return unix.Mount("tmpfs", folder, "tmpfs", 0, "size="+size) }

func unmount(folder string) error { return unix.Unmount(folder, 0) }
