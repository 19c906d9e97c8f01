//go:build perm

package cli

import (
	"os"
	"testing"

	"holdfast/internal/permtest"
)

// The rows of the lifetime table for which a mode has to stop the desk. Red when
// what may not be read counts as absent.
func TestPermWhatMayNotBeReadHolds(t *testing.T) {
	permtest.Ordinary(t)
	hold(t, []row{
		{"mode-000", func(t *testing.T, d *briefDesk, dir string) {
			file(".marks.json", marksDoc(donePick))(t, d, dir)
			permtest.Lock(t, dir+"/.marks.json", 0)
		}, unreadable},
		{"closed", func(t *testing.T, _ *briefDesk, dir string) {
			must(t, os.Mkdir(dir+"/inner", 0o755))
			permtest.Lock(t, dir+"/inner", 0)
		}, "held · cannot be read: inner"},
	})
}
