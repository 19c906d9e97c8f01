package folder

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"holdfast/internal/problem"
)

// Sized is a reader whose length is known, such as the body of a request with
// a Content-Length. [Booth.Put] checks the space for it first, and refuses an
// upload that ends at another length.
type Sized struct {
	io.Reader

	Length int64
}

// Put writes an item: to a temporary name, synced, renamed into place, the
// directory synced. Folders on the way are made. created is false where it
// replaced an item.
//
// More than limit bytes are refused, and so is a path through or onto a link, a
// mount, or anything but a folder and a regular file. After an error nothing
// has changed; only where the kind is Unknown the item is in place and the disk
// did not confirm it.
func (b *Booth) Put(item ItemPath, r io.Reader, limit int64) (created bool, err error) {
	size := lengthOf(r)
	if size > limit {
		return false, tooLarge(item.s, limit)
	}
	created, err = onDir(b.dir, func(root int) (bool, error) {
		if err := roomFor(root, size); err != nil {
			return false, err
		}
		w, err := shelfFor(root, item)
		if err != nil {
			return false, err
		}
		defer w.close()
		created, err := w.put(item, r, size, limit)
		if err != nil && problem.KindOf(err) != problem.Unknown {
			w.unmake()
		}
		return created, err
	})
	return created, writeWords(item.s, err)
}

// lengthOf is how many bytes r will give, -1 where that is not known.
func lengthOf(r io.Reader) int64 {
	switch r := r.(type) {
	case Sized:
		return r.Length
	case *Sized:
		return r.Length
	case interface{ Len() int }: // bytes and strings
		return int64(r.Len())
	default:
		return -1
	}
}

// shelf is the open directory that an item goes into, and what was made to get
// there.
type shelf struct {
	dir  int
	open []int // every descriptor, dir the last
	made []made
}

type made struct {
	parent int
	name   string
}

// shelfFor opens item's directory below root, making what is missing. Where it
// fails it has undone that.
func shelfFor(root int, item ItemPath) (*shelf, error) {
	self, err := openAt(root, ".", dirFlags)
	if err != nil {
		return nil, err
	}
	s := &shelf{dir: self, open: []int{self}}
	top, err := statFD(self)
	rest := item.s
	for err == nil {
		name, after, more := strings.Cut(rest, "/")
		if !more {
			return s, nil
		}
		err = s.enter(name, top.Device)
		rest = after
	}
	s.unmake()
	s.close()
	return nil, err
}

func (s *shelf) enter(name string, device uint64) error {
	err := makeDir(s.dir, name)
	switch {
	case err == nil:
		s.made = append(s.made, made{s.dir, name})
	case !errors.Is(err, fs.ErrExist):
		return err
	}
	fd, err := stepInto(s.dir, name, device, dirFlags)
	if err != nil {
		return err
	}
	s.dir = fd
	s.open = append(s.open, fd)
	return nil
}

// unmake removes the folders that were made, as far as they are still empty.
func (s *shelf) unmake() {
	for i := len(s.made) - 1; i >= 0; i-- {
		m := s.made[i]
		retry(func() error { return unix.Unlinkat(m.parent, m.name, unix.AT_REMOVEDIR) })
	}
}

func (s *shelf) close() {
	for _, fd := range s.open {
		unix.Close(fd)
	}
}

func (s *shelf) put(item ItemPath, r io.Reader, size, limit int64) (created bool, err error) {
	if _, err := s.target(item); err != nil {
		return false, err
	}
	temp := ".put-" + rand.Text()
	const fresh = unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := again(func() (int, error) { return unix.Openat(s.dir, temp, fresh, 0o644) })
	if err != nil {
		return false, err
	}
	// A crash from here to the rename leaves a dot file: no item, and a stamp
	// like any other.
	err = fill(os.NewFile(uintptr(fd), temp), item, r, size, limit)
	if err == nil {
		created, err = s.target(item) // again: the upload may have taken long
	}
	if err == nil {
		err = retry(func() error { return unix.Renameat(s.dir, temp, s.dir, item.Base()) })
	}
	if err != nil {
		retry(func() error { return unix.Unlinkat(s.dir, temp, 0) })
		return false, err
	}
	if err := fsync(s.dir); err != nil {
		return created, problem.New(problem.Unknown, "sync",
			"%q is in place, but the disk did not confirm it.", item.s).Because(err)
	}
	return created, nil
}

// target refuses what a rename must not replace, and says whether nothing is
// there.
func (s *shelf) target(item ItemPath) (absent bool, err error) {
	m, err := statAt(s.dir, item.Base())
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if why := reasonOf(m); why != 0 {
		return false, &Unserved{item.s, why}
	}
	if m.mountRoot {
		return false, &Unserved{item.s, Mount}
	}
	return false, nil
}

// roomFor refuses early what the disk has no space for. A size below 0 is not
// known; a file system that counts no blocks cannot be asked.
func roomFor(dir int, size int64) error {
	var s unix.Statfs_t
	if err := retry(func() error { return unix.Fstatfs(dir, &s) }); err != nil {
		return err
	}
	block := uint64(s.Bsize)
	if size <= 0 || s.Blocks == 0 || block == 0 {
		return nil
	}
	if (uint64(size)-1)/block >= s.Bavail {
		return unix.ENOSPC
	}
	return nil
}

// fill copies r into f, syncs and closes it.
func fill(f *os.File, item ItemPath, r io.Reader, size, limit int64) error {
	defer f.Close()
	src := &source{r: r}
	n, err := io.Copy(f, io.LimitReader(src, onePast(limit)))
	switch {
	case src.err != nil:
		return stoppedEarly(item).Because(src.err)
	case err != nil:
		return err
	case n > limit:
		return tooLarge(item.s, limit)
	case size >= 0 && n != size:
		return stoppedEarly(item).Because(io.ErrUnexpectedEOF)
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return f.Close()
}

func stoppedEarly(item ItemPath) *problem.Error {
	return problem.New(problem.Failed, "upload", "What was sent for %q ended early. Nothing was changed.", item.s)
}

// source keeps the error of reading apart from one of writing.
type source struct {
	r   io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}
