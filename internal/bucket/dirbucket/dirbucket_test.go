package dirbucket_test

import (
	"testing"

	"holdfast/internal/bucket"
	"holdfast/internal/bucket/dirbucket"
	"holdfast/internal/durable"
)

func open(t *testing.T, folder string) *dirbucket.Store {
	t.Helper()
	d, err := durable.OpenDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return dirbucket.New(d)
}

func key(t *testing.T, name string) bucket.Key {
	t.Helper()
	k, err := bucket.ParseKey(name)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestAWriteNeedsWhatWasRead(t *testing.T) {
	s, k := open(t, t.TempDir()), key(t, "control/roster.json")
	first, ok := s.Put(t.Context(), k, []byte("a"), bucket.Absent{}).(bucket.Done)
	if !ok {
		t.Fatal("the first write did not come through")
	}
	if e, ok := s.Put(t.Context(), k, []byte("b"), bucket.Absent{}).(bucket.Refused); !ok {
		t.Errorf("created twice: %v", e)
	}
	if e, ok := s.Put(t.Context(), k, []byte("b"), bucket.At(first)).(bucket.Done); !ok {
		t.Errorf("not replaced: %v", e)
	}
	if e, ok := s.Put(t.Context(), k, []byte("c"), bucket.At(first)).(bucket.Refused); !ok {
		t.Errorf("replaced on an old version: %v", e)
	}
	keys, err := s.List(t.Context(), "control/")
	if err != nil || len(keys) != 1 || keys[0] != k {
		t.Errorf("listed %v, %v", keys, err)
	}
}
