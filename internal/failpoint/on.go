//go:build failpoints

package failpoint

import (
	"os"
	"syscall"
)

// Here is a moment.
func Here(moment string) {
	if os.Getenv("HOLDFAST_FAILPOINT") != moment {
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
