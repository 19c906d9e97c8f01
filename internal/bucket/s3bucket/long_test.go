//go:build long

package s3bucket_test

import (
	"testing"

	"holdfast/internal/bucket/buckettest"
)

func TestLongThroughManyFaultsEveryAnswerOfAnUpdateIsTrue(t *testing.T) {
	buckettest.Credentials(t)
	for seed := range uint64(12) {
		linear(t, 100+seed, 6, 10)
	}
}
