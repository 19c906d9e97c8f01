// Package failpoint is where tests of crashes end a process: it marks the moments right
// before and right after a step that lasts.
//
// In the program that people use it does nothing. Built with the tag failpoints, a process
// that comes to the moment which HOLDFAST_FAILPOINT names ends there as by kill -9, the
// first time only: the file that HOLDFAST_FAILPOINT_ONCE names is there after, and keeps
// every other process from ending.
package failpoint

// Before and After are the moments of a step, as they are named.
const (
	Before = ":before"
	After  = ":after"
)
