//go:build !linux

package dirbucket_test

import "testing"

// mountSmall mounts nothing here.
func mountSmall(*testing.T, string) bool { return false }
