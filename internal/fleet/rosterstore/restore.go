package rosterstore

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"holdfast/internal/bucket"
	"holdfast/internal/problem"
	"holdfast/internal/sign"
)

// Candidates gives the versions in the log that can be restored to each, the newest
// first, until it returns false: those that can be verified, whether they ever were the
// roster or not.
func (s *Store) Candidates(ctx context.Context, each func(*Version) bool) error {
	keys, err := s.bucket.List(ctx, logPrefix)
	if err != nil {
		return err
	}
	for _, key := range slices.Backward(keys) {
		_, rest, _ := strings.Cut(key.String(), ".")
		v, err := s.entry(ctx, key, strings.TrimSuffix(rest, ".json"))
		switch {
		case err != nil && problem.KindOf(err) != problem.Refused:
			return err // it may be a version, and the highest
		case err == nil && !each(v):
			return nil
		}
	}
	return nil
}

// mostAbove is the highest revision that a restored roster can be put above. There are
// more, which are for what is written after it.
const mostAbove = 1 << 32

// Restore makes the contents of an old version, one of [Store.Candidates], the roster
// again: signed by the root key, over whatever stands there, and under a revision
// above each that this party has verified or finds in the log, and above the one that
// is given: the highest that any box reports.
//
// What was changed after the old version is undone, but for what [roster.Roster.Keep]
// takes over from the newest version in the log: no box comes back by it.
func (s *Store) Restore(ctx context.Context, root sign.Key, old *Version, above uint64) (*Version, error) {
	if above > mostAbove {
		return nil, problem.New(problem.Usage, "above", "No fleet has a revision above %d; %d would leave none to go on with. Nothing was changed.", mostAbove, above)
	}
	highest, _, err := s.memory.Highest()
	if err != nil {
		return nil, err
	}
	newest := old
	if err := s.Candidates(ctx, func(c *Version) bool {
		newest = c
		return false // the first is the highest
	}); err != nil {
		return nil, err
	}
	revision := max(above, highest, newest.Revision)
	v := &Version{Roster: old.Clone(), Restored: true}
	v.Keep(newest.Roster)
	v.Follow(old.Digest, freshWrites(revision+1), revision+1, s.now())
	c := &swap{store: s, key: root}
	data, err := c.seal(v, purposeRestore)
	if err != nil {
		return nil, err
	}
	if err := s.replace(ctx, logging{s.bucket, c}, data); err != nil {
		return nil, err
	}
	if err := s.learn(v); err != nil {
		return nil, unremembered(v.Revision, err)
	}
	return v, nil
}

// freshWrites are the writes that a restored roster names: it goes on from none.
func freshWrites(revision uint64) []string {
	ids := make([]string, min(revision, bucket.MaxWrites))
	for i := range ids {
		ids[i] = string(bucket.NewWriteID())
	}
	return ids
}

// replace puts data where the roster is, whatever is there.
func (s *Store) replace(ctx context.Context, l logging, data []byte) error {
	key, err := bucket.ParseKey(Key)
	if err != nil {
		return err
	}
	reading, err := s.bucket.Get(ctx, key)
	if err != nil {
		return err
	}
	var cause error
	switch e := l.Put(ctx, key, data, reading.Unmoved()).(type) {
	case bucket.Done:
		return nil
	case bucket.Failed:
		return e.Cause
	case bucket.Refused:
		cause = e.Cause
	case bucket.Unknown:
		cause = e.Cause
	}
	now, err := s.bucket.Get(ctx, key)
	if found, ok := now.(bucket.Found); err == nil && ok && bytes.Equal(found.Data, data) {
		return nil
	}
	return problem.New(problem.Unknown, "restore-unknown", "Whether the roster was restored cannot be told.").
		WithHint("look at it: holdfast fleet boxes; restoring again is safe").Because(fmt.Errorf("%w; %w", cause, err))
}
