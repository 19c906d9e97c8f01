package booth

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"holdfast/internal/booth/folder"
	"holdfast/internal/booth/marks"
	"holdfast/internal/durable"
	"holdfast/internal/problem"
)

// lockPatience is how long a change waits until it has its booth to itself.
const lockPatience = 10 * time.Second

// faults makes the writes of a booth fail, in tests; nil outside of them.
var faults durable.Faults

// lockBooth takes the lock of a booth's own folder.
func lockBooth(ctx context.Context, dir *durable.Dir) (*durable.Lock, error) {
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	lock, err := durable.Await(ctx, dir.LockDir)
	var held *durable.Held
	if errors.As(err, &held) {
		return nil, problem.Refusal("booth-busy", "The booth is in use by another process. Nothing was changed.").
			Because(err).WithHint("try again in a moment")
	}
	return lock, err
}

// locked runs change on the booth called name, with the booth's lock. The lock
// is the folder's and follows it when it is renamed, so the name is looked up
// again under it: what is changed is the booth of that name, or nothing is. A
// booth that was swept meanwhile is Gone.
func locked(ctx context.Context, d *folder.Data, name folder.Name, change func(*folder.Booth, *durable.Dir) error) error {
	for {
		again, err := lockedOnce(ctx, d, name, change)
		if !again {
			return err
		}
	}
}

// lockedOnce is one try; it is to be repeated where another folder took the name.
func lockedOnce(ctx context.Context, d *folder.Data, name folder.Name, change func(*folder.Booth, *durable.Dir) error) (again bool, err error) {
	b, err := d.Booth(name)
	if err != nil {
		return false, err
	}
	defer b.Close()
	dir, err := durable.FromFile(b.Dir())
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		return false, err
	}
	if err != nil {
		return false, problem.Refusal("not-permitted", "The booth %q may not be read by this service. Nothing was changed.", name).Because(err)
	}
	defer dir.Close()
	dir.Faults = faults
	lock, err := lockBooth(ctx, dir)
	if err != nil {
		return false, err
	}
	defer lock.Release()
	now, err := d.Booth(name)
	if err != nil {
		return false, err
	}
	defer now.Close()
	if now.ID() != b.ID() {
		return true, nil
	}
	return false, change(b, dir)
}

// ChangeMarks changes a booth's marks: it reads them strictly under the booth's
// lock, lets change do its part, and writes them if that changed anything. What
// change refuses, and marks that are damaged, leave every byte as it is. The
// reading is what is there afterwards: with an error, what was there before.
func ChangeMarks(ctx context.Context, d *folder.Data, name folder.Name, change func(*marks.Document) error) (marks.Reading, error) {
	var there marks.Reading
	err := locked(ctx, d, name, func(b *folder.Booth, dir *durable.Dir) error {
		doc, err := editMarks(b)
		if err != nil {
			return err
		}
		there = doc.Reading()
		if err := change(doc); err != nil || !doc.Changed() {
			return err
		}
		data, err := doc.Encode()
		if err != nil {
			return err
		}
		if err := dir.WriteFile(marks.File, data, 0o644); err != nil {
			return err
		}
		there = doc.Reading()
		return nil
	})
	return there, err
}

func editMarks(b *folder.Booth) (*marks.Document, error) {
	data, err := b.ReadDot(marks.File, marks.MaxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return marks.Edit(nil)
	}
	if err != nil {
		return nil, marks.RefuseDamaged(marks.Damaged("%s", problem.Words(err)))
	}
	return marks.Edit(data)
}

// Marks reads a booth's marks, as far as they can be read.
func Marks(d *folder.Data, name folder.Name) (marks.Reading, error) {
	b, err := d.Booth(name)
	if err != nil {
		return marks.Reading{}, err
	}
	defer b.Close()
	return readMarks(b), nil
}
