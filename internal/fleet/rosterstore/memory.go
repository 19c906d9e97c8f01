package rosterstore

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"holdfast/internal/canon"
	"holdfast/internal/durable"
	"holdfast/internal/problem"
)

// Memory is the highest revision that a party has verified, and which version that
// was, kept in a folder of its own. It never goes down. Several processes may share
// one; the folder's lock is theirs.
type Memory struct{ dir *durable.Dir }

// NewMemory is the memory in dir, which nothing else may use and the caller closes
// after the last call.
func NewMemory(dir *durable.Dir) *Memory { return &Memory{dir} }

// The file of a memory: canonical JSON, replaced whole.
const (
	memoryFile   = "verified.json"
	memorySchema = "holdfast-roster-memory/1"
	memorySize   = 1 << 10
	memoryWait   = 10 * time.Second
)

type remembered struct {
	Schema   string `json:"schema"`
	Bucket   string `json:"bucket"`
	Revision uint64 `json:"revision"`
	SHA256   string `json:"sha256"`
}

// Highest is the revision and digest that are remembered, 0 if nothing was
// verified yet.
func (m *Memory) Highest() (revision uint64, digest string, err error) {
	was, err := m.read()
	return was.Revision, was.SHA256, err
}

// learn remembers v, unless something newer is remembered. Another version of the
// same revision is refused.
func (m *Memory) learn(v *Version, bucket string) error {
	was, err := m.read()
	if err != nil || was.Revision >= v.Revision {
		return errors.Join(err, was.checkSame(v))
	}
	ctx, done := context.WithTimeout(context.Background(), memoryWait)
	defer done()
	lock, err := durable.Await(ctx, m.dir.LockDir)
	if err != nil {
		return m.trouble(err)
	}
	defer lock.Release()
	if was, err = m.read(); err != nil || was.Revision >= v.Revision { // another process was here
		return errors.Join(err, was.checkSame(v))
	}
	text, err := canon.Encode(remembered{memorySchema, bucket, v.Revision, v.Digest})
	if err != nil {
		return err
	}
	// A crash from here on: what was verified is remembered, or nobody built on it.
	if err := m.dir.WriteFile(memoryFile, text, 0o600); err != nil {
		return m.trouble(err)
	}
	return nil
}

func (m *Memory) read() (remembered, error) {
	text, err := m.dir.ReadFile(memoryFile, memorySize)
	if errors.Is(err, fs.ErrNotExist) {
		return remembered{}, nil
	}
	if err != nil {
		return remembered{}, m.trouble(err)
	}
	var r remembered
	if err := canon.Decode(text, &r); err != nil || r.Schema != memorySchema || r.Revision == 0 {
		return remembered{}, problem.Refusal("memory-damaged", "What was last verified of the roster cannot be read: %q in %q is damaged. Nothing is believed until it is known.", memoryFile, m.dir.Name()).
			Because(err).WithHint("put back a copy; or, if you are sure that the store is not rolled back, remove it")
	}
	return r, nil
}

func (m *Memory) trouble(err error) error {
	return problem.New(problem.Failed, "memory-unwritten", "What was verified of the roster cannot be remembered in %q. Nothing was built on it.", m.dir.Name()).Because(err)
}

// check says whether v may be the roster now, after what is remembered.
func (r remembered) check(v *Version, bucket string) error {
	switch {
	case r.Revision == 0:
		return nil
	case r.Bucket != bucket:
		return problem.Refusal("memory-bucket", "What is remembered here is of another store (%s). Nothing was believed.", r.Bucket)
	case v.Revision < r.Revision:
		return problem.Refusal("roster-rollback", "The store serves the roster of revision %d; revision %d was verified here before. Nothing was believed of it.", v.Revision, r.Revision).
			WithHint("the store was put back to an older state, or somebody serves an old copy: holdfast fleet log --candidates lists what can be made good again, with holdfast fleet restore-roster VERSION --above %d", r.Revision)
	case v.Revision == r.Revision+1 && !v.Restored && v.PrevSHA256 != r.SHA256:
		return problem.Refusal("roster-fork", "The roster of revision %d does not follow the version of revision %d that was verified here. Nothing was believed of it.", v.Revision, r.Revision)
	}
	return r.checkSame(v)
}

// gone is what a roster that is not there means.
func (r remembered) gone() error {
	if r.Revision > 0 {
		return problem.Refusal("roster-rollback", "There is no roster in the store; revision %d was verified here before. Nothing was changed.", r.Revision).
			WithHint("the store was emptied, or is another: holdfast fleet log --candidates lists what can be made good again, if its log is there")
	}
	return problem.New(problem.Gone, "fleet-absent", "There is no roster in the store. Nothing was changed.").
		WithHint("holdfast fleet init makes one")
}

func (r remembered) checkSame(v *Version) error {
	if v.Revision == r.Revision && v.Digest != r.SHA256 {
		return problem.Refusal("roster-fork", "The store serves another roster of revision %d than the one that was verified here. Nothing was believed of it.", v.Revision)
	}
	return nil
}
