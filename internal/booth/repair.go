package booth

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"holdfast/internal/booth/folder"
	"holdfast/internal/booth/marks"
	"holdfast/internal/durable"
	"holdfast/internal/problem"
)

// Repaired is what a repair did. Aside is the file in the booth that now has the
// damaged bytes; empty where there was nothing to repair.
type Repaired struct {
	Name  string   `json:"name"`
	Aside string   `json:"aside"`
	Kept  int      `json:"kept"` // marks that were written back
	Lost  []string `json:"lost"` // a sentence for each thing that could not be
}

// maxDamaged is how much of a damaged file is looked through.
const maxDamaged = 64 << 20

// asidePrefix begins the name of a damaged file that was kept; a number follows.
const asidePrefix = ".marks.damaged-"

// Repair mends damaged marks: it keeps the damaged file, whatever it is, under
// another name and puts in its place a whole document with all that hydrates.
// Both names change in one step, so that at no moment the booth is without
// marks. Marks that are whole, or absent, are left alone.
func Repair(ctx context.Context, d *folder.Data, name folder.Name) (Repaired, error) {
	done := Repaired{Name: text(name.String()), Lost: []string{}}
	err := locked(ctx, d, name, func(b *folder.Booth, dir *durable.Dir) error {
		r := readMarks(b)
		if r.Whole() {
			done.Kept = len(r.Marks)
			return nil
		}
		mended, err := mend(b)
		if err != nil {
			return err
		}
		aside, err := setBeside(dir, mended.Data)
		if err != nil {
			return err
		}
		// A crash here leaves the damaged marks in place, and a copy of the mended
		// ones beside them, which means nothing.
		if err := b.Exchange(aside, marks.File); err != nil {
			if problem.KindOf(err) != problem.Unknown {
				_ = b.Discard(aside) // at worst it is one more copy
			}
			return err
		}
		done.Aside, done.Kept, done.Lost = aside, mended.Kept, append(done.Lost, mended.Lost...)
		return nil
	})
	return done, err
}

// mend makes whole marks of what lies there. What is no file, or too large, or may
// not be read will not be another time either; any other failure is one of this
// moment, and nothing is made of it.
func mend(b *folder.Booth) (marks.Mended, error) {
	data, err := b.ReadDot(marks.File, maxDamaged)
	var odd *folder.Unserved
	switch {
	case err == nil:
		return marks.Mend(data)
	case !errors.As(err, &odd) && !errors.Is(err, folder.ErrTooLarge) && !errors.Is(err, fs.ErrPermission):
		return marks.Mended{}, problem.New(problem.Failed, "repair", "The marks cannot be read at this moment: %s. Nothing was changed.", problem.Words(err)).Because(err)
	}
	m, failed := marks.Mend(nil)
	m.Lost = []string{problem.Words(err)}
	return m, failed
}

// setBeside writes data under the first name that is free.
func setBeside(dir *durable.Dir, data []byte) (string, error) {
	for n := 1; ; n++ {
		name := fmt.Sprint(asidePrefix, n)
		err := dir.Create(name, data, 0o644)
		if !errors.Is(err, fs.ErrExist) {
			return name, err
		}
	}
}
