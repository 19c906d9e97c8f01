package sweep

import "time"

// Clock is what time it is, for a policy that does not trust one clock alone.
type Clock interface {
	// Now is wall time, which can be set.
	Now() time.Time
	// Monotonic is time since some moment of this boot. It only goes forward, and
	// stands still while the machine sleeps.
	Monotonic() time.Duration
	// Boot names the span in which values of Monotonic can be compared.
	Boot() string
}

// SystemClock is the machine's.
func SystemClock() Clock { return system{} }

type system struct{}

func (system) Now() time.Time           { return time.Now() }
func (system) Monotonic() time.Duration { return monotonic() }
func (system) Boot() string             { return bootID() }

// process names a span that ends with this process: where the system has no name
// for a boot, each process starts the count again.
var process = time.Now().UTC().Format(time.RFC3339Nano)
