//go:build !linux

package folder

import "golang.org/x/sys/unix"

func exchange(dir int, one, other string) error {
	return unix.RenameatxNp(dir, one, dir, other, unix.RENAME_SWAP)
}
