package operation_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/bucket"
	"holdfast/internal/fleet/claim"
	"holdfast/internal/fleet/operation"
	"holdfast/internal/fleet/order"
	"holdfast/internal/fleet/receipt"
	"holdfast/internal/fleet/roster"
	"holdfast/internal/problem"
	"holdfast/internal/sign"
)

// A stop of a run that was refused after all, when the instance is elsewhere already.
//
// Red when: a stop takes a claim of any session for the one that it found.
func TestAStopOfWhatWasNeverStartedLeavesTheNextRunAlone(t *testing.T) {
	w := newWorld()
	w.boxes[enrolled1].refuse = true
	o := w.noteRun("op-1", enrolled1)
	run := operation.Begin(o)
	for name(run.Next()) != "PutOrder" {
		run = run.After(w.do(o, run.Next()))
	}
	s := operation.Begin(w.noteStop("op-2"))
	w.drive(t, run)
	w.drive(t, operation.Begin(w.noteRun("op-3", enrolled2)))
	out, trail := w.drive(t, s)
	if r, ok := out.(operation.Refusal); !ok || r.Step != "instance-not-running" || words(trail) != "LookClaim Conclude Done" {
		t.Errorf("ended as %v by %s", out, words(trail))
	}
	if w.claim.Operation != "op-3" || w.alive() != 1 {
		t.Errorf("claim %+v", w.claim)
	}
}

// Red when: a driver of what is over goes straight to Done.
func TestGoingOnWithARunThatIsOverReleasesItsHold(t *testing.T) {
	w := newWorld()
	w.drive(t, operation.Begin(w.noteRun("op-1", enrolled1)))
	w.holds["op-1"] = true // by a driver that came late, and was killed
	out, trail := w.drive(t, operation.Begin(w.docs["op-1"]))
	if out != (operation.Running{}) || words(trail) != "ReleaseHold Done" || len(w.holds) != 0 {
		t.Errorf("ended as %v by %s, holds %v", out, words(trail), w.holds)
	}
}

// Red when: any one of the members of an answer is not compared.
func TestAnAnswerToSomethingElseIsNoAnswer(t *testing.T) {
	w := newWorld()
	o := w.noteRun("op-1", enrolled1)
	for what, change := range map[string]func(*order.Ack){
		"operation":   func(a *order.Ack) { a.Operation = "op-9" },
		"enrollment":  func(a *order.Ack) { a.Enrollment = enrolled2 },
		"instance":    func(a *order.Ack) { a.Instance = "api" },
		"incarnation": func(a *order.Ack) { a.Incarnation = 9 },
		"session":     func(a *order.Ack) { a.Session = 9 },
	} {
		w := newWorld()
		w.noteRun("op-1", enrolled1)
		s := operation.Begin(o)
		for name(s.Next()) != "ReadAck" {
			s = s.After(w.do(o, s.Next()))
		}
		a := order.Ack{Operation: o.Key, Enrollment: o.Enrollment, Instance: o.Instance, Incarnation: o.Incarnation, Session: o.Session, Answer: order.Running{}}
		change(&a)
		if stuck, ok := s.After(operation.AckIs{Ack: a}).Next().(operation.Stuck); !ok || stuck.Step != "ack-foreign" {
			t.Errorf("%s: %v", what, s.After(operation.AckIs{Ack: a}).Next())
		}
	}
}

func TestARefusalsReasonCanAlwaysBeWrittenDown(t *testing.T) {
	for _, reason := range []string{strings.Repeat("é", 5000), "two\nlines\tand\x00 more", "\xff", ""} {
		w := newWorld()
		o := w.noteRun("op-1", enrolled1)
		s := operation.Begin(o)
		s = s.After(w.do(o, s.Next())).After(operation.Refused{Step: "scope-activating", Reason: reason})
		out, _ := w.drive(t, s) // which checks the document
		if r, ok := out.(operation.Refusal); !ok || r.Reason == "" {
			t.Errorf("%.20q ended as %v", reason, out)
		}
	}
}

func key(n byte) sign.Key { return sign.FromSeed([32]byte{n}) }

func step(err error) string {
	var p *problem.Error
	if !errors.As(err, &p) {
		return fmt.Sprint(err)
	}
	return p.Step
}

// rosterOf is a roster with the consoles main and second.
func rosterOf(t *testing.T) *roster.Roster {
	t.Helper()
	r := roster.New(fleetID, time.Second)
	for n, c := range []string{"main", "second"} {
		if err := r.EnrollConsole(c, key(byte(2+n)).Public().String(), "grant", noon); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

var history = bucket.History{}.Next("0123456789abcdef0123456789abcdef")

// outcomes are one of each kind, with the operation that may end so.
func outcomes() map[string]operation.Operation {
	w := newWorld()
	run := w.noteRun("op-1", enrolled1)
	running, refused := run, run
	running.Outcome = operation.Running{}
	refused.Outcome = operation.Refusal{Step: "box-full", Reason: "There is no room on it."}
	w.claim = claim.Claim{Instance: "web", State: claim.Held, Session: 5, Incarnation: 5, BoxID: "box-1", Enrollment: enrolled1, Binding: stamp()}
	stop := w.noteStop("op-1")
	stopped := stop
	stopped.Outcome = operation.Stopped{Receipt: ref(), Proof: "namespace", DirectoryRevision: "7", Binding: stamp()}
	return map[string]operation.Operation{"run": run, "running": running, "refused": refused, "stop": stop, "stopped": stopped}
}

func TestAnOperationIsReadAsItWasWritten(t *testing.T) {
	r := rosterOf(t)
	codec := operation.Codec(r, key(2), "op-1")
	for what, o := range outcomes() {
		data, err := codec.Encode(o, history)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		got, h, err := codec.Decode(data)
		o.History = history
		if diff := cmp.Diff(o, got, cmp.AllowUnexported(roster.Stamp{})); err != nil || diff != "" || h.Revision() != 1 {
			t.Errorf("%s: %v %s", what, err, diff)
		}
		if again, err := codec.Encode(got, history); err != nil || string(again) != string(data) {
			t.Errorf("%s: written again it is %s: %v", what, again, err)
		}
	}
}

// Red when: Read believes whoever signed, or any key.
func TestAnOperationIsTheWordOfItsConsole(t *testing.T) {
	r := rosterOf(t)
	o := outcomes()["run"]
	if _, err := operation.Codec(r, key(3), "op-1").Encode(o, history); step(err) != "envelope-signer" {
		t.Errorf("by another console's key: %v", err)
	}
	data, err := operation.Codec(r, key(2), "op-1").Encode(o, history)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := operation.Read(data, r, "op-2"); step(err) != "operation-format" {
		t.Errorf("under another key: %v", err)
	}
	other := rosterOf(t)
	other.Bucket = strings.Repeat("7", 32)
	if _, err := operation.Read(data, other, "op-1"); step(err) != "operation-format" {
		t.Errorf("in another fleet: %v", err)
	}
	delete(r.Consoles, "main")
	if _, err := operation.Read(data, r, "op-1"); step(err) != "console-unknown" {
		t.Errorf("by no console: %v", err)
	}
}

func TestWhatIsNoOperationIsNotWritten(t *testing.T) {
	codec := operation.Codec(rosterOf(t), key(2), "op-1")
	all := outcomes()
	for what, change := range map[string]func(o *operation.Operation){
		"run schema":      func(o *operation.Operation) { o.Schema = "holdfast-operation/2" },
		"run key":         func(o *operation.Operation) { o.Key = "Op" },
		"run kind":        func(o *operation.Operation) { o.Kind = "park" },
		"run epoch":       func(o *operation.Operation) { o.Epoch = 0 },
		"run instance":    func(o *operation.Operation) { o.Instance = "Web" },
		"run enrollment":  func(o *operation.Operation) { o.Enrollment = "1" },
		"run base":        func(o *operation.Operation) { o.BaseSession = o.Session },
		"run incarnation": func(o *operation.Operation) { o.Incarnation = 0 },
		"run binding":     func(o *operation.Operation) { o.Binding = roster.Stamp{} },
		"run work":        func(o *operation.Operation) { o.Work = nil },
		"run grace":       func(o *operation.Operation) { o.GraceNS = 1 },
		"run time":        func(o *operation.Operation) { o.BegunAt = noon.In(time.FixedZone("x", 3600)) },
		"stop base":       func(o *operation.Operation) { o.BaseSession-- },
		"stop work": func(o *operation.Operation) {
			o.Work = &order.Work{Command: []string{"true"}, Env: map[string]string{}}
		},
		"stop running":         func(o *operation.Operation) { o.Outcome = operation.Running{} },
		"run stopped":          func(o *operation.Operation) { o.Outcome = all["stopped"].Outcome },
		"run refused for none": func(o *operation.Operation) { o.Outcome = operation.Refusal{Step: "box-full"} },
		"run refused nowhere":  func(o *operation.Operation) { o.Outcome = operation.Refusal{Reason: "x"} },
		"stopped by another": func(o *operation.Operation) {
			o.Outcome = operation.Stopped{Receipt: receipt.Ref{Key: "evidence/x", SHA256: digest1}, Proof: "namespace", DirectoryRevision: "7", Binding: stamp()}
		},
		"stopped with a binding": func(o *operation.Operation) {
			o.Outcome = operation.Stopped{Receipt: ref(), Proof: "namespace", DirectoryRevision: binding1, Binding: stamp()}
		},
		"stopped at 07": func(o *operation.Operation) {
			o.Outcome = operation.Stopped{Receipt: ref(), Proof: "namespace", DirectoryRevision: "07", Binding: stamp()}
		},
	} {
		kind, _, _ := strings.Cut(what, " ")
		o := all[kind]
		change(&o)
		if data, err := codec.Encode(o, history); err == nil {
			t.Errorf("%s: it was written as %s", what, data)
		} else if problem.KindOf(err) != problem.Refused {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	r := roster.New(fleetID, time.Second)
	if err := r.EnrollConsole("main", key(2).Public().String(), "grant", noon); err != nil {
		f.Fatal(err)
	}
	codec := operation.Codec(r, key(2), "op-1")
	for _, o := range outcomes() {
		data, err := codec.Encode(o, history)
		if err != nil {
			f.Fatal(err)
		}
		e, err := sign.Read(data, "application/vnd.holdfast.operation.v1+json")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(e.Claimed())
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		data, err := sign.Seal("application/vnd.holdfast.operation.v1+json", payload, key(2))
		if err != nil {
			t.Skip()
		}
		o, h, err := codec.Decode(data)
		if err != nil {
			return
		}
		again, err := codec.Encode(o, h)
		if err != nil || string(again) != string(data) {
			t.Fatalf("it was read, and is written again as %s: %v", again, err)
		}
	})
}
