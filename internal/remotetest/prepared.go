package remotetest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// Prepared is a folder that is made once, and of which each test has a copy of its
// own: a repository is made by running git many times, and copied by running nothing.
type Prepared struct {
	make func(t testing.TB, dir string)

	mu    sync.Mutex
	files []file // none yet; a folder before what is in it
}

// file is a regular file of a folder, or a folder in it.
type file struct {
	path string
	mode fs.FileMode
	data []byte
}

// Prepare is a folder that make makes, of the test that asks for it first. It has
// files and folders alone, and none of them names the place where it was made.
func Prepare(make func(t testing.TB, dir string)) *Prepared { return &Prepared{make: make} }

// Copy puts a copy of a part of it, or of all (".") at to, which need not be there.
// What is there stays beside it.
func (p *Prepared) Copy(t testing.TB, part, to string) {
	t.Helper()
	for _, f := range p.list(t) {
		rel, err := filepath.Rel(part, f.path)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		if err := f.write(filepath.Join(to, rel)); err != nil {
			t.Fatal(err)
		}
	}
}

// Read is what a file of it says.
func (p *Prepared) Read(t testing.TB, path string) string {
	t.Helper()
	for _, f := range p.list(t) {
		if f.path == path {
			return string(f.data)
		}
	}
	t.Fatalf("there is no %s in what was prepared", path)
	return ""
}

func (p *Prepared) list(t testing.TB) []file {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.files == nil {
		dir := t.TempDir()
		p.make(t, dir)
		files, err := filesIn(dir)
		if err != nil {
			t.Fatal(err)
		}
		p.files = files
	}
	return p.files
}

func filesIn(dir string) ([]file, error) {
	var list []file
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		f := file{path: rel, mode: info.Mode()}
		switch {
		case f.mode.IsRegular():
			f.data, err = os.ReadFile(path)
		case !f.mode.IsDir():
			err = errors.New(path + " is neither a file nor a folder")
		}
		list = append(list, f)
		return err
	})
	return list, err
}

func (f file) write(path string) error {
	if f.mode.IsDir() {
		return os.MkdirAll(path, f.mode.Perm())
	}
	return os.WriteFile(path, f.data, f.mode.Perm())
}
