package agent

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/bucket"
	"holdfast/internal/bucket/dirbucket"
	"holdfast/internal/durable"
	"holdfast/internal/fleet/box/output"
	"holdfast/internal/fleet/box/root"
)

// counted is a store that counts what is put.
type counted struct {
	bucket.Store
	puts []string
}

func (c *counted) Put(ctx context.Context, key bucket.Key, data []byte, on bucket.Condition) bucket.Ending {
	c.puts = append(c.puts, key.String())
	return c.Store.Put(ctx, key, data, on)
}

type desk struct {
	*testing.T
	agent *Agent
	store *counted
	box   string
	under string
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	dir, err := durable.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	d := &desk{T: t, store: &counted{Store: dirbucket.New(dir)}, box: t.TempDir(), under: "logs/" + strings.Repeat("a", 32) + "/"}
	d.again()
	return d
}

// again is another process.
func (d *desk) again() {
	d.agent = New(Config{Path: d.box, Store: d.store, Enrollment: strings.Repeat("a", 32), Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	d.store.puts = nil
}

func (d *desk) open() *carrying {
	d.Helper()
	c, err := d.agent.carrying()
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { c.box.Close() })
	return c
}

func (d *desk) wrote(instance string, incarnation int, segments ...string) {
	d.Helper()
	launch := filepath.Join(d.box, "instances", instance, fmt.Sprint(incarnation), "shim-1")
	if err := os.MkdirAll(launch, 0o700); err != nil {
		d.Fatal(err)
	}
	for n, text := range segments {
		if err := os.WriteFile(filepath.Join(launch, fmt.Sprintf("log.%d", n+1)), []byte(text), 0o600); err != nil {
			d.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(launch, "went"), nil, 0o600); err != nil {
		d.Fatal(err)
	}
}

func (d *desk) look(c *carrying, list ...root.Instance) {
	d.Helper()
	for i := range list {
		list[i].Folder = "shim-1"
	}
	if err := d.agent.look(d.Context(), c, root.Status{Mode: root.Ready, Instances: list}); err != nil {
		d.Fatal(err)
	}
}

func (d *desk) put(want ...string) {
	d.Helper()
	got := []string{}
	for _, key := range d.store.puts {
		got = append(got, strings.TrimPrefix(key, d.under))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		d.Error(diff)
	}
}

// While it runs the last segment stays, which is being written; once it has ended it goes
// too, and nothing goes twice. Red when: the last is not left out of what runs; what was put
// is not remembered.
func TestOnlyFinishedOutputGoesToTheStoreAndOnce(t *testing.T) {
	d := newDesk(t)
	d.wrote("x", 1, "one", "two", "thr")
	c := d.open()
	running := root.Instance{Instance: "x", Incarnation: 1, State: "running"}
	d.look(c, running)
	d.put("x/1/1", "x/1/2")
	d.look(c, running)
	d.put("x/1/1", "x/1/2")
	d.wrote("x", 1, "one", "two", "three")
	running.State = "exited"
	d.look(c, running)
	d.look(c, running)
	d.put("x/1/1", "x/1/2", "x/1/3")
	key, err := output.Key(d.agent.Enrollment, output.Of{Instance: "x", Incarnation: 1}, 3)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := d.store.Get(t.Context(), key); err != nil || !bytes.Equal(r.(bucket.Found).Data, []byte("three")) {
		t.Errorf("%v %v", r, err)
	}
}

// Another process finds what an earlier one left, of incarnations that root does not list any
// more too, and puts nothing again that is there. Red when: the folders are not looked at at
// the start; the store is not asked for what it has.
func TestOutputThatWasLeftGoesToTheStore(t *testing.T) {
	d := newDesk(t)
	d.wrote("x", 1, "a", "b")
	d.wrote("x", 2, "c", "d")
	d.look(d.open(), root.Instance{Instance: "x", Incarnation: 2, State: "running"})
	d.put("x/1/1", "x/1/2", "x/2/1")
	d.again()
	d.wrote("x", 2, "c", "d", "e")
	d.look(d.open(), root.Instance{Instance: "x", Incarnation: 2, State: "running"})
	d.put("x/2/2")
}

// Red when: a look has no bound.
func TestALookPutsABoundedNumber(t *testing.T) {
	d := newDesk(t)
	d.wrote("x", 1, strings.Split(strings.Repeat("s ", 3*mostPut), " ")...)
	c := d.open()
	for n := 1; n <= 3; n++ {
		d.look(c, root.Instance{Instance: "x", Incarnation: 1, State: "stopped"})
		if len(d.store.puts) != n*mostPut {
			t.Fatalf("%d were put after %d looks", len(d.store.puts), n)
		}
	}
}

// Each that runs gets its turn. Red when: a look begins where the one before did.
func TestNoneOfManyIsLeftOut(t *testing.T) {
	d := newDesk(t)
	var list []root.Instance
	for n := range 3 * mostLooked {
		name := fmt.Sprintf("i%02d", n)
		d.wrote(name, 1, "done", "doing")
		list = append(list, root.Instance{Instance: name, Incarnation: 1, State: "running"})
	}
	c := d.open()
	for range 12 {
		d.look(c, list...)
	}
	if len(d.store.puts) != len(list) {
		t.Errorf("%d of %d", len(d.store.puts), len(list))
	}
}

// An order that is written into a store in a folder is noticed, from before there is a folder
// for orders, and also after that folder was taken away and put back. Red when: only a folder
// that is there is watched.
func TestAnOrderInAFolderIsNoticed(t *testing.T) {
	d := newDesk(t)
	store := t.TempDir()
	ctx, end := context.WithCancel(t.Context())
	h := newHints(store)
	over := make(chan struct{})
	go func() { defer close(over); h.serve(ctx) }()
	defer func() { end(); <-over }()
	came := h.on("control/orders/box/session/")
	folder := filepath.Join(store, "control/orders/box/session")
	for n := range 3 {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			d.Fatal(err)
		}
		for h.at() != folder { // what was made meanwhile is noticed, too
			<-came
		}
		for len(came) > 0 {
			<-came
		}
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprint(n)), nil, 0o600); err != nil {
			d.Fatal(err)
		}
		select {
		case <-came:
		case <-time.After(time.Minute):
			t.Fatal("nothing came")
		}
		if err := os.RemoveAll(filepath.Join(store, "control")); err != nil {
			d.Fatal(err)
		}
		for h.at() == folder {
			<-came
		}
	}
}

// at is what is watched.
func (h *hints) at() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.seen
}
