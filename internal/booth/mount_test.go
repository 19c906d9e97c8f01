//go:build linux

package booth

import (
	"context"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"holdfast/internal/booth/lifetime"
	"holdfast/internal/booth/marks"
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
	err = describeAt(t, dir, titled("new"))
	if p := problem.From(err, ""); p.Step != problem.StepNoSpace || p.Kind != problem.Failed {
		t.Errorf("%v", err)
	}
	if got := look(b).Manifest; got.Title != "old" || got.Damage != "" {
		t.Errorf("%+v", got)
	}
}

// case B20, on a disk that is full. Red when ChangeMarks truncates what is there.
func TestAFullDiskLeavesTheMarks(t *testing.T) {
	s := newShed(t)
	b, dir := s.booth(t, "x")
	b.Close()
	tmpfs(t, dir, "size=16k")
	b, _ = s.booth(t, "x")
	fill := func() {
		f, err := os.Create(dir + "/fill")
		check(t, err)
		for err == nil {
			_, err = f.Write(make([]byte, 512))
		}
		check(t, f.Close())
	}
	for _, before := range []string{doc(openPick), doc(openPick, noOptions)} {
		check(t, os.WriteFile(dir+"/"+marks.File, []byte(before), 0o644))
		fill()
		err := addNote(s, "x")
		if before != doc(openPick) {
			_, err = Repair(context.Background(), s.data, named(t, "x"))
		}
		step(t, err, problem.Failed, problem.StepNoSpace)
		if got := content(t, dir+"/"+marks.File); got != before || len(names(t, dir)) != 2 {
			t.Errorf("%q, %v", got, names(t, dir))
		}
		if _, ok := look(b).State.(lifetime.Held); !ok {
			t.Errorf("%#v", look(b).State)
		}
		check(t, os.Remove(dir+"/fill"))
	}
}

// case B27: a marker that cannot be removed, by anyone.
func TestAMarkerThatIsAMountIsRefusedInWords(t *testing.T) {
	s := newShed(t)
	_, dir := s.booth(t, "x")
	tmpfs(t, dir+"/"+KeepFile, "size=16k")
	released, err := Release(context.Background(), s.data, named(t, "x"), now)
	step(t, err, problem.Refused, "keep-marker")
	if released || content(t, dir+"/.viewed") != "absent" {
		t.Error("something was changed")
	}
}

// A mount over the marks cannot be put aside. Red when Exchange's error has no
// words.
func TestAMountOverTheMarksIsNotMended(t *testing.T) {
	s := newShed(t)
	b, dir := s.booth(t, "x")
	write(t, dir, marks.File, "")
	other := t.TempDir() + "/f"
	check(t, os.WriteFile(other, []byte("broken"), 0o644))
	check(t, unix.Mount(other, dir+"/"+marks.File, "", unix.MS_BIND, ""))
	t.Cleanup(func() { check(t, unix.Unmount(dir+"/"+marks.File, unix.MNT_DETACH)) })
	for range 2 {
		done, err := Repair(context.Background(), s.data, named(t, "x"))
		step(t, err, problem.Failed, "unwritable")
		if done.Aside != "" || content(t, other) != "broken" {
			t.Errorf("%+v", done)
		}
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("left beside it: %v", got)
	}
	if h, ok := look(b).State.(lifetime.Held); !ok || h.Reason != lifetime.MarksHold {
		t.Errorf("%#v", look(b).State)
	}
}
