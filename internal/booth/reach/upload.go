package reach

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"holdfast/internal/booth/folder"
	"holdfast/internal/plain"
	"holdfast/internal/problem"
)

// Skipped is a local file that is not published, and why.
type Skipped struct {
	File string `json:"file"`
	Why  string `json:"why"`
}

// Putter takes files into booths; [Local] and [Remote] do.
type Putter interface {
	Put(ctx context.Context, name string, item folder.ItemPath, file folder.Sized) error
}

// Upload is one local file and the item that it becomes.
type Upload struct {
	From string
	Item folder.ItemPath
}

// Send puts the file into a booth.
func (u Upload) Send(ctx context.Context, b Putter, name string) error {
	f, err := os.Open(u.From)
	if err != nil {
		return problem.New(problem.Failed, "read", "%s cannot be read.", plain.Text(u.From)).Because(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return b.Put(ctx, name, u.Item, folder.Sized{Reader: f, Length: info.Size()})
}

// Gather finds every file to publish before the first one is sent, so that a
// misspelt name changes nothing. A file goes to the top of the booth, a folder
// goes in under its own name, and what is in "DIR/." goes to the top.
func Gather(files []string) (uploads []Upload, skipped []Skipped, err error) {
	g := gathering{at: map[folder.ItemPath]string{}, skipped: []Skipped{}}
	for _, f := range files {
		info, err := os.Stat(f)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil, problem.Refusal("read", "There is no file %s. Nothing was published.", plain.Text(f))
		case err != nil:
			return nil, nil, problem.Refusal("read", "%s cannot be looked at. Nothing was published.", plain.Text(f)).Because(err)
		case info.IsDir():
			err = g.folder(f)
		default:
			err = g.file(f, filepath.Base(f), info.Mode())
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return g.uploads, g.skipped, nil
}

type gathering struct {
	at      map[folder.ItemPath]string // the file that is to be an item
	uploads []Upload
	skipped []Skipped
}

func (g *gathering) skip(file, why string) { g.skipped = append(g.skipped, Skipped{file, why}) }

// file adds a file that was named, or found in a folder that was.
func (g *gathering) file(from, to string, mode fs.FileMode) error {
	if !mode.IsRegular() {
		return problem.Refusal("read", "%s is no regular file. Nothing was published.", plain.Text(from))
	}
	item, err := folder.ParseItem(filepath.ToSlash(to))
	if err != nil {
		return err
	}
	if other, taken := g.at[item]; taken {
		return problem.Refusal("same-item", "%s and %s would both be the item %s. Nothing was published.", plain.Text(other), plain.Text(from), plain.Text(item.String()))
	}
	g.at[item] = from
	g.uploads = append(g.uploads, Upload{from, item})
	return nil
}

// folder adds what is in a folder, under its name; "DIR/." means without it.
func (g *gathering) folder(dir string) error {
	prefix := filepath.Base(dir)
	if abs, err := filepath.Abs(dir); err == nil {
		prefix = filepath.Base(abs)
	}
	if dir == "." || strings.HasSuffix(dir, "/.") {
		prefix = ""
	}
	// With the dot, a link that was named is entered; a link inside is not.
	return filepath.WalkDir(dir+"/.", func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return problem.Refusal("read", "%s cannot be read. Nothing was published.", plain.Text(path)).Because(err)
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		switch {
		case rel == ".":
			return nil
		case strings.HasPrefix(e.Name(), "."):
			g.skip(path, "it begins with a dot")
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		case e.IsDir():
			return nil
		case !e.Type().IsRegular():
			g.skip(path, "it is no regular file")
			return nil
		default:
			return g.file(path, filepath.Join(prefix, rel), e.Type())
		}
	})
}
