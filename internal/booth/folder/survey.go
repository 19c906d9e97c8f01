package folder

import (
	"fmt"
	"time"
)

// Survey is what one walk of a whole booth saw.
type Survey struct {
	// Items are the regular files whose path has no component that begins with
	// a dot, in bytewise order of their paths.
	Items []Item
	// Unserved is what else has such a path, directories left out: links,
	// FIFOs, sockets, devices, mounts, paths that are too long. In order.
	Unserved []Unserved
	// Bytes is the sum of the items' sizes.
	Bytes int64
	// Newest is the newest stamp in the tree: of everything in it, dot files,
	// directories and the booth's folder itself, but not of files named
	// ".*.lock", which are machinery and no activity. Of equal ones it is the
	// first by path. Its Clock is 0 if nothing could be read.
	Newest Stamp
	// Future counts stamps that lie more than a minute (skew between hosts is
	// no news) past the survey's now; FuturePath is the first of them by path.
	Future     int
	FuturePath string
	// Modified is the mtime of the booth's folder itself when the walk began.
	Modified time.Time
	// Folders counts the directories below the booth's own, mounts left out.
	Folders int
	// Failure is the first thing by path that could not be read, nil if all
	// was. Whoever destroys on a survey must not do so on one with a Failure.
	Failure *Failure
	// Mount is the first mount point by path, "" if there is none. It is not
	// entered; only ".", a booth that is itself a mount point, is.
	Mount string
}

// Item is a regular file that is served.
type Item struct {
	Path    ItemPath
	Size    int64
	ModTime time.Time // its mtime as it stands
	Stamp   Stamp
	ID      FileID
}

// Stamp is when something last showed activity, by which clock. For a file it
// is the later of mtime and birth (ctime where there is no birth time), for a
// directory its mtime. One past the survey's now counts as now.
type Stamp struct {
	Path  string // relative to the booth, "." for its folder
	At    time.Time
	Clock Clock
}

// Clock is where a stamp's time comes from.
type Clock uint8

const (
	Mtime     Clock = iota + 1
	Birth           // when the file system made the file: copies keep mtimes
	Ctime           // instead of Birth, where the file system keeps none
	FirstSeen       // when the service first saw the booth; no survey gives it
	View            // the file ".viewed" at the booth's top
)

// String is the clock's public name.
func (c Clock) String() string {
	switch c {
	case Mtime:
		return "mtime"
	case Birth:
		return "birth"
	case Ctime:
		return "ctime"
	case FirstSeen:
		return "first_seen"
	case View:
		return "view"
	default:
		return fmt.Sprintf("invalid-clock-%d", uint8(c))
	}
}

// Failure is something in the tree that could not be read.
type Failure struct {
	Path string // relative to the booth, "." for its folder
	Err  error
}

func (f *Failure) Error() string { return fmt.Sprintf("%q cannot be read: %v", f.Path, f.Err) }

func (f *Failure) Unwrap() error { return f.Err }

// stampOf is the time and clock that m counts with.
func stampOf(m meta) (at int64, clock Clock) {
	second, other := m.ctime, Ctime
	if m.born {
		second, other = m.Birth, Birth
	}
	if m.isDir() || second <= m.mtime {
		return m.mtime, Mtime
	}
	return second, other
}
