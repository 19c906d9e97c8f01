package folder

import (
	"errors"
	"io/fs"
	"strings"

	"golang.org/x/sys/unix"
	"golang.org/x/text/unicode/norm"
)

// Find resolves a path as it was asked for. Its exact bytes come first; else
// the one item whose NFC form equals raw's, component by component. Several or
// none, or a raw that is no [ItemPath], is Gone at step "item". Exact bytes that
// name something not served are an error as from [Booth.Open].
func (b *Booth) Find(raw string) (ItemPath, error) {
	if why := badPath(raw); why != "" {
		return ItemPath{}, noItem(raw)
	}
	found, err := onDir(b.dir, func(root int) (string, error) { return find(root, raw) })
	if err != nil {
		return ItemPath{}, readWords(raw, err)
	}
	return ItemPath{found}, nil
}

func find(root int, raw string) (string, error) {
	_, err := lookRegular(root, raw)
	var u *Unserved
	if err == nil {
		return raw, nil
	}
	folder := errors.As(err, &u) && u.Why == Directory // no item has this name
	if !folder && !errors.Is(err, fs.ErrNotExist) && err != unix.ENOTDIR {
		return "", err
	}
	return findNormal(root, raw)
}

// errSeveral ends a search that found a second match.
var errSeveral = errors.New("several items have this name once normalised")

// findNormal looks for the one regular file whose path has raw's NFC form.
// Directories of one form are all searched. It enters no link and no mount.
func findNormal(root int, raw string) (string, error) {
	top, err := openAt(root, ".", dirFlags)
	if err != nil {
		return "", err
	}
	defer unix.Close(top)
	m, err := statFD(top)
	if err != nil {
		return "", err
	}
	s := search{device: m.Device}
	if err := s.in(top, "", norm.NFC.String(raw)); err != nil {
		return "", errors.Join(fs.ErrNotExist, err)
	}
	if s.found == "" {
		return "", fs.ErrNotExist
	}
	return s.found, nil
}

type search struct {
	device uint64
	found  string
}

// in searches one directory, whose own path is prefix, for what wanted (in NFC)
// names below it.
func (s *search) in(dir int, prefix, wanted string) error {
	first, rest, more := strings.Cut(wanted, "/")
	var names []string
	err := eachName(dir, make([]byte, direntBuffer), func(name string) error {
		if badComponent(name) == "" && norm.NFC.String(name) == first {
			names = append(names, name)
		}
		return nil
	})
	for _, name := range names {
		if err != nil {
			break
		}
		if more {
			err = s.into(dir, prefix, name, rest)
		} else {
			err = s.take(dir, prefix+name, name)
		}
	}
	return err
}

func (s *search) into(dir int, prefix, name, rest string) error {
	fd, err := stepInto(dir, name, s.device, dirFlags)
	if err != nil {
		return nil // nothing that can be entered, so nothing that could be opened
	}
	defer unix.Close(fd)
	return s.in(fd, prefix+name+"/", rest)
}

func (s *search) take(dir int, path, name string) error {
	m, err := statAt(dir, name)
	if err != nil || !m.isRegular() || m.mountIn(s.device) || len(path) > maxPath {
		return nil
	}
	if s.found != "" {
		return errSeveral
	}
	s.found = path
	return nil
}
