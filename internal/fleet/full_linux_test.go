package fleet

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"holdfast/internal/fleet/box/root"
	"holdfast/internal/fleet/order"
)

// smallDisk puts the box's folder on a disk of its own, with all that is in it.
func (g *rig) smallDisk(size string) {
	g.Helper()
	g.end()
	was := g.home.Box + "-was"
	g.must(os.Rename(g.home.Box, was))
	g.must(os.Mkdir(g.home.Box, 0o700))
	g.must(unix.Mount("tmpfs", g.home.Box, "tmpfs", 0, "mode=0700,size="+size))
	copyOf(g.T, was+"/.", g.home.Box)
	g.last = func() { _ = unix.Unmount(g.home.Box, unix.MNT_DETACH) }
	g.start()
}

// fill leaves no byte on the box's disk, and returns what makes room again.
func (g *rig) fill() func() {
	g.Helper()
	path := filepath.Join(g.home.Box, "filler")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	g.must(err)
	defer f.Close()
	for _, size := range []int{1 << 20, 4096, 1} {
		for err == nil {
			_, err = f.Write(make([]byte, size))
		}
		if !errors.Is(err, unix.ENOSPC) {
			g.Fatal(err)
		}
		err = nil
	}
	return func() { g.must(os.Remove(path)) }
}

// case F15, through the root: on a full disk new work waits and says why, each stop is
// fenced and proved by the room that is kept, also after a restart, and new work goes on
// when there is room again. Red when: the reserve is not given up for the fence or for the
// receipt; when check does not ask for the reserve.
func TestAFullDiskStopsAndStartsNothingNew(t *testing.T) {
	if !own(t, 0) {
		return
	}
	g := newRig(t)
	g.smallDisk("48m")
	name := g.name
	running := map[string]func(){}
	for _, n := range []string{"a", "b"} {
		g.name = name + n
		c := g.run(g.name, "run-"+n, "sleep", "1000")
		g.answer("run-"+n, "running")
		running[n] = func() {
			g.name = name + n
			g.wantAlive(1)
			r := g.stop(c, "stop-"+n, 0)
			if r.RosterRevision == 0 {
				t.Error("a fence without a numeral")
			}
			g.wantAlive(0)
		}
	}
	room := g.fill()
	// The journal has a log with room in it; work that waits uses that up.
	g.name = name + "new"
	waiting := g.claim(g.name, "run-new")
	g.order(order.Order{Kind: order.Run, Operation: "run-new", Work: &order.Work{Command: []string{"sleep", "1000"}, Env: map[string]string{}}}, waiting)
	for i := range 20 {
		operation := "run-big-" + string(rune('a'+i))
		c := g.claim(g.name+"-"+operation, operation)
		g.order(order.Order{Kind: order.Run, Operation: operation, Work: &order.Work{Command: []string{"sleep", "1000", strings.Repeat("x", 100<<10)}, Env: map[string]string{}}}, c)
	}
	running["a"]()
	s, err := g.client.Status(t.Context(), 0)
	g.must(err)
	t.Logf("reserve %v, waits %q", s.Reserve, g.waits())
	g.end()
	g.start() // with what the reserve has left
	running["b"]()
	s, err = g.client.Status(t.Context(), 0)
	g.must(err)
	t.Logf("reserve %v, waits %q", s.Reserve, g.waits())
	if s.Reserve {
		t.Error("the reserve was never needed: the disk was not full")
	}
	if _, is := g.answered("run-new"); is {
		a, _ := g.answered("run-new")
		if order.Phase(a) == "running" {
			t.Error("new work was started on a full disk")
		}
	}
	g.order(order.Order{Kind: order.Run, Operation: "run-new", Work: &order.Work{Command: []string{"sleep", "1000"}, Env: map[string]string{}}}, waiting)
	room()
	g.answer("run-new", "running")
	g.until(func(s root.Status) bool { return s.Reserve })
	list, err := g.client.Receipts(t.Context())
	g.must(err)
	if len(list) < 2 {
		t.Errorf("a receipt is lost: %+v", list)
	}
}
