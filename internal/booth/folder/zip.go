package folder

import (
	"bufio"
	"hash/crc32"
	"io"
	"math"

	"holdfast/internal/problem"
)

// Archive is a zip of some items of a booth: stored, not compressed, so that
// its size is known before its first byte. It is written once, and the booth
// stays open until then.
type Archive struct {
	booth   *Booth
	entries []zipEntry
	size    int64
}

// Zip plans an archive of items as a survey saw them, in their order. Nothing
// is opened yet.
func (b *Booth) Zip(items []Item) (*Archive, error) {
	a := &Archive{booth: b, entries: make([]zipEntry, 0, len(items))}
	var buf []byte
	for _, it := range items {
		e := zipEntry{Item: it, offset: uint64(a.size)}
		buf = e.appendDescriptor(e.appendLocal(buf[:0]))
		if it.Size < 0 || it.Size > math.MaxInt64/2-a.size {
			return nil, problem.Refusal(problem.StepTooLarge, "These files are too large for one archive.")
		}
		a.size += int64(len(buf)) + it.Size
		a.entries = append(a.entries, e)
	}
	start := a.size
	for i := range a.entries {
		buf = a.entries[i].appendCentral(buf[:0])
		a.size += int64(len(buf))
	}
	a.size += int64(len(appendEnd(nil, len(items), uint64(start), uint64(a.size-start))))
	return a, nil
}

// Size is exactly how many bytes WriteTo writes when it succeeds.
func (a *Archive) Size() int64 { return a.size }

// WriteTo writes the archive. A file that grew is cut at the size that it was
// planned with. One that shrank, was replaced, or cannot be read is an error:
// what was written so far is then no archive, and the caller must make the
// receiver see that.
func (a *Archive) WriteTo(w io.Writer) (int64, error) {
	out := &counter{w: w}
	buffered := bufio.NewWriterSize(out, 256<<10)
	err := a.write(buffered)
	if err == nil {
		err = buffered.Flush()
	}
	return out.n, err
}

func (a *Archive) write(w io.Writer) error {
	var buf []byte
	copied := make([]byte, 256<<10)
	for i := range a.entries {
		e := &a.entries[i]
		buf = e.appendLocal(buf[:0])
		if _, err := w.Write(buf); err != nil {
			return err
		}
		if err := a.copyItem(w, e, copied); err != nil {
			return err
		}
		buf = e.appendDescriptor(buf[:0])
		if _, err := w.Write(buf); err != nil {
			return err
		}
	}
	start, size := a.centralStart(), uint64(0)
	for i := range a.entries {
		buf = a.entries[i].appendCentral(buf[:0])
		size += uint64(len(buf))
		if _, err := w.Write(buf); err != nil {
			return err
		}
	}
	_, err := w.Write(appendEnd(buf[:0], len(a.entries), start, size))
	return err
}

// centralStart is the offset after the last entry.
func (a *Archive) centralStart() uint64 {
	if len(a.entries) == 0 {
		return 0
	}
	e := a.entries[len(a.entries)-1]
	return e.offset + uint64(len(e.appendDescriptor(e.appendLocal(nil)))) + uint64(e.Size)
}

// copyItem writes e's bytes, as many as planned, and fills in their checksum.
func (a *Archive) copyItem(w io.Writer, e *zipEntry, buf []byte) error {
	f, err := a.booth.Open(e.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	if f.ID() != e.ID {
		return problem.New(problem.Failed, "zip", "%q was replaced while the archive was sent.", e.Path.s)
	}
	sum := crc32.NewIEEE()
	src := &source{r: f}
	n, err := io.CopyBuffer(io.MultiWriter(w, sum), io.LimitReader(src, e.Size), buf)
	switch {
	case src.err != nil:
		return readWords(e.Path.s, src.err)
	case err != nil:
		return err
	case n < e.Size:
		return problem.New(problem.Failed, "zip", "%q shrank while the archive was sent.", e.Path.s).Because(io.ErrUnexpectedEOF)
	}
	e.crc = sum.Sum32()
	return nil
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
