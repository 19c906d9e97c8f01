package durable_test

import (
	"os"
	"path/filepath"
	"testing"

	"holdfast/internal/durable"
)

// Red when: Path tells the path that the folder was opened with, or does not compare.
func TestAFolderKnowsWhereItIs(t *testing.T) {
	above, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d, err := durable.OpenDir(above)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	sub, err := d.MakeSub("inside", 0o700)
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	if got, err := d.Path(); err != nil || got != above {
		t.Errorf("%q, %v", got, err)
	}
	checkMoved(t, above, sub)
}

// checkMoved looks where sub says that it is, then renames and removes it.
func checkMoved(t *testing.T, above string, sub *durable.Dir) {
	t.Helper()
	was, now := filepath.Join(above, "inside"), filepath.Join(above, "elsewhere")
	if got, err := sub.Path(); locatesByDescriptor && (err != nil || got != was) {
		t.Errorf("%q, %v", got, err)
	}
	if err := os.Rename(was, now); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(was, 0o700); err != nil {
		t.Fatal(err)
	}
	if got, err := sub.Path(); locatesByDescriptor && (err != nil || got != now) {
		t.Errorf("%q, %v", got, err)
	}
	if err := os.Remove(now); err != nil {
		t.Fatal(err)
	}
	if got, err := sub.Path(); err == nil {
		t.Errorf("it is gone, and is said to be at %q", got)
	}
}
