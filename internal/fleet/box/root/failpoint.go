//go:build !failpoints

package root

// failpoint is where tests end the process, in a build of their own.
func failpoint(string) {}
