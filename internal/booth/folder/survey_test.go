package folder

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// Red when Items keep the order of the walk: "a-b" comes before "a/b".
func TestItemsAreInBytewiseOrder(t *testing.T) {
	b, dir := makeBooth(t)
	want := []string{"B", "a-b", "a.b", "a/b", "a/c/d", "a0", "b"}
	for _, p := range want {
		write(t, dir, p, p)
	}
	write(t, dir, ".hidden/x", "")
	write(t, dir, "a/.hidden/deep/x", "")
	write(t, dir, "a/.x", "")
	s := survey(t, b)
	if d := cmp.Diff(want, paths(s)); d != "" {
		t.Error(d)
	}
	if s.Bytes != int64(len(strings.Join(want, ""))) {
		t.Errorf("%d bytes", s.Bytes)
	}
	if s.Mount != "" || s.Failure != nil || s.Unserved != nil || s.Future != 0 {
		t.Errorf("%+v", s)
	}
	for _, it := range s.Items {
		f, err := b.Open(it.Path)
		check(t, err)
		if f.ID() != it.ID || f.Size() != it.Size || !f.ModTime().Equal(it.ModTime) {
			t.Errorf("%+v is not what Open gave", it)
		}
		f.Close()
	}
}

// A survey is the tree, whatever its shape. Red when the walk loses the files of
// one directory, or counts those of a dot folder.
func TestSurveySeesWhatWasMade(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b, dir := makeBooth(t)
		component := rapid.SampledFrom([]string{"a", "b", ".c", "d e", "\xff", "é"})
		files := rapid.SliceOfNDistinct(rapid.SliceOfN(component, 1, 4), 0, 12,
			func(p []string) string { return strings.Join(p, "/") + "/f" }).Draw(rt, "files")
		want := []string{}
		for i, p := range files {
			path := strings.Join(p, "/") + "/f"
			write(t, dir, path, strings.Repeat("x", i))
			if !strings.Contains("/"+path, "/.") {
				want = append(want, path)
			}
		}
		slices.Sort(want)
		if d := cmp.Diff(want, append([]string{}, paths(survey(t, b))...)); d != "" {
			rt.Fatal(d)
		}
	})
}

// Red when sub does not ask maxDepth: the tree is read to its end, at one
// descriptor a level.
func TestATreeThatIsTooDeepIsAFailure(t *testing.T) {
	b, dir := makeBooth(t)
	write(t, dir, "top", "")
	deep := strings.Repeat("d/", maxDepth-1) + "f"
	write(t, dir, deep, "as deep as it goes")
	if d := cmp.Diff([]string{deep, "top"}, paths(survey(t, b))); d != "" {
		t.Error(d)
	}
	if got := readItem(t, b, deep); got != "as deep as it goes" {
		t.Errorf("%q", got)
	}
	check(t, os.MkdirAll(dir+"/"+strings.Repeat("d/", 400), 0o755))
	s := b.Survey(context.Background(), time.Now())
	if s.Failure == nil || s.Failure.Path != strings.Repeat("d/", maxDepth-1)+"d" || !errors.Is(s.Failure, errTooDeep) {
		t.Errorf("failure: %v", s.Failure)
	}
	if len(s.Items) != 2 {
		t.Errorf("the rest is not filled in: %v", paths(s))
	}
}

// Red when entry does not look at the length: an item comes out whose path no
// ParseItem makes.
func TestAPathThatIsTooLongIsNotServed(t *testing.T) {
	b, dir := makeBooth(t)
	fd, err := openAt(unix.AT_FDCWD, dir, dirFlags)
	check(t, err)
	long := strings.Repeat("n", 255)
	var at []string
	for range 15 { // 15 × 256 bytes and 256 more are 4096
		check(t, unix.Mkdirat(fd, long, 0o755))
		next, err := openAt(fd, long, dirFlags)
		check(t, err)
		unix.Close(fd)
		fd = next
		at = append(at, long)
	}
	for _, n := range []string{long, "s"} {
		f, err := unix.Openat(fd, n, unix.O_CREAT|unix.O_WRONLY, 0o644)
		check(t, err)
		unix.Close(f)
	}
	check(t, unix.Mkdirat(fd, "sub", 0o755))
	sub, err := openAt(fd, "sub", dirFlags)
	check(t, err)
	f, err := unix.Openat(sub, long, unix.O_CREAT|unix.O_WRONLY, 0o644)
	check(t, err)
	unix.Close(f)
	unix.Close(sub)
	unix.Close(fd)
	folder := strings.Join(at, "/")
	s := survey(t, b)
	if d := cmp.Diff([]string{folder + "/" + long, folder + "/s"}, paths(s)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]Unserved{{folder + "/sub/" + long, TooLong}}, s.Unserved); d != "" {
		t.Error(d)
	}
	for _, it := range s.Items { // the first one's path has 4095 bytes
		readItem(t, b, it.Path.String())
	}
}

// Red when Survey does not look at its context.
func TestASurveyThatIsCutShortIsAFailure(t *testing.T) {
	b, dir := makeBooth(t)
	for i := range 2000 {
		write(t, dir, fmt.Sprint(i), "")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if s := b.Survey(ctx, time.Now()); !errors.Is(s.Failure, context.Canceled) {
		t.Errorf("failure: %v", s.Failure)
	}
}

// Red when entry or dir take ENOENT for a failure.
func TestFilesThatVanishAreNoFailure(t *testing.T) {
	b, dir := makeBooth(t)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			p := fmt.Sprintf("%s/d%d", dir, i%50)
			if os.Mkdir(p, 0o755) == nil {
				for j := range 5 {
					os.WriteFile(fmt.Sprintf("%s/f%d", p, j), nil, 0o644)
				}
			} else {
				os.RemoveAll(p)
			}
		}
	}()
	for range 500 {
		if s := b.Survey(context.Background(), time.Now()); s.Failure != nil && !errors.Is(s.Failure, errSwapped) {
			t.Errorf("%v", s.Failure)
			break
		}
	}
	close(stop)
	<-done
	check(t, os.RemoveAll(dir))
	if s := b.Survey(context.Background(), time.Now()); s.Failure != nil || len(s.Items) != 0 {
		t.Errorf("a booth that is gone: %+v", s)
	}
}

// Red when the walk reads through the booth's own descriptor: two walks then
// share one read position.
func TestSurveysAtOnceSeeTheWholeTree(t *testing.T) {
	b, dir := makeBooth(t)
	for i := range 3000 {
		write(t, dir, fmt.Sprintf("%04d", i), "")
	}
	counts := make(chan int)
	for range 8 {
		go func() { counts <- len(b.Survey(context.Background(), time.Now()).Items) }()
	}
	for range 8 {
		if n := <-counts; n != 3000 {
			t.Errorf("%d items", n)
		}
	}
}

// Red when ID is not the folder's own, or leaves out the birth.
func TestIDTellsAFolderFromItsSuccessor(t *testing.T) {
	b, dir := makeBooth(t)
	data := makeData(t, dir+"/..")
	again, err := data.Booth(b.Name())
	check(t, err)
	if again.ID() != b.ID() || b.ID().Inode == 0 || b.ID().Device == 0 {
		t.Errorf("%+v, %+v", again.ID(), b.ID())
	}
	check(t, again.Close())
	hasBirth(t, b)
	check(t, os.Rename(dir, dir+"-moved"))
	next, err := data.Create(b.Name())
	check(t, err)
	defer next.Close()
	if next.ID() == b.ID() {
		t.Error("two folders have one ID")
	}
}
