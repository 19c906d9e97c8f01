//go:build !linux && !darwin

package sweep

import "time"

var start = time.Now()

func monotonic() time.Duration { return time.Since(start) }

func bootID() string { return "process " + process }
