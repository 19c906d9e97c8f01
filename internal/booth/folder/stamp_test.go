package folder

import (
	"context"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/internal/problem"
)

// age sets the times of what lies at each path, the deepest first, a link's own.
func age(t testing.TB, at time.Time, paths ...string) {
	t.Helper()
	ts, err := unix.TimeToTimespec(at)
	check(t, err)
	for _, p := range paths {
		check(t, unix.UtimesNanoAt(unix.AT_FDCWD, p, []unix.Timespec{ts, ts}, unix.AT_SYMLINK_NOFOLLOW))
	}
}

func hasBirth(t testing.TB, b *Booth) {
	t.Helper()
	if b.ID().Birth == 0 {
		t.Fatal("the file system of the test's folder keeps no birth times")
	}
}

// case B16: a copy keeps its mtimes, and counts from its arrival. Red when
// stampOf gives the mtime alone.
func TestACopiedFileCountsFromItsBirth(t *testing.T) {
	b, dir := makeBooth(t)
	hasBirth(t, b)
	start := time.Now().Add(-time.Minute)
	write(t, dir, "old", "x")
	age(t, time.Now().AddDate(0, 0, -3), dir+"/old", dir)
	s := survey(t, b)
	if s.Newest.Path != "old" || s.Newest.Clock != Birth || s.Newest.At.Before(start) {
		t.Errorf("newest: %+v", s.Newest)
	}
	it := s.Items[0]
	if it.Stamp != s.Newest || time.Since(it.ModTime) < 71*time.Hour {
		t.Errorf("item: %+v", it)
	}
}

// Red when a directory counts by its birth as a file does.
func TestADirectoryCountsByItsMtime(t *testing.T) {
	b, dir := makeBooth(t)
	check(t, os.MkdirAll(dir+"/d/e", 0o755))
	day := time.Unix(1_500_000_000, 0)
	age(t, day, dir+"/d/e")
	age(t, day.Add(time.Hour), dir+"/d")
	age(t, day, dir)
	if n := survey(t, b).Newest; n.Path != "d" || n.Clock != Mtime || !n.At.Equal(day.Add(time.Hour)) {
		t.Errorf("newest: %+v", n)
	}
	age(t, day.Add(2*time.Hour), dir)
	if n := survey(t, b).Newest; n.Path != "." || !n.At.Equal(day.Add(2*time.Hour)) {
		t.Errorf("newest: %+v", n)
	}
}

// Red when stampOf prefers one of the two whatever they say.
func TestStampIsTheLaterOfMtimeAndBirthOrElseOfCtime(t *testing.T) {
	for _, c := range []struct {
		m     meta
		at    int64
		clock Clock
	}{
		{meta{mtime: 5, ctime: 9, born: true, FileID: FileID{Birth: 7}}, 7, Birth},
		{meta{mtime: 8, ctime: 9, born: true, FileID: FileID{Birth: 7}}, 8, Mtime},
		{meta{mtime: 5, ctime: 9}, 9, Ctime},
		{meta{mtime: 9, ctime: 5}, 9, Mtime},
		{meta{mode: unix.S_IFDIR, mtime: 5, ctime: 9, born: true, FileID: FileID{Birth: 7}}, 5, Mtime},
	} {
		if at, clock := stampOf(c.m); at != c.at || clock != c.clock {
			t.Errorf("%+v: %d by %s", c.m, at, clock)
		}
	}
}

// case B17. Red when a future stamp is taken as it stands (it is immortal), or
// is left out (the folder's age decides), or is not counted.
func TestAFutureStampCountsAsNowAndIsNamed(t *testing.T) {
	b, dir := makeBooth(t)
	now := time.Now()
	write(t, dir, "b", "")
	write(t, dir, "d/a", "")
	write(t, dir, "seventies", "")
	age(t, now.Add(1000*time.Hour), dir+"/b", dir+"/d/a")
	age(t, time.Unix(0, 0), dir+"/seventies", dir+"/d", dir)
	now = now.Add(10 * time.Second) // past every birth in this tree
	s := b.Survey(context.Background(), now)
	if s.Newest.Path != "b" || !s.Newest.At.Equal(now) || s.Newest.Clock != Mtime {
		t.Errorf("newest: %+v, now %v", s.Newest, now)
	}
	if s.Future != 2 || s.FuturePath != "b" {
		t.Errorf("future: %d, %q", s.Future, s.FuturePath)
	}
	for _, it := range s.Items {
		if it.Stamp.At.After(now) {
			t.Errorf("item %+v", it)
		}
	}
	age(t, time.Date(2400, 1, 1, 0, 0, 0, 0, time.UTC), dir+"/b") // past what 64 bits of nanoseconds hold
	if s := b.Survey(context.Background(), now); !s.Newest.At.Equal(now) || s.Future != 2 {
		t.Errorf("far future: %+v, %d", s.Newest, s.Future)
	}
	age(t, now.Add(time.Hour), dir, dir+"/d")
	if s := b.Survey(context.Background(), now); s.Future != 4 || s.FuturePath != "." {
		t.Errorf("folders: %d, %q", s.Future, s.FuturePath)
	}
}

// Red when nanos multiplies without looking.
func TestTimesOutOfRangeAreCutAndDoNotWrap(t *testing.T) {
	if n := nanos(1<<62, 0); n != 1<<63-1 {
		t.Error(n)
	}
	if n := nanos(-1<<62, 0); n != -1<<63 {
		t.Error(n)
	}
	if n := nanos(-1, 5); n != -999_999_995 {
		t.Error(n)
	}
}

// Red when machinery is not asked, or takes in directories, or every dot file.
func TestLockFilesAreNoActivityAndOtherDotFilesAre(t *testing.T) {
	b, dir := makeBooth(t)
	now := time.Now().Add(time.Hour)
	quiet := now.AddDate(-1, 0, 0)
	write(t, dir, ".x.lock", "")
	write(t, dir, ".d/.y.lock", "")
	age(t, now, dir+"/.x.lock", dir+"/.d/.y.lock")
	age(t, quiet, dir+"/.d", dir)
	if n := b.Survey(context.Background(), now).Newest; !n.At.Equal(quiet) {
		t.Errorf("newest: %+v", n)
	}
	for _, n := range []string{"x.lock", ".lock", ".x.lock2", ".d/.note"} {
		write(t, dir, n, "")
		age(t, now, dir+"/"+n)
		age(t, quiet, dir+"/.d", dir)
		if got := b.Survey(context.Background(), now).Newest; got.Path != n || !got.At.Equal(now) {
			t.Errorf("%s: newest %+v", n, got)
		}
		check(t, os.Remove(dir+"/"+n))
	}
	for _, plant := range kinds {
		plant(t, dir+"/.z.lock")
		age(t, now, dir+"/.z.lock")
		age(t, quiet, dir)
		if got := b.Survey(context.Background(), now).Newest; got.Path != ".z.lock" {
			t.Errorf("no file, with such a name: newest %+v", got)
		}
		check(t, os.Remove(dir+"/.z.lock"))
	}
}

// Red when RecordView does not set the time of what is there, or the walk does
// not know the marker, or knows it below the top.
func TestAViewIsOneMoreStamp(t *testing.T) {
	b, dir := makeBooth(t)
	now := time.Now().Add(time.Hour).Round(0)
	write(t, dir, "d/.viewed", "")
	for _, at := range []time.Time{now, now.Add(time.Hour), now.Add(30 * time.Minute)} {
		check(t, b.RecordView(at))
		s := b.Survey(context.Background(), at)
		if s.Newest.Clock != View || s.Newest.Path != ".viewed" || !s.Newest.At.Equal(at) {
			t.Errorf("newest: %+v, want %v", s.Newest, at)
		}
		if len(s.Items) != 0 {
			t.Errorf("items: %v", paths(s))
		}
	}
	age(t, now.Add(2*time.Hour), dir+"/d/.viewed")
	if n := b.Survey(context.Background(), now.Add(2*time.Hour)).Newest; n.Clock != Mtime || n.Path != "d/.viewed" {
		t.Errorf("below the top: %+v", n)
	}
	// A marker that is there already need not be writable.
	check(t, os.Chmod(dir+"/.viewed", 0))
	check(t, b.RecordView(now))
}

// Red when RecordView's errors are not put into words.
func TestAViewThatCannotBeRecordedIsAnError(t *testing.T) {
	b, dir := makeBooth(t)
	check(t, os.Remove(dir))
	publicly(t, b.RecordView(time.Now()), problem.Failed, "unwritable")
}
