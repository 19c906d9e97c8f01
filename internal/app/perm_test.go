//go:build perm

package app

// Root may write everywhere, so these run as an ordinary user: scripts/test-perm.

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"holdfast/internal/app/config"
	"holdfast/internal/permtest"
	"holdfast/internal/problem"
)

// Red when writable does not ask for each of the folders before one is made.
func TestPermAHomeThatMayNotBeWrittenIsRefusedAndStays(t *testing.T) {
	permtest.Ordinary(t)
	for what, c := range map[string]struct {
		folder string // in the home
		mode   fs.FileMode
	}{
		"a home that is read-only":       {".", 0o500},
		"a home that is shut":            {".", 0o600},
		"booths that are read-only":      {"booths", 0o500},
		"booths that may not be listed":  {"booths", 0o300},
		"a desk's folder, read-only":     {"desk", 0o500},
		"a desk's folder that is shut":   {"desk", 0o000},
		"a desk's folder, not enterable": {"desk", 0o600},
	} {
		home := &config.Config{Home: t.TempDir(), HomeNamed: true, Listen: "127.0.0.1:0", BasePath: "/", Login: config.LoginOpen, TTL: 1}
		if c.folder != "." {
			mkdir(t, filepath.Join(home.Home, c.folder))
		}
		list := func() []string {
			entries, err := os.ReadDir(home.Home)
			check(t, err)
			var out []string
			for _, e := range entries {
				out = append(out, e.Name())
			}
			return out
		}
		before := len(list())
		permtest.Lock(t, filepath.Join(home.Home, c.folder), c.mode)
		err := Up(context.Background(), home, Build{}, io.Discard, func(Serving) error { t.Error("serves"); return io.EOF })
		refusedAt(t, what, err, "home", "cannot be written to (permission denied). Nothing was changed.")
		check(t, os.Chmod(filepath.Join(home.Home, c.folder), 0o755))
		if got := list(); len(got) != before {
			t.Errorf("%s: made %v", what, got)
		}
	}
}

// Red when a default home below a folder that may not be written is a failure
// without words.
func TestPermADefaultHomeThatCannotBeMadeIsRefused(t *testing.T) {
	permtest.Ordinary(t)
	above := t.TempDir()
	permtest.Lock(t, above, 0o500)
	refusedAt(t, "a default home", prepare(&config.Config{Home: filepath.Join(above, "a", "home")}), "home", "cannot be written to")
	permtest.Lock(t, above, 0)
	refusedAt(t, "a home that cannot be looked at", prepare(&config.Config{Home: filepath.Join(above, "home"), HomeNamed: true}), "home", "cannot be looked at")
}

// Red when whoServes takes what it may not read for nobody.
func TestPermAFolderThatMayNotBeReadIsNotCalledEmpty(t *testing.T) {
	permtest.Ordinary(t)
	c := &config.Config{Home: t.TempDir(), HomeNamed: true}
	check(t, prepareHome(c))
	permtest.Lock(t, c.Booths(), 0)
	if _, err := OpenBooths(c); err == nil || problem.From(err, "").Reason == "" {
		t.Errorf("%v", err)
	}
	permtest.Lock(t, c.DeskDir(), 0)
	if _, err := whoServes(context.Background(), c); err == nil {
		t.Error("somebody serves")
	}
}
