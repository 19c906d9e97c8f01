package rosterstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"holdfast/internal/bucket"
	"holdfast/internal/fleet/roster"
	"holdfast/internal/problem"
)

// logPrefix is where versions are, each under its revision in ten digits, a dot, the
// digest of its bytes, and .json.
const logPrefix = "control/roster/log/"

func logKey(revision uint64, digest string) (bucket.Key, error) {
	return bucket.ParseKey(fmt.Sprintf("%s%010d.%s.json", logPrefix, revision, digest))
}

// logging is a bucket in which each version of the roster is in the log before it is
// the roster.
type logging struct {
	bucket.Store
	swap *swap
}

// Get notes what is remembered before it reads.
func (l logging) Get(ctx context.Context, key bucket.Key) (bucket.Reading, error) {
	var err error
	if l.swap.floor, err = l.swap.store.memory.read(); err != nil {
		return nil, err
	}
	return l.Store.Get(ctx, key)
}

// Put writes the version to the log, and then as the roster. While the first is not
// done, the second is not sent.
func (l logging) Put(ctx context.Context, key bucket.Key, data []byte, on bucket.Condition) bucket.Ending {
	if err := l.log(ctx, data); err != nil {
		return bucket.Failed{Cause: err}
	}
	// A crash here leaves a version in the log that never was the roster.
	return l.Store.Put(ctx, key, data, on)
}

func (l logging) log(ctx context.Context, data []byte) error {
	v := l.swap.made
	if v == nil || !bytes.Equal(v.envelope, data) {
		return errors.New("a roster is to be written that was not made here")
	}
	if l.swap.logged == v {
		return nil
	}
	key, err := logKey(v.Revision, v.Digest)
	if err != nil {
		return err
	}
	switch e := l.Store.Put(ctx, key, data, bucket.Absent{}).(type) {
	case bucket.Done:
	case bucket.Failed:
		return e.Cause
	case bucket.Refused:
		err = l.there(ctx, key, data, e.Cause)
	case bucket.Unknown:
		err = l.there(ctx, key, data, e.Cause)
	}
	if err == nil {
		l.swap.logged = v
	}
	return err
}

// there says whether the entry is in the log after all.
func (l logging) there(ctx context.Context, key bucket.Key, data []byte, cause error) error {
	reading, err := l.Store.Get(ctx, key)
	if err != nil {
		return errors.Join(cause, err)
	}
	if found, ok := reading.(bucket.Found); ok && bytes.Equal(found.Data, data) {
		return nil
	}
	return problem.New(problem.Failed, "roster-log", "The version could not be written to the roster's log, and was not made the roster. Nothing was changed.").Because(cause)
}

// Entry is one version in the log, as the walk from the newest back comes to it.
type Entry struct {
	*Version
	// Before is the version that it follows, nil if it is the first.
	Before *Version
}

// Log walks the versions from the newest back, as each names the one before, and
// gives them to each until it returns false. Every version is verified, and every
// step judged. Its refusals have the step roster-log: a version is not in the log, or
// is not what it should be.
func (s *Store) Log(ctx context.Context, each func(Entry) bool) error {
	v, err := s.Read(ctx)
	for err == nil {
		var before *Version
		if v.PrevSHA256 != "" {
			if before, err = s.before(ctx, v); err != nil {
				return err
			}
		}
		if !each(Entry{v, before}) || before == nil {
			return nil
		}
		v = before
	}
	return err
}

// before reads the version that v follows.
func (s *Store) before(ctx context.Context, v *Version) (*Version, error) {
	if v.Restored {
		return s.restored(ctx, v)
	}
	key, err := logKey(v.Revision-1, v.PrevSHA256)
	if err != nil {
		return nil, err
	}
	before, err := s.entry(ctx, key, v.PrevSHA256)
	if err != nil {
		return nil, err
	}
	if err := roster.Transition(before.Roster, v.Roster); err != nil {
		return nil, broken("revision %d does not follow from revision %d", v.Revision, before.Revision).Because(err)
	}
	return before, nil
}

// restored finds the version that v, which was restored, names as the one before:
// any of a lower revision.
func (s *Store) restored(ctx context.Context, v *Version) (*Version, error) {
	keys, err := s.bucket.List(ctx, logPrefix)
	if err != nil {
		return nil, err
	}
	missing := broken("what revision %d was restored over is not there", v.Revision)
	for _, key := range keys {
		if strings.HasSuffix(key.String(), "."+v.PrevSHA256+".json") {
			before, err := s.entry(ctx, key, v.PrevSHA256)
			if err == nil {
				return before, nil
			}
			missing = missing.Because(err) // maybe a copy, under a name that is not its own
		}
	}
	return nil, missing
}

// entry reads and verifies one version of the log.
func (s *Store) entry(ctx context.Context, key bucket.Key, digest string) (*Version, error) {
	reading, err := s.bucket.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	found, ok := reading.(bucket.Found)
	if !ok {
		return nil, broken("%s is not there", key)
	}
	v, err := s.verify(found.Data)
	if err != nil {
		return nil, broken("%s is not what it should be", key).Because(err)
	}
	if v.Digest != digest {
		return nil, broken("%s holds other bytes than its name says", key)
	}
	if own, err := logKey(v.Revision, v.Digest); err != nil || own != key {
		return nil, broken("%s is a copy of revision %d under another name", key, v.Revision)
	}
	return v, nil
}

func broken(format string, args ...any) *problem.Error {
	e := problem.Refusal("roster-log", format, args...)
	e.Reason = "The roster's log is broken: " + e.Reason + ". Nothing was changed."
	return e
}
