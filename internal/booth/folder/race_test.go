//go:build linux

package folder

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// swapping exchanges a and b over and over until the test's body ends.
func swapping(t *testing.T, a, b string, body func()) {
	t.Helper()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	body()
	close(stop)
	wg.Wait()
}

// case B01, in motion: a component, or the file itself, that is now real and now
// a link outside. Nothing outside is ever read, listed or written. Red when
// openat2 is given no resolve flags; for the file itself when fileFlags also lose
// O_NOFOLLOW and openRegular does not compare.
func TestASwapForALinkNeverEscapes(t *testing.T) {
	for _, what := range []string{"d", "d/f"} {
		t.Run(what, func(t *testing.T) {
			b, dir := makeBooth(t)
			outside := t.TempDir()
			write(t, outside, "f", "outside")
			write(t, outside, "only-outside", "outside")
			write(t, dir, "d/f", "inside")
			target := outside
			if what == "d/f" {
				target += "/f"
			}
			link(t, target, dir+"/evil")
			before := snapshot(t, outside)
			items := survey(t, b).Items
			opened := 0
			swapping(t, dir+"/"+what, dir+"/evil", func() {
				for i := range 3000 {
					opened += onceAround(t, b, items)
					if i%20 == 0 { // it waits for the disk
						b.Put(item(t, "d/put"), strings.NewReader("put"), 10)
					}
				}
			})
			if opened == 0 {
				t.Error("the real file was never opened: this test shows nothing")
			}
			for p, was := range before {
				if now := snapshot(t, outside)[p]; now != was {
					t.Errorf("%s was %s, is %s", p, was, now)
				}
			}
		})
	}
}

// onceAround tries every verb that reads, and gives how often "d/f" was opened.
func onceAround(t *testing.T, b *Booth, items []Item) (opened int) {
	path := items[0].Path
	if _, err := b.Find(path.String()); err == nil {
		if f, err := b.Open(path); err == nil {
			data, err := io.ReadAll(f)
			check(t, err)
			f.Close()
			if string(data) != "inside" {
				t.Fatalf("read %q", data)
			}
			opened++
		}
	}
	for _, it := range b.Survey(context.Background(), time.Now()).Items {
		if strings.Contains(it.Path.String(), "only-outside") {
			t.Fatalf("listed %s", it.Path)
		}
	}
	a, err := b.Zip(items)
	check(t, err)
	var buf strings.Builder
	if _, err := a.WriteTo(&buf); strings.Contains(buf.String(), "outside") {
		t.Fatalf("archived what lies outside (%v)", err)
	}
	return opened
}

// case B03, in motion. Red when fileFlags lose O_NONBLOCK (the open blocks) or
// openRegular does not compare.
func TestASwapForAPipeNeverBlocks(t *testing.T) {
	b, dir := makeBooth(t)
	write(t, dir, "f", "inside")
	fifo(t, dir+"/pipe")
	swapping(t, dir+"/f", dir+"/pipe", func() {
		promptly(t, func() {
			for range 20000 {
				if f, err := b.Open(item(t, "f")); err == nil {
					if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
						t.Errorf("opened %v, %v", st.Mode(), err)
					}
					f.Close()
				}
			}
		})
	})
}

// The view's marker, now a file and now a link: what the link leads to keeps its
// time. Red when recordView sets the time through links.
func TestASwapOfTheViewMarkerNeverEscapes(t *testing.T) {
	b, dir := makeBooth(t)
	outside := t.TempDir()
	write(t, outside, "f", "")
	write(t, dir, ".viewed", "")
	link(t, outside+"/f", dir+"/evil")
	old := time.Unix(1000, 0)
	age(t, old, outside+"/f")
	swapping(t, dir+"/.viewed", dir+"/evil", func() {
		for range 20000 {
			b.RecordView(time.Now())
		}
	})
	st, err := os.Stat(outside + "/f")
	check(t, err)
	if !st.ModTime().Equal(old) {
		t.Errorf("the time outside is %v", st.ModTime())
	}
}

// Both ways of looking below a root give one answer. Red when stepInto does not
// tell a link from a file, or statStepwise does not ask for a mount.
func TestGoingStepwiseIsTheSame(t *testing.T) {
	b, dir, _ := plantLinks(t)
	fifo(t, dir+"/sub/pipe")
	tmpfs(t, dir+"/m", "size=64k")
	write(t, dir, "m/f", "mounted")
	write(t, dir, "bound", "")
	bind(t, dir+"/real", dir+"/bound")
	all := append(append([]string{
		"real", "sub/file", "sub", "sub/pipe", "absent", "sub/absent", "absent/x",
		"real/x", "m", "m/f", "bound", strings.Repeat("n", 256),
	}, linksThemselves...), behindLinks...)
	_, err := onDir(b.dir, func(root int) (struct{}, error) {
		for _, p := range all {
			m1, err1 := statBeneath(root, p)
			m2, err2 := statStepwise(root, p)
			if m1 != m2 || err1 != err2 {
				t.Errorf("look at %q: openat2 %+v, %v; stepwise %+v, %v", p, m1, err1, m2, err2)
			}
			if reasonOf(m1) != 0 {
				continue // never opened without a look
			}
			fd1, err1 := openBeneath(root, p)
			fd2, err2 := openStepwise(root, p)
			if errors.Is(err1, fs.ErrNotExist) != errors.Is(err2, fs.ErrNotExist) || (err1 == nil) != (err2 == nil && m1.Inode != 0) {
				t.Errorf("open %q: openat2 %v; stepwise %v", p, err1, err2)
			}
			unix.Close(fd1)
			unix.Close(fd2)
		}
		return struct{}{}, nil
	})
	check(t, err)
}
