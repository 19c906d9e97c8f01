//go:build linux

package main

import (
	"errors"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/internal/fleet/box/shim/wire"
)

// output is what the work says: a pipe or a terminal, of which it has the inner end, and the
// log.
type output struct {
	inner    int
	outer    *os.File
	raw      int // outer's descriptor
	done     chan struct{}
	log      segments
	audience *audience // of a terminal
}

func (s *shim) output() (*output, error) {
	if s.launch.Terminal {
		return s.terminal()
	}
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(pipe[0], true); err != nil {
		return nil, err
	}
	return s.through(pipe[1], pipe[0]), nil
}

// through is output through two ends, the outer of which does not block.
func (s *shim) through(inner, outer int) *output {
	return &output{
		inner: inner, raw: outer, outer: os.NewFile(uintptr(outer), "output"),
		done: make(chan struct{}), log: segments{folder: s.folder, keep: max(1, s.launch.Segments), fd: -1},
	}
}

// copy writes what comes out of the pipe to the log, until nobody has its other end or
// finish is called.
func (o *output) copy() {
	defer close(o.done)
	buffer := make([]byte, 32<<10)
	for {
		n, err := o.outer.Read(buffer)
		o.take(buffer[:n])
		if err != nil {
			return
		}
	}
}

func (o *output) take(data []byte) {
	o.log.write(data)
	if o.audience != nil {
		o.audience.tell(data)
	}
}

// finish writes what is left. A process outside of the namespace that was given the pipe
// must not keep the shim waiting, and neither must a disk that does not answer.
func (o *output) finish() {
	_ = o.outer.SetReadDeadline(time.Now())
	select {
	case <-o.done:
	case <-time.After(2 * time.Second):
		return
	}
	buffer := make([]byte, 32<<10)
	for range 64 { // twice what a pipe holds
		n, err := unix.Read(o.raw, buffer)
		if n <= 0 || err != nil {
			break
		}
		o.take(buffer[:n])
	}
	o.log.note()
}

// segments is the log: files of equal size, of which the oldest go.
type segments struct {
	folder folder
	keep   uint64
	number uint64 // of the segment that is written, 0 before the first
	fd     int
	size   int
	lost   uint64 // bytes that were not written since the last that were
}

// write adds data to the log. What finds no room is lost, and the log says how much once
// there is room again: the work does not wait for a disk.
func (g *segments) write(data []byte) {
	for len(data) > 0 {
		if !g.note() || !g.room() {
			g.lost += uint64(len(data))
			return
		}
		n := g.put(data[:min(len(data), wire.SegmentSize-g.size)])
		if n == 0 {
			g.lost += uint64(len(data))
			return
		}
		data = data[n:]
	}
}

// note says what was lost, and reports whether nothing is left to be said.
func (g *segments) note() bool {
	if g.lost == 0 {
		return true
	}
	line := "\n[holdfast: " + strconv.FormatUint(g.lost, 10) + " bytes of output were lost here, for lack of room]\n"
	if !g.room() {
		return false
	}
	if n := g.put([]byte(line)); n < len(line) {
		g.size -= n
		_ = unix.Ftruncate(g.fd, int64(g.size))
		return false
	}
	g.lost = 0
	return true
}

// put writes at the end of the segment, and says how much of it came there.
func (g *segments) put(data []byte) (n int) {
	for n < len(data) {
		k, err := unix.Pwrite(g.fd, data[n:], int64(g.size))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || k == 0 {
			break
		}
		n, g.size = n+k, g.size+k
	}
	return n
}

// room begins the next segment when the present one is full. One that is kept goes for it
// first, so that a log that has its size needs no more room.
func (g *segments) room() bool {
	if g.fd >= 0 && g.size < wire.SegmentSize {
		return true
	}
	if g.number >= g.keep {
		_ = unix.Unlinkat(int(g.folder), segment(g.number+1-g.keep), 0)
	}
	fd, err := g.folder.open(segment(g.number+1), unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL)
	if err != nil {
		return false
	}
	if g.fd >= 0 {
		unix.Close(g.fd)
	}
	g.fd, g.size, g.number = fd, 0, g.number+1
	return true
}

func segment(n uint64) string { return wire.LogPrefix + strconv.FormatUint(n, 10) }
