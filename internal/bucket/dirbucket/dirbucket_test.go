package dirbucket_test

import (
	"testing"

	"holdfast/internal/bucket"
	"holdfast/internal/bucket/buckettest"
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

// Red when: Put compares nothing, or compares without the lock.
func TestAStoreInAFolder(t *testing.T) {
	buckettest.Run(t, func(t *testing.T) [2]bucket.Store {
		folder := t.TempDir()
		return [2]bucket.Store{open(t, folder), open(t, folder)}
	})
}
