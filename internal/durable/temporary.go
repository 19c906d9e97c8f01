package durable

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// TemporaryPrefix begins the name of each temporary file. 32 hexadecimal digits
// follow.
const TemporaryPrefix = ".holdfast-tmp-"

// IsTemporary reports whether name is one that a temporary file has.
func IsTemporary(name string) bool {
	digits, ok := strings.CutPrefix(name, TemporaryPrefix)
	_, err := hex.DecodeString(digits)
	return ok && len(digits) == 32 && err == nil
}

// newTemporary makes an empty file that nobody else has open, and locks it.
func (d *Dir) newTemporary(perm fs.FileMode) (temporary, error) {
	for {
		var random [16]byte
		rand.Read(random[:]) // never fails
		name := TemporaryPrefix + hex.EncodeToString(random[:])
		f, err := d.openAt(name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL, perm)
		if err != nil {
			return temporary{}, err
		}
		if d.claim(name, f) {
			return temporary{name: name, file: f}, nil
		}
		// RemoveAbandoned came between the two lines and took it for a dead
		// writer's. It removes the name.
		f.Close()
	}
}

// claim locks the new file f and reports whether it still is name. Where there
// are no locks RemoveAbandoned cannot remove it either.
func (d *Dir) claim(name string, f *os.File) bool {
	if errors.Is(flock(f, unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK) {
		return false
	}
	still, err := d.names(name, f)
	return still || err != nil
}

// RemoveAbandoned removes the temporary files in d whose writers are gone, and
// says how many. One that is locked is being written and stays, as does what
// only resembles one.
func (d *Dir) RemoveAbandoned() (int, error) {
	list, err := d.reopen()
	if err != nil {
		return 0, err
	}
	defer list.Close()
	names, err := list.Readdirnames(-1)
	if err != nil {
		return 0, err
	}
	removed := 0
	var failed []error
	for _, name := range names {
		if !IsTemporary(name) {
			continue
		}
		gone, err := d.removeIfAbandoned(name)
		if gone {
			removed++
		}
		failed = append(failed, err)
	}
	return removed, errors.Join(failed...)
}

// removeIfAbandoned removes the temporary file name if its lock can be had.
func (d *Dir) removeIfAbandoned(name string) (bool, error) {
	f, err := d.openRegular(name, unix.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrNotRegular) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	err = flock(f, unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	// Nobody writes it any more, nor will: a writer whose lock comes now sees
	// that the name is gone.
	if ours, err := d.names(name, f); err != nil || !ours {
		return false, err
	}
	return true, d.do(StepRemoveTemporary, func() error { return d.unlink(name) })
}

// reopen opens d once more: a listing and a lock have a place of their own.
func (d *Dir) reopen() (*os.File, error) {
	again, err := FromFile(d.file)
	if err != nil {
		return nil, err
	}
	return again.file, nil
}
