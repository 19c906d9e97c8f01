package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"

	"modernc.org/sqlite" // also the database/sql driver
	sqlite3 "modernc.org/sqlite/lib"

	"holdfast/internal/problem"
)

// application says in the file's head that it is a journal: "hfjl".
const application = 0x68666a6c

// formats are what makes each version of the tables out of the one before; the first
// makes them out of nothing. A journal of the last version or the one before is read; the
// older is brought up to date when no intent is pending, and used as it is until then. So a
// format may only add what the statements of this package can do without.
var formats = []string{`
CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), generation INTEGER NOT NULL) STRICT;
INSERT INTO head VALUES (1, 0);
CREATE TABLE installed (
  instance TEXT NOT NULL, incarnation INTEGER NOT NULL,
  enrollment TEXT NOT NULL, session INTEGER NOT NULL, stamp TEXT NOT NULL, operation TEXT NOT NULL, work BLOB NOT NULL,
  state TEXT NOT NULL, launch INTEGER NOT NULL, identity BLOB NOT NULL, exit BLOB NOT NULL,
  PRIMARY KEY (instance, incarnation)
) STRICT, WITHOUT ROWID;
CREATE TABLE intent (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, operation TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL, instance TEXT NOT NULL, incarnation INTEGER NOT NULL,
  phase TEXT NOT NULL, payload BLOB NOT NULL, opened_at INTEGER NOT NULL, settled INTEGER NOT NULL, outcome TEXT NOT NULL
) STRICT;
CREATE INDEX intent_pending ON intent (seq) WHERE settled = 0;
CREATE TABLE fence (
  instance TEXT NOT NULL, incarnation INTEGER NOT NULL,
  target BLOB NOT NULL, receipt BLOB NOT NULL, uploaded INTEGER NOT NULL,
  PRIMARY KEY (instance, incarnation)
) STRICT, WITHOUT ROWID;
`}

// connect opens the file called name. Exclusive: one process has it, and the log needs
// no shared memory, which a full disk could not give.
func (j *Journal) connect(name string) error {
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Join(j.path, name))}
	db, err := sql.Open("sqlite", u.String()+"?_pragma=locking_mode(EXCLUSIVE)&_pragma=synchronous(FULL)&_pragma=temp_store(MEMORY)&_pragma=wal_autocheckpoint(256)")
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	j.db = db
	if j.conn, err = db.Conn(context.Background()); err != nil {
		return said(err)
	}
	return nil
}

// fill makes the tables in a new file.
func (j *Journal) fill(formats []string) error {
	if err := j.number(fmt.Sprintf("PRAGMA application_id = %d", application), nil); err != nil {
		return err
	}
	if err := j.log(); err != nil {
		return err
	}
	return j.upgrade(0, formats)
}

// log turns the log on.
func (j *Journal) log() error {
	var mode string
	if err := j.number("PRAGMA journal_mode = WAL", &mode); err != nil {
		return err
	}
	if mode != "wal" {
		return problem.New(problem.Failed, "journal", "The journal cannot be kept in this folder: its file system allows no log beside it. Nothing was begun.")
	}
	return nil
}

// upgrade brings the tables from a version to the last, in one commit.
func (j *Journal) upgrade(from int, formats []string) (err error) {
	if err := j.exec("BEGIN IMMEDIATE"); err != nil {
		return said(err)
	}
	defer func() {
		if err != nil {
			_ = j.exec("ROLLBACK")
		}
	}()
	for _, format := range formats[from:] {
		if err := j.exec(format); err != nil {
			return said(err)
		}
	}
	if err := j.exec(fmt.Sprintf("PRAGMA user_version = %d", len(formats))); err != nil {
		return said(err)
	}
	return said(j.exec("COMMIT"))
}

// prepare looks at a file that was there, and brings it up to date. It writes nothing in
// what it refuses.
func (j *Journal) prepare(formats []string) error {
	var app, have, pending int
	var sound string
	if err := j.number("PRAGMA application_id", &app); err != nil {
		return err
	}
	if err := j.number("PRAGMA user_version", &have); err != nil {
		return err
	}
	last := len(formats)
	switch {
	case app != application || have < 1:
		return damaged("it is a file of something else")
	case have > last:
		return problem.Refusal("journal-newer", "The journal is of version %d, and this holdfast knows version %d. Nothing was touched.", have, last).
			WithHint("start the newer holdfast that wrote it")
	case have < last-1:
		return problem.Refusal("journal-old", "The journal is of version %d, and this holdfast reads versions %d and %d. Nothing was touched.", have, last-1, last).
			WithHint("start a holdfast in between first")
	}
	if err := j.number("PRAGMA quick_check(1)", &sound); err != nil {
		return err
	}
	if sound != "ok" {
		return damaged("its pages do not fit together")
	}
	if err := j.log(); err != nil {
		return err
	}
	if err := j.number("SELECT count(*) FROM intent WHERE settled = 0", &pending); err != nil {
		return err
	}
	if have < last && pending == 0 {
		if err := j.upgrade(have, formats); err != nil {
			return err
		}
	}
	// What a crash left in the log was perhaps read from memory: it is written anew. A full
	// disk keeps the log as it is.
	var busy, written, moved int
	err := said(j.conn.QueryRowContext(context.Background(), "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &written, &moved))
	if err != nil && !errors.Is(err, ErrFull) {
		return err
	}
	return nil
}

// number asks for one value; to is nil where there is none.
func (j *Journal) number(statement string, to any) error {
	if to == nil {
		return said(j.exec(statement))
	}
	return said(j.conn.QueryRowContext(context.Background(), statement).Scan(to))
}

// ErrFull is what a commit's error wraps that found no room: it has changed nothing.
var ErrFull = errors.New("there is no room for the journal")

// errBusy is wrapped where another process has the journal.
var errBusy = errors.New("another process has the journal")

func damaged(why string) *problem.Error {
	return problem.Refusal("journal-damaged", "The journal is damaged: %s. It was not touched, and is never replaced.", why).
		WithHint("put back a copy of this very file, or enroll the box anew")
}

// said puts what SQLite says in words. What others say it leaves as it is.
func said(err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_FULL:
		return problem.New(problem.Failed, problem.StepNoSpace, "There is no room for the journal. Nothing was changed.").Because(errors.Join(ErrFull, err))
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_MISMATCH:
		return damaged("it cannot be read").Because(err)
	case sqlite3.SQLITE_ERROR: // such as a table that is not there
		return damaged("it has not the tables that it should have").Because(err)
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return problem.Refusal("journal-busy", "Another process has the journal. Nothing was changed.").Because(errors.Join(errBusy, err))
	}
	return problem.New(problem.Failed, "journal", "The journal could not be used. Nothing was changed.").Because(err)
}
