package folder

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"holdfast/internal/problem"
)

// kinds makes one of each thing that is no regular file.
var kinds = map[Reason]func(t testing.TB, path string){
	Pipe:   fifo,
	Socket: socket,
	Device: func(t testing.TB, path string) {
		t.Helper()
		check(t, unix.Mknod(path, unix.S_IFCHR|0o644, int(unix.Mkdev(1, 5)))) // as /dev/zero
	},
	Link:      func(t testing.TB, path string) { t.Helper(); link(t, "/dev/zero", path) },
	Directory: func(t testing.TB, path string) { t.Helper(); check(t, os.Mkdir(path, 0o755)) },
}

// case B03: listed as not served, never opened, nothing hangs, by any verb. Red
// when openRegular does not look first: a socket then gives ENXIO, a device is
// opened. Red for the FIFO as ".viewed" when recordView opens what is there.
func TestOnlyRegularFilesAreOpened(t *testing.T) {
	for why, plant := range kinds {
		t.Run(why.String(), func(t *testing.T) {
			b, dir := makeBooth(t)
			names := []string{"thing", "links.md", "index.html"}
			dots := []string{".marks.json", ".booth.json", ".viewed", ".forever"}
			for _, n := range append(names, dots...) {
				plant(t, dir+"/"+n)
			}
			write(t, dir, "other", "other")
			promptly(t, func() {
				for _, n := range names {
					_, err := b.Open(item(t, n))
					notServed(t, err, problem.Gone, n, why)
					_, err = b.Put(item(t, n), strings.NewReader("new"), 10)
					notServed(t, err, problem.Refused, n, why)
					_, err = b.Find(n)
					if why == Directory {
						publicly(t, err, problem.Gone, "item")
					} else {
						notServed(t, err, problem.Gone, n, why)
					}
				}
				for _, n := range append(names, dots...) {
					_, err := b.ReadDot(n, 100)
					notServed(t, err, problem.Gone, n, why)
				}
				notServed(t, b.RecordView(time.Now()), problem.Refused, ".viewed", why)
				if present, err := b.Sentinel(); !present || err != nil {
					t.Errorf("sentinel: %v, %v", present, err)
				}
				s := survey(t, b)
				if d := cmp.Diff([]string{"other"}, paths(s)); d != "" {
					t.Error(d)
				}
				want := []Unserved{{"index.html", why}, {"links.md", why}, {"thing", why}}
				if why == Directory {
					want = nil
				}
				if d := cmp.Diff(want, s.Unserved); d != "" {
					t.Error(d)
				}
				if got := unpack(t, zipAll(t, b)); len(got) != 1 || got["other"] != "other" {
					t.Errorf("archive: %v", got)
				}
			})
		})
	}
}

// case B03: a FIFO with a writer at its other end must not be read from either.
// Red when openRegular does not look first and the open's O_NONBLOCK stays.
func TestAPipeWithAWriterIsNotTouched(t *testing.T) {
	b, dir := makeBooth(t)
	fifo(t, dir+"/pipe")
	end, err := os.OpenFile(dir+"/pipe", os.O_RDWR, 0)
	check(t, err)
	defer end.Close()
	_, err = end.WriteString("unread")
	check(t, err)
	promptly(t, func() {
		_, err := b.Open(item(t, "pipe"))
		notServed(t, err, problem.Gone, "pipe", Pipe)
	})
	buf := make([]byte, 10)
	if n, err := end.Read(buf); err != nil || string(buf[:n]) != "unread" {
		t.Errorf("the pipe has %q, %v", buf[:n], err)
	}
}

// Red when readAtMost does not look for one byte more, or ReadDot takes any name.
func TestReadDotSaysWhatIsWrong(t *testing.T) {
	b, dir := makeBooth(t)
	write(t, dir, ".marks.json", "12345")
	write(t, dir, ".empty", "")
	if got, err := b.ReadDot(".marks.json", 5); err != nil || string(got) != "12345" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := b.ReadDot(".empty", 0); err != nil || len(got) != 0 {
		t.Errorf("%q, %v", got, err)
	}
	_, err := b.ReadDot(".marks.json", 4)
	publicly(t, err, problem.Refused, problem.StepTooLarge)
	if !errors.Is(err, ErrTooLarge) || errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	_, err = b.ReadDot(".absent", 4)
	publicly(t, err, problem.Gone, "item")
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	write(t, dir, "sub/.marks.json", "x")
	for _, n := range []string{"", ".", "..", "sub/.marks.json", "../x/.marks.json", "a\x00"} {
		_, err = b.ReadDot(n, 100)
		publicly(t, err, problem.Failed, problem.StepInternal)
	}
}

func TestSentinelIsThereAsAnyFileOrAbsent(t *testing.T) {
	b, dir := makeBooth(t)
	if present, err := b.Sentinel(); present || err != nil {
		t.Errorf("absent: %v, %v", present, err)
	}
	write(t, dir, ".forever", "")
	if present, err := b.Sentinel(); !present || err != nil {
		t.Errorf("empty file: %v, %v", present, err)
	}
	// Red when Sentinel takes every error for absent.
	b.Close()
	if _, err := b.Sentinel(); err == nil {
		t.Error("a closed booth tells whether it is kept")
	}
}
