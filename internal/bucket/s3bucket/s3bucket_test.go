package s3bucket_test

import (
	"testing"
	"time"

	"holdfast/internal/bucket"
	"holdfast/internal/bucket/buckettest"
	"holdfast/internal/bucket/s3bucket"
)

// store is a store at address, under a prefix.
func store(t *testing.T, address, prefix string) *s3bucket.Store {
	t.Helper()
	return s3bucket.New(buckettest.At(t, address, prefix), time.Minute)
}

// Two gateways share one folder, as two machines share one store.
//
// Red when: Put sends neither precondition, or only one of them.
func TestAStoreInS3(t *testing.T) {
	buckettest.Credentials(t)
	folder := t.TempDir()
	one, two := buckettest.Gateway(t, folder), buckettest.Gateway(t, folder)
	buckettest.Run(t, func(t *testing.T) [2]bucket.Store {
		prefix := string(bucket.NewWriteID())
		return [2]bucket.Store{store(t, one, prefix), store(t, two, prefix)}
	})
}
