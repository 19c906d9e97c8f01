package snapshot

import (
	"errors"
	"path/filepath"
	"time"

	"holdfast/internal/canon"
)

// failure is one line of the journal of removals that failed, canonical JSON.
type failure struct {
	Schema    string    `json:"schema"`
	Seq       int64     `json:"seq"` // counted from 1, without a gap
	At        time.Time `json:"at"`
	Operation string    `json:"operation"`
	Worktree  string    `json:"worktree"`
	ExitCode  int       `json:"exit_code"`
	Stderr    string    `json:"stderr"`
}

const (
	failureSchema = "holdfast.snapshot-close-failure/v1"
	maxFailure    = 64 << 10
)

// decodeFailure reads a line of the journal, all of it.
func decodeFailure(line []byte) (Failure, error) {
	var f failure
	if err := canon.Decode(line, &f); err != nil {
		return Failure{}, err
	}
	switch {
	case f.Schema != failureSchema:
		return Failure{}, errors.New("its schema is not " + failureSchema)
	case f.Seq < 1:
		return Failure{}, errors.New("its number is below 1")
	case !filepath.IsAbs(f.Worktree):
		return Failure{}, errors.New("its worktree is no absolute path")
	case f.ExitCode < noExit:
		return Failure{}, errors.New("its exit code is below -1")
	}
	if err := checkOperation(f.Operation); err != nil {
		return Failure{}, err
	}
	return Failure{f.Seq, f.At, f.Operation, CloseFailed{f.Worktree, f.ExitCode, f.Stderr}}, nil
}

// MarshalJSON writes f as its line of the journal.
func (f Failure) MarshalJSON() ([]byte, error) { return canon.Encode(f.line()) }

// UnmarshalJSON reads a line of the journal, all of it.
func (f *Failure) UnmarshalJSON(line []byte) error {
	read, err := decodeFailure(line)
	if err == nil {
		*f = read
	}
	return err
}

func (f Failure) line() failure {
	return failure{failureSchema, f.Seq, f.At, f.Operation, f.Close.Worktree, f.Close.ExitCode, f.Close.Stderr}
}
