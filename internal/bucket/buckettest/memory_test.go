package buckettest_test

import (
	"testing"

	"holdfast/internal/bucket"
	"holdfast/internal/bucket/buckettest"
)

// The fake is held to what the real ones are.
func TestAStoreInMemory(t *testing.T) {
	buckettest.Run(t, func(t *testing.T) [2]bucket.Store {
		m := buckettest.NewMemory(t)
		return [2]bucket.Store{m, m}
	})
}
