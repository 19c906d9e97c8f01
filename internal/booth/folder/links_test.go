package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"holdfast/internal/problem"
)

func link(t testing.TB, to, path string) {
	t.Helper()
	check(t, os.Symlink(to, path))
}

// plantLinks makes a booth that is full of links, and gives its path and that of
// a folder outside, which holds one file. No link leads to a file of the system:
// whoever tries what happens when one is followed would write to it.
func plantLinks(t *testing.T) (b *Booth, dir, outside string) {
	b, dir = makeBooth(t)
	outside = t.TempDir()
	write(t, outside, "secret", "outside")
	write(t, dir, "real", "inside")
	write(t, dir, "sub/file", "inside")
	link(t, outside+"/secret", dir+"/a")
	link(t, "..", dir+"/d")
	link(t, outside, dir+"/out")
	link(t, "nowhere", dir+"/dangling")
	link(t, "real", dir+"/sibling")
	link(t, "sub", dir+"/subling")
	link(t, "../real", dir+"/sub/up")
	held, err := os.Open(outside)
	check(t, err)
	t.Cleanup(func() { held.Close() })
	link(t, fmt.Sprintf("/proc/self/fd/%d", held.Fd()), dir+"/magic")
	link(t, "loop", dir+"/loop")
	return b, dir, outside
}

var (
	linksThemselves = []string{"a", "d", "out", "dangling", "sibling", "subling", "sub/up", "magic", "loop"}
	behindLinks     = []string{"d/x/real", "out/secret", "subling/file", "magic/secret", "dangling/new", "loop/x"}
)

// case B01. Red when resolve loses RESOLVE_NO_SYMLINKS (behindLinks), when the
// O_PATH look loses O_NOFOLLOW (linksThemselves), or when find takes ELOOP for
// absent.
func TestNoLinkIsFollowedByFindOrOpen(t *testing.T) {
	b, _, _ := plantLinks(t)
	for why, list := range map[Reason][]string{Link: linksThemselves, BehindLink: behindLinks} {
		for _, p := range list {
			_, err := b.Find(p)
			notServed(t, err, problem.Gone, p, why)
			_, err = b.Open(item(t, p))
			notServed(t, err, problem.Gone, p, why)
		}
	}
}

// case B01: nor by the search for another normal form. Red when take or stepInto
// follow.
func TestNoLinkIsFollowedByTheNormalisedSearch(t *testing.T) {
	b, dir, outside := plantLinks(t)
	link(t, "real", dir+"/"+nfd)
	link(t, outside, dir+"/d"+nfd)
	for _, p := range []string{nfc, "d" + nfc + "/secret"} {
		_, err := b.Find(p)
		publicly(t, err, problem.Gone, "item")
	}
}

// case B01. Red when the walk's stat follows: the links become items, and "d"
// leads round for ever.
func TestNoLinkIsFollowedBySurveyOrZip(t *testing.T) {
	b, _, _ := plantLinks(t)
	s := survey(t, b)
	if d := cmp.Diff([]string{"real", "sub/file"}, paths(s)); d != "" {
		t.Error(d)
	}
	var want []Unserved
	for _, p := range linksThemselves {
		want = append(want, Unserved{p, Link})
	}
	byPath := cmpopts.SortSlices(func(a, b Unserved) bool { return a.Path < b.Path })
	if d := cmp.Diff(want, s.Unserved, byPath); d != "" {
		t.Error(d)
	}
	if s.Bytes != int64(2*len("inside")) {
		t.Errorf("%d bytes", s.Bytes)
	}
	if d := cmp.Diff(map[string]string{"real": "inside", "sub/file": "inside"}, unpack(t, zipAll(t, b))); d != "" {
		t.Error(d)
	}
	// An item that became a link after the survey.
	for _, p := range append(linksThemselves, behindLinks...) {
		a, err := b.Zip([]Item{{Path: item(t, p), Size: 3, ModTime: time.Now()}})
		check(t, err)
		if _, err := a.WriteTo(new(strings.Builder)); problem.KindOf(err) != problem.Gone {
			t.Errorf("zip of %q: %v", p, err)
		}
	}
}

// case B01. Red when target is not asked (the links are replaced) or when enter
// opens without stepInto.
func TestNoLinkIsWrittenThroughOrReplaced(t *testing.T) {
	b, dir, outside := plantLinks(t)
	before := snapshot(t, filepath.Dir(dir), outside)
	for why, list := range map[Reason][]string{Link: linksThemselves, BehindLink: behindLinks} {
		for _, p := range list {
			_, err := b.Put(item(t, p), strings.NewReader("new"), 100)
			var u *Unserved
			if !errors.As(err, &u) || u.Why != why || problem.KindOf(err) != problem.Refused {
				t.Errorf("Put(%q): %v", p, err)
			}
		}
	}
	if d := cmp.Diff(before, snapshot(t, filepath.Dir(dir), outside)); d != "" {
		t.Errorf("something changed: %s", d)
	}
}

// case B01: the files with a meaning, as links. Red when statAt follows.
func TestNoLinkIsFollowedForAFileWithAMeaning(t *testing.T) {
	b, dir, outside := plantLinks(t)
	old := time.Unix(1000, 0)
	check(t, os.Chtimes(outside+"/secret", old, old))
	for _, n := range []string{".marks.json", ".booth.json", "links.md", "index.html", ".viewed", ".forever"} {
		link(t, outside+"/secret", dir+"/"+n)
		_, err := b.ReadDot(n, 100)
		notServed(t, err, problem.Gone, n, Link)
	}
	notServed(t, b.RecordView(time.Now()), problem.Refused, ".viewed", Link)
	if st, err := os.Stat(outside + "/secret"); err != nil || !st.ModTime().Equal(old) {
		t.Errorf("the view was recorded through a link: %v, %v", st.ModTime(), err)
	}
	check(t, os.Remove(dir+"/.viewed"))
	link(t, outside+"/planted", dir+"/.viewed")
	notServed(t, b.RecordView(time.Now()), problem.Refused, ".viewed", Link)
	if _, err := os.Lstat(outside + "/planted"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a view made a file through a link: %v", err)
	}
	if present, err := b.Sentinel(); !present || err != nil {
		t.Errorf("a link as sentinel: %v, %v", present, err)
	}
}

// snapshot is what lies below the roots: kind, content or target, and mtime.
func snapshot(t *testing.T, roots ...string) map[string]string {
	t.Helper()
	got := map[string]string{}
	for _, root := range roots {
		check(t, filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			what := info.Mode().String() + info.ModTime().String()
			switch {
			case d.Type().IsRegular():
				data, err := os.ReadFile(p)
				if err != nil {
					return err
				}
				what += string(data)
			case d.Type() == fs.ModeSymlink:
				to, err := os.Readlink(p)
				if err != nil {
					return err
				}
				what += to
			}
			got[p] = what
			return nil
		}))
	}
	return got
}
