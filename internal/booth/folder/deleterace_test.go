//go:build linux

package folder

import (
	"context"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// case B19: a subfolder that is now real and now a link to a folder outside, while
// the tree is deleted. Nothing outside goes. Red when dir neither opens with
// O_NOFOLLOW nor compares what it opened: either is enough.
func TestADeletionThatRacesWithASwapRemovesNothingOutside(t *testing.T) {
	outside := t.TempDir()
	for i := range 20 {
		write(t, outside, fmt.Sprintf("f%d", i), "outside")
		write(t, outside, fmt.Sprintf("d/f%d", i), "outside")
	}
	before := snapshot(t, outside)
	stopped := 0
	for range 200 {
		b, dir := makeBooth(t)
		for i := range 20 {
			write(t, dir, fmt.Sprintf("d/f%d", i), "inside")
			write(t, dir, fmt.Sprintf("d/d/f%d", i), "inside")
		}
		link(t, outside, dir+"/evil")
		data := makeData(t, dir+"/..")
		done := make(chan struct{})
		swapped := make(chan struct{})
		go func() {
			defer close(swapped)
			for {
				select {
				case <-done:
					return
				default: // until one of the two is gone
					_ = unix.Renameat2(unix.AT_FDCWD, dir+"/d", unix.AT_FDCWD, dir+"/evil", unix.RENAME_EXCHANGE)
				}
			}
		}()
		err := data.Delete(context.Background(), placeOf(t, "x"), b.ID(), nobody)
		close(done)
		<-swapped
		if err != nil {
			stopped++
			check(t, data.Delete(context.Background(), placeOf(t, "x"), b.ID(), nobody))
		}
		if _, err := os.Lstat(dir); err == nil {
			t.Fatal("it is there")
		}
	}
	if stopped == 0 {
		t.Error("no deletion met a swap: this test shows nothing")
	}
	after := snapshot(t, outside)
	for p, was := range before {
		if after[p] != was {
			t.Errorf("%s was %s, is %s", p, was, after[p])
		}
	}
}

// A mount is not crossed and not removed. Red when neither entry nor stepInto asks
// mountIn: either is enough.
func TestADeletionCrossesNoMount(t *testing.T) {
	outside := t.TempDir()
	write(t, outside, "secret", "outside")
	for what, plant := range map[string]func(dir string){
		"m/tmp/f":      func(dir string) { tmpfs(t, dir+"/m/tmp", "size=64k"); write(t, dir, "m/tmp/f", "mounted") },
		"bound/secret": func(dir string) { check(t, os.Mkdir(dir+"/bound", 0o755)); bind(t, outside, dir+"/bound") },
		"boundfile":    func(dir string) { write(t, dir, "boundfile", ""); bind(t, outside+"/secret", dir+"/boundfile") },
	} {
		b, dir := makeBooth(t)
		plant(dir)
		if err := makeData(t, dir+"/..").Delete(context.Background(), placeOf(t, "x"), b.ID(), nobody); err == nil {
			t.Errorf("%s: deleted", what)
		}
		if _, err := os.Stat(dir + "/" + what); err != nil {
			t.Error(err)
		}
	}
}
