//go:build long

package folder

import (
	"os"
	"testing"
)

// case B10: a file over 4 GiB, and one whose offset is. Red when large says no, or
// the central directory does not give wide offsets.
//
//	go test -tags long -run 4GiB ./internal/booth/folder
func TestAnArchiveOver4GiB(t *testing.T) {
	b, dir := makeBooth(t)
	write(t, dir, "a", "before")
	write(t, dir, "big", "")
	check(t, os.Truncate(dir+"/big", 4<<30+5))
	write(t, dir, "z", "after")
	a, err := b.Zip(survey(t, b).Items)
	check(t, err)
	path := t.TempDir() + "/a.zip"
	f, err := os.Create(path)
	check(t, err)
	defer f.Close()
	n, err := a.WriteTo(f)
	check(t, err)
	if n != a.Size() {
		t.Errorf("size %d, written %d", a.Size(), n)
	}
	if got := others(t, path); len(got) != 3 {
		t.Errorf("%q", got)
	}
}
