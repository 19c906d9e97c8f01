package booth

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/internal/booth/folder"
	"holdfast/internal/booth/lifetime"
	"holdfast/internal/booth/marks"
)

const day = 24 * time.Hour

// shed is a data folder.
type shed struct {
	data *folder.Data
	path string
}

func newShed(t testing.TB) shed {
	t.Helper()
	path := t.TempDir()
	data, err := folder.OpenData(path)
	check(t, err)
	t.Cleanup(func() { data.Close() })
	return shed{data, path}
}

// booth makes a booth, and gives it and its path.
func (s shed) booth(t testing.TB, name string) (*folder.Booth, string) {
	t.Helper()
	n, err := folder.ParseName(name)
	check(t, err)
	b, err := s.data.Create(n)
	check(t, err)
	t.Cleanup(func() { b.Close() })
	return b, filepath.Join(s.path, name)
}

func makeBooth(t testing.TB) (*folder.Booth, string) {
	t.Helper()
	return newShed(t).booth(t, "x")
}

func look(b *folder.Booth) Look { return At(context.Background(), b, at(time.Now())) }

// at are the terms of a desk that has known every booth for ever.
func at(now time.Time) Terms { return Terms{Now: now, TTL: day, Records: longKnown{}} }

type longKnown struct{}

func (longKnown) Arrival(folder.Name, folder.FileID, time.Time) lifetime.Arrival {
	return lifetime.ArrivalSeen{}
}

func (longKnown) Review(folder.Name) lifetime.Review { return lifetime.ReviewNone{} }

// describeAt changes what the booth in a folder says about itself.
func describeAt(t testing.TB, dir string, c Change) error {
	t.Helper()
	data, err := folder.OpenData(filepath.Dir(dir))
	check(t, err)
	defer data.Close()
	name, err := folder.ParseName(filepath.Base(dir))
	check(t, err)
	return Describe(context.Background(), data, name, c)
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// write writes a file whose path is not cleaned: names are bytes.
func write(t testing.TB, dir, path, content string) {
	t.Helper()
	full := dir + "/" + path
	check(t, os.MkdirAll(filepath.Dir(full), 0o755))
	check(t, os.WriteFile(full, []byte(content), 0o644))
}

// The ways in which a name can be taken by something that is no regular file.
var oddities = map[string]func(t testing.TB, path string){
	"named pipe": func(t testing.TB, path string) { t.Helper(); check(t, unix.Mkfifo(path, 0o644)) },
	"link":       func(t testing.TB, path string) { t.Helper(); check(t, os.Symlink("/dev/zero", path)) },
	"dangling":   func(t testing.TB, path string) { t.Helper(); check(t, os.Symlink("nowhere", path)) },
	"folder":     func(t testing.TB, path string) { t.Helper(); check(t, os.Mkdir(path, 0o755)) },
	"socket": func(t testing.TB, path string) {
		t.Helper()
		dir, err := os.Open(filepath.Dir(path)) // the address of a socket is short, a path is not
		check(t, err)
		defer dir.Close()
		l, err := net.Listen("unix", fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path)))
		check(t, err)
		l.(*net.UnixListener).SetUnlinkOnClose(false)
		check(t, l.Close())
	},
}

// Marks documents, and what goes into them.
const (
	answered  = `{"id":"p2","shape":"pick","title":"t","parts":[{"id":"a","kind":"confirm"}],"answer":{"by":"o","parts":{"a":{"confirm":false}}}}`
	openPick  = `{"id":"p1","shape":"pick","title":"t","parts":[{"id":"a","kind":"confirm"}]}`
	half      = `{"id":"p3","shape":"pick","title":"t","parts":[{"id":"a","kind":"confirm"},{"id":"b","kind":"text"}],"answer":{"by":"o","parts":{"a":{"confirm":true}}}}`
	withdrawn = `{"id":"p4","shape":"pick","title":"t","parts":[{"id":"a","kind":"confirm"}],"withdrawn":{"by":"w"}}`
	noOptions = `{"id":"p5","shape":"pick","title":"t","parts":[{"id":"a","kind":"choice"}]}`
	note      = `{"id":"n1","shape":"note","text":"hm"}`
)

func doc(entries ...string) string {
	return `{"schema":"` + marks.Schema + `","rev":1,"marks":[` + strings.Join(entries, ",") + `]}`
}
