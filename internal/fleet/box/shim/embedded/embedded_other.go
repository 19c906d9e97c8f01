//go:build !linux || (!amd64 && !arm64)

package embedded

// Program is nil: there is no shim for this system.
func Program() []byte { return nil }
