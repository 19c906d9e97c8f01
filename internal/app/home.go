// Package app puts the house together: it is the only place that knows every
// wing. It reads the configuration, opens the home, and runs "up".
package app

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"holdfast/internal/app/config"
	"holdfast/internal/booth/folder"
	"holdfast/internal/booth/ledger"
	"holdfast/internal/durable"
	"holdfast/internal/problem"
)

// OpenBooths opens the data folder of a home that is there. It creates nothing.
func OpenBooths(c *config.Config) (*folder.Data, error) {
	if err := checkHome(c); err != nil {
		return nil, err
	}
	data, err := folder.OpenData(c.Booths())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, problem.Refusal("home", "The home %s holds no booths folder yet.", c.Home).
			WithHint("start the desk once, which makes it: holdfast up")
	}
	return data, err
}

// OpenLedger opens what the desk keeps about booths, nil where there never was
// a desk. The second result lets go of it.
func OpenLedger(c *config.Config) (*ledger.Ledger, func()) {
	dir, err := durable.OpenDir(c.DeskDir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, func() {}
	}
	if err != nil {
		return ledger.Unreadable(err), func() {}
	}
	return ledger.New(dir), func() { dir.Close() }
}

// checkHome refuses a home that is not there or is no folder.
func checkHome(c *config.Config) error {
	info, err := os.Stat(c.Home)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return noHome(c)
	case err != nil:
		return problem.Refusal("home", "The home %s cannot be looked at (%s). Nothing was changed.", c.Home, problem.Words(err)).
			WithHint("check the folders above it, or name another home with --home DIR").Because(err)
	case !info.IsDir():
		return problem.Refusal("home", "The home %s is no folder. Nothing was changed.", c.Home).
			WithHint("name another with --home DIR or HOLDFAST_HOME")
	}
	return nil
}

func noHome(c *config.Config) error {
	p := problem.Refusal("home", "There is no home at %s. Nothing was changed.", c.Home)
	if c.HomeNamed {
		return p.WithHint("check the spelling, or make it: mkdir -p %s", shellQuote(c.Home))
	}
	return p.WithHint("start the desk once, which makes it: holdfast up")
}

// mayPrepare refuses a home that could not be written into, before anything is
// made. A home that somebody named has to be there, so that a misspelt name never
// starts an empty house; the default one is made at the first start.
func mayPrepare(c *config.Config) error {
	if !c.HomeNamed && isMissing(c.Home) {
		return nil
	}
	if err := checkHome(c); err != nil {
		return err
	}
	for _, dir := range []string{c.Home, c.Booths(), c.DeskDir()} {
		if err := writable(dir); err != nil {
			return err
		}
	}
	return nil
}

// prepareHome makes what is missing of a home that mayPrepare let pass.
func prepareHome(c *config.Config) error {
	if err := os.MkdirAll(c.Home, 0o700); err != nil {
		return unwritable(c.Home, err)
	}
	for dir, perm := range map[string]fs.FileMode{c.Booths(): 0o775, c.DeskDir(): 0o700} { // less the umask
		if err := os.Mkdir(dir, perm); err != nil && !errors.Is(err, fs.ErrExist) {
			return unwritable(dir, err)
		}
	}
	return nil
}

func isMissing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// writable refuses a folder that is there and cannot be written to, or is none.
func writable(dir string) error {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(dir); err == nil {
			return problem.Refusal("home", "%s is a link to something that is not there. Nothing was changed.", dir).
				WithHint("mount or make what it leads to, or remove the link")
		}
		return nil
	}
	if err == nil && !info.IsDir() {
		return problem.Refusal("home", "%s is no folder. Nothing was changed.", dir).
			WithHint("move it away, or name another home with --home DIR")
	}
	if err == nil {
		err = unix.Access(dir, unix.R_OK|unix.W_OK|unix.X_OK)
	}
	if err != nil {
		return unwritable(dir, err)
	}
	return nil
}

func unwritable(dir string, cause error) error {
	if errors.Is(cause, unix.ENOSPC) || errors.Is(cause, unix.EDQUOT) {
		return problem.New(problem.Failed, problem.StepNoSpace, "There is no room to make %s.", dir).
			Because(cause).WithHint("make some room, or name a home on another disk with --home DIR")
	}
	return problem.Refusal("home", "%s cannot be written to (%s). Nothing was changed.", dir, problem.Words(cause)).
		WithHint("give yourself the right to (see: ls -ld %s), or name another home with --home DIR", shellQuote(filepath.Clean(dir)))
}

// shellQuote writes a path as one word of a shell's.
func shellQuote(path string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./~+,=@%:"
	if path != "" && strings.Trim(path, plain) == "" {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
