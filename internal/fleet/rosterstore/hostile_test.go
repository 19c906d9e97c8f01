package rosterstore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/internal/bucket"
	"holdfast/internal/fleet/rosterstore"
	"holdfast/internal/problem"
)

// Red when: a version counts that stands under another name than its own: whoever can
// write to the store could make each a version twice, so that none can be named, and
// one that was restored has no version before it.
func TestACopyInTheLogIsNoVersion(t *testing.T) {
	f := begin(t)
	s := f.party()
	old := f.update(s, label("one"))
	copies := func(v *rosterstore.Version) {
		for _, revision := range []string{"0000000001", "9999999999", "x"} {
			must(t, os.WriteFile(filepath.Join(f.dir, "control/roster/log", revision+"."+v.Digest+".json"), f.bytes(), 0o600))
		}
	}
	copies(old)
	f.update(s, label("two"))
	var seen []uint64
	must(t, s.Candidates(t.Context(), func(v *rosterstore.Version) bool { seen = append(seen, v.Revision); return true }))
	if fmt.Sprint(seen) != "[3 2 1]" {
		t.Errorf("%v", seen)
	}
	_, err := s.Restore(t.Context(), f.root, old, 0)
	must(t, err)
	if err := s.Log(t.Context(), func(rosterstore.Entry) bool { return true }); err != nil {
		t.Error(err)
	}
}

// Red when: a restore takes the last revisions that there are, after which nothing can
// be written or restored any more.
func TestARestoreLeavesRevisions(t *testing.T) {
	f := begin(t)
	s := f.party()
	v, err := s.Read(t.Context())
	must(t, err)
	for _, above := range []uint64{1<<32 + 1, 1<<53 - 2, 1<<64 - 1} {
		if _, err := s.Restore(t.Context(), f.root, v, above); step(err) != "above" {
			t.Fatalf("%d: %v", above, err)
		}
	}
	_, err = s.Restore(t.Context(), f.root, v, 1<<32)
	must(t, err)
	f.update(s, label("one"))
}

// Red when: an entry that could not be read now is passed over, so that a restored
// roster has a revision that somebody has seen.
func TestAVersionThatCannotBeReadNowStopsARestore(t *testing.T) {
	f := begin(t)
	old, err := f.party().Read(t.Context())
	must(t, err)
	f.update(f.party(), label("one"))
	before := f.bytes()
	f.bucket = flaky{f.bucket}
	if _, err := f.party().Restore(t.Context(), f.root, old, 0); !errors.Is(err, errFlaky) || string(f.bytes()) != string(before) {
		t.Errorf("%v", err)
	}
}

var errFlaky = errors.New("the store does not answer")

// flaky is a store that does not give out revision 2.
type flaky struct{ bucket.Store }

func (f flaky) Get(ctx context.Context, key bucket.Key) (bucket.Reading, error) {
	if strings.Contains(key.String(), "0000000002.") {
		return nil, errFlaky
	}
	return f.Store.Get(ctx, key)
}

// Red when: a change that is in the roster is reported as one that nobody built on,
// since it could not be remembered here.
func TestAWriteThatCannotBeRememberedWasWritten(t *testing.T) {
	f := begin(t)
	memory := t.TempDir()
	f.bucket = amnesia{f.bucket, memory}
	s := f.partyAt(memory)
	_, err := s.Update(t.Context(), f.console, label("one"))
	if step(err) != "memory-unwritten" || !strings.Contains(problem.From(err, "").Reason, "revision 2 was written") {
		t.Errorf("%v", err)
	}
	if v, err := f.party().Read(t.Context()); err != nil || v.Revision != 2 {
		t.Errorf("%v", err)
	}
}

// amnesia is a store with whose roster the folder of a memory goes away.
type amnesia struct {
	bucket.Store
	memory string
}

func (a amnesia) Put(ctx context.Context, key bucket.Key, data []byte, on bucket.Condition) bucket.Ending {
	e := a.Store.Put(ctx, key, data, on)
	if key.String() == rosterstore.Key {
		_ = os.RemoveAll(a.memory)
	}
	return e
}
