package journal_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/durable"
	"holdfast/internal/fleet/box/journal"
	"holdfast/internal/fleet/order"
	"holdfast/internal/fleet/receipt"
	"holdfast/internal/fleet/roster"
	"holdfast/internal/problem"
)

var (
	noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	bg   = context.Background()
)

func hex(c string, n int) string { return strings.Repeat(c, n) }

func step(err error) string {
	var p *problem.Error
	if !errors.As(err, &p) {
		return fmt.Sprint(err)
	}
	return p.Step
}

func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func stamp(c string) roster.Stamp {
	s, err := roster.ParseStamp(hex(c, 64))
	if err != nil {
		panic(err)
	}
	return s
}

func openDir(t testing.TB, path string) *durable.Dir {
	t.Helper()
	d, err := durable.OpenDir(path)
	must(t, err)
	t.Cleanup(func() { d.Close() })
	return d
}

func open(t testing.TB, path string) *journal.Journal {
	t.Helper()
	j, err := journal.Open(openDir(t, path))
	must(t, err)
	t.Cleanup(func() { j.Close() })
	return j
}

// put commits what f puts.
func put(t testing.TB, j *journal.Journal, f func(*journal.Tx) error) {
	t.Helper()
	must(t, j.Commit(bg, f))
}

func installation(instance string, incarnation uint64) journal.Installation {
	return journal.Installation{
		Instance: instance, Incarnation: incarnation, Enrollment: hex("1", 32), Session: 4, Stamp: stamp("b"), Operation: "run-1",
		Work:  order.Work{Command: []string{"/bin/true", "ü"}, Env: map[string]string{"A": "1"}, Dir: "/srv", Limits: order.Limits{Files: 7}},
		State: "running", Launch: 2, Identity: []byte{0, 1, 0xff}, Exit: []byte("exited 0"),
	}
}

func intent(operation string) journal.Intent {
	return journal.Intent{Operation: operation, Kind: "launch", Instance: "train", Incarnation: 3, Phase: "begun", Payload: []byte("order"), OpenedAt: noon}
}

func settled(operation string) journal.Intent {
	i := intent(operation)
	i.Settled, i.Outcome, i.Phase = true, "running", "done"
	return i
}

func fence(instance string, incarnation uint64) journal.Fence {
	return journal.Fence{Target: receipt.Target{
		Operation: "stop-1", BoxID: "box-1", Enrollment: hex("1", 32), Instance: instance, Incarnation: incarnation, Session: 4,
		Binding: stamp("b"), RosterRevision: 17,
	}}
}

func proved(instance string, incarnation uint64) journal.Fence {
	f := fence(instance, incarnation)
	f.Receipt = []byte("signed")
	return f
}

func uploaded(instance string, incarnation uint64) journal.Fence {
	f := proved(instance, incarnation)
	f.Uploaded = true
	return f
}

var same = cmp.AllowUnexported(roster.Stamp{})

// content is all that lists show, in their orders.
type content struct {
	Generation uint64
	Inventory  []journal.Installation
	Pending    []journal.Intent
	Fences     []journal.Fence
}

func look(t testing.TB, j *journal.Journal) content {
	t.Helper()
	var c content
	must(t, j.View(func(tx *journal.Tx) (err error) {
		var errs [4]error
		c.Generation, errs[0] = tx.Generation()
		c.Inventory, errs[1] = tx.Inventory()
		c.Pending, errs[2] = tx.Pending()
		c.Fences, errs[3] = tx.Fences()
		return errors.Join(errs[:]...)
	}))
	return c
}

// Red when: a member is not kept, a list has another order, or a settled intent is pending.
func TestWhatIsPutIsThereWhenItIsOpenedAgain(t *testing.T) {
	folder := t.TempDir()
	bare := installation("a", 1)
	bare.Identity, bare.Exit, bare.Work = nil, nil, order.Work{Command: []string{"x"}, Env: map[string]string{}}
	want := content{
		Generation: 2,
		Inventory:  []journal.Installation{bare, installation("a", 2), installation("a", 10), installation("b", 1)},
		Pending:    []journal.Intent{intent("z"), intent("a")},
		Fences:     []journal.Fence{fence("a", 1), proved("a", 2), uploaded("b", 1)},
	}
	j := open(t, folder)
	put(t, j, func(tx *journal.Tx) error {
		n, err := tx.Raise()
		if n != 1 {
			t.Errorf("raised to %d", n)
		}
		_, err2 := tx.Raise()
		return errors.Join(
			err, err2,
			tx.PutInstallation(want.Inventory[3]), tx.PutInstallation(want.Inventory[2]), tx.PutInstallation(want.Inventory[1]), tx.PutInstallation(bare),
			tx.PutIntent(intent("z")), tx.PutIntent(settled("b")), tx.PutIntent(intent("a")),
			tx.PutFence(want.Fences[2]), tx.PutFence(want.Fences[1]), tx.PutFence(want.Fences[0]),
		)
	})
	if diff := cmp.Diff(want, look(t, j), same); diff != "" {
		t.Error(diff)
	}
	must(t, j.Close())
	j = open(t, folder)
	if diff := cmp.Diff(want, look(t, j), same); diff != "" {
		t.Error(diff)
	}
	must(t, j.View(func(tx *journal.Tx) error {
		i, ok, err := tx.Intent("b")
		if diff := cmp.Diff(settled("b"), i); err != nil || !ok || diff != "" {
			t.Errorf("%v, %v\n%s", ok, err, diff)
		}
		n, ok, err := tx.Installation("a", 10)
		if err != nil || !ok || n.Incarnation != 10 {
			t.Errorf("%+v, %v, %v", n, ok, err)
		}
		_, ok, err = tx.Installation("a", 3)
		_, ok2, err2 := tx.Intent("none")
		_, ok3, err3 := tx.Fence("b", 2)
		if ok || ok2 || ok3 {
			t.Error("there is what was never put")
		}
		return errors.Join(err, err2, err3)
	}))
	if n, err := j.Generation(); n != 2 || err != nil || j.Commits() != 0 {
		t.Errorf("%d, %v, %d", n, err, j.Commits())
	}
}

// Red when: a commit whose function fails leaves a part of it.
func TestACommitIsWholeOrNothing(t *testing.T) {
	j := open(t, t.TempDir())
	put(t, j, func(tx *journal.Tx) error { return tx.PutFence(fence("a", 1)) })
	before := look(t, j)
	no := errors.New("no")
	err := j.Commit(bg, func(tx *journal.Tx) error {
		_, err := tx.Raise()
		return errors.Join(err, tx.PutInstallation(installation("a", 1)), tx.PutIntent(intent("a")), tx.PutFence(proved("a", 1)), no)
	})
	if !errors.Is(err, no) {
		t.Error(err)
	}
	func() {
		defer func() { _ = recover() }()
		_ = j.Commit(bg, func(tx *journal.Tx) error { _, _ = tx.Raise(); panic("no") })
	}()
	if diff := cmp.Diff(before, look(t, j), same); diff != "" || j.Commits() != 1 {
		t.Errorf("%d commits\n%s", j.Commits(), diff)
	}
}

// Red when: a view writes, a transaction is good after its end, or one that puts nothing counts.
func TestWhatIsNoCommitWritesNothing(t *testing.T) {
	j := open(t, t.TempDir())
	var kept *journal.Tx
	err := j.View(func(tx *journal.Tx) error {
		kept = tx
		return tx.PutIntent(intent("a"))
	})
	_, raised := kept.Raise()
	_, listed := kept.Pending()
	_, _, found := kept.Intent("a")
	if err == nil || raised == nil || listed == nil || found == nil {
		t.Error(err, raised, listed, found)
	}
	ended, cancel := context.WithCancel(bg)
	cancel()
	if err := j.Commit(ended, func(tx *journal.Tx) error { return tx.PutIntent(intent("a")) }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	put(t, j, func(*journal.Tx) error { return nil })
	if c := look(t, j); len(c.Pending) > 0 || j.Commits() != 0 {
		t.Errorf("%+v, %d", c, j.Commits())
	}
	must(t, j.Close())
	if err := j.View(func(*journal.Tx) error { return nil }); err == nil {
		t.Error("it is closed, and is read")
	}
}

// Red when: a put does not compare with what stands.
func TestTheJournalDoesNotLetGo(t *testing.T) {
	elsewhere, older, fewer := installation("a", 1), installation("a", 1), installation("a", 1)
	elsewhere.Enrollment, older.Session, fewer.Launch = hex("2", 32), 3, 1
	moved, other := proved("a", 1), proved("a", 1)
	moved.Target.RosterRevision, other.Receipt = 18, []byte("another")
	kind, instance, incarnation, opened := intent("a"), intent("a"), intent("a"), intent("a")
	kind.Kind, instance.Instance, incarnation.Incarnation, opened.OpenedAt = "stop", "serve", 4, noon.Add(time.Second)
	otherwise := settled("b")
	otherwise.Outcome = "refused"
	j := open(t, t.TempDir())
	put(t, j, func(tx *journal.Tx) error {
		return errors.Join(tx.PutInstallation(installation("a", 1)), tx.PutFence(proved("a", 1)), tx.PutFence(uploaded("b", 1)), tx.PutIntent(intent("a")), tx.PutIntent(settled("b")))
	})
	before := look(t, j)
	for name, f := range map[string]func(*journal.Tx) error{
		"an enrollment":          func(tx *journal.Tx) error { return tx.PutInstallation(elsewhere) },
		"a session":              func(tx *journal.Tx) error { return tx.PutInstallation(older) },
		"a launch":               func(tx *journal.Tx) error { return tx.PutInstallation(fewer) },
		"a target's numeral":     func(tx *journal.Tx) error { return tx.PutFence(moved) },
		"a receipt's bytes":      func(tx *journal.Tx) error { return tx.PutFence(other) },
		"a receipt":              func(tx *journal.Tx) error { return tx.PutFence(fence("a", 1)) },
		"an upload":              func(tx *journal.Tx) error { return tx.PutFence(proved("b", 1)) },
		"an intent's kind":       func(tx *journal.Tx) error { return tx.PutIntent(kind) },
		"its instance":           func(tx *journal.Tx) error { return tx.PutIntent(instance) },
		"its incarnation":        func(tx *journal.Tx) error { return tx.PutIntent(incarnation) },
		"its time":               func(tx *journal.Tx) error { return tx.PutIntent(opened) },
		"a settled one's words":  func(tx *journal.Tx) error { return tx.PutIntent(otherwise) },
		"a settled one, pending": func(tx *journal.Tx) error { return tx.PutIntent(intent("b")) },
	} {
		if err := j.Commit(bg, f); step(err) != "journal-conflict" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if diff := cmp.Diff(before, look(t, j), same); diff != "" {
		t.Error(diff)
	}
	// The same again is no conflict, and neither is what goes on.
	relaunched := installation("a", 1)
	relaunched.Launch, relaunched.Stamp, relaunched.State = 3, stamp("c"), "stopped"
	put(t, j, func(tx *journal.Tx) error {
		return errors.Join(tx.PutInstallation(relaunched), tx.PutFence(uploaded("a", 1)), tx.PutIntent(settled("a")), tx.PutIntent(settled("b")))
	})
}

// Red when: a put leaves out one of its questions.
func TestWhatIsNoRowIsRefused(t *testing.T) {
	j := open(t, t.TempDir())
	change := func(f func(*journal.Installation, *journal.Intent, *journal.Fence)) (n journal.Installation, i journal.Intent, e journal.Fence) {
		n, i, e = installation("a", 1), intent("a"), fence("a", 1)
		f(&n, &i, &e)
		return n, i, e
	}
	type rows = func(*journal.Installation, *journal.Intent, *journal.Fence)
	for name, c := range map[string]rows{
		"instance":    func(n *journal.Installation, _ *journal.Intent, _ *journal.Fence) { n.Instance = "A" },
		"incarnation": func(n *journal.Installation, _ *journal.Intent, _ *journal.Fence) { n.Incarnation = 0 },
		"enrollment":  func(n *journal.Installation, _ *journal.Intent, _ *journal.Fence) { n.Enrollment = "1" },
		"session":     func(n *journal.Installation, _ *journal.Intent, _ *journal.Fence) { n.Session = 1 << 53 },
		"stamp":       func(n *journal.Installation, _ *journal.Intent, _ *journal.Fence) { n.Stamp = roster.Stamp{} },
		"operation":   func(n *journal.Installation, _ *journal.Intent, _ *journal.Fence) { n.Operation = "" },
		"work":        func(n *journal.Installation, _ *journal.Intent, _ *journal.Fence) { n.Work.Command = nil },
		"state":       func(n *journal.Installation, _ *journal.Intent, _ *journal.Fence) { n.State = "" },
		"launch":      func(n *journal.Installation, _ *journal.Intent, _ *journal.Fence) { n.Launch = 1 << 53 },
		"identity": func(n *journal.Installation, _ *journal.Intent, _ *journal.Fence) {
			n.Identity = make([]byte, 16<<10+1)
		},
		"exit":                func(n *journal.Installation, _ *journal.Intent, _ *journal.Fence) { n.Exit = make([]byte, 16<<10+1) },
		"intent's operation":  func(_ *journal.Installation, i *journal.Intent, _ *journal.Fence) { i.Operation = "A" },
		"kind":                func(_ *journal.Installation, i *journal.Intent, _ *journal.Fence) { i.Kind = "" },
		"phase":               func(_ *journal.Installation, i *journal.Intent, _ *journal.Fence) { i.Phase = "a\n" },
		"payload":             func(_ *journal.Installation, i *journal.Intent, _ *journal.Fence) { i.Payload = make([]byte, 8<<20+1) },
		"time":                func(_ *journal.Installation, i *journal.Intent, _ *journal.Fence) { i.OpenedAt = noon.Add(1) },
		"settled without one": func(_ *journal.Installation, i *journal.Intent, _ *journal.Fence) { i.Settled = true },
		"pending with one":    func(_ *journal.Installation, i *journal.Intent, _ *journal.Fence) { i.Outcome = "done" },
		"a long outcome": func(_ *journal.Installation, i *journal.Intent, _ *journal.Fence) {
			i.Settled, i.Outcome = true, hex("a", 4097)
		},
		"fence":   func(_ *journal.Installation, _ *journal.Intent, f *journal.Fence) { f.Target.RosterRevision = 0 },
		"receipt": func(_ *journal.Installation, _ *journal.Intent, f *journal.Fence) { f.Receipt = make([]byte, 1<<20+1) },
		"upload":  func(_ *journal.Installation, _ *journal.Intent, f *journal.Fence) { f.Uploaded = true },
	} {
		n, i, f := change(c)
		bad := 0
		for _, put := range []func(*journal.Tx) error{
			func(tx *journal.Tx) error { return tx.PutInstallation(n) }, func(tx *journal.Tx) error { return tx.PutIntent(i) },
			func(tx *journal.Tx) error { return tx.PutFence(f) },
		} {
			if err := j.Commit(bg, put); problem.KindOf(err) == problem.Refused {
				bad++
			} else if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if bad != 1 {
			t.Errorf("%s: %d refusals", name, bad)
		}
	}
}

// Red when: two commits run beside each other on the one connection.
func TestCommitsFollowEachOther(t *testing.T) {
	j := open(t, t.TempDir())
	const writers, each = 8, 20
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range each {
				if err := j.Commit(bg, func(tx *journal.Tx) error {
					_, err := tx.Raise()
					return errors.Join(err, tx.PutIntent(intent(fmt.Sprintf("op-%d-%d", w, i))))
				}); err != nil {
					t.Error(err)
				}
				if _, err := j.Generation(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if c := look(t, j); c.Generation != writers*each || len(c.Pending) != writers*each || j.Commits() != writers*each {
		t.Errorf("generation %d, %d intents, %d commits", c.Generation, len(c.Pending), j.Commits())
	}
}

// No test takes the power away. Red when: a commit does not wait for the disk.
func TestEachCommitWaitsForTheDisk(t *testing.T) {
	j := open(t, t.TempDir())
	for name, want := range map[string]string{"synchronous": "2", "journal_mode": "wal", "locking_mode": "exclusive"} {
		if got, err := j.Pragma(name); err != nil || got != want {
			t.Errorf("%s is %s, %v", name, got, err)
		}
	}
}

// Red when: the file is not locked while it is open.
func TestOneHasTheJournal(t *testing.T) {
	folder := t.TempDir()
	j := open(t, folder)
	if _, err := journal.Open(openDir(t, folder)); step(err) != "journal-busy" {
		t.Error(err)
	}
	put(t, j, func(tx *journal.Tx) error { return tx.PutIntent(intent("a")) })
	must(t, j.Close())
	open(t, folder)
}
