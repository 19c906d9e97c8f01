package folder

import (
	"encoding/binary"
	"math"
	"time"
	"unicode/utf8"
)

// The bytes of a zip, after PKWARE's APPNOTE 6.3. Each entry is
//
//	local header, name, extra | the file's bytes | descriptor
//
// with general purpose bit 3: checksum and sizes stand in the descriptor. An
// entry of 4 GiB or more has a ZIP64 extra field in its local header, which
// also makes the descriptor's sizes 8 bytes wide. After the entries comes the
// central directory and, where a count, a size or an offset does not fit its
// field, the ZIP64 end record and its locator before the end record.
//
// An entry of one byte less than 4 GiB has the very size that stands for "see
// ZIP64", and has it there. Info-ZIP's unzip 6.0 takes that for damage; Python
// and Go do not, and Go refuses the way around it.
//
// Names are the items' exact bytes; bit 11 says UTF-8 where they are.

const (
	full16 = math.MaxUint16
	full32 = math.MaxUint32

	flagDescriptor = 1 << 3
	flagUTF8       = 1 << 11

	versionPlain = 20
	versionZip64 = 45
	madeByUnix   = 3<<8 | versionZip64
	modeRegular  = 0o100644 << 16

	extraZip64 = 0x0001
	extraTime  = 0x5455
)

// zipEntry is an item in an archive. Its offset is settled when the archive is
// planned, its checksum once the item was written.
type zipEntry struct {
	Item

	offset uint64
	crc    uint32
}

func (e *zipEntry) size() uint64 { return uint64(e.Size) }
func (e *zipEntry) large() bool  { return e.size() >= full32 }

func (e *zipEntry) flags() uint16 {
	if utf8.ValidString(e.Path.s) {
		return flagDescriptor | flagUTF8
	}
	return flagDescriptor
}

func (e *zipEntry) appendLocal(b []byte) []byte {
	var extra []byte
	version, size32 := uint16(versionPlain), uint32(0)
	if e.large() {
		version, size32 = versionZip64, full32
		extra = appendZip64(extra, e.size(), e.size())
	}
	extra = e.appendTime(extra)
	b = append32(b, 0x04034b50)
	b = append16(b, version, e.flags(), 0)
	b = e.appendDOSTime(b)
	b = append32(b, 0, size32, size32)
	b = append16(b, uint16(len(e.Path.s)), uint16(len(extra)))
	b = append(b, e.Path.s...)
	return append(b, extra...)
}

func (e *zipEntry) appendDescriptor(b []byte) []byte {
	b = append32(b, 0x08074b50, e.crc)
	if e.large() {
		return append64(b, e.size(), e.size())
	}
	return append32(b, uint32(e.size()), uint32(e.size()))
}

func (e *zipEntry) appendCentral(b []byte) []byte {
	var wide []uint64
	version, size32, offset32 := uint16(versionPlain), uint32(e.size()), uint32(e.offset)
	if e.large() {
		size32 = full32
		wide = append(wide, e.size(), e.size())
	}
	if e.offset >= full32 {
		offset32 = full32
		wide = append(wide, e.offset)
	}
	var extra []byte
	if wide != nil {
		version = versionZip64
		extra = appendZip64(extra, wide...)
	}
	extra = e.appendTime(extra)
	b = append32(b, 0x02014b50)
	b = append16(b, madeByUnix, version, e.flags(), 0)
	b = e.appendDOSTime(b)
	b = append32(b, e.crc, size32, size32)
	b = append16(b, uint16(len(e.Path.s)), uint16(len(extra)), 0, 0, 0)
	b = append32(b, modeRegular, offset32)
	b = append(b, e.Path.s...)
	return append(b, extra...)
}

// appendEnd ends an archive of count entries, whose central directory has size
// bytes from start on.
func appendEnd(b []byte, count int, start, size uint64) []byte {
	if count >= full16 || start >= full32 || size >= full32 {
		b = append32(b, 0x06064b50)
		b = append64(b, 44) // what follows of this record
		b = append16(b, madeByUnix, versionZip64)
		b = append32(b, 0, 0)
		b = append64(b, uint64(count), uint64(count), size, start)
		b = append32(b, 0x07064b50, 0)
		b = append64(b, start+size)
		b = append32(b, 1)
	}
	b = append32(b, 0x06054b50)
	b = append16(b, 0, 0)
	n := uint16(min(count, full16))
	b = append16(b, n, n)
	b = append32(b, uint32(min(size, full32)), uint32(min(start, full32)))
	return append16(b, 0)
}

func appendZip64(b []byte, fields ...uint64) []byte {
	b = append16(b, extraZip64, uint16(8*len(fields)))
	return append64(b, fields...)
}

// appendTime is the modification time in seconds, where it fits 32 bits.
func (e *zipEntry) appendTime(b []byte) []byte {
	s := e.ModTime.Unix()
	if s < math.MinInt32 || s > math.MaxInt32 {
		return b
	}
	b = append16(b, extraTime, 5)
	b = append(b, 1)
	return append32(b, uint32(int32(s)))
}

// appendDOSTime is the modification time in UTC, in steps of two seconds, cut
// to the years that the format knows.
func (e *zipEntry) appendDOSTime(b []byte) []byte {
	t := e.ModTime.UTC()
	switch {
	case t.Year() < 1980:
		t = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)
	case t.Year() > 2107:
		t = time.Date(2107, 12, 31, 23, 59, 58, 0, time.UTC)
	}
	clock := t.Second()/2 | t.Minute()<<5 | t.Hour()<<11
	date := t.Day() | int(t.Month())<<5 | (t.Year()-1980)<<9
	return append16(b, uint16(clock), uint16(date))
}

func append16(b []byte, vs ...uint16) []byte {
	for _, v := range vs {
		b = binary.LittleEndian.AppendUint16(b, v)
	}
	return b
}

func append32(b []byte, vs ...uint32) []byte {
	for _, v := range vs {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return b
}

func append64(b []byte, vs ...uint64) []byte {
	for _, v := range vs {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}
