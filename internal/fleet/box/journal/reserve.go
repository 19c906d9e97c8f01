package journal

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"holdfast/internal/problem"
)

// ReserveSize is how many bytes of the disk are kept for stops: a fence and its receipt
// need a few pages in the log, and each other stop as many again.
const ReserveSize = 4 << 20

// Reserve says whether the reserve is there, with all its bytes on the disk.
func (j *Journal) Reserve() bool {
	j.reserve.Lock()
	defer j.reserve.Unlock()
	return whole(filepath.Join(j.path, Reserve))
}

// whole says whether a file has all of the reserve: one that only says how long it is
// keeps nothing.
func whole(path string) bool {
	var s unix.Stat_t
	err := unix.Lstat(path, &s)
	return err == nil && s.Size == ReserveSize && s.Blocks*512 >= ReserveSize
}

// GiveUpReserve removes the reserve, if it is there.
func (j *Journal) GiveUpReserve() error {
	j.reserve.Lock()
	defer j.reserve.Unlock()
	return j.remove()
}

func (j *Journal) remove() error {
	if j.dir == nil {
		return errClosed
	}
	if err := j.dir.Remove(Reserve); err != nil {
		return err
	}
	return j.dir.Sync()
}

// TakeReserve makes the reserve where it is not there, or not whole. An error that is
// [ErrFull] says that there is no room for it yet.
func (j *Journal) TakeReserve() error {
	j.reserve.Lock()
	defer j.reserve.Unlock()
	path := filepath.Join(j.path, Reserve)
	if whole(path) {
		return nil
	}
	if err := j.remove(); err != nil {
		return err
	}
	if err := j.allocate(path); err != nil {
		err = errors.Join(err, j.remove())
		if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
			return problem.New(problem.Failed, problem.StepNoSpace, "There is no room for the reserve of the journal, %d bytes.", ReserveSize).
				WithHint("make room on this disk; until then the box only stops").Because(errors.Join(ErrFull, err))
		}
		return err
	}
	return j.dir.Sync()
}

func (j *Journal) allocate(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	err = allocate(f, ReserveSize)
	if errors.Is(err, errors.ErrUnsupported) {
		chance := make([]byte, ReserveSize) // which no file system stores in less
		rand.Read(chance)                   // never fails
		_, err = f.Write(chance)
	}
	if err != nil {
		return err
	}
	return f.Sync()
}
