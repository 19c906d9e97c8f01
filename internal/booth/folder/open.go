package folder

import (
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// File is an open item: a regular file, read-only. Hand the *os.File inside it
// to what may use sendfile. Close it.
type File struct {
	*os.File
	meta meta
}

// Size is its size in bytes when it was opened.
func (f *File) Size() int64 { return f.meta.size }

// ModTime is its mtime when it was opened.
func (f *File) ModTime() time.Time { return timeOf(f.meta.mtime) }

// ID is the file itself, whatever its name.
func (f *File) ID() FileID { return f.meta.FileID }

// ETag is a strong entity tag, quotes included: inode, size, mtime and ctime in
// nanoseconds. The device is left out, since network and overlay file systems
// get a new number at each mount. Two writes of one size within one tick of the
// file system's clock cannot be told apart.
func (f *File) ETag() string {
	m := f.meta
	return fmt.Sprintf(`"%x-%x-%x-%x"`, m.Inode, m.size, uint64(m.mtime), uint64(m.ctime))
}

// Open opens an item. What is there and is no regular file, or lies behind a
// link or a mount, is Gone at step "not-served" with an [*Unserved] in the
// chain; what is absent is Gone at step "item".
func (b *Booth) Open(item ItemPath) (*File, error) { return b.open(item.s) }

func (b *Booth) open(path string) (*File, error) {
	f, err := onDir(b.dir, func(root int) (*File, error) { return openRegular(root, path) })
	return f, readWords(path, err)
}

// openRegular looks first, so that nothing but a regular file is opened, and
// compares what the open gave with what it saw.
func openRegular(root int, path string) (*File, error) {
	seen, err := lookRegular(root, path)
	if err != nil {
		return nil, err
	}
	fd, err := openBeneath(root, path)
	if err != nil {
		return nil, err
	}
	opened, err := statFD(fd)
	if err == nil && (!opened.isRegular() || !opened.same(seen)) {
		err = &Unserved{path, Changed}
	}
	if err == nil {
		err = unix.SetNonblock(fd, false)
	}
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return &File{os.NewFile(uintptr(fd), path), opened}, nil
}

// lookRegular looks at path, and gives an error where it is no regular file.
func lookRegular(root int, path string) (meta, error) {
	m, err := statBeneath(root, path)
	if err != nil {
		return meta{}, err
	}
	if why := reasonOf(m); why != 0 {
		return meta{}, &Unserved{path, why}
	}
	return m, nil
}

// readAtMost reads r to its end; more than limit bytes are [ErrTooLarge].
func readAtMost(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, onePast(limit)))
	if err == nil && int64(len(data)) > limit {
		return nil, ErrTooLarge
	}
	return data, err
}

// onePast is what to read in order to see whether there is more than limit.
func onePast(limit int64) int64 { return min(max(limit, 0), math.MaxInt64-1) + 1 }

// oneComponent says whether name could lie in a directory.
func oneComponent(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\x00")
}
