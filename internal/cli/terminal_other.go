//go:build !linux

package cli

import (
	"os"

	"holdfast/internal/fleet"
	"holdfast/internal/problem"
)

// isTerminal says whether somebody may sit at the other end of f.
func isTerminal(f any) bool {
	file, ok := f.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func raw(*os.File) (func(), error) {
	return nil, problem.Refusal("not-on-this-system", "Work runs on Linux alone, and so do its terminals. Nothing was changed.")
}

func sized(*fleet.Attached) func() { return func() {} }
