//go:build linux

package booth

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"holdfast/internal/booth/lifetime"
	"holdfast/internal/problem"
)

func tmpfs(t *testing.T, path, options string) {
	t.Helper()
	check(t, os.MkdirAll(path, 0o755))
	if err := unix.Mount("none", path, "tmpfs", 0, options); err != nil {
		t.Fatalf("these tests need to mount (root): %v", err)
	}
	t.Cleanup(func() { check(t, unix.Unmount(path, unix.MNT_DETACH)) })
}

// Red when At does not hand the survey's mount on.
func TestAMountInsideHolds(t *testing.T) {
	b, dir := makeBooth(t)
	write(t, dir, "d/f", "x")
	if _, ok := look(b).State.(lifetime.Counting); !ok {
		t.Errorf("a folder: %#v", look(b).State)
	}
	tmpfs(t, dir+"/d", "size=64k")
	if got := look(b).State; got != (lifetime.Held{Reason: lifetime.MountHold, Detail: "d"}) {
		t.Errorf("%#v", got)
	}
}

// A mount over one of a booth's own files holds too: what it hides cannot be told.
func TestAMountOverTheMarksHolds(t *testing.T) {
	b, dir := makeBooth(t)
	write(t, dir, ".marks.json", doc())
	other := t.TempDir() + "/f"
	check(t, os.WriteFile(other, []byte(doc()), 0o644))
	check(t, unix.Mount(other, dir+"/.marks.json", "", unix.MS_BIND, ""))
	t.Cleanup(func() { check(t, unix.Unmount(dir+"/.marks.json", unix.MNT_DETACH)) })
	if s, ok := look(b).State.(lifetime.Held); !ok || s.Reason != lifetime.MarksHold {
		t.Errorf("%#v", look(b).State)
	}
}

// case B20, for what is said about a booth. Red when Describe truncates the file
// that is there.
func TestAFullDiskLeavesTheManifest(t *testing.T) {
	s := newShed(t)
	b, dir := s.booth(t, "x")
	b.Close()
	tmpfs(t, dir, "size=16k")
	b, _ = s.booth(t, "x")
	write(t, dir, ManifestFile, `{"title":"old"}`)
	fill, err := os.Create(dir + "/fill")
	check(t, err)
	for err == nil {
		_, err = fill.Write(make([]byte, 512))
	}
	check(t, fill.Close())
	err = Describe(b, titled("new"))
	if p := problem.From(err, ""); p.Step != problem.StepNoSpace || p.Kind != problem.Failed {
		t.Errorf("%v", err)
	}
	if got := look(b).Manifest; got.Title != "old" || got.Damage != "" {
		t.Errorf("%+v", got)
	}
}
