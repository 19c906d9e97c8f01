package folder

import (
	"crypto/rand"
	"encoding/hex"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"holdfast/internal/problem"
)

// ID names a booth's folder while its own name is not to be used: 32
// hexadecimal digits, drawn by chance. Only [NewID] and [ParseID] make one.
type ID struct{ s string }

const idBytes = 16

// NewID draws one that no other folder has.
func NewID() ID {
	var random [idBytes]byte
	rand.Read(random[:]) // never fails
	return ID{hex.EncodeToString(random[:])}
}

// ParseID checks what may be an ID; upper case is not one.
func ParseID(s string) (ID, bool) {
	raw, err := hex.DecodeString(s)
	return ID{s}, err == nil && len(raw) == idBytes && strings.ToLower(s) == s
}

// String is the digits.
func (i ID) String() string { return i.s }

// Place is a name in the data folder that a booth's folder can have: its own,
// or one of the two that begin with a dot while it is being swept. They are as
// long as an ID, however long the booth's own name is.
type Place struct{ at string }

const (
	asidePrefix = ".sweeping-"
	trashPrefix = ".trash-"
)

// Place is where a booth of this name lies.
func (n Name) Place() Place { return Place{n.s} }

// Aside is where a folder lies while it is decided once more.
func (i ID) Aside() Place { return Place{asidePrefix + i.s} }

// Trash is where a folder lies until it is deleted.
func (i ID) Trash() Place { return Place{trashPrefix + i.s} }

// String is the name's exact bytes.
func (p Place) String() string { return p.at }

// ID is the one in the name of a folder that is being swept. A booth's own
// place has none, and neither has a name that only resembles one.
func (p Place) ID() (ID, bool) {
	for _, prefix := range []string{asidePrefix, trashPrefix} {
		if digits, ok := strings.CutPrefix(p.at, prefix); ok {
			return ParseID(digits)
		}
	}
	return ID{}, false
}

// Swept lists what has, or resembles, a name of something that is being swept.
func (d *Data) Swept() ([]Place, error) {
	var places []Place
	err := d.each(func(_ int, s string) {
		if strings.HasPrefix(s, asidePrefix) || strings.HasPrefix(s, trashPrefix) {
			places = append(places, Place{s})
		}
	})
	return places, err
}

// Standing is the folder that lies at p now. Nothing there is fs.ErrNotExist; any
// other error is that of something that is no folder, or cannot be looked at.
func (d *Data) Standing(p Place) (FileID, error) {
	m, err := onDir(d.dir, func(fd int) (meta, error) { return statAt(fd, p.at) })
	if err == nil && !m.isDir() {
		err = unix.ENOTDIR
	}
	if err != nil {
		return FileID{}, &fs.PathError{Op: "stat", Path: p.at, Err: err}
	}
	return m.FileID, nil
}

// OpenAt opens the folder that lies at p as the booth that is called name.
func (d *Data) OpenAt(p Place, name Name) (*Booth, error) {
	b, err := onDir(d.dir, func(fd int) (*Booth, error) {
		dirfd, err := openBoothAt(fd, p.at)
		if err != nil {
			return nil, err
		}
		meta, err := statFD(dirfd)
		if err != nil {
			unix.Close(dirfd)
			return nil, err
		}
		return &Booth{dir: os.NewFile(uintptr(dirfd), name.s), name: name, meta: meta}, nil
	})
	switch {
	case err == nil:
		return b, nil
	case isAny(err, unix.ENOENT, unix.ENOTDIR, unix.ELOOP):
		return nil, problem.New(problem.Gone, "booth", "There is no booth %q.", name.s).Because(err)
	default:
		return nil, problem.New(problem.Failed, "booth", "The booth %q cannot be opened.", name.s).Because(err)
	}
}

// Move gives what lies at from the name to, and has the disk confirm it. A name
// that is taken, by whatever it is, is fs.ErrExist and stays as it is. After any
// other error the folder can lie at either place.
func (d *Data) Move(from, to Place) error {
	_, err := onDir(d.dir, func(fd int) (struct{}, error) {
		if err := retry(func() error { return renameNoReplace(fd, from.at, to.at) }); err != nil {
			return struct{}{}, err
		}
		return struct{}{}, fsync(fd)
	})
	if err != nil {
		return &os.LinkError{Op: "rename", Old: from.at, New: to.at, Err: err}
	}
	return nil
}
