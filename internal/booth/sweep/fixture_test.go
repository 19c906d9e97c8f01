package sweep

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/internal/booth/folder"
	"holdfast/internal/booth/ledger"
	"holdfast/internal/durable"
	"holdfast/internal/problem"
)

const (
	day  = 24 * time.Hour
	tick = 15 * time.Minute
)

// clock is a machine's, whose time passes when a test says so.
type clock struct {
	mu   sync.Mutex
	now  time.Time
	mono time.Duration
	boot string
}

func (c *clock) Now() time.Time           { c.mu.Lock(); defer c.mu.Unlock(); return c.now }
func (c *clock) Monotonic() time.Duration { c.mu.Lock(); defer c.mu.Unlock(); return c.mono }
func (c *clock) Boot() string             { c.mu.Lock(); defer c.mu.Unlock(); return c.boot }

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now, c.mono = c.now.Add(d), c.mono+d
}

// jump sets the wall clock, and no more.
func (c *clock) jump(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func (c *clock) reboot() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.boot, c.mono = c.boot+"+", 0
}

// home is a data folder and a desk, with their sweeper. Files in it are born
// now, whatever the clock says, so the clock begins now and goes ahead.
type home struct {
	t      testing.TB
	path   string // the data folder
	desk   string
	clock  *clock
	ttl    time.Duration
	trash  time.Duration
	log    *strings.Builder
	faults durable.Faults
	data   *folder.Data
	dir    *durable.Dir
	ledger *ledger.Ledger
	s      *Sweeper
}

// scratch is a folder in memory where there is one, since these tests wait for
// the disk thousands of times. TestOnTheDisk is on the disk.
func scratch(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "holdfast-sweep-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// prepare is a home without a sweeper.
func prepare(t testing.TB) *home {
	t.Helper()
	h := &home{
		t: t, path: scratch(t), desk: scratch(t), ttl: day, trash: 48 * time.Hour, log: &strings.Builder{},
		clock: &clock{now: time.Now(), mono: time.Hour, boot: "boot"},
	}
	h.hold()
	return h
}

// hold opens the two folders.
func (h *home) hold() {
	h.t.Helper()
	var err error
	h.data, err = folder.OpenData(h.path)
	check(h.t, err)
	h.t.Cleanup(func() { h.data.Close() })
	h.dir, err = durable.OpenDir(h.desk)
	check(h.t, err)
	h.t.Cleanup(func() { h.dir.Close() })
	h.ledger = ledger.New(h.dir)
}

func newHome(t testing.TB) *home {
	t.Helper()
	h := prepare(t)
	h.open()
	t.Cleanup(func() { h.close() })
	return h
}

func (h *home) config() Config {
	return Config{
		Data: h.data, Desk: h.dir, Ledger: h.ledger, TTL: h.ttl, Tick: tick, TrashTTL: h.trash, Clock: h.clock,
		Log: slog.New(slog.NewTextHandler(h.log, nil)), Holder: "the test", Faults: h.faults,
	}
}

func (h *home) open() {
	h.t.Helper()
	s, err := Open(context.Background(), h.config())
	check(h.t, err)
	s.patience = 50 * time.Millisecond
	h.s = s
}

func (h *home) close() {
	if h.s != nil {
		_ = h.s.Close()
		h.s = nil
	}
}

func (h *home) reopen() {
	h.t.Helper()
	h.close()
	h.open()
}

// booth makes a booth with one file, and gives its path.
func (h *home) booth(name string) string {
	h.t.Helper()
	dir := h.path + "/" + name
	h.write(name+"/f", "f")
	return dir
}

func (h *home) write(path, content string) {
	h.t.Helper()
	full := h.path + "/" + path
	check(h.t, os.MkdirAll(filepath.Dir(full), 0o755))
	check(h.t, os.WriteFile(full, []byte(content), 0o644))
}

// touch gives what lies at path the clock's time.
func (h *home) touch(path string) {
	h.t.Helper()
	now := h.clock.Now()
	check(h.t, os.Chtimes(path, now, now))
}

func (h *home) tick() Report {
	h.t.Helper()
	r, err := h.s.Tick(context.Background())
	check(h.t, err)
	return r
}

// expire lets every booth that is there become old enough to be condemned by the
// next tick.
func (h *home) expire() {
	h.t.Helper()
	h.tick() // they came
	h.clock.pass(h.ttl + time.Minute)
	h.tick() // seen expired once
	h.clock.pass(tick)
}

func (h *home) is(name string) bool {
	_, err := os.Lstat(h.path + "/" + name)
	return err == nil
}

// there fails unless exactly these booths have their names.
func (h *home) there(want ...string) {
	h.t.Helper()
	names, err := h.data.Names()
	check(h.t, err)
	var got []string
	for _, n := range names {
		got = append(got, n.String())
	}
	if strings.Join(got, "\x00") != strings.Join(want, "\x00") {
		h.t.Errorf("booths %q, want %q", got, want)
	}
}

// hidden is what is in the data folder and no booth, but for the sweeper's file.
func (h *home) hidden() []string {
	h.t.Helper()
	entries, err := os.ReadDir(h.path)
	check(h.t, err)
	var out []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") && e.Name() != holderFile {
			out = append(out, e.Name())
		}
	}
	return out
}

// only is the one booth in the trash.
func (h *home) only() Trashed {
	h.t.Helper()
	trash := h.s.Trash()
	if len(trash) != 1 {
		h.t.Fatalf("the trash has %+v, want one", trash)
	}
	return trash[0]
}

func (h *home) inTrash(name string) bool {
	for _, t := range h.s.Trash() {
		if t.Name.String() == name {
			return true
		}
	}
	return false
}

func (h *home) remove(name string) (Trashed, error) {
	h.t.Helper()
	return h.s.Remove(context.Background(), boothName(h.t, name), "principal:test")
}

// events are those of the journal, in order.
func (h *home) events() []string {
	h.t.Helper()
	var out []string
	_, err := h.dir.ReadJournal(journalFile, maxRecord, func(line durable.Record) error {
		var r record
		if err := json.Unmarshal(line.Data, &r); err != nil {
			return err
		}
		out = append(out, string(r.Event))
		return nil
	})
	check(h.t, err)
	return out
}

func boothName(t testing.TB, s string) folder.Name {
	t.Helper()
	n, err := folder.ParseName(s)
	check(t, err)
	return n
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (h *home) swept(r Report, want ...string) {
	h.t.Helper()
	if strings.Join(r.Swept, "\x00") != strings.Join(want, "\x00") {
		h.t.Errorf("swept %q, want %q (spared %v)", r.Swept, want, r.Spared)
	}
}

func (h *home) spared(r Report, want ...Spared) {
	h.t.Helper()
	if len(r.Spared) != len(want) {
		h.t.Errorf("spared %v, want %v", r.Spared, want)
		return
	}
	for i := range want {
		if r.Spared[i] != want[i] {
			h.t.Errorf("spared %v, want %v", r.Spared[i], want[i])
		}
	}
}

func publicly(t testing.TB, err error, kind problem.Kind, step, word string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %s at %s", kind, step)
	}
	if p := problem.From(err, ""); p.Kind != kind || p.Step != step || !strings.Contains(p.Reason, word) {
		t.Fatalf("got %s at %s (%v), want %s at %s with %q", p.Kind, p.Step, err, kind, step, word)
	}
}
