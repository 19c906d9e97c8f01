//go:build !failpoints

package failpoint

// Here is a moment.
func Here(string) {}
