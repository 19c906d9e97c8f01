package folder

import "golang.org/x/sys/unix"

// renameNoReplace renames in one step, or not at all where to is taken. A file
// system that cannot do that says EINVAL, and nothing has changed.
func renameNoReplace(dir int, from, to string) error {
	return unix.Renameat2(dir, from, dir, to, unix.RENAME_NOREPLACE)
}
