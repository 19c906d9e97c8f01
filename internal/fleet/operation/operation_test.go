package operation_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/fleet/claim"
	"holdfast/internal/fleet/operation"
	"holdfast/internal/fleet/order"
)

func words(list []string) string { return strings.Join(list, " ") }

func TestARunGoesItsWay(t *testing.T) {
	w := newWorld()
	out, trail := w.drive(t, operation.Begin(w.noteRun("op-1", enrolled1)))
	want := "LookClaim Reserve Take ReadSession PutOrder ReadAck ReleaseHold Conclude Done"
	if out != (operation.Running{}) || words(trail) != want {
		t.Errorf("ended as %v by %s", out, words(trail))
	}
	if len(w.holds) != 0 || w.claim.State != claim.Held || w.alive() != 1 {
		t.Errorf("holds %v, claim %+v, alive %d", w.holds, w.claim, w.alive())
	}
}

// Red when: Abandon is not done after a refusal of the box.
func TestARunThatTheBoxRefusesGivesTheClaimBackAndRepeatsItsWords(t *testing.T) {
	w := newWorld()
	w.boxes[enrolled1].refuse = true
	out, trail := w.drive(t, operation.Begin(w.noteRun("op-1", enrolled1)))
	want := "LookClaim Reserve Take ReadSession PutOrder ReadAck Abandon ReleaseHold Conclude Done"
	if out != (operation.Refusal{Step: "box-full", Reason: "it has no room"}) || words(trail) != want {
		t.Errorf("ended as %v by %s", out, words(trail))
	}
	if len(w.holds) != 0 || w.claim.State != claim.Released || w.claim.Operation != "op-1" || len(w.claim.Receipts) != 0 {
		t.Errorf("holds %v, claim %+v", w.holds, w.claim)
	}
}

// Red when: a refused hold ends the run without using up the claim's turn.
func TestARunWhoseHoldIsRefusedIsOverForEveryDriver(t *testing.T) {
	w := newWorld()
	o := w.noteRun("op-1", enrolled1)
	early := operation.Begin(o) // looked at the claim, and sleeps
	early = early.After(w.do(o, early.Next()))
	early = early.After(w.do(o, early.Next())) // and holds the box
	delete(w.holds, "op-1")                    // by an operator's word
	w.activating = true
	out, trail := w.drive(t, operation.Begin(o))
	if want := "LookClaim Reserve Forgo ReadAck ReleaseHold Conclude Done"; words(trail) != want {
		t.Errorf("went by %s", words(trail))
	}
	if r, ok := out.(operation.Refusal); !ok || r.Step != "scope-activating" {
		t.Errorf("ended as %v", out)
	}
	w.activating = false
	late, trail := w.drive(t, early)
	if late != out || len(w.orders) != 0 || w.alive() != 0 {
		t.Errorf("the driver that came late ended as %v by %s", late, words(trail))
	}
}

func TestAStopGoesItsWay(t *testing.T) {
	w := newWorld()
	w.drive(t, operation.Begin(w.noteRun("op-1", enrolled1)))
	out, trail := w.drive(t, operation.Begin(w.noteStop("op-2")))
	want := "LookClaim SettleRun LookClaim ReadSession PutOrder ReadAck ReadReceipt ReleaseClaim Conclude Done"
	if _, ok := out.(operation.Stopped); !ok || words(trail) != want {
		t.Errorf("ended as %v by %s", out, words(trail))
	}
	if w.claim.State != claim.Released || len(w.claim.Receipts) != 1 || w.alive() != 0 {
		t.Errorf("claim %+v, alive %d", w.claim, w.alive())
	}
	if again, trail := w.drive(t, operation.Begin(w.docs["op-2"])); again != out || words(trail) != "Done" {
		t.Errorf("again it ended as %v by %s", again, words(trail))
	}
}

// Red when: an Unproved receipt goes on to ReleaseClaim.
func TestAReceiptOfWhichACheckFailsReleasesNothing(t *testing.T) {
	w := newWorld()
	w.drive(t, operation.Begin(w.noteRun("op-1", enrolled1)))
	before := w.claim
	s := operation.Begin(w.noteStop("op-2"))
	for name(s.Next()) != "ReadReceipt" {
		s = s.After(w.do(s.Operation(), s.Next()))
		w.root()
	}
	out, trail := w.drive(t, s.After(operation.Unproved{Check: "fence", Detail: "it says 3"}))
	r, ok := out.(operation.Refusal)
	if !ok || r.Step != "receipt-refused" || !strings.Contains(r.Reason, "fence (it says 3)") || words(trail) != "Conclude Done" {
		t.Errorf("ended as %v by %s", out, words(trail))
	}
	if diff := cmp.Diff(before, w.claim, cmp.AllowUnexported(before.Binding)); diff != "" {
		t.Error(diff)
	}
}

// A second stop of the same under another key is answered with the first one's receipt.
func TestASecondStopIsAnsweredWithTheReceiptOfTheFirst(t *testing.T) {
	w := newWorld()
	w.drive(t, operation.Begin(w.noteRun("op-1", enrolled1)))
	first, second := w.noteStop("op-2"), w.noteStop("op-3")
	s := operation.Begin(first)
	for name(s.Next()) != "ReadAck" { // it orders, and is heard of no more
		s = s.After(w.do(first, s.Next()))
	}
	w.root()
	out, _ := w.drive(t, operation.Begin(second))
	if got, ok := out.(operation.Stopped); !ok || !strings.HasSuffix(got.Receipt.Key, "1-op-2.json") || w.claim.Receipts[0].Operation != "op-2" {
		t.Errorf("ended as %v, and the claim notes %v", out, w.claim.Receipts)
	}
	if late, _ := w.drive(t, s); late != out {
		t.Errorf("the first ended as %v, the second as %v", late, out)
	}
}

// Red when: a run that waits does not look at the session again.
func TestANewSessionOfTheBoxIsOrderedAnew(t *testing.T) {
	w := newWorld()
	o := w.noteRun("op-1", enrolled1)
	s := operation.Begin(o)
	for name(s.Next()) != "ReadAck" {
		s = s.After(w.do(o, s.Next()))
	}
	w.boxes[enrolled1].session++ // the root was restarted before it saw the order
	out, trail := w.drive(t, s)
	if want := "ReadAck Wait LookClaim ReadSession PutOrder ReadAck ReleaseHold Conclude Done"; out != (operation.Running{}) || words(trail) != want {
		t.Errorf("ended as %v by %s", out, words(trail))
	}
	if len(w.orders) != 2 {
		t.Errorf("ordered %d times", len(w.orders))
	}
}

// Red when: Taking looks at nothing but whether the claim is released.
func TestADriverThatComesAfterAllIsOverTakesNothing(t *testing.T) {
	for k := range 9 {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			w := newWorld()
			o := w.noteRun("op-1", enrolled1)
			late := operation.Begin(o)
			for range k {
				if _, done := late.Next().(operation.Done); !done {
					late = late.After(w.do(o, late.Next()))
				}
			}
			out, _ := w.drive(t, operation.Begin(o))
			w.drive(t, operation.Begin(w.noteStop("op-2")))
			w.drive(t, operation.Begin(w.noteRun("op-3", enrolled2)))
			before := w.claim
			again, trail := w.drive(t, late)
			if again != out {
				t.Errorf("the late driver ended as %v by %s", again, words(trail))
			}
			if len(w.holds) != 0 || w.claim.Session != before.Session || w.claim.Operation != "op-3" || w.alive() != 1 {
				t.Errorf("holds %v, claim %+v, alive %d", w.holds, w.claim, w.alive())
			}
		})
	}
}

// Red when: a stop releases the claim whatever session it has.
func TestAStopThatComesAfterAllIsOverReleasesNothing(t *testing.T) {
	for k := range 10 {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			w := newWorld()
			w.drive(t, operation.Begin(w.noteRun("op-1", enrolled1)))
			o := w.noteStop("op-2")
			late := operation.Begin(o)
			for range k {
				if _, done := late.Next().(operation.Done); !done {
					late = late.After(w.do(o, late.Next()))
					w.root()
				}
			}
			out, _ := w.drive(t, operation.Begin(o))
			w.drive(t, operation.Begin(w.noteRun("op-3", enrolled1)))
			again, trail := w.drive(t, late)
			if again != out {
				t.Errorf("the late driver ended as %v by %s", again, words(trail))
			}
			if w.claim.Operation != "op-3" || w.claim.State != claim.Held || w.alive() != 1 {
				t.Errorf("claim %+v, alive %d", w.claim, w.alive())
			}
		})
	}
}

// case F12: a crash after each effect, and before its answer was heard.
func TestACrashAnywhereLosesNothing(t *testing.T) {
	scenes := map[string]struct {
		begin func(w *world) operation.Operation
		want  string
	}{
		"run": {func(w *world) operation.Operation { return w.noteRun("op-1", enrolled1) }, "Running"},
		"refused": {func(w *world) operation.Operation {
			w.boxes[enrolled1].refuse = true
			return w.noteRun("op-1", enrolled1)
		}, "Refusal"},
		"no hold": {func(w *world) operation.Operation { w.activating = true; return w.noteRun("op-1", enrolled1) }, "Refusal"},
		"stop": {func(w *world) operation.Operation {
			w.drive(t, operation.Begin(w.noteRun("op-1", enrolled1)))
			return w.noteStop("op-2")
		}, "Stopped"},
	}
	for what, scene := range scenes {
		w := newWorld()
		_, trail := w.drive(t, operation.Begin(scene.begin(w)))
		for k := range trail {
			w := newWorld()
			o := scene.begin(w)
			s := operation.Begin(o)
			for range k {
				s = s.After(w.do(o, s.Next()))
				w.root()
			}
			w.do(o, s.Next()) // it took effect, and nobody heard of it
			w.root()
			out, after := w.drive(t, operation.Begin(w.docs[o.Key]))
			if name(out) != scene.want || len(w.holds) != 0 {
				t.Errorf("%s: a crash at %s: ended as %v by %s, holds %v", what, trail[k], out, words(after), w.holds)
			}
		}
	}
}

// The outcome that was noted first is everybody's, and a console that was overtaken waits
// for it.
func TestAConsoleThatWasTakenOverWaitsForTheOutcome(t *testing.T) {
	w := newWorld()
	o := w.noteRun("op-1", enrolled1)
	s := operation.Begin(o)
	for name(s.Next()) != "Conclude" {
		s = s.After(w.do(o, s.Next()))
		w.root()
	}
	taken, err := operation.TakingOver("second")(o, true)
	if err != nil || taken.Epoch != 2 {
		t.Fatalf("taken over as %+v: %v", taken, err)
	}
	w.docs["op-1"] = taken
	s = s.After(w.do(o, s.Next()))
	if e, ok := s.Next().(operation.Wait); !ok || !strings.Contains(e.Why, "second") {
		t.Fatalf("next is %v", s.Next())
	}
	out, _ := w.drive(t, operation.Begin(taken))
	if late, trail := w.drive(t, s); late != out || words(trail) != "Wait Conclude Done" {
		t.Errorf("ended as %v by %s", late, words(trail))
	}
}

func TestTheSameKeyWithOtherContentIsRefused(t *testing.T) {
	o := newWorld().noteRun("op-1", enrolled1)
	same := operation.Asked{Kind: order.Run, Instance: "web", Box: "box-1", Work: o.Work}
	for what, change := range map[string]func(*operation.Asked){
		"":         func(*operation.Asked) {},
		"placed":   func(a *operation.Asked) { a.Box = "" },
		"kind":     func(a *operation.Asked) { a.Kind, a.Work = order.Stop, nil },
		"instance": func(a *operation.Asked) { a.Instance = "api" },
		"box":      func(a *operation.Asked) { a.Box = "box-2" },
		"work":     func(a *operation.Asked) { a.Work = &order.Work{Command: []string{"false"}, Env: map[string]string{}} },
		"no work":  func(a *operation.Asked) { a.Work = nil },
		"grace":    func(a *operation.Asked) { a.GraceNS = 1 },
	} {
		asked := same
		change(&asked)
		err := o.Conflict(asked)
		if fine := what == "" || what == "placed"; fine != (err == nil) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
