//go:build failpoints

package root

import (
	"os"
	"syscall"
)

// failpoint ends the process as by kill -9 at the step that HOLDFAST_FAILPOINT names, the
// first time that it is come to: the file that HOLDFAST_FAILPOINT_ONCE names is there after.
func failpoint(step string) {
	if os.Getenv("HOLDFAST_FAILPOINT") != step {
		return
	}
	f, err := os.OpenFile(os.Getenv("HOLDFAST_FAILPOINT_ONCE"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	f.Close()
	syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}
