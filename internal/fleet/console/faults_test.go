package console_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"holdfast/internal/bucket"
	"holdfast/internal/bucket/buckettest"
	"holdfast/internal/fleet/claim"
	"holdfast/internal/fleet/console"
	"holdfast/internal/fleet/order"
	"holdfast/internal/fleet/roster"
	"holdfast/internal/problem"
)

// between is a store as the console sees it: each of its writes and reads is told to
// meddle, which may carry it out or not, and fail.
type between struct {
	bucket.Store
	meddle func(put bool, do func() bucket.Ending) bucket.Ending
}

func (b *between) Put(ctx context.Context, key bucket.Key, data []byte, on bucket.Condition) bucket.Ending {
	return b.meddle(true, func() bucket.Ending { return b.Store.Put(ctx, key, data, on) })
}

func (b *between) Get(ctx context.Context, key bucket.Key) (bucket.Reading, error) {
	var reading bucket.Reading
	var err error
	end := b.meddle(false, func() bucket.Ending { reading, err = b.Store.Get(ctx, key); return bucket.Done{} })
	if failed, ok := end.(bucket.Failed); ok {
		return nil, failed.Cause
	}
	return reading, err
}

var errPlanned = problem.New(problem.Failed, "bucket-unreachable", "nobody answers, as planned")

// meddled is the fleet's console main behind meddle.
func (f *fleet) meddled(meddle func(put bool, do func() bucket.Ending) bucket.Ending) *console.Ops {
	f.store = &between{f.memory, meddle}
	defer func() { f.store = f.memory }()
	return f.console("main", key(2))
}

// scenes are what is cut off or disturbed in the tests below: how it begins, what is
// asked, and how it must stand at the end.
var scenes = map[string]struct {
	begin func(f *fleet)
	ask   func(ctx context.Context, o *console.Ops) error
	end   func(t *testing.T, f *fleet, err error)
}{
	"run": {
		func(*fleet) {},
		func(ctx context.Context, o *console.Ops) error { _, err := o.Run(ctx, run("box-1")); return err },
		func(t *testing.T, f *fleet, err error) {
			if err != nil || f.boxes[0].starts != 1 || f.claim().State != claim.Held || f.claim().Session != 1 {
				t.Errorf("%v, started %d times, claim %+v", err, f.boxes[0].starts, f.claim())
			}
		},
	},
	"run that is refused": {
		func(f *fleet) { f.boxes[0].refuses = true },
		func(ctx context.Context, o *console.Ops) error { _, err := o.Run(ctx, run("box-1")); return err },
		func(t *testing.T, f *fleet, err error) {
			if step(err) != "box-full" || f.boxes[0].starts != 0 || f.claim().State != claim.Released || f.claim().Session != 1 {
				t.Errorf("%v, started %d times, claim %+v", err, f.boxes[0].starts, f.claim())
			}
		},
	},
	"run without a hold": {
		func(f *fleet) {
			f.write(func(r *roster.Roster) error {
				return r.ReserveActivation("act-1", roster.Activation{Console: "second", Scope: roster.All(), ReservedAt: noon})
			})
		},
		func(ctx context.Context, o *console.Ops) error { _, err := o.Run(ctx, run("box-1")); return err },
		func(t *testing.T, f *fleet, err error) {
			// Of a run that was given up, and whose driver was cut off then, the words are lost.
			if s := step(err); s != "scope-activating" && s != "operation-over" || f.boxes[0].starts != 0 || f.claim().State != claim.Released {
				t.Errorf("%v, started %d times, claim %+v", err, f.boxes[0].starts, f.claim())
			}
		},
	},
	"stop": {
		func(f *fleet) { f.run(run("box-1")); f.boxes[0].lingers = 1 },
		func(ctx context.Context, o *console.Ops) error { _, err := o.Stop(ctx, stop("op-2")); return err },
		func(t *testing.T, f *fleet, err error) {
			if err != nil || len(f.boxes[0].running) != 0 || f.claim().State != claim.Released || len(f.claim().Receipts) != 1 {
				t.Errorf("%v, running %v, claim %+v", err, f.boxes[0].running, f.claim())
			}
		},
	},
}

// case F12: the console is killed at each call of the store, before and after it took
// effect; then the same is said again, with the same key, or it is recovered first.
//
// Red when: the operation is noted after the hold; a driver begins anywhere but at the
// document.
func TestAConsoleThatIsKilledAnywhereLosesNothing(t *testing.T) {
	for what, scene := range scenes {
		for _, after := range []bool{false, true} {
			kills := 0
			for n := 1; ; n++ {
				other := n%2 == 0
				f := begin(t, "box-1")
				scene.begin(f)
				ctx, kill := context.WithCancel(t.Context())
				calls, same := 0, false
				o := f.meddled(func(put bool, do func() bucket.Ending) bucket.Ending {
					calls++
					if calls < n {
						return do()
					}
					if calls == n && after {
						same = !put // of a read there is no before and after
						do()
					}
					kill()
					return bucket.Failed{Cause: context.Canceled}
				})
				err := scene.ask(ctx, o)
				kill()
				if calls < n {
					break // it came to its end before
				}
				kills++
				if err == nil || same {
					continue // it had its answer already
				}
				next := f.ops
				if other {
					next = f.console("second", key(3))
					if _, err := next.Recover(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				t.Run(fmt.Sprintf("%s, call %d, after %v, other %v", what, n, after, other), func(t *testing.T) {
					scene.end(t, f, scene.ask(t.Context(), next))
					if holds := f.now().Holds; len(holds) != 0 {
						t.Errorf("held: %v", holds)
					}
				})
			}
			if kills < 15 {
				t.Errorf("%s: it was killed at %d calls alone", what, kills)
			}
		}
	}
}

// From when it is noted, every fourth call of the store fails, by chance: before it took
// effect, after, with the answer lost; and one is delivered twice.
func TestAStoreThatFailsNowAndThenIsWaitedFor(t *testing.T) {
	for what, scene := range scenes {
		for _, fault := range []string{"unreachable", "lost before", "lost after", "twice", "refused"} {
			t.Run(what+", "+fault, func(t *testing.T) {
				f := begin(t, "box-1")
				scene.begin(f)
				chance, noted := rand.New(rand.NewPCG(7, 7)), false
				o := f.meddled(func(put bool, do func() bucket.Ending) bucket.Ending {
					if !noted {
						noted = put // the first write of all notes it
						return do()
					}
					switch {
					case chance.IntN(4) > 0:
					case fault == "unreachable" || !put:
						return bucket.Failed{Cause: errPlanned}
					case fault == "lost before":
						return buckettest.Unknown()
					case fault == "lost after":
						do()
						return buckettest.Unknown()
					case fault == "twice":
						do()
					case fault == "refused":
						return buckettest.Refused()
					}
					return do()
				})
				scene.end(t, f, scene.ask(t.Context(), o))
				f.wantNothingHeld()
			})
		}
	}
}

// case F18
//
// Red when: a hold whose operation is over is left, or one that was never noted is
// released.
func TestRecoverLooksBehindEveryHold(t *testing.T) {
	f := begin(t, "box-1", "box-2")
	f.run(run("box-1"))
	hold := func(k, by string) {
		f.write(func(r *roster.Roster) error {
			return r.ReserveHold(k, roster.Hold{Console: by, Instance: "web", Scope: roster.OneBox("box-1"), ReservedAt: noon})
		})
	}
	hold("op-1", "main") // by a driver that came late
	hold("by-hand", "main")
	hold("By_Hand", "second")
	f.boxes[1].down = true
	cut := func(o *console.Ops, k, instance string) {
		ctx, cancel := context.WithCancel(t.Context())
		f.waits = cancel
		req := run("box-2")
		req.Key, req.Instance = k, instance
		if _, err := o.Run(ctx, req); step(err) != "operation-unsettled" {
			t.Fatal(err)
		}
		f.waits = nil
	}
	cut(f.ops, "op-5", "api")
	second := f.console("second", key(3))
	cut(second, "op-6", "db")

	found, err := f.ops.Recover(t.Context())
	if err != nil || fmt.Sprint(found.Released, found.Driven) != "[op-1] []" || len(found.Left) != 4 {
		t.Fatalf("%+v: %v", found, err)
	}
	why := map[string]string{}
	for _, l := range found.Left {
		why[l.Key] = l.Why
	}
	for k, want := range map[string]string{
		"by-hand": "no operation of that key was ever noted: it was made by hand", "By_Hand": "no operation of that key was ever noted: it was made by hand",
		"op-5": "box box-2 has not answered yet", "op-6": "it is the operation of console second, and under way",
	} {
		if why[k] != want {
			t.Errorf("%s is left: %q", k, why[k])
		}
	}
	f.boxes[1].down = false
	f.look()
	found, err = f.ops.Recover(t.Context())
	if err != nil || fmt.Sprint(found.Released, found.Driven) != "[] [op-5]" {
		t.Errorf("%+v: %v", found, err)
	}
	// Whoever wants it takes it over.
	r, err := f.ops.Resume(t.Context(), "op-6")
	if err != nil || r.Ran == nil || r.Ran.Box != "box-2" {
		t.Errorf("%+v: %v", r, err)
	}
	if again, err := second.Resume(t.Context(), "op-6"); err != nil || *again.Ran != *r.Ran {
		t.Errorf("the one that began it: %+v: %v", again, err)
	}
	if _, err := f.ops.Resume(t.Context(), "op-99"); step(err) != "operation-unknown" {
		t.Errorf("%v", err)
	}
}

// What somebody with the store's credentials writes over is named, and nothing is
// concluded from it.
func TestWhatIsNotWhatItShouldBeStopsTheOperationAndIsNamed(t *testing.T) {
	torn := []byte("{}")
	for what, spoil := range map[string]func(f *fleet){
		"claim":   func(f *fleet) { f.put(buckettest.Key(t, "control/claims/web.json"), torn) },
		"ack":     func(f *fleet) { f.put(f.boxes[0].at("boxes/"+f.boxes[0].enrollment+"/acks/op-1.json"), torn) },
		"session": func(f *fleet) { f.put(f.boxes[0].at("boxes/"+f.boxes[0].enrollment+"/session.json"), torn) },
	} {
		f := begin(t, "box-1")
		f.boxes[0].down = true
		once := false
		f.waits = func() {
			if !once {
				once = true
				spoil(f)
			}
		}
		req := run("box-1")
		if what == "claim" {
			f.boxes[0].down, once = false, true
			f.run(req)
			spoil(f)
			if _, err := f.ops.Stop(t.Context(), stop("op-2")); step(err) != "envelope-format" {
				t.Errorf("%s: %v", what, err)
			}
			continue
		}
		_, err := f.ops.Run(t.Context(), req)
		if p := problem.From(err, ""); p.Kind != problem.Unknown || p.Step != "envelope-format" || p.Hint != "when that is mended, say the same again with --key op-1" {
			t.Errorf("%s: %+v", what, p)
		}
	}
}

// An order that lies in the place of another is nobody's to carry out, and is not
// written over.
//
// Red when: what lies in the order's place is not compared, or not read.
func TestAnotherOrderInTheOrdersPlaceIsAConflict(t *testing.T) {
	for what, c := range map[string]struct {
		lie  func(o *order.Order)
		torn bool
		want string
	}{
		"the same, by another console": {func(o *order.Order) { o.Console = "second" }, false, "operation-unsettled"},
		"other work":                   {func(o *order.Order) { o.Work = &order.Work{Command: []string{"true"}, Env: map[string]string{}} }, false, "operation-conflict"},
		"another incarnation":          {func(o *order.Order) { o.Incarnation++ }, false, "operation-conflict"},
		"for another session":          {func(o *order.Order) { o.BoxSession = strings.Repeat("5", 32) }, false, "operation-conflict"},
		"torn":                         {func(*order.Order) {}, true, "envelope-format"},
	} {
		f := begin(t, "box-1")
		f.boxes[0].down = true
		cut := func() error {
			ctx, cancel := context.WithCancel(t.Context())
			f.waits = cancel
			_, err := f.ops.Run(ctx, run("box-1"))
			return err
		}
		if err := cut(); step(err) != "operation-unsettled" {
			t.Fatal(err)
		}
		at := "control/orders/" + f.boxes[0].enrollment + "/" + f.boxes[0].session + "/op-1.json"
		data, ok := f.object(at)
		if !ok {
			t.Fatal("it was not ordered")
		}
		o, err := order.Read(data, f.now().Roster)
		if err != nil {
			t.Fatal(err)
		}
		c.lie(&o)
		by := key(2)
		if o.Console == "second" {
			by = key(3)
		}
		if data, err = o.Seal(by); err != nil {
			t.Fatal(err)
		}
		if c.torn {
			data = append(data[:len(data)-2], 'x', '}')
		}
		f.put(f.boxes[0].at(at), data)
		if err := cut(); step(err) != c.want || problem.KindOf(err) != problem.Unknown {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Whoever goes on with another console's operation finds its hold.
//
// Red when: a hold of the operation's key counts only if this console reserved it.
func TestAHoldOfTheOperationIsItsOwnWhoeverReservedIt(t *testing.T) {
	f := begin(t, "box-1")
	f.write(func(r *roster.Roster) error {
		return r.ReserveHold("op-1", roster.Hold{Console: "main", Instance: "web", Scope: roster.OneBox("box-1"), ReservedAt: noon})
	})
	if _, err := f.console("second", key(3)).Run(t.Context(), run("box-1")); err != nil {
		t.Error(err)
	}
	f.wantNothingHeld()
}

// Red when: an instance that the store could not be asked about is left out, or shown as
// something.
func TestAStoreThatCannotBeAskedListsNothing(t *testing.T) {
	f := begin(t, "box-1")
	for n := range 20 {
		req := run("box-1")
		req.Key, req.Instance = fmt.Sprintf("op-%d", n), fmt.Sprintf("web-%02d", n)
		f.run(req)
	}
	list, err := f.ops.List(t.Context())
	if err != nil || len(list) != 20 || list[19].Instance != "web-19" || list[0].State != "running" {
		t.Fatalf("%+v: %v", list, err)
	}
	for n := range 40 {
		var calls atomic.Int32
		o := f.meddled(func(_ bool, do func() bucket.Ending) bucket.Ending {
			if int(calls.Add(1)) == n+1 {
				return bucket.Failed{Cause: errPlanned}
			}
			return do()
		})
		if list, err := o.List(t.Context()); list != nil || step(err) != errPlanned.Step {
			t.Errorf("where call %d fails: %d instances, %v", n+1, len(list), err)
		}
	}
}
