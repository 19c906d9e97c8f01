//go:build linux

package main

import (
	"errors"

	"golang.org/x/sys/unix"

	"holdfast/internal/fleet/box/shim/wire"
)

// folder is the folder of the launch, by its descriptor: after the mounts are made there is
// no path to it.
type folder int

func (f folder) open(name string, flags int) (int, error) {
	for {
		fd, err := unix.Openat(int(f), name, flags|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o600)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

// lock takes the lock that shows that this shim lives, for as long as it does.
func (f folder) lock() error {
	fd, err := f.open(wire.LockFile, unix.O_RDWR|unix.O_CREAT)
	if err != nil {
		return err
	}
	return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
}

func (f folder) read(name string) ([]byte, error) {
	fd, err := f.open(name, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	return readAll(fd)
}

// create makes a file of data that was not there and is durable afterwards. It has its name
// only when it is whole.
func (f folder) create(name string, data []byte) error {
	draft := name + ".new"
	fd, err := f.open(draft, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := writeAll(fd, data); err != nil {
		_ = unix.Unlinkat(int(f), draft, 0)
		return err
	}
	return f.publish(fd, draft, name)
}

// publish gives the file that fd is, called draft, the name that nothing may have yet.
func (f folder) publish(fd int, draft, name string) error {
	if err := unix.Fsync(fd); err != nil {
		return err
	}
	if err := unix.Renameat2(int(f), draft, int(f), name, unix.RENAME_NOREPLACE); err != nil {
		return err
	}
	return unix.Fsync(int(f))
}

// reserve keeps room for a file that will have to be written on a full disk.
func (f folder) reserve(draft string) (int, error) {
	fd, err := f.open(draft, unix.O_RDWR|unix.O_CREAT|unix.O_TRUNC)
	if err != nil {
		return -1, err
	}
	room := make([]byte, 1024)
	for i := range room {
		room[i] = ' '
	}
	if err := writeAll(fd, room); err != nil {
		return -1, err
	}
	return fd, unix.Fsync(fd)
}

func readAll(fd int) ([]byte, error) {
	var all []byte
	buffer := make([]byte, 8192)
	for {
		n, err := unix.Read(fd, buffer)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			return all, err
		}
		all = append(all, buffer[:n]...)
	}
}

func writeAll(fd int, data []byte) error {
	for len(data) > 0 {
		n, err := unix.Write(fd, data)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}
