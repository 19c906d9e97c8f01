package sweep

import (
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

func monotonic() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0 // no time ever passes, so nothing is swept
	}
	return time.Duration(t.Nano())
}

func bootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "process " + process
	}
	return strings.TrimSpace(string(id))
}
