package snapshot

import (
	"errors"
	"path/filepath"

	"holdfast/internal/canon"
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
