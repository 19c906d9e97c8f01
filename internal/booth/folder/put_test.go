package folder

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"holdfast/internal/problem"
)

// readOnly hides what else a reader can do, its length above all.
type readOnly struct{ r io.Reader }

func (r readOnly) Read(p []byte) (int, error) { return r.r.Read(p) }

// Red when created is not what target said, or limit is taken for one less.
func TestPutMakesAndReplaces(t *testing.T) {
	b, dir := makeBooth(t)
	for i, c := range []struct {
		path, content string
		created       bool
	}{
		{"a", "one", true},
		{"a", "two and more", false},
		{"a", "", false},
		{"d/e/f", "deep", true},
		{"d/e/f", "deeper", false},
		{"d/g", "beside", true},
	} {
		created, err := b.Put(item(t, c.path), readOnly{strings.NewReader(c.content)}, int64(len(c.content)))
		if err != nil || created != c.created {
			t.Fatalf("%d: created %v, %v", i, created, err)
		}
		if got := readItem(t, b, c.path); got != c.content {
			t.Errorf("%d: %q", i, got)
		}
	}
	st, err := os.Stat(dir + "/d/g")
	check(t, err)
	if st.Mode().Perm()&0o600 != 0o600 {
		t.Errorf("mode %v", st.Mode())
	}
	noTemporary(t, dir)
}

// A reader of the old file keeps it. Red when put writes in place.
func TestPutReplacesAndDoesNotOverwrite(t *testing.T) {
	b, dir := makeBooth(t)
	write(t, dir, "a", "old")
	check(t, os.Link(dir+"/a", dir+"/other"))
	f, err := b.Open(item(t, "a"))
	check(t, err)
	defer f.Close()
	_, err = b.Put(item(t, "a"), strings.NewReader("new"), 10)
	check(t, err)
	if got, err := io.ReadAll(f); err != nil || string(got) != "old" {
		t.Errorf("%q, %v", got, err)
	}
	if got := readItem(t, b, "other"); got != "old" {
		t.Errorf("another name of the old file has %q", got)
	}
}

// Red, in turn: when n is not compared with limit; when source's error is
// dropped; when a short Sized passes; when the temporary file, or the folders
// that were made, stay.
func TestAPutThatFailsChangesNothing(t *testing.T) {
	broken := errors.New("the line broke")
	for _, c := range []struct {
		what string
		path string
		r    io.Reader
		kind problem.Kind
		step string
		is   error
	}{
		{"too large, unknown size", "old", readOnly{strings.NewReader("123456")}, problem.Refused, problem.StepTooLarge, ErrTooLarge},
		{"too large, known size", "new", strings.NewReader("123456"), problem.Refused, problem.StepTooLarge, ErrTooLarge},
		{"too large, in new folders", "d/e/new", readOnly{strings.NewReader("123456")}, problem.Refused, problem.StepTooLarge, ErrTooLarge},
		{"broken", "old", io.MultiReader(strings.NewReader("12"), iotest.ErrReader(broken)), problem.Failed, "upload", broken},
		{"broken, in new folders", "d/e/new", iotest.ErrReader(broken), problem.Failed, "upload", broken},
		{"short", "d/new", Sized{strings.NewReader("123"), 5}, problem.Failed, "upload", io.ErrUnexpectedEOF},
		{"short, by pointer", "new", &Sized{strings.NewReader("123"), 5}, problem.Failed, "upload", io.ErrUnexpectedEOF},
		{"long", "new", Sized{strings.NewReader("12345"), 3}, problem.Failed, "upload", io.ErrUnexpectedEOF},
		{"through a file", "old/new", strings.NewReader("1"), problem.Refused, "not-served", nil},
		{"onto a folder", "sub", strings.NewReader("1"), problem.Refused, "not-served", nil},
	} {
		t.Run(c.what, func(t *testing.T) {
			b, dir := makeBooth(t)
			write(t, dir, "old", "old")
			write(t, dir, "sub/old", "old")
			_, err := b.Put(item(t, c.path), c.r, 5)
			publicly(t, err, c.kind, c.step)
			if c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("%v", err)
			}
			if d := cmp.Diff([]string{"old", "sub/old"}, everything(t, dir)); d != "" {
				t.Error(d)
			}
			if got := readItem(t, b, "old"); got != "old" {
				t.Errorf("old has %q", got)
			}
		})
	}
}

// What appears at the target during an upload is looked at again. Red when put
// asks target only once: the link is replaced.
func TestPutLooksAgainBeforeItRenames(t *testing.T) {
	b, dir := makeBooth(t)
	r := onRead(func() { link(t, "elsewhere", dir+"/a") })
	_, err := b.Put(item(t, "a"), r, 10)
	notServed(t, err, problem.Refused, "a", Link)
	if to, err := os.Readlink(dir + "/a"); err != nil || to != "elsewhere" {
		t.Errorf("%q, %v", to, err)
	}
	noTemporary(t, dir)
}

// The upload goes where its folder goes, not to what takes its name. Red when
// put resolves the path a second time.
func TestPutStaysInTheFolderThatItOpened(t *testing.T) {
	b, dir := makeBooth(t)
	outside := t.TempDir()
	check(t, os.Mkdir(dir+"/d", 0o755))
	r := onRead(func() {
		check(t, os.Rename(dir+"/d", dir+"/moved"))
		link(t, outside, dir+"/d")
	})
	if _, err := b.Put(item(t, "d/f"), r, 10); err != nil {
		t.Fatal(err)
	}
	if got := everything(t, outside); len(got) != 0 {
		t.Errorf("outside: %v", got)
	}
	if got := readItem(t, b, "moved/f"); got != "" {
		t.Errorf("%q", got)
	}
}

// Red when roomFor multiplies (it wraps), or refuses what it cannot know.
func TestRoomIsAskedForBySize(t *testing.T) {
	fd, err := openAt(unix.AT_FDCWD, t.TempDir(), dirFlags)
	check(t, err)
	defer unix.Close(fd)
	for size, want := range map[int64]error{-1: nil, 0: nil, 1: nil, 1<<63 - 1: unix.ENOSPC} {
		if err := roomFor(fd, size); err != want {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

type onRead func()

func (f onRead) Read([]byte) (int, error) { f(); return 0, io.EOF }

// everything lists the files below dir, dot files too, and its empty folders.
func everything(t *testing.T, dir string) []string {
	t.Helper()
	var got []string
	for p := range snapshot(t, dir) {
		kids, _ := os.ReadDir(p)
		if p != dir && len(kids) == 0 {
			rel, err := filepath.Rel(dir, p)
			check(t, err)
			got = append(got, rel)
		}
	}
	slices.Sort(got)
	return got
}

func noTemporary(t *testing.T, dir string) {
	t.Helper()
	for p := range snapshot(t, dir) {
		if strings.HasPrefix(filepath.Base(p), ".put-") {
			t.Errorf("%s is left over", p)
		}
	}
}
