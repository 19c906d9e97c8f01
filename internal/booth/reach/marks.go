package reach

import (
	"context"
	"time"

	"holdfast/internal/booth"
	"holdfast/internal/booth/folder"
	"holdfast/internal/booth/marks"
)

func (l Local) who() marks.Who { return marks.Who{By: l.By, Via: "cli", At: time.Now()} }

// Marks is a booth's marks, as far as they can be read.
func (l Local) Marks(_ context.Context, name string) (marks.Reading, error) {
	n, err := folder.Existing(name)
	if err != nil {
		return marks.Reading{}, err
	}
	return booth.Marks(l.Data, n)
}

// change is one of the functions that write marks.
type change[In, Out any] func(context.Context, *folder.Data, folder.Name, In, marks.Who) (Out, error)

func write[In, Out any](ctx context.Context, l Local, name string, in In, do change[In, Out]) (out Out, err error) {
	n, err := folder.Existing(name)
	if err != nil {
		return out, err
	}
	return do(ctx, l.Data, n, in, l.who())
}

// Ask asks a question, or edits one. The answer has no URL: which desk shows the
// folder is not known to it.
func (l Local) Ask(ctx context.Context, name string, q booth.Question) (booth.Asked, error) {
	return write(ctx, l, name, q, booth.Ask)
}

// Answer answers a question.
func (l Local) Answer(ctx context.Context, name string, r booth.Reply) (booth.Asked, error) {
	return write(ctx, l, name, r, booth.Answer)
}

// Withdraw takes a question back.
func (l Local) Withdraw(ctx context.Context, name string, w booth.Withdrawal) (booth.Asked, error) {
	return write(ctx, l, name, w, booth.Withdraw)
}

// Note writes a note.
func (l Local) Note(ctx context.Context, name string, r booth.Remark) (booth.Noted, error) {
	return write(ctx, l, name, r, booth.Note)
}

// Flag flags an item.
func (l Local) Flag(ctx context.Context, name string, r booth.Remark) (booth.Noted, error) {
	return write(ctx, l, name, r, booth.Flag)
}

// Repair mends damaged marks.
func (l Local) Repair(ctx context.Context, name string) (booth.Repaired, error) {
	n, err := folder.Existing(name)
	if err != nil {
		return booth.Repaired{}, err
	}
	return booth.Repair(ctx, l.Data, n)
}
