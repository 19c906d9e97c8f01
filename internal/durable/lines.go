package durable

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// lineEnd is what came after a line.
type lineEnd uint8

const (
	endOfLine   lineEnd = iota + 1 // the line is whole
	endOfFile                      // there was no line
	endTorn                        // the line is the last, and torn
	endOverlong                    // the line goes on beyond the limit
)

// lineReader reads a journal's lines.
type lineReader struct {
	in    *bufio.Reader
	limit int
	line  int // the number of the last line read
}

func newLineReader(r io.Reader, limit int) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(r, max(limit, 16)+1), limit: limit}
}

// next reads one line, without its end. The error is the file's.
func (l *lineReader) next() ([]byte, lineEnd, error) {
	l.line++
	data, err := l.in.ReadSlice('\n')
	line := bytes.Clone(bytes.TrimSuffix(data, []byte("\n")))
	switch {
	case errors.Is(err, bufio.ErrBufferFull) || err == nil && len(line) > l.limit:
		return nil, endOverlong, nil
	case errors.Is(err, io.EOF) && len(data) == 0:
		return nil, endOfFile, nil
	case errors.Is(err, io.EOF):
		return line, endTorn, nil
	case err != nil:
		return nil, 0, err
	case bytes.IndexByte(line, 0) >= 0 && l.last():
		return append(line, '\n'), endTorn, nil
	}
	return line, endOfLine, nil
}

// last reports whether nothing follows.
func (l *lineReader) last() bool {
	_, err := l.in.Peek(1)
	return errors.Is(err, io.EOF)
}
