//go:build long

package crashtest

// chosen says whether a moment is tried: all are.
func chosen(kill) bool { return true }
