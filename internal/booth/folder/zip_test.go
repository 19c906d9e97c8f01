package folder

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"holdfast/internal/problem"
)

// unpack reads an archive with the standard library, checksums included.
func unpack(t testing.TB, data []byte) map[string]string {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	check(t, err)
	got := map[string]string{}
	for _, f := range r.File {
		rc, err := f.Open()
		check(t, err)
		content, err := io.ReadAll(rc)
		check(t, err)
		got[f.Name] = string(content)
	}
	return got
}

// others opens an archive with Info-ZIP and with Python. Python gives the names'
// bytes and checks the checksums.
func others(t testing.TB, path string) (names []string) {
	t.Helper()
	if out, err := exec.Command("unzip", "-tqq", path).CombinedOutput(); err != nil {
		t.Fatalf("unzip -t: %v\n%s", err, out)
	}
	const script = `
import json, sys, zipfile
z = zipfile.ZipFile(sys.argv[1])
bad = z.testzip()
assert bad is None, bad
print(json.dumps([list(i.orig_filename.encode("utf-8" if i.flag_bits & 0x800 else "cp437")) for i in z.infolist()]))`
	out, err := exec.Command("python3", "-c", script, path).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w\n%s", err, exit.Stderr)
		}
		t.Fatalf("python3: %v", err)
	}
	var list [][]int
	check(t, json.Unmarshal(out, &list))
	for _, ints := range list {
		var b []byte
		for _, i := range ints {
			b = append(b, byte(i))
		}
		names = append(names, string(b))
	}
	return names
}

func saveZip(t testing.TB, data []byte) string {
	t.Helper()
	path := t.TempDir() + "/a.zip"
	check(t, os.WriteFile(path, data, 0o644))
	return path
}

// case B04, B10. Red when flags does not tell names that are no UTF-8, or when
// the central directory's checksum is left 0 (for the descriptor's, which only
// unpack compares, the test of hostile names is red).
func TestOtherProgramsReadTheArchive(t *testing.T) {
	b, dir := makeBooth(t)
	for _, n := range hostileNames {
		write(t, dir, n, "content of "+n)
	}
	write(t, dir, "empty", "")
	write(t, dir, "d/big", strings.Repeat("0123456789", 100_000))
	got := others(t, saveZip(t, zipAll(t, b)))
	if d := cmp.Diff(paths(survey(t, b)), got); d != "" {
		t.Error(d)
	}
}

// case B10. Red when appendEnd does not write the ZIP64 records.
func TestAnArchiveOfMoreThan65535Files(t *testing.T) {
	b, dir := makeBooth(t)
	const count = math.MaxUint16 + 10
	for i := range count {
		if i%10_000 == 0 {
			check(t, os.Mkdir(fmt.Sprintf("%s/%d", dir, i/10_000), 0o755))
		}
		fd, err := unix.Open(fmt.Sprintf("%s/%d/%d", dir, i/10_000, i), unix.O_CREAT|unix.O_WRONLY, 0o644)
		check(t, err)
		unix.Close(fd)
	}
	data := zipAll(t, b)
	if n := len(unpack(t, data)); n != count {
		t.Errorf("%d files by archive/zip", n)
	}
	if n := len(others(t, saveZip(t, data))); n != count {
		t.Errorf("%d files by python", n)
	}
}

// Size is what is written, for any names, times and sizes, and the content is
// what the files hold (zipAll compares). Red when any field is left out of one
// of the two passes.
func TestSizeIsExactlyWhatIsWritten(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b, dir := makeBooth(t)
		names := rapid.SliceOfNDistinct(rapid.SampledFrom(hostileNames), 0, 8, rapid.ID[string]).Draw(rt, "names")
		want := map[string]string{}
		for _, n := range names {
			content := strings.Repeat("x", rapid.IntRange(0, 300_000).Draw(rt, "size"))
			write(t, dir, n, content)
			age(t, time.Unix(rapid.Int64Range(-1<<32, 1<<34).Draw(rt, "mtime"), 0), dir+"/"+n)
			want[n] = content
		}
		if d := cmp.Diff(want, unpack(t, zipAll(t, b))); d != "" {
			rt.Fatal(d)
		}
	})
}

// Red when appendTime or appendDOSTime are wrong: the reader prefers the first.
func TestTheArchiveKeepsModificationTimes(t *testing.T) {
	b, dir := makeBooth(t)
	at := time.Date(2024, 2, 29, 13, 14, 16, 0, time.UTC)
	write(t, dir, "a", "")
	age(t, at, dir+"/a")
	data := zipAll(t, b)
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	check(t, err)
	if f := r.File[0]; !f.Modified.Equal(at) || f.Mode() != 0o644 {
		t.Errorf("%v, %v", f.Modified, f.Mode())
	}
	if h := r.File[0]; h.ModifiedDate != 2<<5|29|44<<9 || h.ModifiedTime != 13<<11|14<<5|8 {
		t.Errorf("DOS date %#x, time %#x", h.ModifiedDate, h.ModifiedTime)
	}
}

// hook calls f once, when the first byte arrives.
type hook struct {
	bytes.Buffer
	f func()
}

func (h *hook) Write(p []byte) (int, error) {
	if h.f != nil {
		h.f()
		h.f = nil
	}
	return h.Buffer.Write(p)
}

// case B09. Red when copyItem does not limit what it reads; for the others when
// it does not compare n with the size, or the file with the item.
func TestAFileThatChangesMeanwhileIsCutOrEndsTheArchive(t *testing.T) {
	const size = 3 << 20 // more than is buffered before the first write
	long := strings.Repeat("x", size)
	for _, c := range []struct {
		what   string
		change func(t *testing.T, dir string)
		ok     bool
	}{
		{"grows", func(t *testing.T, dir string) {
			f, err := os.OpenFile(dir+"/log", os.O_APPEND|os.O_WRONLY, 0)
			check(t, err)
			_, err = f.WriteString("more")
			check(t, err)
			check(t, f.Close())
		}, true},
		{"shrinks by one byte", func(t *testing.T, dir string) { check(t, os.Truncate(dir+"/log", size-1)) }, false},
		{"vanishes", func(t *testing.T, dir string) { check(t, os.Remove(dir+"/log")) }, false},
		{"becomes a link", func(t *testing.T, dir string) {
			check(t, os.Remove(dir+"/log"))
			link(t, "first", dir+"/log")
		}, false},
		{"becomes a pipe", func(t *testing.T, dir string) {
			check(t, os.Remove(dir+"/log"))
			fifo(t, dir+"/log")
		}, false},
		{"is replaced by another of its size", func(t *testing.T, dir string) {
			write(t, dir, "new", long)
			check(t, os.Rename(dir+"/new", dir+"/log"))
		}, false},
	} {
		t.Run(c.what, func(t *testing.T) {
			b, dir := makeBooth(t)
			write(t, dir, "first", long)
			write(t, dir, "log", long)
			a, err := b.Zip(survey(t, b).Items)
			check(t, err)
			out := &hook{f: func() { c.change(t, dir) }} // while "first" is sent
			n, err := a.WriteTo(out)
			if !c.ok {
				if err == nil || n >= a.Size() {
					t.Fatalf("%d of %d bytes, %v", n, a.Size(), err)
				}
				return
			}
			check(t, err)
			if n != a.Size() || len(unpack(t, out.Bytes())["log"]) != size {
				t.Errorf("%d of %d bytes", n, a.Size())
			}
		})
	}
}

// A file that shrinks while it is itself sent. Red as above.
func TestAFileThatShrinksUnderTheReaderEndsTheArchive(t *testing.T) {
	b, dir := makeBooth(t)
	write(t, dir, "log", strings.Repeat("x", 3<<20))
	a, err := b.Zip(survey(t, b).Items)
	check(t, err)
	_, err = a.WriteTo(&hook{f: func() { check(t, os.Truncate(dir+"/log", 10)) }})
	publicly(t, err, problem.Failed, "zip")
}

// Red when Zip adds without looking.
func TestAnArchiveWhoseSizeWouldWrapIsRefused(t *testing.T) {
	b, _ := makeBooth(t)
	huge := Item{Path: item(t, "a"), Size: math.MaxInt64/2 + 1}
	_, err := b.Zip([]Item{huge})
	publicly(t, err, problem.Refused, problem.StepTooLarge)
	huge.Size = math.MaxInt64 / 4
	_, err = b.Zip([]Item{huge, huge, huge})
	publicly(t, err, problem.Refused, problem.StepTooLarge)
}

// An archive of nothing is one. (Info-ZIP calls it empty, and an error.)
func TestAnEmptyArchive(t *testing.T) {
	b, _ := makeBooth(t)
	if got := unpack(t, zipAll(t, b)); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

// A receiver that breaks off is an error, whatever was written. Red when WriteTo
// drops what Flush says.
func TestAReceiverThatBreaksOffIsAnError(t *testing.T) {
	b, dir := makeBooth(t)
	write(t, dir, "a", "a")
	a, err := b.Zip(survey(t, b).Items)
	check(t, err)
	r, w := io.Pipe()
	broken := errors.New("gone")
	r.CloseWithError(broken)
	if _, err := a.WriteTo(w); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}
