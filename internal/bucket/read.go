package bucket

import (
	"context"
	"io/fs"

	"holdfast/internal/problem"
)

// Read is the bytes of an object that must be there. One that is not is an error of kind
// Gone, and an fs.ErrNotExist.
func Read(ctx context.Context, s Store, key Key) ([]byte, error) {
	reading, err := s.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	if found, ok := reading.(Found); ok {
		return found.Data, nil
	}
	return nil, problem.New(problem.Gone, "object-absent", "%s is not in the store.", key).Because(fs.ErrNotExist)
}
