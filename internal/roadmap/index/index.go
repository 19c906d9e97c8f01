// Package index keeps what was read of the plan's log, so that it need not be
// read again.
//
// It is one SQLite file that any process of the home opens. All in it can be
// made again from the log, and is whenever the file is damaged, of another
// version or of another log: nothing is decided that only the index knows.
//
// It holds each event's canonical bytes with its place and operation key, the
// folded state of each node, what could not be read and why, and the [Position]
// in the log up to which that is so. An [Update] moves the index from one position
// to the next in one transaction, or not at all.
//
// An Index may be used by several goroutines; between processes, SQLite's own
// locks serve. Its errors are [Damaged] where the file itself is at fault.
package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite" // also the database/sql driver
	sqlite3 "modernc.org/sqlite/lib"
)

// File is the index's name in the folder of the plan.
const File = "index.db"

// version is of the tables. Another one is thrown away.
const version = 1

// schema makes the tables. Values are as the documents have them: times RFC 3339.
const schema = `
CREATE TABLE position (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  commit_id TEXT NOT NULL, committed TEXT NOT NULL, read TEXT NOT NULL,
  seq INTEGER NOT NULL, sealed INTEGER NOT NULL, sealed_seq INTEGER NOT NULL
);
CREATE TABLE segment (number INTEGER PRIMARY KEY, object TEXT NOT NULL);
CREATE TABLE event (seq INTEGER PRIMARY KEY, key TEXT NOT NULL, node TEXT NOT NULL, bytes BLOB NOT NULL);
CREATE INDEX event_key ON event (key);
CREATE INDEX event_node ON event (node, seq);
CREATE TABLE node (node TEXT PRIMARY KEY, state BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE refusal (place TEXT NOT NULL, node TEXT NOT NULL, step TEXT NOT NULL, reason TEXT NOT NULL);
`

// Position is how far the log was read.
type Position struct {
	Commit    string    // the tip that was read; empty: nothing was
	Committed time.Time // the tip's own time
	Read      time.Time // when it was read
	Seq       int64     // the newest place that is taken, 0 for none
	Sealed    int       // how many segments there are
	SealedSeq int64     // the newest place in them, 0 for none
}

// Damaged is the error of an index that must be made anew.
type Damaged struct {
	Reason string // a clause, for people
	Err    error
}

// Error is the reason.
func (e *Damaged) Error() string {
	if e.Err == nil {
		return e.Reason
	}
	return e.Reason + ": " + e.Err.Error()
}

// Unwrap is the cause.
func (e *Damaged) Unwrap() error { return e.Err }

// Index is an open index.
type Index struct {
	db   *sql.DB
	path string
	file fs.FileInfo // what path stood for when it was opened
}

// Open opens the index in the folder plan, and makes it where there is none.
func Open(ctx context.Context, plan string) (*Index, error) {
	path := filepath.Join(plan, File)
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, &Damaged{Reason: "it is no file"}
	}
	db, err := sql.Open("sqlite", dsn(path))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(4)
	x := &Index{db: db, path: path}
	if err = x.prepare(ctx); err == nil {
		x.file, err = os.Lstat(path)
	}
	if err != nil {
		db.Close()
		return nil, err
	}
	return x, nil
}

// Replaced reports whether the file was discarded since it was opened. What is
// read of it from then on is old, and what is written lost.
func (x *Index) Replaced() bool {
	now, err := os.Lstat(x.path)
	return err != nil || !os.SameFile(x.file, now)
}

func dsn(path string) string {
	u := fileURL(path)
	return u + "?_pragma=busy_timeout(20000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_txlock=immediate"
}

// prepare makes the tables, or finds those of this version.
func (x *Index) prepare(ctx context.Context) error {
	have, err := x.version(ctx)
	if err != nil || have == version {
		return err
	}
	if have != 0 {
		return &Damaged{Reason: fmt.Sprintf("it is of version %d, and this program has version %d", have, version)}
	}
	return x.write(ctx, func(tx *sql.Tx) error {
		var tables int
		if err := tx.QueryRow(`SELECT count(*) FROM sqlite_master`).Scan(&tables); err != nil {
			return err
		}
		if tables > 0 { // somebody else was faster, or it is no index
			var now int
			if err := tx.QueryRow(`PRAGMA user_version`).Scan(&now); err != nil || now == version {
				return err
			}
			return &Damaged{Reason: "it has tables of something else"}
		}
		_, err := tx.Exec(schema + fmt.Sprintf(`PRAGMA user_version = %d;`, version))
		return err
	})
}

func (x *Index) version(ctx context.Context) (int, error) {
	var v int
	err := x.db.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&v)
	return v, said(err)
}

// Close lets the file go.
func (x *Index) Close() error { return x.db.Close() }

// Discard removes the index from the folder plan, for which the caller sees to it
// that nobody opens it meanwhile. To whoever has it open it is [Index.Replaced].
func Discard(plan string) error {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.RemoveAll(filepath.Join(plan, File+suffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// write runs f in a transaction that nobody else writes beside.
func (x *Index) write(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := x.db.BeginTx(ctx, nil)
	if err != nil {
		return said(err)
	}
	defer tx.Rollback()
	if err := f(tx); err != nil {
		return said(err)
	}
	return said(tx.Commit())
}

// said tells a damaged file from other failures.
func said(err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISMATCH:
		return &Damaged{Reason: "it cannot be read", Err: err}
	}
	return err
}
