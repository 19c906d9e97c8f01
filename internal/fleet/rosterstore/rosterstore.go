// Package rosterstore keeps the roster in a bucket: signed, swapped, and never
// rolled back unnoticed.
//
// The object control/roster.json is an envelope (package sign) around a roster's
// bytes (package roster). It is signed by one console, whose row in that same
// roster has a grant: an envelope in which the root key says that this key is that
// console's. So whoever has the root's public key can verify any roster, and only a
// key that the root has granted can make one. A roster that was restored has a
// purpose of its own and is signed by the root key itself.
//
// A reader remembers, durably, the highest revision that it has verified and the
// digest of that version ([Memory]). A roster below it is refused, one of the same
// revision with other bytes too, and one that is the next and does not name it as
// the version before. There is no way down: a restored roster has old contents
// under a new revision.
//
// Each version is written create-only to control/roster/log/REVISION.SHA256.json
// before the swap that makes it the roster, so every version that ever was can be
// found, and says which was before it. What stands there and was never swapped in is
// the trace of a writer that lost.
//
// [Store.Update] is the only place that swaps. What became of a write whose answer
// was lost is settled by package bucket from what the roster itself says.
package rosterstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"holdfast/internal/bucket"
	"holdfast/internal/fleet/roster"
	"holdfast/internal/problem"
	"holdfast/internal/sign"
)

// What is signed here, each for one use.
const (
	purposeRoster  sign.Purpose = "application/vnd.holdfast.roster.v1+json"
	purposeRestore sign.Purpose = "application/vnd.holdfast.roster-restored.v1+json"
	purposeGrant   sign.Purpose = "application/vnd.holdfast.console-grant.v1+json"
)

// Key is where the roster is.
const Key = "control/roster.json"

// patience is how long an update goes on against others that write and a store that
// does not answer. A caller with less says so by its context.
const patience = 2 * time.Minute

// Trust is what a party knows of its fleet before it reads anything.
type Trust struct {
	Root   sign.Public // the root's public key
	Bucket string      // the store's random name, which stands in each roster
}

// Store is the roster of one bucket, as one party reads and writes it. It is safe
// for concurrent use, and by several processes with one memory.
type Store struct {
	bucket bucket.Store
	trust  Trust
	memory *Memory
	now    func() time.Time

	mu    sync.Mutex
	last  *Version // what was last verified, for its bytes
	bytes [sha256.Size]byte
}

// New is the roster in b, of which nothing is read yet.
func New(b bucket.Store, trust Trust, memory *Memory) *Store {
	return &Store{bucket: b, trust: trust, memory: memory, now: time.Now}
}

// Version is a roster that was verified. It is shared and must not be changed.
type Version struct {
	*roster.Roster
	Digest   string // SHA-256 of its bytes, in lower-case hexadecimal
	Signer   string // the console that signed it; empty for one that was restored
	Restored bool
	envelope []byte
	base     *Version // while it is being made: what it changes
}

// Read reads the roster now, verifies it and remembers that it did. Its refusals:
// fleet-absent (there is no roster), roster-rollback, roster-fork, roster-bucket,
// roster-signer, and those of packages roster and sign. An error of the store is no
// refusal.
func (s *Store) Read(ctx context.Context) (*Version, error) {
	key, err := bucket.ParseKey(Key)
	if err != nil {
		return nil, err
	}
	floor, err := s.memory.read()
	if err != nil {
		return nil, err
	}
	reading, err := s.bucket.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	switch r := reading.(type) {
	case bucket.Nothing:
		return nil, floor.gone()
	case bucket.Found:
		return s.believe(r.Data, floor)
	}
	return nil, fmt.Errorf("a reading of another kind: %T", reading)
}

// Update changes the roster by change, in the name of the console whose key
// it is. The change is called with a copy, again each time that another writer was
// faster. It returns what the roster is then. A change
// that finds its work done returns [roster.ErrUnchanged], and is no failure.
//
// The change is seen by nobody before the step is judged ([roster.Transition]) and
// its version is in the log. An *[bucket.Unsettled] says that it could not be told
// in time whether the swap took effect.
func (s *Store) Update(ctx context.Context, key sign.Key, change func(*roster.Roster) error) (*Version, error) {
	c := &swap{store: s, key: key}
	return s.swap(ctx, c, func(v *Version, exists bool) (*Version, error) {
		if !exists {
			return nil, c.floor.gone()
		}
		next := v.Clone()
		switch err := change(next); {
		case errors.Is(err, roster.ErrUnchanged):
			return nil, bucket.ErrUnchanged
		case err != nil:
			return nil, err
		}
		return &Version{Roster: next, base: v}, nil
	})
}

// Init writes the first version, made by first, if there is no roster.
func (s *Store) Init(ctx context.Context, key sign.Key, first func() (*roster.Roster, error)) (*Version, error) {
	c := &swap{store: s, key: key}
	return s.swap(ctx, c, func(v *Version, exists bool) (*Version, error) {
		if exists {
			return nil, problem.Refusal("fleet-present", "There is a roster in the store already, at revision %d. Nothing was changed.", v.Revision)
		}
		if c.floor.Revision > 0 {
			return nil, c.floor.gone()
		}
		r, err := first()
		return &Version{Roster: r}, err
	})
}

func (s *Store) swap(ctx context.Context, c *swap, change bucket.Change[*Version]) (*Version, error) {
	key, err := bucket.ParseKey(Key)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	done, err := bucket.Update(ctx, logging{s.bucket, c}, key, c, change)
	if err != nil {
		return nil, err
	}
	// A crash here: the version is the roster, and the next read remembers it.
	if err := s.learn(done.Value); err != nil {
		return nil, unremembered(done.Revision, err)
	}
	return done.Value, nil
}

// unremembered is the error of a write that took effect and could not be remembered.
// What stood in the way may say that nothing was built on it, which is not so.
func unremembered(revision uint64, err error) error {
	step := stepOf(err)
	if step == "" {
		step = "memory-unwritten"
	}
	return problem.New(problem.KindOf(err), step, "The roster of revision %d was written, as it was asked for, and could not be remembered here.", revision).
		WithHint("do not do it again: holdfast fleet log shows it; see that the home can be written").Because(err)
}

// swap is one update: how versions become bytes in it.
type swap struct {
	store *Store
	key   sign.Key

	floor  remembered // what was remembered before the last read began
	made   *Version   // the last that was sealed
	logged *Version   // the last that is in the log
}

// Decode verifies what was read.
func (c *swap) Decode(data []byte) (*Version, bucket.History, error) {
	v, err := c.store.believe(data, c.floor)
	if err != nil {
		return nil, bucket.History{}, err
	}
	return v, history(v.Roster), nil
}

// Encode completes a version with its history, judges the step, and signs it.
func (c *swap) Encode(v *Version, h bucket.History) ([]byte, error) {
	ids := make([]string, len(h.Writes))
	for i, w := range h.Writes {
		ids[i] = string(w.WriteID)
	}
	prev := ""
	if v.base != nil {
		prev = v.base.Digest
	}
	v.Follow(prev, ids, h.Revision(), c.store.now())
	if v.base != nil {
		if err := roster.Transition(v.base.Roster, v.Roster); err != nil {
			return nil, err
		}
	}
	return c.seal(v, purposeRoster)
}

// seal signs v, and checks that every reader would believe it.
func (c *swap) seal(v *Version, p sign.Purpose) ([]byte, error) {
	payload, err := v.Encode()
	if err != nil {
		return nil, err
	}
	envelope, err := sign.Seal(p, payload, c.key)
	if err != nil {
		return nil, err
	}
	signer, public, err := c.store.signer(v.Roster, p, []string{c.key.Public().ID()})
	if err != nil {
		return nil, err
	}
	if public != c.key.Public() {
		return nil, problem.Refusal("envelope-signer", "Only the root key restores a roster. Nothing was changed.")
	}
	v.Digest, v.envelope, v.Signer = digest(payload), envelope, signer
	c.made = v
	return envelope, nil
}

func digest(payload []byte) string {
	sum := sha256.Sum256(payload)
	return hex.EncodeToString(sum[:])
}

// believe verifies an envelope: that it is a roster of this bucket, that somebody
// signed it who may, and that it is none below floor: what was remembered before the
// read began. (What another process learns meanwhile is no measure for it.) It is
// remembered in its turn. The same bytes are verified once.
func (s *Store) believe(data []byte, floor remembered) (*Version, error) {
	v := s.known(data)
	if v == nil {
		var err error
		if v, err = s.verify(data); err != nil {
			return nil, err
		}
	}
	if err := floor.check(v, s.trust.Bucket); err != nil {
		return nil, err
	}
	return v, s.learn(v)
}

// known is the version of these bytes, if it is the last that was verified.
func (s *Store) known(data []byte) *Version {
	sum := sha256.Sum256(data)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bytes == sum {
		return s.last
	}
	return nil
}

// learn remembers that v was verified, unless something newer was.
func (s *Store) learn(v *Version) error {
	if err := s.memory.learn(v, s.trust.Bucket); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil || v.Revision > s.last.Revision {
		s.last, s.bytes = v, sha256.Sum256(v.envelope)
	}
	return nil
}

// verify reads an envelope and believes what it proves: nothing of memory.
func (s *Store) verify(data []byte) (*Version, error) {
	purpose := purposeRoster
	e, err := sign.Read(data, purpose)
	if stepOf(err) == "envelope-purpose" {
		restored, again := sign.Read(data, purposeRestore)
		if again == nil {
			e, err, purpose = restored, nil, purposeRestore
		}
	}
	if err != nil {
		return nil, err
	}
	r, err := roster.Decode(e.Claimed())
	if err != nil {
		return nil, err
	}
	if r.Bucket != s.trust.Bucket {
		return nil, problem.Refusal("roster-bucket", "The roster is that of another store (%s, not %s). Nothing was believed of it.", r.Bucket, s.trust.Bucket)
	}
	name, public, err := s.signer(r, purpose, e.KeyIDs())
	if err != nil {
		return nil, err
	}
	if _, err := e.Verify(public); err != nil {
		return nil, err
	}
	return &Version{Roster: r, Digest: digest(e.Claimed()), Signer: name, Restored: purpose == purposeRestore, envelope: slices.Clone(data)}, nil
}

// signer says whose signature an envelope of r needs that says it is signed by keys:
// that of one console, or for one that was restored the root's. Its refusal has the step
// roster-signer.
func (s *Store) signer(r *roster.Roster, p sign.Purpose, keys []string) (console string, public sign.Public, err error) {
	if p == purposeRestore {
		return "", s.trust.Root, nil
	}
	for name, c := range r.Consoles { // all of them: a roster with one that is not granted is none
		granted, err := s.granted(name, c)
		if err != nil {
			return "", sign.Public{}, err
		}
		if slices.Equal(keys, []string{granted.ID()}) {
			console, public = name, granted
		}
	}
	if console == "" {
		return "", sign.Public{}, problem.Refusal("roster-signer", "The roster is not signed by a console that stands in it, but by %s. Nothing was believed of it.", strings.Join(keys, ", "))
	}
	return console, public, nil
}

func history(r *roster.Roster) bucket.History {
	h := bucket.History{}
	for i, id := range r.Writes {
		h.Writes = append(h.Writes, bucket.Write{WriteID: bucket.WriteID(id), Revision: r.Revision - uint64(len(r.Writes)-1-i)})
	}
	h.WriteID = h.Writes[len(h.Writes)-1].WriteID
	return h
}

func stepOf(err error) string {
	var p *problem.Error
	if errors.As(err, &p) {
		return p.Step
	}
	return ""
}
