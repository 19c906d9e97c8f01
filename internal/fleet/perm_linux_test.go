//go:build perm

package fleet

import (
	"testing"

	"holdfast/internal/permtest"
)

// An ordinary user gets namespaces of another kind than root.
func TestPermNothingOfAHydraIsAlive(t *testing.T) {
	permtest.Ordinary(t)
	TestNothingOfAHydraIsAliveWhenTheReceiptExists(t)
}
