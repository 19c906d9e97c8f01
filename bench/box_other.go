//go:build !linux

package main

// boxes has nothing to measure: nothing runs on a box here.
func boxes(l *lab) error {
	l.row("a run and a stop", "", "", "", "only on Linux")
	return nil
}
