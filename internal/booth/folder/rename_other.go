//go:build !linux && !darwin

package folder

import "golang.org/x/sys/unix"

// renameNoReplace needs one step, which is not known here: nothing is swept.
func renameNoReplace(int, string, string) error { return unix.ENOTSUP }
