package sweep

import (
	"time"

	"golang.org/x/sys/unix"
)

// uptimeRaw is CLOCK_UPTIME_RAW of macOS: monotonic, and still while it sleeps.
const uptimeRaw = 8

func monotonic() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(uptimeRaw, &t); err != nil {
		return 0 // no time ever passes, so nothing is swept
	}
	return time.Duration(t.Nano())
}

func bootID() string {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return "process " + process
	}
	return id
}
