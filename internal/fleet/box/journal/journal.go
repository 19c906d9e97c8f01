// Package journal is what root remembers: what is installed on the box, what it has
// begun and not finished, what it has fenced, and how often it has begun anything.
//
// It is one SQLite file in root's folder, journal.db, and a log beside it. A [Journal.Commit]
// is whole or not there, and outlasts a crash when it returns; nothing is held back to be
// written later. One process has it open at a time, and every other is refused. Unlike an
// index it can be made again from nothing: a file that is damaged, newer or too old is
// refused in words, and never replaced. One that is absent is made, whole and under
// another name first, so that an empty file is damage and not a beginning.
//
// What it keeps for good it does not let go of: the target of a fence and its receipt are
// written once, an intent that is settled stays as it is, the generation only grows. A
// write that would change one of these is refused with the step journal-conflict.
//
// On a full disk a commit fails with [ErrFull] and has changed nothing. The reserve, a
// file of [ReserveSize] beside the journal, is given up then, so that a stop can still be
// fenced and proved ([Journal.GiveUpReserve]). It is for the caller to take it up before
// anything new is begun ([Journal.TakeReserve]).
//
// If the system cannot say whether a commit is on the disk, that commit has the kind
// [problem.Unknown], and the journal is of no use any more: it says so until it is opened
// again, which finds out.
package journal

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"holdfast/internal/durable"
	"holdfast/internal/problem"
)

// The names in root's folder.
const (
	File    = "journal.db"
	Reserve = "reserve"

	// made is what a journal is called while it is made.
	made = "journal.new"
)

// Journal is an open journal. It is safe for concurrent use.
type Journal struct {
	dir  *durable.Dir // a copy, closed with it
	path string       // of the folder
	db   *sql.DB
	conn *sql.Conn // the only one

	turn    chan struct{} // holds a token while nobody uses conn
	lost    error         // set with the turn: a commit of which nothing is known
	commits atomic.Uint64
	reserve sync.Mutex
}

// Open opens the journal in dir, which the caller has locked, and makes it where there is
// none. Its refusals have the steps journal-damaged, journal-newer, journal-old and
// journal-busy.
func Open(dir *durable.Dir) (*Journal, error) { return open(dir, formats) }

func open(dir *durable.Dir, formats []string) (*Journal, error) {
	path, err := dir.Path()
	if err != nil {
		return nil, err
	}
	if err := begin(dir, path, formats); err != nil {
		return nil, err
	}
	own, err := dir.Reopen()
	if err != nil {
		return nil, err
	}
	j := &Journal{dir: own, path: path, turn: make(chan struct{}, 1)}
	if err := j.connect(File); err != nil {
		j.shut()
		return nil, err
	}
	if err := j.prepare(formats); err != nil {
		j.shut()
		return nil, err
	}
	j.turn <- struct{}{}
	return j, nil
}

// begin makes the journal if there is none, and refuses what cannot be one.
func begin(dir *durable.Dir, path string, formats []string) error {
	info, err := os.Lstat(filepath.Join(path, File))
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(filepath.Join(path, File+"-wal")); !errors.Is(err, fs.ErrNotExist) {
			return damaged("its log is there and it is not").Because(err)
		}
		return create(dir, path, formats)
	}
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return damaged("it is no file")
	case info.Size() == 0:
		return damaged("it is empty")
	}
	return nil
}

// create makes a journal under another name, and gives it its own in one step.
func create(dir *durable.Dir, path string, formats []string) error {
	for _, left := range []string{made, made + "-wal", made + "-journal"} {
		if err := dir.Remove(left); err != nil {
			return err
		}
	}
	j := &Journal{path: path}
	err := j.connect(made)
	if err == nil {
		err = j.fill(formats)
	}
	// Closing it brings all into the one file, synced.
	if err := errors.Join(err, j.shut()); err != nil {
		return err
	}
	if _, err := os.Lstat(filepath.Join(path, made+"-wal")); !errors.Is(err, fs.ErrNotExist) {
		return problem.New(problem.Failed, "journal", "The journal could not be made: its log could not be closed. Nothing was begun.").Because(err)
	}
	// A crash up to here leaves a file that the next create removes.
	if err := os.Rename(filepath.Join(path, made), filepath.Join(path, File)); err != nil {
		return err
	}
	return dir.Sync()
}

// Close lets the journal go, once nobody uses it.
func (j *Journal) Close() error {
	<-j.turn
	defer func() { j.turn <- struct{}{} }()
	j.reserve.Lock()
	defer j.reserve.Unlock()
	if j.lost == nil {
		j.lost = errClosed
	}
	return j.shut()
}

var errClosed = problem.New(problem.Failed, problem.StepInternal, "The journal is closed.")

func (j *Journal) shut() error {
	var errs []error
	if j.conn != nil {
		errs = append(errs, j.conn.Close())
	}
	if j.db != nil {
		errs = append(errs, j.db.Close())
	}
	if j.dir != nil {
		errs = append(errs, j.dir.Close())
	}
	j.conn, j.db, j.dir = nil, nil, nil
	return errors.Join(errs...)
}

// Commits is how many commits were made since it was opened.
func (j *Journal) Commits() uint64 { return j.commits.Load() }

// Generation is how often something was begun by this journal, as [Tx.Raise] counts.
func (j *Journal) Generation() (n uint64, err error) {
	err = j.View(func(tx *Tx) error {
		n, err = tx.Generation()
		return err
	})
	return n, err
}

// View runs f on the journal as it is between two commits. It writes nothing.
func (j *Journal) View(f func(*Tx) error) error {
	return j.with(context.Background(), func() error {
		return j.inside(&Tx{j: j, view: true}, f)
	})
}

// Commit runs f and makes what it put durable, all of it or nothing. An error of f's, or
// of ctx before f began, has changed nothing; so has one that is [ErrFull]. After a
// [problem.Unknown] the journal must be opened again.
func (j *Journal) Commit(ctx context.Context, f func(*Tx) error) error {
	return j.with(ctx, func() error {
		return j.inside(&Tx{j: j}, f)
	})
}

// with waits for the turn. Ctx is for that alone: what is begun is finished.
func (j *Journal) with(ctx context.Context, f func() error) error {
	if err := ctx.Err(); err != nil { // select takes any case that is ready
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-j.turn:
	}
	defer func() { j.turn <- struct{}{} }()
	if j.lost != nil {
		return j.lost
	}
	return f()
}

// inside runs f between the begin and the end of a transaction.
func (j *Journal) inside(tx *Tx, f func(*Tx) error) error {
	begin := "BEGIN IMMEDIATE"
	if tx.view {
		begin = "BEGIN"
	}
	if err := j.exec(begin); err != nil {
		return said(err)
	}
	ended := false
	defer func() {
		tx.over = true
		if !ended { // also where f panics; SQLite may have done it already
			_ = j.exec("ROLLBACK")
		}
	}()
	if err := f(tx); err != nil {
		return err
	}
	if !tx.wrote {
		return nil
	}
	if err := j.exec("COMMIT"); err != nil {
		return j.unsure(err)
	}
	// A crash here: it is there.
	ended = true
	j.commits.Add(1)
	return nil
}

// unsure is the answer of a commit that failed. Where there was no room, or somebody
// else had the file, the record that makes it one was not written.
func (j *Journal) unsure(err error) error {
	if told := said(err); errors.Is(told, ErrFull) || errors.Is(told, errBusy) {
		return told
	}
	j.lost = problem.New(problem.Unknown, "journal-unknown", "Whether the last commit of the journal is on the disk cannot be told.").
		WithHint("start root again: it finds out").Because(err)
	return j.lost
}

func (j *Journal) exec(statement string, args ...any) error {
	_, err := j.conn.ExecContext(context.Background(), statement, args...)
	return err
}
