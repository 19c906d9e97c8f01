package durable

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"holdfast/internal/canon"
)

// Journal is a file that only grows: one record to a line, each a document of
// canonical JSON and a line's end. A record that [Journal.Append] has taken is
// there for good.
//
// A last line that a crash tore is recognised by its missing end, or by the NUL
// bytes of a block that never reached the disk. It was never acknowledged. It is
// copied to a file beside the journal and cut off when the journal is opened for
// writing, and only then. Whatever else is not a record is damage: the journal
// is refused, by the number of the line, and left as it is.
//
// One process writes at a time: the file is locked. Methods may be called
// concurrently.
type Journal struct {
	dir   *Dir
	name  string
	limit int
	aside string

	mu     sync.Mutex
	file   *os.File
	size   int64 // of the acknowledged records
	broken error // why nothing more can be appended until it is opened again
}

// Record is one line read back.
type Record struct {
	Line int    // counted from 1
	Data []byte // the document, without the line's end
}

// Damage is a line that is not a record.
type Damage struct {
	Name   string
	Line   int
	Reason string

	cause error
}

// Error names the file, the line and the reason.
func (e *Damage) Error() string { return fmt.Sprintf("%s, line %d: %s", e.Name, e.Line, e.Reason) }

func (e *Damage) Unwrap() error { return e.cause }

// OpenJournal opens the journal name in d for writing, and makes it if it is not
// there. First it gives each record of at most limit bytes to each, in order;
// all of them are durable by the time it returns. An error of each counts as
// damage of that line. A journal that another process writes is a [*Held].
func (d *Dir) OpenJournal(name string, limit int, each func(Record) error) (*Journal, error) {
	var f *os.File
	err := d.do(StepOpenJournal, func() (err error) {
		f, err = d.openRegular(name, unix.O_RDWR|unix.O_CREAT|unix.O_APPEND)
		return err
	})
	j := &Journal{dir: d, name: name, limit: limit, file: f}
	if err == nil {
		err = j.recover(each)
	}
	if err != nil {
		if f != nil {
			f.Close()
		}
		return nil, err
	}
	return j, nil
}

// recover locks the file, reads it, and repairs its end.
func (j *Journal) recover(each func(Record) error) error {
	if err := j.dir.takeFile(j.name, j.file); err != nil {
		return err
	}
	good, torn, err := readRecords(j.name, j.file, j.limit, each)
	if err != nil {
		return err
	}
	j.size = good
	if len(torn) > 0 {
		if err := j.setAside(torn); err != nil {
			return err
		}
	}
	// What was read may be in memory only, left by a writer that was killed.
	if err := j.dir.do(StepSync, j.file.Sync); err != nil {
		return unknown(j.name, StepSync, err)
	}
	return j.dir.syncDir(j.name)
}

// setAside copies the torn last line to a file of its own and cuts it off. The
// copy's name follows from the bytes, so that a crash in between leaves one copy.
func (j *Journal) setAside(torn []byte) error {
	sum := sha256.Sum256(torn)
	j.aside = fmt.Sprintf("%s.torn-%d-%x", j.name, j.size, sum[:8])
	err := j.dir.Create(j.aside, torn, 0o600)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	// A crash here leaves both; the next opening does this again.
	if err := j.dir.do(StepTruncate, func() error { return j.file.Truncate(j.size) }); err != nil {
		return unknown(j.name, StepTruncate, err)
	}
	return nil
}

// Aside is the file beside the journal to which opening it moved a torn last
// line, empty if there was none.
func (j *Journal) Aside() string { return j.aside }

// Append adds records, encoded by package canon, in one write. Done means that
// all of them are durable. After a crash in the middle the first few may be
// there, in order, each whole. The error is a [*WriteError]; if it is Unknown,
// every later Append is Refused until the journal is opened again.
func (j *Journal) Append(records ...any) error {
	lines, err := j.encode(records)
	if err != nil {
		return refused(j.name, StepEncode, err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.checkLocked(); err != nil {
		return refused(j.name, StepCheck, err)
	}
	err = j.dir.do(StepAppend, func() error {
		_, err := j.file.Write(lines)
		return err
	})
	if err != nil {
		return j.undoLocked(err)
	}
	// A crash here leaves some of the lines, the last of them perhaps torn.
	if err := j.dir.do(StepSync, j.file.Sync); err != nil {
		return j.breakLocked(StepSync, err)
	}
	j.size += int64(len(lines))
	return nil
}

// encode makes lines of records.
func (j *Journal) encode(records []any) ([]byte, error) {
	var lines bytes.Buffer
	for i, r := range records {
		line, err := canon.Encode(r)
		if err != nil {
			return nil, fmt.Errorf("record %d: %w", i, err)
		}
		if len(line) > j.limit {
			return nil, fmt.Errorf("record %d: %w: %d bytes, at most %d", i, ErrTooLarge, len(line), j.limit)
		}
		lines.Write(line)
		lines.WriteByte('\n')
	}
	return lines.Bytes(), nil
}

// checkLocked refuses to add to a journal whose end is not where it was left.
func (j *Journal) checkLocked() error {
	if j.broken != nil {
		return fmt.Errorf("it must be opened again after: %w", j.broken)
	}
	info, err := j.file.Stat()
	if err != nil {
		return err
	}
	if info.Size() != j.size {
		return fmt.Errorf("it has %d bytes where %d were left: someone else changed it", info.Size(), j.size)
	}
	return nil
}

// undoLocked takes back what a failed append wrote. Only if that is durable has
// nothing changed.
func (j *Journal) undoLocked(cause error) error {
	err := j.dir.do(StepTruncate, func() error { return j.file.Truncate(j.size) })
	if err == nil {
		err = j.dir.do(StepSync, j.file.Sync)
	}
	if err != nil {
		return j.breakLocked(StepAppend, errors.Join(cause, err))
	}
	return refused(j.name, StepAppend, cause)
}

// breakLocked ends all writing: after a failed sync nobody knows what the disk
// holds but who reads it.
func (j *Journal) breakLocked(step Step, cause error) error {
	j.broken = cause
	return unknown(j.name, step, cause)
}

// Close lets the journal go.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.broken == nil {
		j.broken = fs.ErrClosed
	}
	return j.file.Close()
}

// ReadJournal gives each record of the journal name in d to each, and changes
// nothing. It returns the bytes of a last line that is torn, or is being written
// by someone else.
func (d *Dir) ReadJournal(name string, limit int, each func(Record) error) (torn []byte, err error) {
	f, err := d.openRegular(name, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	_, torn, err = readRecords(name, f, limit, each)
	return torn, err
}

// readRecords gives the records of r to each. It returns how many bytes they
// take, and what follows them if that is a torn line.
func readRecords(name string, r io.Reader, limit int, each func(Record) error) (good int64, torn []byte, err error) {
	in := newLineReader(r, limit)
	for {
		line, end, err := in.next()
		if err != nil {
			return good, nil, err
		}
		switch end {
		case endOfFile:
			return good, nil, nil
		case endTorn:
			return good, line, nil
		case endOfLine:
			err = canon.Scan(line)
		case endOverlong:
			err = fmt.Errorf("%w: over %d bytes", ErrTooLarge, limit)
		}
		if err == nil {
			err = each(Record{Line: in.line, Data: line})
		}
		if err != nil {
			return good, nil, &Damage{Name: name, Line: in.line, Reason: err.Error(), cause: err}
		}
		good += int64(len(line)) + 1
	}
}
