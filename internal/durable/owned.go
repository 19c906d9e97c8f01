package durable

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// CreateLocked is [Dir.Create], and the file is locked by the caller from before it
// has its name: whoever finds it finds it whole, and locked or left. Its lock ends
// when each process that has it open ends or lets go; see [Lock.File].
func (d *Dir) CreateLocked(name string, data []byte, perm fs.FileMode) (*Lock, error) {
	if err := checkName(name); err != nil {
		return nil, refused(name, StepName, err)
	}
	t, failed, err := d.stage(data, perm)
	if err != nil {
		return nil, refused(name, failed, err)
	}
	// Where there are no locks, staging went without.
	if err := d.do(StepLock, func() error { return flock(t.file, unix.LOCK_EX|unix.LOCK_NB) }); err != nil {
		return nil, refused(name, StepLock, d.abandon(t, err))
	}
	err = d.do(StepLink, func() error {
		return again(func() error { return unix.Linkat(d.fd(), t.name, d.fd(), name, 0) })
	})
	if err != nil {
		defer t.file.Close()
		return nil, d.settle(t, name, StepLink, err)
	}
	_ = d.discard(t) // at worst it is abandoned
	if err := d.syncDir(name); err != nil {
		t.file.Close()
		return nil, err
	}
	return &Lock{file: t.file}, nil
}

// LockFile locks the file called name, which must be there and is left as it is. One
// that is locked is a [*Held].
func (d *Dir) LockFile(name string) (*Lock, error) {
	f, err := d.openRegular(name, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	if err := d.takeFile(name, f); err != nil {
		f.Close()
		return nil, err
	}
	return &Lock{file: f}, nil
}

// File is the open file that the lock is on, to read it, or to hand it to a child
// process, which then holds the lock too. It is closed by Release alone.
func (l *Lock) File() *os.File { return l.file }
