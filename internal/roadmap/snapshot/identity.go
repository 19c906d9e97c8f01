package snapshot

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
)

// identity is where this process runs. A machine or boot that has no name of its
// own is "", and owns nothing.
type identity struct {
	machine string
	boot    string
	// trust reports whether a lock on f tells who is alive: whether all that could
	// hold it are processes of this kernel, and what they start shares it.
	trust func(f *os.File) (bool, error)
}

func thisProcess() identity {
	id := machineID()
	if id == "" {
		if host, err := os.Hostname(); err == nil {
			id = "host " + host
		}
	}
	if id != "" { // an id that should not leave the machine as it is
		sum := sha256.Sum256([]byte("holdfast machine\x00" + id))
		id = hex.EncodeToString(sum[:16])
	}
	return identity{machine: id, boot: bootID(), trust: locksOfThisKernel}
}

// firstLine is the trimmed content of the first of these files that has any.
func firstLine(paths ...string) string {
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if text := strings.TrimSpace(string(data)); err == nil && text != "" {
			return text
		}
	}
	return ""
}
