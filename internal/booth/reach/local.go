// Package reach gets at booths from the command line: in the data folder itself,
// or through a server. Both answer with the same documents, and with the same
// problems.
package reach

import (
	"context"
	"io"
	"time"

	"holdfast/internal/booth"
	"holdfast/internal/booth/folder"
	"holdfast/internal/booth/ledger"
)

// Local reaches booths in a data folder on this machine. It needs no server.
type Local struct {
	Data   *folder.Data
	Ledger *ledger.Ledger
	TTL    time.Duration
	By     string // whom what is done is put down to
	Acts   Acts

	// tick stands in for time.After in tests; nil for that.
	tick func(time.Duration) <-chan time.Time
}

func (l Local) terms() booth.Terms {
	return booth.Terms{Now: time.Now(), TTL: l.TTL, Records: l.Ledger.Records()}
}

// List is every booth, by name.
func (l Local) List(ctx context.Context) ([]booth.Summary, error) {
	looks, err := booth.List(ctx, l.Data, l.terms())
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
	n, err := folder.Existing(name)
	if err != nil {
		return booth.Look{}, err
	}
	b, err := l.Data.Booth(n)
	if err != nil {
		return booth.Look{}, err
	}
	defer b.Close()
	return booth.At(ctx, b, l.terms()), nil
}

// Put puts one file into a booth, making the booth if there is none.
func (l Local) Put(ctx context.Context, name string, item folder.ItemPath, file folder.Sized) error {
	n, err := folder.ParseName(name)
	if err != nil {
		return err
	}
	return l.Data.Fill(n, func(b *folder.Booth) error {
		_, err := b.Put(item, folder.Sized{Reader: until{ctx, file.Reader}, Length: file.Length}, booth.MaxItem)
		return err
	})
}

// Describe changes what a booth says about itself, making it if there is none.
func (l Local) Describe(ctx context.Context, name string, change booth.Change) error {
	n, err := folder.ParseName(name)
	if err != nil {
		return err
	}
	return booth.Describe(ctx, l.Data, n, change)
}

// until is a reader that ends with its context.
type until struct {
	ctx context.Context
	io.Reader
}

func (u until) Read(b []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.Reader.Read(b)
}
