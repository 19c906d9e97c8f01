// Package dirbucket keeps a bucket's objects as files in a folder of this
// machine.
//
// The object control/roster.json is the file control/roster.json in that folder,
// with the object's bytes and nothing else. Its version is the SHA-256 of its
// bytes: so equal bytes have equal versions, as they have on S3, and a caller
// who relies on more is found out here. Everything else (names that are no keys,
// temporary files) is nobody's object.
//
// Several processes may use one folder at once. A write locks the folder that
// its file is in (flock, which ends with the process), compares, and puts the
// new file in place by package durable: a create-only one by a link, which
// cannot replace anything. Nothing on the way is followed: a link, a pipe or a
// folder in an object's place is refused and left alone.
//
// A read syncs the folder before it answers. So what it answers outlasts a power
// cut, even where the writer died between putting the file in place and syncing,
// or did not know whether the sync came through. The promises hold on local file
// systems of Linux and macOS that tell upper from lower case.
package dirbucket

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"path"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"holdfast/internal/bucket"
	"holdfast/internal/durable"
	"holdfast/internal/problem"
)

// Store is a [bucket.Store] in a folder.
type Store struct {
	root *durable.Dir

	mu sync.Mutex
	// settled holds the folders whose names this Store has made durable, and
	// where it has removed what dead writers left.
	settled map[string]bool
}

var _ bucket.Store = (*Store)(nil)

// New keeps objects in root, which the caller closes after the last call.
func New(root *durable.Dir) *Store {
	return &Store{root: root, settled: map[string]bool{}}
}

// Get reads the file of key.
func (s *Store) Get(ctx context.Context, key bucket.Key) (bucket.Reading, error) {
	if err := bucket.CheckGet(key); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, unreadable(key, err)
	}
	folder, name := path.Split(key.String())
	d, err := s.open(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return bucket.Nothing{}, nil
	}
	if err != nil {
		return nil, unreadable(key, err)
	}
	defer d.Close()
	reading, err := look(d, key, name)
	if _, found := reading.(bucket.Found); found {
		if err := d.Sync(); err != nil {
			return nil, unreadable(key, err)
		}
	}
	return reading, err
}

// look reads the file name of key in d.
func look(d *durable.Dir, key bucket.Key, name string) (bucket.Reading, error) {
	data, err := d.ReadFile(name, bucket.MaxObject)
	if errors.Is(err, fs.ErrNotExist) {
		return bucket.Nothing{}, nil
	}
	if err != nil {
		return nil, unreadable(key, err)
	}
	return bucket.Found{Data: data, Version: versionOf(data)}, nil
}

// Put writes the file of key, under the lock of its folder.
func (s *Store) Put(ctx context.Context, key bucket.Key, data []byte, on bucket.Condition) bucket.Ending {
	if err := bucket.CheckPut(key, data, on); err != nil {
		return bucket.Failed{Cause: err}
	}
	if err := ctx.Err(); err != nil {
		return bucket.Failed{Cause: unwritable(key, err)}
	}
	folder, name := path.Split(key.String())
	d, err := s.make(folder)
	if err != nil {
		return bucket.Failed{Cause: unwritable(key, err)}
	}
	defer d.Close()
	lock, err := durable.Await(ctx, d.LockDir)
	if err != nil {
		return bucket.Failed{Cause: unwritable(key, err)}
	}
	defer lock.Release()
	s.sweepLocked(d, folder)
	return putLocked(d, key, name, data, on)
}

// putLocked compares and writes. The caller has d's lock.
func putLocked(d *durable.Dir, key bucket.Key, name string, data []byte, on bucket.Condition) bucket.Ending {
	now, err := look(d, key, name)
	if err != nil {
		return bucket.Failed{Cause: err}
	}
	if now.Unmoved() != on {
		return bucket.Refused{Cause: problem.Refusal("bucket-moved", "the object %s is not what it was when it was read; nothing was written", key)}
	}
	write := d.WriteFile
	if on == (bucket.Absent{}) {
		write = d.Create
	}
	return ending(key, data, write(name, data, 0o600))
}

// ending says of a write that returned err how it ended.
func ending(key bucket.Key, data []byte, err error) bucket.Ending {
	switch durable.OutcomeOf(err) {
	case durable.Done:
		return bucket.Done{Version: versionOf(data)}
	case durable.Refused:
		return bucket.Failed{Cause: unwritable(key, err)}
	case durable.Unknown:
	}
	return bucket.Unknown{Cause: problem.New(problem.Unknown, "bucket-unknown", "whether the object %s was written cannot be told", key).Because(err)}
}

// open opens a folder of objects.
func (s *Store) open(folder string) (*durable.Dir, error) {
	return s.walk(folder, func(d *durable.Dir, name, _ string) (*durable.Dir, error) {
		sub, err := d.Sub(name)
		if !errors.Is(err, unix.ENOTDIR) {
			return sub, err
		}
		if mode, looked := d.Mode(name); looked == nil && mode.IsRegular() {
			return nil, fs.ErrNotExist // an object: nothing lies below it
		}
		return nil, err
	})
}

// make opens a folder of objects and makes what is missing of it. Each folder is
// made durable once by every Store, also one that is there: whoever made it may
// have died before it was.
func (s *Store) make(folder string) (*durable.Dir, error) {
	return s.walk(folder, func(d *durable.Dir, name, whole string) (*durable.Dir, error) {
		if s.isSettled(whole) {
			return d.Sub(name)
		}
		return d.MakeSub(name, 0o700)
	})
}

// walk goes down from the root to folder by step, which is given each folder,
// the next name, and the path that they make. The caller closes what it returns.
func (s *Store) walk(folder string, step func(d *durable.Dir, name, whole string) (*durable.Dir, error)) (*durable.Dir, error) {
	d, err := s.root.Reopen()
	for at, rest := "", folder; err == nil && rest != ""; {
		name, below, _ := strings.Cut(rest, "/")
		at += name + "/"
		next, failed := step(d, name, at)
		d.Close()
		d, err, rest = next, failed, below
	}
	return d, err
}

// isSettled reports whether folder's name is durable.
func (s *Store) isSettled(folder string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settled[folder]
}

// sweepLocked removes, once for every Store, what dead writers left in folder,
// whose lock the caller has. A temporary file is its writer's while that lives:
// it has a lock of its own.
func (s *Store) sweepLocked(d *durable.Dir, folder string) {
	if s.isSettled(folder) {
		return
	}
	// What cannot be removed is in nobody's way: it is no object.
	_, _ = d.RemoveAbandoned()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settled[folder] = true
}

// versionOf is the version of an object of these bytes.
func versionOf(data []byte) bucket.Version {
	sum := sha256.Sum256(data)
	return bucket.NewVersion("sha256:" + hex.EncodeToString(sum[:]))
}

// unreadable says of key that it could not be read.
func unreadable(key bucket.Key, cause error) error {
	if errors.Is(cause, durable.ErrNotRegular) || errors.Is(cause, unix.ENOTDIR) || errors.Is(cause, unix.ELOOP) {
		return problem.Refusal("bucket-object", "something that is no object lies in the place of %s; it was left alone", key).Because(cause)
	}
	if errors.Is(cause, durable.ErrTooLarge) {
		return problem.Refusal(problem.StepTooLarge, "the object %s has more than %d bytes; it was not read", key, bucket.MaxObject).Because(cause)
	}
	return problem.New(problem.Failed, "bucket-read", "the object %s could not be read", key).Because(cause)
}

// unwritable says of key that it was not written.
func unwritable(key bucket.Key, cause error) error {
	if errors.Is(cause, durable.ErrNotRegular) || errors.Is(cause, unix.ENOTDIR) || errors.Is(cause, unix.ELOOP) {
		return unreadable(key, cause)
	}
	step, kind := "bucket-write", problem.Failed
	var public *problem.Error
	if errors.As(cause, &public) && public.Step == problem.StepNoSpace {
		step, kind = public.Step, public.Kind
	}
	return problem.New(kind, step, "the object %s could not be written; nothing was changed", key).Because(cause)
}
