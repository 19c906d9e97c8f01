package folder

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const futureSlack = int64(time.Minute)

var (
	errTooDeep = errors.New("more than 128 folders deep")
	errSwapped = errors.New("it changed while it was read")
)

// Survey walks the whole tree once. It follows no link, enters no mount and
// opens nothing but directories. A file that vanishes meanwhile is not a
// failure; a context that ends is one.
func (b *Booth) Survey(ctx context.Context, now time.Time) Survey {
	buf, _ := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	w := walk{ctx: ctx, now: now.UnixNano(), buf: *buf, newest: math.MinInt64}
	_, err := onDir(b.dir, func(fd int) (struct{}, error) { return struct{}{}, w.top(fd) })
	if err != nil {
		w.fail(".", err)
	}
	s := &w.Survey
	slices.SortFunc(s.Items, func(a, b Item) int { return strings.Compare(a.Path.s, b.Path.s) })
	slices.SortFunc(s.Unserved, func(a, b Unserved) int { return cmp.Compare(a.Path, b.Path) })
	return *s
}

// buffers are for reading directories: clearing a fresh one costs more than a
// small booth's whole walk.
var buffers = sync.Pool{New: func() any { b := make([]byte, direntBuffer); return &b }}

// walk is a survey in the making. It keeps one descriptor per level.
type walk struct {
	Survey

	ctx    context.Context
	now    int64
	device uint64
	newest int64  // Survey.Newest.At
	buf    []byte // scratch of the directory that is being read
	seal   *sum   // nil but for [Booth.Seal]
}

// place is a directory in the walk.
type place struct {
	path   string // "." for the booth's folder
	depth  int    // components of path
	hidden bool   // one of them begins with a dot
}

// below is the path of an entry.
func (p place) below(name string) string {
	if p.depth == 0 {
		return name
	}
	return p.path + "/" + name
}

func (w *walk) top(booth int) error {
	m, err := statFD(booth)
	if err != nil {
		return err
	}
	top := place{path: "."}
	w.device = m.Device
	w.Modified = timeOf(m.mtime)
	if m.mountRoot {
		w.mount(".")
	}
	w.stamp(top, ".", m)
	fd, err := openAt(booth, ".", dirFlags)
	if err != nil {
		return err
	}
	w.dir(fd, top, m)
	return nil
}

// dir reads one directory, then those in it, and closes fd.
func (w *walk) dir(fd int, at place, seen meta) {
	defer unix.Close(fd)
	if m, err := statFD(fd); err != nil || !m.same(seen) {
		w.fail(at.path, orElse(err, errSwapped))
		return
	}
	type sub struct {
		name string
		meta meta
	}
	var subs []sub
	n := 0
	err := eachName(fd, w.buf, func(name string) error {
		if n++; n%1024 == 0 && w.ctx.Err() != nil {
			return w.ctx.Err()
		}
		if m, ok := w.entry(fd, at, name); ok {
			subs = append(subs, sub{name, m})
		}
		return nil
	})
	if err != nil {
		w.fail(at.path, err)
	}
	// An entry that came while we read may have been missed; its directory's
	// time then moved.
	if m, err := statFD(fd); err != nil {
		w.fail(at.path, err)
	} else {
		w.stamp(at, "", m)
	}
	for _, s := range subs {
		w.sub(fd, at, s.name, s.meta)
	}
}

// entry takes in one entry of a directory, and says whether it is a directory
// to enter.
func (w *walk) entry(dir int, at place, name string) (meta, bool) {
	m, err := statAt(dir, name)
	if err != nil {
		if err != unix.ENOENT { // which has gone since it was listed
			w.fail(at.below(name), err)
		}
		return m, false
	}
	w.stamp(at, name, m)
	hidden := at.hidden || name[0] == '.'
	why := reasonOf(m)
	if m.mountIn(w.device) {
		w.mount(at.below(name))
		why = Mount
	}
	switch {
	case why == Directory:
		return m, true
	case hidden:
		return m, false
	case why == 0 && (len(name) > maxComponent || len(at.path)+1+len(name) > maxPath):
		why = TooLong
	}
	if why != 0 {
		w.Unserved = append(w.Unserved, Unserved{at.below(name), why})
		return m, false
	}
	w.item(at.below(name), m)
	return m, false
}

func (w *walk) item(path string, m meta) {
	at, clock := stampOf(m)
	if len(w.Items) == cap(w.Items) {
		w.Items = slices.Grow(w.Items, len(w.Items)+1) // doubled: append alone would copy much more often
	}
	w.Items = append(w.Items, Item{
		Path:    ItemPath{path},
		Size:    m.size,
		ModTime: timeOf(m.mtime),
		Stamp:   Stamp{path, timeOf(min(at, w.now)), clock},
		ID:      m.FileID,
	})
	if w.Bytes += m.size; w.Bytes < 0 {
		w.Bytes = math.MaxInt64
	}
}

func (w *walk) sub(dir int, at place, name string, m meta) {
	next := place{at.below(name), at.depth + 1, at.hidden || name[0] == '.'}
	w.Folders++
	if err := w.ctx.Err(); err != nil {
		w.fail(next.path, err)
		return
	}
	if next.depth >= maxDepth {
		w.fail(next.path, errTooDeep)
		return
	}
	fd, err := openAt(dir, name, dirFlags|unix.O_NONBLOCK)
	switch err {
	case nil:
		w.dir(fd, next, m)
	case unix.ENOENT: // gone
	default:
		w.fail(next.path, err)
	}
}

// stamp takes in the stamp of name in at, or of at itself where name is "".
// A path is only built for the few that count.
func (w *walk) stamp(at place, name string, m meta) {
	if m.isRegular() && machinery(name) {
		return
	}
	full := func() string {
		if name == "" || name == "." {
			return at.path
		}
		return at.below(name)
	}
	t, clock := stampOf(m)
	if w.seal != nil {
		w.sealed(full(), m, t)
	}
	if at.depth == 0 && name == viewName && m.isRegular() {
		clock = View
	}
	if t > w.now {
		if t-futureSlack > w.now && name != "" {
			w.Future++
			first(&w.FuturePath, full())
		}
		t = w.now
	}
	if t > w.newest || t == w.newest && (w.Newest.Clock == 0 || full() < w.Newest.Path) {
		w.newest = t
		w.Newest = Stamp{full(), timeOf(t), clock}
	}
}

// sealed takes in an entry. The size of a directory says nothing of it.
func (w *walk) sealed(path string, m meta, stamp int64) {
	size := m.size
	if m.isDir() {
		size = 0
	}
	w.seal.add("entry", path, stamp, size, int64(m.mode&unix.S_IFMT))
}

// machinery says whether name is ".*.lock".
func machinery(name string) bool {
	return name != "" && name[0] == '.' && strings.HasSuffix(name[1:], ".lock")
}

func (w *walk) fail(path string, err error) {
	if w.seal != nil {
		w.seal.add("failure", path)
	}
	if w.Failure == nil || path < w.Failure.Path {
		w.Failure = &Failure{path, err}
	}
}

func (w *walk) mount(path string) { first(&w.Mount, path) }

// first sets *p to path if that comes before it.
func first(p *string, path string) {
	if *p == "" || path < *p {
		*p = path
	}
}
