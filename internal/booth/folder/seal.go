package folder

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
)

// Seal is what a tree looks like at one moment, to be compared with what it
// looks like later: Sum is another one if anything in it has another stamp or
// size, came, went, or can no longer be read. It says nothing of contents that
// changed under equal stamps and sizes, or of files named ".*.lock".
type Seal struct {
	Sum     string   // 64 hexadecimal digits
	Bytes   int64    // of the items
	Mount   string   // the first mount point by path, as in a [Survey]
	Failure *Failure // the first thing by path that could not be read
}

// Seal walks the whole tree as [Booth.Survey] does. Stamps in the future count
// as they stand: a seal does not change with the clock.
func (b *Booth) Seal(ctx context.Context) Seal {
	w := walk{ctx: ctx, now: math.MaxInt64, buf: make([]byte, direntBuffer), newest: math.MinInt64, seal: &sum{}}
	_, err := onDir(b.dir, func(fd int) (struct{}, error) { return struct{}{}, w.top(fd) })
	if err != nil {
		w.fail(".", err)
	}
	return Seal{Sum: w.seal.String(), Bytes: w.Bytes, Mount: w.Mount, Failure: w.Failure}
}

// sum adds up digests of entries, so that their order does not count. A nil sum
// adds nothing up.
type sum [4]uint64

func (s *sum) add(what, path string, numbers ...int64) {
	digest := sha256.Sum256(fmt.Appendf(nil, "%s %q %d", what, path, numbers))
	for i := range s {
		s[i] += binary.BigEndian.Uint64(digest[8*i:])
	}
}

func (s *sum) String() string {
	var b []byte
	for _, n := range s {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	return hex.EncodeToString(b)
}
