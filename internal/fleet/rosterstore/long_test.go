//go:build long

package rosterstore_test

import (
	"testing"

	"holdfast/internal/bucket/buckettest"
)

func TestLongReadsAndUpdatesAreInOneOrderThroughManyFaults(t *testing.T) {
	buckettest.Credentials(t)
	for seed := range uint64(10) {
		linear(t, 200+seed, 5, 8)
	}
}
