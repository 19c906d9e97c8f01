package folder

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Red when ETag leaves out any one of its four parts.
func TestTheTagChangesWithTheFile(t *testing.T) {
	b, dir := makeBooth(t)
	at := time.Unix(1_600_000_000, 0)
	seen := map[string]string{}
	step := func(what string, change func()) {
		t.Helper()
		change()
		f, err := b.Open(item(t, "a"))
		check(t, err)
		defer f.Close()
		tag := f.ETag()
		if was, ok := seen[tag]; ok {
			t.Errorf("%s: the tag of %q again", what, was)
		}
		if !strings.HasPrefix(tag, `"`) || !strings.HasSuffix(tag, `"`) {
			t.Errorf("tag %s is not strong", tag)
		}
		seen[tag] = what
	}
	step("made", func() { write(t, dir, "a", "12"); age(t, at, dir+"/a") })
	step("another size", func() { write(t, dir, "a", "123"); age(t, at, dir+"/a") })
	step("another mtime", func() { age(t, at.Add(time.Nanosecond), dir+"/a") })
	m := meta{FileID: FileID{Inode: 1}, size: 2, mtime: 3, ctime: 4}
	for _, o := range []meta{
		{FileID: FileID{Inode: 9}, size: 2, mtime: 3, ctime: 4},
		{FileID: FileID{Inode: 1}, size: 9, mtime: 3, ctime: 4},
		{FileID: FileID{Inode: 1}, size: 2, mtime: 9, ctime: 4},
		{FileID: FileID{Inode: 1}, size: 2, mtime: 3, ctime: 9},
	} {
		if (&File{meta: m}).ETag() == (&File{meta: o}).ETag() {
			t.Errorf("%+v and %+v have one tag", m, o)
		}
	}
}

// case B15: a File serves ranges. Red when File does not seek.
func TestAFileServesRanges(t *testing.T) {
	b, dir := makeBooth(t)
	write(t, dir, "v.bin", "0123456789")
	serve := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f, err := b.Open(item(t, "v.bin"))
		check(t, err)
		defer f.Close()
		w.Header().Set("ETag", f.ETag())
		http.ServeContent(w, r, "v.bin", f.ModTime(), f.File)
	})
	for ranges, want := range map[string]struct {
		status int
		body   string
	}{
		"bytes=0-1": {206, "01"}, "bytes=-1": {206, "9"}, "bytes=20-": {416, ""}, "": {200, "0123456789"},
	} {
		w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)
		if ranges != "" {
			r.Header.Set("Range", ranges)
		}
		serve(w, r)
		body, _ := io.ReadAll(w.Body)
		if w.Code != want.status || want.body != "" && string(body) != want.body {
			t.Errorf("%q: %d %q", ranges, w.Code, body)
		}
	}
}

// Red when an open forgets to close what it looked with, or refused.
func TestNothingStaysOpen(t *testing.T) {
	b, dir, _ := plantLinks(t)
	fifo(t, dir+"/pipe")
	write(t, dir, nfd+"/"+nfd, "x")
	data := makeData(t, dir+"/..")
	round := func() {
		for _, p := range append([]string{"real", "sub/file", "absent", "pipe", nfc + "/" + nfc, "real/x"}, append(linksThemselves, behindLinks...)...) {
			b.Find(p)
			if f, err := b.Open(item(t, p)); err == nil {
				f.Close()
			}
			onDir(b.dir, func(fd int) (meta, error) { return statStepwise(fd, p) })
		}
		for _, p := range []string{"put/er/x", "out/x", "a", "sub", "real/x"} {
			b.Put(item(t, p), strings.NewReader("x"), 10)
		}
		survey(t, b)
		zipAll(t, b)
		b.ReadDot("real", 1)
		b.RecordView(time.Now())
		data.Names()
		if other, err := data.Booth(b.Name()); err == nil {
			other.Close()
		}
	}
	round()
	before := descriptors(t)
	for range 20 {
		round()
	}
	if after := descriptors(t); after > before+2 {
		t.Errorf("%d descriptors, then %d", before, after)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	check(t, err)
	return len(list)
}

// Red when an open leaves out O_CLOEXEC.
func TestDescriptorsEndWithTheProcess(t *testing.T) {
	b, dir := makeBooth(t)
	write(t, dir, "a", "a")
	f, err := b.Open(item(t, "a"))
	check(t, err)
	defer f.Close()
	data := makeData(t, dir+"/..")
	for _, open := range []*os.File{b.Dir(), data.Dir(), f.File} {
		flags, err := unix.FcntlInt(open.Fd(), unix.F_GETFD, 0)
		if err != nil || flags&unix.FD_CLOEXEC == 0 {
			t.Errorf("%s: %#x, %v", open.Name(), flags, err)
		}
	}
}
