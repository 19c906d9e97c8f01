//go:build linux

package folder

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

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

func bind(t *testing.T, from, to string) {
	t.Helper()
	if err := unix.Mount(from, to, "", unix.MS_BIND, ""); err != nil {
		t.Fatalf("these tests need to mount (root): %v", err)
	}
	t.Cleanup(func() { check(t, unix.Unmount(to, unix.MNT_DETACH)) })
}

// plantMounts makes a booth that holds a mount of another device and one, a
// folder and a file, of its own.
func plantMounts(t *testing.T) (*Booth, string) {
	b, dir := makeBooth(t)
	outside := t.TempDir()
	write(t, outside, "secret", "outside")
	tmpfs(t, dir+"/m/tmp", "size=64k")
	write(t, dir, "m/tmp/f", "mounted")
	check(t, os.Mkdir(dir+"/bound", 0o755))
	write(t, dir, "boundfile", "below")
	write(t, dir, "real", "real")
	bind(t, outside, dir+"/bound")
	bind(t, outside+"/secret", dir+"/boundfile")
	return b, dir
}

// Red when entry does not ask mountIn; for the bound ones also when mountIn asks
// the device alone.
func TestAMountInsideIsSeenAndNotEntered(t *testing.T) {
	b, _ := plantMounts(t)
	s := survey(t, b)
	if s.Mount != "bound" {
		t.Errorf("mount %q", s.Mount)
	}
	if d := cmp.Diff([]string{"real"}, paths(s)); d != "" {
		t.Error(d)
	}
	want := []Unserved{{"bound", Mount}, {"boundfile", Mount}, {"m/tmp", Mount}}
	if d := cmp.Diff(want, s.Unserved); d != "" {
		t.Error(d)
	}
}

// Red when resolve loses RESOLVE_NO_XDEV, or stepInto and target do not ask for
// mounts.
func TestNoMountIsCrossedByFindOpenOrPut(t *testing.T) {
	b, dir := plantMounts(t)
	for _, p := range []string{"m/tmp/f", "bound/secret", "boundfile"} {
		_, err := b.Open(item(t, p))
		notServed(t, err, problem.Gone, p, Mount)
		_, err = b.Find(p)
		notServed(t, err, problem.Gone, p, Mount)
		_, err = b.Put(item(t, p), strings.NewReader("new"), 10)
		var u *Unserved
		if !errors.As(err, &u) || u.Why != Mount || problem.KindOf(err) != problem.Refused {
			t.Errorf("Put(%q): %v", p, err)
		}
	}
	if got, err := os.ReadFile(dir + "/bound/secret"); err != nil || string(got) != "outside" {
		t.Errorf("%q, %v", got, err)
	}
	_, err := b.Find("bound/se\u0301cret") // searched for, behind the mount
	notServed(t, err, problem.Gone, "bound/se\u0301cret", Mount)
}

// A booth may itself be a mount point; its survey says so. Red when top does not
// ask mountRoot.
func TestABoothThatIsAMountIsReadAndNamed(t *testing.T) {
	data := t.TempDir()
	tmpfs(t, data+"/x", "size=64k")
	write(t, data, "x/f", "f")
	b, err := makeData(t, data).Booth(name(t, "x"))
	check(t, err)
	defer b.Close()
	s := survey(t, b)
	if s.Mount != "." || len(s.Items) != 1 || readItem(t, b, "f") != "f" {
		t.Errorf("%+v", s)
	}
}

// case B20, as far as an item goes: the old content stays, nothing is half there.
// Red when put does not remove its temporary file, or the words are lost; the
// size known in advance is red when roomFor is not asked (the old file is then
// still whole, but the upload was read).
func TestAFullDiskChangesNothing(t *testing.T) {
	data := t.TempDir()
	tmpfs(t, data, "size=64k")
	b, err := makeData(t, data).Create(name(t, "x"))
	check(t, err)
	defer b.Close()
	write(t, data, "x/old", "old")
	before := snapshot(t, data)
	big := strings.Repeat("x", 1<<20)
	for _, p := range []string{"old", "new", "deep/er/new"} {
		r := strings.NewReader(big)
		_, err := b.Put(item(t, p), r, 1<<30)
		publicly(t, err, problem.Failed, problem.StepNoSpace)
		if r.Len() != len(big) {
			t.Errorf("%s: read before the space was checked", p)
		}
		if d := cmp.Diff(before, snapshot(t, data)); d != "" {
			t.Errorf("%s: %s", p, d)
		}
	}
	for _, p := range []string{"old", "new", "deep/er/new"} {
		_, err := b.Put(item(t, p), readOnly{strings.NewReader(big)}, 1<<30)
		publicly(t, err, problem.Failed, problem.StepNoSpace)
		if got := paths(survey(t, b)); len(got) != 1 || readItem(t, b, "old") != "old" {
			t.Errorf("%s: %v", p, got)
		}
		if names, err := os.ReadDir(data + "/x"); err != nil || len(names) != 1 {
			t.Errorf("%s: %v, %v", p, names, err)
		}
	}
}

// Red when stepInto does not compare devices where mounts say nothing.
func TestAnotherDeviceIsAMountWhateverTheKernelSays(t *testing.T) {
	m := meta{mode: unix.S_IFDIR, FileID: FileID{Device: 2}}
	if !m.mountIn(1) || m.mountIn(2) {
		t.Error("a directory on another device is no mount, or one on this is")
	}
	m.mode = unix.S_IFREG
	if m.mountIn(1) {
		t.Error("an overlay's file is a mount")
	}
}

// A mount is not entered even when it comes between the look and the open.
// Red when dir does not compare what it opened.
func TestAMountThatComesDuringTheWalkIsAFailure(t *testing.T) {
	b, dir := makeBooth(t)
	check(t, os.Mkdir(dir+"/d", 0o755))
	fd, err := openAt(unix.AT_FDCWD, dir, dirFlags)
	check(t, err)
	defer unix.Close(fd)
	before, err := statAt(fd, "d")
	check(t, err)
	tmpfs(t, dir+"/d", "size=64k")
	write(t, dir, "d/f", "mounted")
	w := walk{ctx: context.Background(), now: time.Now().UnixNano(), device: b.ID().Device, buf: make([]byte, direntBuffer)}
	w.sub(fd, place{path: "."}, "d", before)
	if w.Failure == nil || !errors.Is(w.Failure, errSwapped) || len(w.Items) != 0 {
		t.Errorf("%+v", w.Survey)
	}
}
