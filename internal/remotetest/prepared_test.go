package remotetest

import (
	"os"
	"path/filepath"
	"testing"
)

// Red when: Copy hands out what was made, or makes it each time.
func TestEachTestHasACopyOfWhatWasMadeOnce(t *testing.T) {
	times := 0
	p := Prepare(func(t testing.TB, dir string) {
		t.Helper()
		times++
		if err := os.Mkdir(filepath.Join(dir, "inner"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "inner", "note"), []byte("as it was"), 0o444); err != nil {
			t.Fatal(err)
		}
	})
	one, other := t.TempDir(), filepath.Join(t.TempDir(), "not-there-yet")
	p.Copy(t, ".", one)
	if err := os.RemoveAll(filepath.Join(one, "inner")); err != nil {
		t.Fatal(err)
	}
	p.Copy(t, ".", other)
	note := filepath.Join(other, "inner", "note")
	if data, err := os.ReadFile(note); err != nil || string(data) != "as it was" {
		t.Errorf("the second copy has %q, %v", data, err)
	}
	if info, err := os.Stat(note); err != nil || info.Mode().Perm() != 0o444 {
		t.Errorf("its mode is %v, %v", info, err)
	}
	part := t.TempDir()
	p.Copy(t, "inner", part)
	if data, err := os.ReadFile(filepath.Join(part, "note")); err != nil || string(data) != p.Read(t, "inner/note") {
		t.Errorf("the part has %q, %v", data, err)
	}
	if times != 1 {
		t.Errorf("it was made %d times, want once", times)
	}
}

func TestARepositoryIsNotItsNeighbour(t *testing.T) {
	one, other := Path(t), Path(t)
	one.Commit("plan", Put("note", "x"))
	wantTip(t, other, "")
	if got := Path(t, "--object-format=sha256").Git("rev-parse", "--show-object-format"); got != "sha256" {
		t.Errorf("the objects are %s", got)
	}
}
