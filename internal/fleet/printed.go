package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"holdfast/internal/bucket"
	"holdfast/internal/durable"
	"holdfast/internal/fleet/box/shim"
	"holdfast/internal/fleet/box/shim/wire"
	"holdfast/internal/fleet/document"
	"holdfast/internal/fleet/roster"
	"holdfast/internal/problem"
)

// Printed is the output of an incarnation, as far as it is kept: pieces of one size, of
// which only the last may be shorter. It is read by one goroutine at a time.
//
// What is there while it is opened is all that it has: more is seen by opening it again.
type Printed struct {
	// Here says that it is read in the box's own folder, to its end. In the store are only
	// pieces that the box has finished.
	Here   bool
	pieces []uint64 // their numbers
	last   int64    // how long the last one is
	get    func(number uint64) ([]byte, error)
	dir    *durable.Dir // nil for what is in the store

	held uint64 // which piece is in data, 0 for none
	data []byte
}

// ErrNothingPrinted: no output is kept.
var ErrNothingPrinted = fmt.Errorf("no output is kept: %w", fs.ErrNotExist)

// piece is how long a piece of output is.
const piece = wire.SegmentSize

// OpenPrinted opens the output of an incarnation: in the folder of the box, if this home is
// that box, else in the store.
func (c *Console) OpenPrinted(ctx context.Context, h Home, enrollment, instance string, incarnation uint64) (*Printed, error) {
	if err := errors.Join(roster.CheckName("instance", instance), document.CheckID("enrollment", enrollment)); err != nil {
		return nil, err
	}
	if at, _, err := look(h.Box, nil); err == nil && at.Enrollment == enrollment {
		p, err := printedHere(h.Box, instance, incarnation)
		if !errors.Is(err, fs.ErrNotExist) {
			return p, err
		}
	}
	return c.printedThere(ctx, enrollment, instance, incarnation)
}

// printedHere is what is in a box's folder.
func printedHere(box, instance string, incarnation uint64) (*Printed, error) {
	dir, err := wentFolder(box, "instances", instance, strconv.FormatUint(incarnation, 10))
	if err != nil {
		return nil, err
	}
	p := &Printed{Here: true, dir: dir, get: func(n uint64) ([]byte, error) {
		return dir.ReadFile(wire.LogPrefix+strconv.FormatUint(n, 10), piece)
	}}
	names, err := dir.Names()
	if err == nil {
		err = p.sort(names, wire.LogPrefix)
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// wentFolder is the folder of the launch that was let go, of all that an incarnation has:
// there is no other output.
func wentFolder(box string, path ...string) (*durable.Dir, error) {
	at, err := durable.OpenDir(box)
	for _, name := range path {
		if err != nil {
			return nil, err
		}
		sub, failed := at.Sub(name)
		at.Close()
		at, err = sub, failed
	}
	if err != nil {
		return nil, err
	}
	defer at.Close()
	names, err := at.Names()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if !strings.HasPrefix(name, "shim-") {
			continue
		}
		launch, err := at.Sub(name)
		if err != nil {
			return nil, err
		}
		if went, err := shim.Went(launch); err == nil && went {
			return launch, nil
		}
		launch.Close()
	}
	return nil, ErrNothingPrinted
}

// printedThere is what is in the store.
func (c *Console) printedThere(ctx context.Context, enrollment, instance string, incarnation uint64) (*Printed, error) {
	under := fmt.Sprintf("logs/%s/%s/%d/", enrollment, instance, incarnation)
	keys, err := c.bucket.List(ctx, under)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, key := range keys {
		names = append(names, key.String())
	}
	p := &Printed{get: func(n uint64) ([]byte, error) {
		key, err := bucket.ParseKey(under + strconv.FormatUint(n, 10))
		if err != nil {
			return nil, err
		}
		return get(ctx, c.bucket, key)
	}}
	return p, p.sort(names, under)
}

// sort finds the pieces among names, and how long the last of them is.
func (p *Printed) sort(names []string, prefix string) error {
	for _, name := range names {
		number, is := strings.CutPrefix(name, prefix)
		if n, err := strconv.ParseUint(number, 10, 53); is && err == nil && n > 0 && strconv.FormatUint(n, 10) == number {
			p.pieces = append(p.pieces, n)
		}
	}
	if len(p.pieces) == 0 {
		return ErrNothingPrinted
	}
	slices.Sort(p.pieces)
	last, err := p.read(p.pieces[len(p.pieces)-1])
	p.last = int64(len(last))
	return err
}

// read is a piece, of which the last one that was read is at hand.
func (p *Printed) read(n uint64) ([]byte, error) {
	if p.held == n {
		return p.data, nil
	}
	data, err := p.get(n)
	if err != nil {
		return nil, err
	}
	p.held, p.data = n, data
	return data, nil
}

// Size is how long it is, in bytes.
func (p *Printed) Size() int64 { return int64(len(p.pieces)-1)*piece + p.last }

// FromStart says whether all is there that was ever printed.
func (p *Printed) FromStart() bool { return p.pieces[0] == 1 }

// ReadAt is an io.ReaderAt.
func (p *Printed) ReadAt(b []byte, off int64) (int, error) {
	done := 0
	for done < len(b) {
		at := off + int64(done)
		if at >= p.Size() {
			return done, io.EOF
		}
		n := p.pieces[at/piece]
		data, err := p.read(n)
		if err != nil {
			return done, err
		}
		whole := int64(piece)
		if n == p.pieces[len(p.pieces)-1] {
			whole = p.last
		}
		if int64(len(data)) < whole {
			return done, problem.Refusal("output-damaged", "Piece %d of the output has %d bytes, and should have %d.", n, len(data), whole)
		}
		done += copy(b[done:], data[at%piece:whole])
	}
	return done, nil
}

// Close lets the folder go.
func (p *Printed) Close() {
	if p.dir != nil {
		p.dir.Close()
	}
}
