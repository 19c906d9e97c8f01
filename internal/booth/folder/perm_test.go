//go:build perm

package folder

// Root may read everything, so these run as an ordinary user:
//
//	go test -tags perm -run Perm -exec 'setpriv --reuid=65534 --regid=65534 --clear-groups' ./internal/booth/folder

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/internal/permtest"
	"holdfast/internal/problem"
)

// Red when dir or entry drop an error.
func TestPermAFolderThatCannotBeReadIsAFailureThatNamesIt(t *testing.T) {
	permtest.Ordinary(t)
	for _, mode := range []fs.FileMode{0, 0o100, 0o400} {
		b, dir := makeBooth(t)
		write(t, dir, "a", "a")
		write(t, dir, "d/f", "f")
		write(t, dir, "z", "z")
		permtest.Lock(t, dir+"/d", mode)
		s := b.Survey(context.Background(), time.Now())
		want := "d"
		if mode == 0o400 { // listed, but nothing in it can be looked at
			want = "d/f"
		}
		if s.Failure == nil || s.Failure.Path != want || !errors.Is(s.Failure, fs.ErrPermission) {
			t.Errorf("mode %o: %v", mode, s.Failure)
		}
		if len(s.Items) != 2 {
			t.Errorf("mode %o: the rest is not filled in: %v", mode, paths(s))
		}
	}
}

// Red when openBoothAt does not open it as a place: the booth is then no booth.
func TestPermABoothThatCannotBeReadIsOpenedAndFails(t *testing.T) {
	permtest.Ordinary(t)
	was, dir := makeBooth(t)
	write(t, dir, ".forever", "")
	data := makeData(t, filepath.Dir(dir))
	permtest.Lock(t, dir, 0)
	b, err := data.Booth(was.Name())
	check(t, err)
	defer b.Close()
	if s := b.Survey(context.Background(), time.Now()); s.Failure == nil || s.Failure.Path != "." || s.Newest.Clock == 0 {
		t.Errorf("%+v", s)
	}
	if _, err := b.Sentinel(); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("sentinel: %v", err)
	}
	_, err = b.Open(item(t, "a"))
	publicly(t, err, problem.Failed, "not-permitted")
	_, err = b.Put(item(t, "a"), strings.NewReader("a"), 10)
	publicly(t, err, problem.Refused, "not-permitted")
	publicly(t, b.RecordView(time.Now()), problem.Refused, "not-permitted")
}

// A file that cannot be read is an item all the same: its stat says enough.
// Red when readWords takes EACCES for absent.
func TestPermAFileThatCannotBeReadSaysSo(t *testing.T) {
	permtest.Ordinary(t)
	b, dir := makeBooth(t)
	write(t, dir, "a", "a")
	write(t, dir, ".marks.json", "{}")
	permtest.Lock(t, dir+"/a", 0)
	permtest.Lock(t, dir+"/.marks.json", 0)
	s := survey(t, b)
	if len(s.Items) != 1 {
		t.Errorf("%v", paths(s))
	}
	_, err := b.Open(item(t, "a"))
	publicly(t, err, problem.Failed, "not-permitted")
	_, err = b.ReadDot(".marks.json", 10)
	publicly(t, err, problem.Failed, "not-permitted")
	if !errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	a, err := b.Zip(s.Items)
	check(t, err)
	_, err = a.WriteTo(new(strings.Builder))
	publicly(t, err, problem.Failed, "not-permitted")
}

// The marker of a view need not be writable, only ours.
func TestPermAViewIsRecordedOnAMarkerThatCannotBeOpened(t *testing.T) {
	permtest.Ordinary(t)
	b, dir := makeBooth(t)
	write(t, dir, ".viewed", "")
	permtest.Lock(t, dir+"/.viewed", 0)
	at := time.Unix(2_000_000_000, 0)
	check(t, b.RecordView(at))
	if st, err := os.Stat(dir + "/.viewed"); err != nil || !st.ModTime().Equal(at) {
		t.Errorf("%v, %v", st.ModTime(), err)
	}
}
