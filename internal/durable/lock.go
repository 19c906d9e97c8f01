package durable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/internal/canon"
)

// Holder is who has a lock, as written into its file: one line of canonical
// JSON.
type Holder struct {
	PID     int       `json:"pid"`
	Command string    `json:"command"` // what it is doing, such as "holdfast up"
	Since   time.Time `json:"since"`
}

// maxHolder is how much of a lock's file is read.
const maxHolder = 4096

// Held is the error of a lock that someone has. Holder is nil where they cannot
// be told: a folder's lock names nobody, and one taken this instant not yet.
// After a holder was killed, its name can outlast it by that instant.
type Held struct {
	Name   string
	Holder *Holder
}

// Error names the lock and who has it.
func (e *Held) Error() string {
	if e.Holder == nil {
		return fmt.Sprintf("%s is locked by another process", e.Name)
	}
	return fmt.Sprintf("%s is locked by process %d (%s) since %s",
		e.Name, e.Holder.PID, e.Holder.Command, e.Holder.Since.UTC().Format(time.RFC3339))
}

// Lock is held until Release, or until the process ends.
type Lock struct {
	file  *os.File
	named bool // the file holds the holder
}

// TryLock takes the lock whose file is name in d, and writes into it that
// command has it. It makes the file if need be, and nobody ever removes it. A
// lock that is held, by this process too, is a [*Held].
func (d *Dir) TryLock(name, command string) (*Lock, error) {
	f, err := d.openRegular(name, unix.O_RDWR|unix.O_CREAT)
	if err != nil {
		return nil, err
	}
	if err := d.takeFile(name, f); err != nil {
		f.Close()
		return nil, err
	}
	// A lock without a name, on a full disk, is a lock all the same.
	_ = writeHolder(f, command)
	return &Lock{file: f, named: true}, nil
}

// takeFile locks f, opened as name in d.
func (d *Dir) takeFile(name string, f *os.File) error {
	err := d.do(StepLock, func() error { return flock(f, unix.LOCK_EX|unix.LOCK_NB) })
	if errors.Is(err, unix.EWOULDBLOCK) {
		return &Held{Name: name, Holder: readHolder(f)}
	}
	if err != nil {
		return &fs.PathError{Op: "lock", Path: name, Err: err}
	}
	// Someone who removed the file after all would let two in.
	same, err := d.names(name, f)
	if err == nil && !same {
		err = errors.New("the file was replaced while it was being locked")
	}
	if err != nil {
		return &fs.PathError{Op: "lock", Path: name, Err: err}
	}
	return nil
}

// LockDir locks the folder itself, without a file. A folder that is locked is a
// [*Held] without a holder.
func (d *Dir) LockDir() (*Lock, error) {
	f, err := d.reopen()
	if err != nil {
		return nil, err
	}
	err = flock(f, unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		return &Lock{file: f}, nil
	}
	f.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, &Held{Name: d.Name()}
	}
	return nil, &fs.PathError{Op: "lock", Path: d.Name(), Err: err}
}

// Await takes a lock by trying until it can be had or ctx ends, with the last
// [*Held] and the context's error as its error.
func Await(ctx context.Context, try func() (*Lock, error)) (*Lock, error) {
	for pause := time.Millisecond; ; pause = min(2*pause, 5*time.Millisecond) {
		l, err := try()
		var held *Held
		if !errors.As(err, &held) {
			return l, err
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(err, ctx.Err())
		case <-time.After(pause):
		}
	}
}

// Release lets the lock go. The file stays, without the holder.
func (l *Lock) Release() error {
	if l.named {
		_ = l.file.Truncate(0) // a name that stays is stale, no more
	}
	return l.file.Close()
}

// writeHolder writes into a lock's file who has it.
func writeHolder(f *os.File, command string) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	line, err := canon.Encode(Holder{PID: os.Getpid(), Command: command, Since: time.Now().UTC().Truncate(time.Second)})
	if err != nil {
		return err
	}
	_, err = f.WriteAt(append(line, '\n'), 0)
	return err
}

// readHolder reads who has the lock of f, nil if that cannot be told.
func readHolder(f *os.File) *Holder {
	line, err := io.ReadAll(io.NewSectionReader(f, 0, maxHolder))
	if err != nil {
		return nil
	}
	var h Holder
	if canon.Decode(line, &h) != nil {
		return nil
	}
	return &h
}

// flock locks the open file behind f.
func flock(f *os.File, how int) error {
	return again(func() error { return unix.Flock(int(f.Fd()), how) })
}
