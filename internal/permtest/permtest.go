// Package permtest is for tests of missing permissions. They have the build tag
// perm, their names begin with TestPerm, and scripts/test-perm runs them as an
// ordinary user: root is stopped by no mode, so as root they prove nothing.
package permtest

import (
	"io/fs"
	"os"
	"testing"
)

// Ordinary fails a test that root would pass without proving anything.
func Ordinary(t testing.TB) {
	t.Helper()
	if os.Getuid() == 0 {
		t.Fatal("root is stopped by no mode: run this as an ordinary user (make perm)")
	}
}

// Lock sets the mode of path until the test has ended.
func Lock(t testing.TB, path string, mode fs.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(path, 0o755) })
}
