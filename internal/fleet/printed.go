package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"

	"holdfast/internal/bucket"
	"holdfast/internal/durable"
	"holdfast/internal/fleet/box/output"
	"holdfast/internal/fleet/box/shim/wire"
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
func (c *Console) OpenPrinted(ctx context.Context, h Home, enrollment string, of output.Of) (*Printed, error) {
	under, err := output.Under(enrollment, of)
	if err != nil {
		return nil, err
	}
	if at, _, err := look(h.Box, nil); err == nil && at.Enrollment == enrollment {
		p, err := printedHere(h.Box, of)
		if !errors.Is(err, fs.ErrNotExist) {
			return p, err
		}
	}
	keys, err := c.bucket.List(ctx, under)
	if err != nil {
		return nil, err
	}
	p := &Printed{get: func(n uint64) ([]byte, error) {
		key, err := output.Key(enrollment, of, n)
		if err != nil {
			return nil, err
		}
		return bucket.Read(ctx, c.bucket, key)
	}}
	for _, key := range keys {
		if n, is := output.Number(key, under); is {
			p.pieces = append(p.pieces, n)
		}
	}
	return p, p.measure()
}

// printedHere is what is in a box's folder.
func printedHere(box string, of output.Of) (*Printed, error) {
	at, err := durable.OpenDir(box)
	if err != nil {
		return nil, err
	}
	defer at.Close()
	dir, err := output.Open(at, of)
	if err != nil {
		return nil, err
	}
	p := &Printed{Here: true, dir: dir, get: func(n uint64) ([]byte, error) {
		return dir.ReadFile(wire.LogPrefix+strconv.FormatUint(n, 10), piece)
	}}
	if p.pieces, err = output.Segments(dir); err == nil {
		err = p.measure()
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// measure puts the pieces in their order, and finds how long the last of them is.
func (p *Printed) measure() error {
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
