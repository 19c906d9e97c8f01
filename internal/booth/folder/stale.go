package folder

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Glance is what one stat from the data folder says of a booth.
type Glance struct {
	Name     Name
	ID       FileID
	Modified time.Time // of the booth's folder itself
	Err      error     // why the rest is not known
}

// Glances is [Data.Names] with what the same stat has said.
func (d *Data) Glances() ([]Glance, error) {
	var out []Glance
	err := d.each(func(fd int, s string) {
		n, err := ParseName(s)
		if err != nil {
			return
		}
		m, err := statAt(fd, s)
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			out = append(out, Glance{Name: n, Err: err})
		case err == nil && m.isDir():
			out = append(out, Glance{Name: n, ID: m.FileID, Modified: timeOf(m.mtime)})
		}
	})
	slices.SortFunc(out, func(a, b Glance) int { return strings.Compare(a.Name.s, b.Name.s) })
	return out, err
}

// Stale says whether no stamp in the tree is at or after cut. It stops at the
// first that is. What cannot be read is an error: the answer is not known.
//
// It is a hint and decides nothing; [Booth.Survey] does.
func (b *Booth) Stale(ctx context.Context, cut time.Time) (bool, error) {
	buf, _ := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	return onDir(b.dir, func(booth int) (bool, error) {
		fd, err := openAt(booth, ".", dirFlags)
		if err != nil {
			return false, err
		}
		s := stale{ctx: ctx, cut: cut.UnixNano(), device: b.meta.Device, buf: *buf}
		err = s.dir(fd, b.meta, 0)
		if err == errFresh {
			return false, nil
		}
		return err == nil, err
	})
}

var errFresh = errors.New("something is fresh")

type stale struct {
	ctx    context.Context
	cut    int64
	device uint64
	buf    []byte
}

type subfolder struct {
	name string
	meta meta
}

// dir looks at one directory, which was seen before it was opened, and those in
// it, and closes fd.
func (s *stale) dir(fd int, seen meta, depth int) error {
	defer unix.Close(fd)
	if err := s.ctx.Err(); err != nil {
		return err
	}
	if m, err := statFD(fd); err != nil || !m.same(seen) {
		return orElse(err, errSwapped)
	}
	if s.fresh("", seen) {
		return errFresh
	}
	var subs []subfolder
	err := eachName(fd, s.buf, func(name string) error {
		m, err := statAt(fd, name)
		switch {
		case err == unix.ENOENT: // gone since it was listed
			return nil
		case err != nil:
			return err
		case s.fresh(name, m):
			return errFresh
		case m.isDir() && !m.mountIn(s.device):
			subs = append(subs, subfolder{name, m})
		}
		return nil
	})
	if err == nil && depth >= maxDepth && len(subs) > 0 {
		err = errTooDeep
	}
	for _, sub := range subs {
		if err != nil {
			break
		}
		var below int
		if below, err = openAt(fd, sub.name, dirFlags|unix.O_NONBLOCK); err == nil {
			err = s.dir(below, sub.meta, depth+1)
		}
	}
	return err
}

func (s *stale) fresh(name string, m meta) bool {
	if m.isRegular() && machinery(name) {
		return false
	}
	at, _ := stampOf(m)
	return at >= s.cut
}
