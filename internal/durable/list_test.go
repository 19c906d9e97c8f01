package durable_test

import (
	"os"
	"slices"
	"testing"
)

// Red when Remove takes a path for a name, or misses what is not there; or when a
// second listing goes on where the first ended.
func TestNamesAreListedAndRemoved(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir)
	for _, p := range []string{"/a", "/b"} {
		if err := os.WriteFile(dir+p, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(dir+"/sub", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/sub/c", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if d.Remove("sub/c") == nil || d.Remove("sub") == nil || d.Remove("a") != nil || d.Remove("a") != nil {
		t.Error("removed what it should not have, or not what it should")
	}
	for range 2 {
		names, err := d.Names()
		slices.Sort(names)
		if err != nil || !slices.Equal(names, []string{"b", "sub"}) {
			t.Errorf("%q, %v", names, err)
		}
	}
	if _, err := os.Stat(dir + "/sub/c"); err != nil {
		t.Error(err)
	}
}
