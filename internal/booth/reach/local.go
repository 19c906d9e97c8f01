// Package reach gets at booths from the command line: in the data folder itself,
// or through a server. Both answer with the same documents, and with the same
// problems.
package reach

import (
	"context"
	"time"

	"holdfast/internal/booth"
	"holdfast/internal/booth/folder"
	"holdfast/internal/plain"
	"holdfast/internal/problem"
)

// Local reaches booths in a data folder on this machine. It needs no server.
type Local struct {
	Data *folder.Data
	TTL  time.Duration
}

// List is every booth, by name.
func (l Local) List(ctx context.Context) ([]booth.Summary, error) {
	looks, _, err := booth.List(ctx, l.Data, time.Now(), l.TTL)
	if err != nil {
		return nil, err
	}
	out := make([]booth.Summary, 0, len(looks))
	for _, look := range looks {
		out = append(out, look.Summary())
	}
	return out, nil
}

// Show is one booth and what is inside.
func (l Local) Show(ctx context.Context, name string) (booth.Listing, error) {
	look, err := l.look(ctx, name)
	return look.Listing(), err
}

// Explain is one booth and the rule that decides its lifetime.
func (l Local) Explain(ctx context.Context, name string) (booth.Explanation, error) {
	look, err := l.look(ctx, name)
	return look.Explain(), err
}

func (l Local) look(ctx context.Context, name string) (booth.Look, error) {
	n, err := folder.ParseName(name)
	if err != nil {
		return booth.Look{}, problem.New(problem.Gone, "booth", "There is no booth %q: a booth cannot have that name.", plain.Text(name))
	}
	b, err := l.Data.Booth(n)
	if err != nil {
		return booth.Look{}, err
	}
	defer b.Close()
	return booth.At(ctx, b, time.Now(), l.TTL), nil
}

// Put puts one file into a booth, making the booth if there is none.
func (l Local) Put(_ context.Context, name string, item folder.ItemPath, file folder.Sized) error {
	b, err := l.create(name)
	if err != nil {
		return err
	}
	defer b.Close()
	_, err = b.Put(item, file, maxFile)
	return err
}

// Describe changes what a booth says about itself, making it if there is none.
func (l Local) Describe(_ context.Context, name string, change booth.Change) error {
	b, err := l.create(name)
	if err != nil {
		return err
	}
	defer b.Close()
	return booth.Describe(b, change)
}

// maxFile is the most that one file may hold, in bytes: none but the disk's.
const maxFile = 1 << 62

func (l Local) create(name string) (*folder.Booth, error) {
	n, err := folder.ParseName(name)
	if err != nil {
		return nil, err
	}
	return l.Data.Create(n)
}
