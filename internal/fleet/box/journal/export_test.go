package journal

import (
	"context"

	"holdfast/internal/durable"
)

// OpenFormats is Open for a holdfast of other formats: the present one and what adds to it.
func OpenFormats(dir *durable.Dir, more ...string) (*Journal, error) {
	return open(dir, append(append([]string{}, formats...), more...))
}

// Exec is for tests that meddle.
func (j *Journal) Exec(statement string) error {
	return j.with(context.Background(), func() error { return j.exec(statement) })
}

// Pragma is what SQLite says of name.
func (j *Journal) Pragma(name string) (value string, err error) {
	err = j.with(context.Background(), func() error { return j.number("PRAGMA "+name, &value) })
	return value, err
}
