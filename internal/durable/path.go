package durable

import (
	"fmt"
	"os"
)

// Path is a path of d's folder as it is called now, for programs that take nothing
// else. It leads to d at this moment; what is renamed or replaced above it later, it does
// not follow.
func (d *Dir) Path() (string, error) {
	path, err := d.locate()
	if err != nil {
		return "", err
	}
	there, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	ours, err := d.file.Stat()
	if err != nil {
		return "", err
	}
	if !os.SameFile(there, ours) {
		return "", fmt.Errorf("%q is another folder now", path)
	}
	return path, nil
}
