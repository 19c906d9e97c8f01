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

// checkHome refuses a home that is not there or is no folder.
func checkHome(c *config.Config) error {
	info, err := os.Stat(c.Home)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return noHome(c)
	case err != nil:
		return problem.Refusal("home", "The home %s cannot be looked at.", c.Home).Because(err)
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

// prepareHome makes sure that there is a home to write into. It makes the
// default home at the first start; one that somebody named has to be there, so
// that a misspelt name never starts an empty house. What is refused is refused
// before anything is made.
func prepareHome(c *config.Config) error {
	if !c.HomeNamed && isMissing(c.Home) {
		if err := os.MkdirAll(c.Home, 0o700); err != nil {
			return unwritable(c.Home, err)
		}
	}
	if err := checkHome(c); err != nil {
		return err
	}
	for _, dir := range []string{c.Home, c.Booths(), c.DeskDir()} {
		if err := writable(dir); err != nil {
			return err
		}
	}
	for dir, perm := range map[string]fs.FileMode{c.Booths(): 0o755, c.DeskDir(): 0o700} {
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
	return problem.Refusal("home", "%s cannot be written to (%v). Nothing was changed.", dir, plainCause(cause)).
		WithHint("give yourself the right to (see: ls -ld %s), or name another home with --home DIR", shellQuote(filepath.Clean(dir)))
}

// plainCause is an error without the path that stands beside it.
func plainCause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// shellQuote writes a path as one word of a shell's.
func shellQuote(path string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./~+,=@%:"
	if path != "" && strings.Trim(path, plain) == "" {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
