package fleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/internal/bucket"
	"holdfast/internal/fleet/box/root"
	"holdfast/internal/fleet/claim"
	"holdfast/internal/fleet/enrollment"
	"holdfast/internal/fleet/order"
	"holdfast/internal/fleet/receipt"
	"holdfast/internal/fleet/roster"
	"holdfast/internal/sign"
)

// rig is a fleet of one home, which is console and box, with a root that runs in the test.
type rig struct {
	*testing.T
	home    Home
	console *Console
	id      string // enrollment
	end     func()
	client  *root.Client
	name    string // of its instance, which stands in the environment of all its work
	options []func(*Running)
	last    func() // what is done when all else is
}

func newRig(t *testing.T, options ...func(*Running)) *rig {
	t.Helper()
	dir := t.TempDir()
	g := &rig{T: t, name: fmt.Sprintf("demo-%d-%d", os.Getpid(), rigs.Add(1)), options: options, last: func() {}, home: Home{Console: filepath.Join(dir, "console"), Box: filepath.Join(dir, "box"), Bucket: filepath.Join(dir, "bucket")}}
	_, err := Init(t.Context(), g.home, Embedded)
	g.must(err)
	g.console, err = OpenConsole(g.home)
	g.must(err)
	t.Cleanup(g.console.Close)
	word, err := g.console.Invite(t.Context(), enrollment.Invitation{Box: "one", Uses: 1}, time.Hour)
	g.must(err)
	asked, err := Join(t.Context(), g.home, word.Token, nil)
	g.must(err)
	_, err = g.console.Admit(t.Context())
	g.must(err)
	g.id = asked.Enrollment
	g.start()
	t.Cleanup(func() {
		// What such a root does not stop, the test ends.
		ctx, done := context.WithTimeout(context.Background(), 2*time.Second)
		defer done()
		g.client.Down(ctx, 0, 30*time.Second)
		g.end()
		g.sweep()
		g.last()
	})
	return g
}

var rigs atomic.Int64

func (g *rig) must(err error) {
	g.Helper()
	if err != nil {
		g.Fatal(err)
	}
}

// start starts a root, and waits until it takes orders.
func (g *rig) start() { g.Helper(); g.startAs(root.Ready) }

// startAs starts a root, and waits until it is as it should be.
func (g *rig) startAs(mode root.Mode) root.Status {
	g.Helper()
	return g.startIf(func(s root.Status) bool { return s.Mode == mode })
}

func (g *rig) startIf(is func(root.Status) bool) root.Status {
	g.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	c := Running{Home: filepath.Dir(g.home.Box), AllowRoot: true, Release: "v1.0.0", Build: "v1.0.0 test", Log: slog.New(slog.NewTextHandler(testWriter{g.T}, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	for _, option := range g.options {
		option(&c)
	}
	r, done, err := OpenRoot(ctx, g.home, c)
	g.must(err)
	over := make(chan struct{})
	go func() {
		defer close(over)
		if err := r.Serve(ctx); err != nil {
			g.Error(err)
		}
	}()
	g.client, err = root.Dial(g.home.Box)
	g.must(err)
	client := g.client
	g.end = func() {
		client.Close()
		cancel()
		<-over
		r.Close()
		done()
	}
	return g.until(is)
}

// waits is why the first act that is not settled waits, "" if none does.
func (g *rig) waits() string {
	g.Helper()
	s, err := g.client.Status(g.Context(), 0)
	g.must(err)
	for _, i := range s.Intents {
		if i.Waits != "" {
			return i.Waits
		}
	}
	return ""
}

// until waits for a status.
func (g *rig) until(is func(root.Status) bool) root.Status {
	g.Helper()
	for begun := time.Now(); time.Since(begun) < time.Minute; {
		s, err := g.client.Status(g.Context(), 0)
		if errors.Is(err, root.ErrNoRoot) {
			time.Sleep(time.Millisecond) // it does not answer yet
			continue
		}
		g.must(err)
		if is(s) {
			return s
		}
		_, err = g.client.Status(g.Context(), 200*time.Millisecond)
		g.must(err)
	}
	s, err := g.client.Status(g.Context(), 0)
	g.Fatalf("it is never so: %+v %v", s, err)
	return s
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(b []byte) (int, error) {
	w.t.Log(strings.TrimSpace(string(b)))
	return len(b), nil
}

// run claims an instance and orders it run.
func (g *rig) run(instance, operation string, command ...string) claim.Claim {
	g.Helper()
	c := g.claim(instance, operation)
	g.order(order.Order{Kind: order.Run, Operation: operation, Work: &order.Work{Command: command, Env: map[string]string{}}}, c)
	return c
}

// claim claims an instance for the box.
func (g *rig) claim(instance, operation string) claim.Claim {
	g.Helper()
	c := g.console
	v, err := c.roster.Read(g.Context())
	g.must(err)
	actor, _ := v.Actor(g.id)
	key, err := claim.Key(instance)
	g.must(err)
	up, err := bucket.Update(g.Context(), c.bucket, key, claim.Codec(v.Roster, "main", c.key, instance), func(was claim.Claim, exists bool) (claim.Claim, error) {
		err := was.Take(exists, claim.Taking{Bucket: v.Bucket, Instance: instance, Console: "main", Operation: operation, BoxID: "one", Enrollment: g.id, Binding: actor.Binding.Stamp(), BaseSession: was.Session})
		return was, err
	})
	g.must(err)
	return up.Value
}

// order hands root an order about what is claimed.
func (g *rig) order(o order.Order, c claim.Claim) {
	g.Helper()
	s, err := g.client.Status(g.Context(), 0)
	g.must(err)
	data, err := about(o, c, g.id, s.Session).Seal(g.console.key)
	g.must(err)
	_, err = g.client.Order(g.Context(), bytes.NewReader(data), c.Binding)
	g.must(err)
}

// about is an order about what is claimed.
func about(o order.Order, c claim.Claim, enrollment, session string) order.Order {
	o.Schema, o.Bucket, o.Console, o.BoxID, o.Enrollment, o.BoxSession = order.Schema, c.Bucket, "main", "one", enrollment, session
	o.Instance, o.Incarnation, o.Session, o.Binding = c.Instance, c.Incarnation, c.Session, c.Binding
	o.IssuedAt = time.Now().UTC().Truncate(time.Millisecond)
	return o
}

// answer waits for the box's answer, of a kind.
func (g *rig) answer(operation, phase string) order.Answer {
	g.Helper()
	a, answered := g.answered(operation)
	for begun := time.Now(); !answered || order.Phase(a) != phase; a, answered = g.answered(operation) {
		if answered && order.Phase(a) != "stopping" {
			g.Fatalf("%s: %s %+v", operation, order.Phase(a), a)
		}
		if time.Since(begun) > time.Minute {
			g.Fatalf("%s is never %s", operation, phase)
		}
		_, err := g.client.Status(g.Context(), 200*time.Millisecond)
		g.must(err)
	}
	return a
}

// answered is the box's answer, if there is one.
func (g *rig) answered(operation string) (order.Answer, bool) {
	g.Helper()
	v, err := g.console.roster.Read(g.Context())
	g.must(err)
	public := g.evidence(v.Roster)
	box, err := order.NewBox(v.Roster, g.id, public)
	g.must(err)
	key, err := order.AckKey(g.id, operation)
	g.must(err)
	data, err := bucket.Read(g.Context(), g.console.bucket, key)
	if err != nil {
		return nil, false
	}
	a, err := box.ReadAck(data, operation)
	g.must(err)
	return a.Answer, true
}

func (g *rig) evidence(r *roster.Roster) sign.Public {
	g.Helper()
	key, err := enrollment.IdentityKey(g.id)
	g.must(err)
	data, err := bucket.Read(g.Context(), g.console.bucket, key)
	g.must(err)
	asked, err := enrollment.ReadRequest(data, g.id)
	g.must(err)
	return asked.PublicKey
}

func TestARunAndAStopAreProved(t *testing.T) {
	g := newRig(t)
	c := g.run("demo", "op-1", "sleep", "1000")
	g.answer("op-1", "running")
	s, err := g.client.Status(t.Context(), 0)
	g.must(err)
	t.Logf("%+v", s)
	g.order(order.Order{Kind: order.Stop, Operation: "op-2", GraceNS: int64(time.Second)}, c)
	stopped := g.answer("op-2", "stopped").(order.Stopped)
	data, err := os.ReadFile(filepath.Join(g.home.Bucket, stopped.Receipt.Key))
	g.must(err)
	v, err := g.console.roster.Read(t.Context())
	g.must(err)
	for _, check := range receipt.Verify(data, c.Want("op-2"), v.Roster, g.evidence(v.Roster)) {
		if !check.OK {
			t.Errorf("%+v", check)
		}
	}
	t.Log(string(data))
}
