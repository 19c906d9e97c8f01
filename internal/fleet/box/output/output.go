// Package output is what the work on a box has written: where it lies in the box's folder,
// and in the fleet's store.
//
// A launch keeps the output in segments, log.1, log.2 and so on, in its own folder
// (package shim). The last is being written; the others are finished, and never change.
// Finished ones are put into the store by the agent, each under [Key]:
//
//	logs/ENROLLMENT/INSTANCE/INCARNATION/N
//
// Output is bytes of whoever works there. Nothing is decided by it, it is not signed, and a
// segment that is missing is missing: the oldest go where there are too many.
package output

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"holdfast/internal/bucket"
	"holdfast/internal/durable"
	"holdfast/internal/fleet/box/shim"
	"holdfast/internal/fleet/box/shim/wire"
	"holdfast/internal/fleet/document"
	"holdfast/internal/fleet/roster"
)

// Of names one incarnation of an instance.
type Of struct {
	Instance    string
	Incarnation uint64
}

// Compare orders by name and incarnation.
func (o Of) Compare(p Of) int {
	return cmp.Or(strings.Compare(o.Instance, p.Instance), cmp.Compare(o.Incarnation, p.Incarnation))
}

// Under is what the keys of an incarnation's segments begin with.
func Under(enrollment string, of Of) (string, error) {
	if err := errors.Join(document.CheckID("enrollment", enrollment), roster.CheckName("instance", of.Instance)); err != nil {
		return "", err
	}
	return fmt.Sprintf("logs/%s/%s/%d/", enrollment, of.Instance, of.Incarnation), nil
}

// Key is where a segment is.
func Key(enrollment string, of Of, segment uint64) (bucket.Key, error) {
	under, err := Under(enrollment, of)
	if err != nil {
		return bucket.Key{}, err
	}
	return bucket.ParseKey(under + strconv.FormatUint(segment, 10))
}

// Number is the segment that a key of [Under] is of.
func Number(key bucket.Key, under string) (uint64, bool) {
	return number(key.String(), under)
}

// number is what stands behind a prefix, in the one way that it is written.
func number(text, prefix string) (uint64, bool) {
	digits, ok := strings.CutPrefix(text, prefix)
	n, err := strconv.ParseUint(digits, 10, 64)
	return n, ok && err == nil && n > 0 && strconv.FormatUint(n, 10) == digits
}

const (
	instancesFolder = "instances"
	launchPrefix    = "shim-"
)

// All are the incarnations that have a folder in a box.
func All(box *durable.Dir) ([]Of, error) {
	all, err := box.Sub(instancesFolder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer all.Close()
	names, err := all.Names()
	if err != nil {
		return nil, err
	}
	var list []Of
	for _, name := range names {
		of, err := incarnations(all, name)
		if err != nil {
			return nil, err
		}
		list = append(list, of...)
	}
	slices.SortFunc(list, Of.Compare)
	return list, nil
}

func incarnations(all *durable.Dir, name string) ([]Of, error) {
	if roster.CheckName("instance", name) != nil {
		return nil, nil
	}
	one, err := all.Sub(name)
	if err != nil {
		return nil, err
	}
	defer one.Close()
	names, err := one.Names()
	var list []Of
	for _, text := range names {
		if n, ok := number(text, ""); ok {
			list = append(list, Of{name, n})
		}
	}
	return list, err
}

// Open opens the folder of the launch by which an incarnation runs, or has run. Where none
// was ever let go the error is fs.ErrNotExist.
func Open(box *durable.Dir, of Of) (*durable.Dir, error) {
	dir, err := descend(box, instancesFolder, of.Instance, strconv.FormatUint(of.Incarnation, 10))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Names()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if !strings.HasPrefix(name, launchPrefix) {
			continue
		}
		launch, err := dir.Sub(name)
		if err != nil {
			return nil, err
		}
		if went, err := shim.Went(launch); went || err != nil {
			return launch, err
		}
		launch.Close()
	}
	return nil, fmt.Errorf("nothing of it was ever let go: %w", fs.ErrNotExist)
}

func descend(d *durable.Dir, names ...string) (*durable.Dir, error) {
	at, err := d.Reopen()
	for _, name := range names {
		if err != nil {
			return nil, err
		}
		above := at
		at, err = above.Sub(name)
		above.Close()
	}
	return at, err
}

// Segments are those in the folder of a launch, the oldest first.
func Segments(launch *durable.Dir) ([]uint64, error) {
	names, err := launch.Names()
	var list []uint64
	for _, name := range names {
		if n, ok := number(name, wire.LogPrefix); ok {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return list, err
}

// OpenSegment opens one for reading. It may be written meanwhile, and may go.
func OpenSegment(launch *durable.Dir, segment uint64) (*os.File, error) {
	dir, err := launch.File()
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	name := wire.LogPrefix + strconv.FormatUint(segment, 10)
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	f := os.NewFile(uintptr(fd), name)
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
