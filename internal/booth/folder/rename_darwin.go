package folder

import "golang.org/x/sys/unix"

// renameNoReplace renames in one step, or not at all where to is taken. A file
// system that cannot do that says ENOTSUP, and nothing has changed.
func renameNoReplace(dir int, from, to string) error {
	return unix.RenameatxNp(dir, from, dir, to, unix.RENAME_EXCL)
}
