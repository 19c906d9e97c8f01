package console_test

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"

	"holdfast/internal/fleet/claim"
	"holdfast/internal/fleet/console"
	"holdfast/internal/fleet/operation"
	"holdfast/internal/fleet/order"
	"holdfast/internal/fleet/receipt"
	"holdfast/internal/fleet/roster"
	"holdfast/internal/fleet/rosterstore"
	"holdfast/internal/problem"
	"holdfast/internal/sign"
)

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestARunIsStartedAndItsStopIsProved(t *testing.T) {
	f := begin(t, "box-1")
	ran := f.run(run(""))
	if got, want := asJSON(t, ran), `{"instance":"web","box":"box-1","incarnation":1,"session":1,"state":"running","key":"op-1"}`; got != want {
		t.Errorf("ran as %s", got)
	}
	f.wantNothingHeld()
	if f.boxes[0].starts != 1 || f.boxes[0].running["web"] != 1 {
		t.Errorf("the box started %d, and has %v", f.boxes[0].starts, f.boxes[0].running)
	}
	binding := f.claim().Binding.String()
	s := f.stop("op-2")
	want := `{"receipt":{"key":"evidence/` + f.boxes[0].enrollment + `/web/1-op-2.json","sha256":"` + s.Receipt.SHA256 + `","proof":"namespace","directory_revision":"` +
		s.Receipt.DirectoryRevision + `","binding":"` + binding + `"},"key":"op-2"}`
	if got := asJSON(t, s); got != want || len(f.boxes[0].running) != 0 {
		t.Errorf("stopped as %s, want %s", got, want)
	}
	if c := f.claim(); c.State != claim.Released || len(c.Receipts) != 1 || c.Receipts[0].Ref != s.Receipt.Ref {
		t.Errorf("the claim is %+v", c)
	}
	if again := f.run(console.RunRequest{Instance: "web", Work: sleep}); again.Incarnation != 2 || again.Session != 2 || again.Key == "" {
		t.Errorf("it was run again as %+v", again)
	}
}

// Red when: Run notes an operation without looking whether there is one.
func TestTheSameAgainWithTheSameKeyIsDoneOnce(t *testing.T) {
	f := begin(t, "box-1", "box-2")
	first := f.run(run("box-1"))
	if again := f.run(run("box-1")); again != first || f.boxes[0].starts != 1 {
		t.Errorf("again it was %+v, after %d starts", again, f.boxes[0].starts)
	}
	if placed := f.run(run("")); placed != first {
		t.Errorf("without a box it was %+v", placed)
	}
	for what, change := range map[string]func(*console.RunRequest){
		"box":      func(r *console.RunRequest) { r.Wish.Box = "box-2" },
		"instance": func(r *console.RunRequest) { r.Instance = "api" },
		"work":     func(r *console.RunRequest) { r.Work = order.Work{Command: []string{"true"}, Env: map[string]string{}} },
	} {
		req := run("box-1")
		change(&req)
		if _, err := f.ops.Run(t.Context(), req); step(err) != "operation-conflict" || problem.KindOf(err).Exit() != 8 {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := f.ops.Stop(t.Context(), stop("op-1")); step(err) != "operation-conflict" {
		t.Errorf("a stop under the run's key: %v", err)
	}
	// After it was stopped, and run again by another, the key still says what came of it.
	f.stop("op-2")
	second := run("box-2")
	second.Key = "op-3"
	f.run(second)
	if late := f.run(run("box-1")); late != first || f.boxes[0].starts != 1 || f.boxes[1].starts != 1 || f.claim().Operation != "op-3" {
		t.Errorf("much later it was %+v, and the claim is %+v", late, f.claim())
	}
	f.wantNothingHeld()
}

func TestABoxThatRefusesIsRepeatedInItsWords(t *testing.T) {
	f := begin(t, "box-1")
	f.boxes[0].refuses = true
	_, err := f.ops.Run(t.Context(), run(""))
	var p *problem.Error
	if !errors.As(err, &p) || p.Kind.Exit() != 8 || p.Step != "box-full" || p.Reason != "There is no room on it." {
		t.Errorf("it ended as %v", err)
	}
	f.wantNothingHeld()
	if c := f.claim(); c.State != claim.Released || c.Session != 1 || len(c.Receipts) != 0 {
		t.Errorf("the claim is %+v", c)
	}
	list, err := f.ops.List(t.Context())
	if err != nil || len(list) != 1 || list[0].State != "refused" || list[0].Refusal != "There is no room on it." {
		t.Errorf("it is listed as %+v: %v", list, err)
	}
	if _, err := f.ops.Stop(t.Context(), stop("op-2")); step(err) != "instance-not-running" {
		t.Errorf("a stop of it: %v", err)
	}
	f.boxes[0].refuses = false
	again := run("")
	again.Key = "op-3"
	if ran := f.run(again); ran.Incarnation != 2 {
		t.Errorf("it was run again as %+v", ran)
	}
}

func TestWhereARunGoes(t *testing.T) {
	f := begin(t, "box-1", "box-2", "box-3", "box-4", "box-5")
	f.write(func(r *roster.Roster) error {
		return errors.Join(r.SetRole("box-2", "db"), r.Quarantine("box-3", ""), r.Retire("box-4"))
	})
	f.silent("box-6", key(99))
	for _, c := range []struct {
		what string
		wish operation.Wish
		want string
		says string
	}{
		{"by name", operation.Wish{Box: "box-1"}, "", ""},
		{"by role", operation.Wish{Role: "db"}, "", ""},
		{"nothing", operation.Wish{}, "box-choice", "box-1, box-2, box-5, box-6"},
		{"no such role", operation.Wish{Role: "web"}, "box-choice", `"web"`},
		{"another role", operation.Wish{Box: "box-1", Role: "db"}, "box-choice", "db"},
		{"unknown", operation.Wish{Box: "box-9"}, "box-unknown", "box-9"},
		{"quarantined", operation.Wish{Box: "box-3"}, "box-quarantined", "box-3"},
		{"retired", operation.Wish{Box: "box-4"}, "box-retired", "box-4"},
		{"never started", operation.Wish{Box: "box-6"}, "box-silent", "never started"},
	} {
		_, err := f.ops.Run(t.Context(), console.RunRequest{Instance: strings.ReplaceAll(c.what, " ", "-"), Wish: c.wish, Work: sleep})
		if c.want == "" && err != nil || c.want != "" && (step(err) != c.want || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v", c.what, err)
		}
	}
	f.wantNothingHeld()
}

func TestAHoldThatIsRefusedIsTheOutcome(t *testing.T) {
	f := begin(t, "box-1")
	f.write(func(r *roster.Roster) error {
		return r.ReserveActivation("act-1", roster.Activation{Console: "second", Scope: roster.All(), ReservedAt: noon})
	})
	_, err := f.ops.Run(t.Context(), run("box-1"))
	if step(err) != "scope-activating" || problem.KindOf(err) != problem.Refused {
		t.Fatalf("it ended as %v", err)
	}
	f.write(func(r *roster.Roster) error { return r.CancelActivation("act-1") })
	if _, again := f.ops.Run(t.Context(), run("box-1")); step(again) != "scope-activating" || f.boxes[0].starts != 0 {
		t.Errorf("again with the same key: %v", again)
	}
	if c := f.claim(); c.State != claim.Released || c.Session != 1 {
		t.Errorf("the claim is %+v", c)
	}
	list, err := f.ops.List(t.Context())
	if err != nil || list[0].State != "refused" || !strings.Contains(list[0].Refusal, "being changed") {
		t.Errorf("it is listed as %+v: %v", list, err)
	}
}

func TestAnInstanceIsOnOneBox(t *testing.T) {
	f := begin(t, "box-1", "box-2")
	f.run(run("box-1"))
	other := run("box-2")
	other.Key = "op-2"
	_, err := f.ops.Run(t.Context(), other)
	if step(err) != "instance-claimed" || !strings.Contains(problem.From(err, "").Hint, "holdfast stop web") {
		t.Errorf("it ended as %v", err)
	}
	if f.boxes[1].starts != 0 {
		t.Error("it was started twice")
	}
	if _, ok := f.object("control/operations/op-2.json"); ok {
		t.Error("what was refused before it began was noted")
	}
}

func TestProofThatDoesNotCount(t *testing.T) {
	f := begin(t)
	f.enroll("box-1", key(10))
	weak := f.boxes[0]
	weak.proof = "weak"
	weak.restart()
	f.enroll("box-2", key(11))
	if _, err := f.ops.Run(t.Context(), run("box-1")); step(err) != "proof-weak" || !strings.Contains(err.Error(), "namespaces are refused here") {
		t.Errorf("weak: %v", err)
	}
	req := run("box-1")
	req.AcceptWeak = true
	f.run(req)
	f.stop("op-2")
	// It may be alive there: nothing is started elsewhere before somebody says so.
	elsewhere := run("box-2")
	elsewhere.Key = "op-3"
	if _, err := f.ops.Run(t.Context(), elsewhere); step(err) != "proof-weak" || !strings.Contains(err.Error(), "box-1") {
		t.Errorf("elsewhere: %v", err)
	}
	elsewhere.AcceptWeak = true
	f.run(elsewhere)

	f.ops.Proofs = func(context.Context, *rosterstore.Version) ([]string, error) { return []string{"cgroup"}, nil }
	other := console.RunRequest{Instance: "api", Wish: operation.Wish{Box: "box-2"}, Work: sleep}
	if _, err := f.ops.Run(t.Context(), other); step(err) != "floor-proof" {
		t.Errorf("by the floor: %v", err)
	}
	if _, err := f.ops.Stop(t.Context(), stop("op-4")); step(err) != "receipt-refused" || !strings.Contains(err.Error(), "proof") {
		t.Errorf("a stop that the floor does not count: %v", err)
	}
}

func TestNothingNewStartsUnderAFloorThatIsNotFixed(t *testing.T) {
	f := begin(t, "box-1")
	f.run(run(""))
	f.write(func(r *roster.Roster) error { return r.Publish("spring") })
	req := run("")
	req.Key, req.Instance = "op-2", "api"
	if _, err := f.ops.Run(t.Context(), req); step(err) != "floor-open" {
		t.Errorf("it ended as %v", err)
	}
	f.stop("op-3") // under the binding that it was installed with
}

// Red when: planStop looks at the row's state.
func TestAStopGoesOnInQuarantineAndAfterRetirement(t *testing.T) {
	quarantine := func(r *roster.Roster) error { return r.Quarantine("box-1", "") }
	for what, changes := range map[string][]func(*roster.Roster) error{
		"quarantined": {quarantine},
		"readmitted":  {quarantine, func(r *roster.Roster) error { return r.Readmit("box-1") }},
		"retired":     {func(r *roster.Roster) error { return r.Retire("box-1") }},
	} {
		f := begin(t, "box-1")
		f.run(run("box-1"))
		binding := f.claim().Binding
		for _, change := range changes {
			f.write(change)
		}
		if s := f.stop("op-2"); s.Receipt.Binding != binding.String() || f.claim().State != claim.Released {
			t.Errorf("%s: stopped as %+v", what, s)
		}
	}
}

func TestAStopAskedAgainIsAnsweredWithItsReceipt(t *testing.T) {
	f := begin(t, "box-1")
	if _, err := f.ops.Stop(t.Context(), stop("op-0")); step(err) != "instance-unknown" || problem.KindOf(err).Exit() != 6 {
		t.Errorf("of nothing: %v", err)
	}
	f.run(run(""))
	first := f.stop("op-2")
	for _, k := range []string{"op-2", "op-9", ""} {
		if again := f.stop(k); again != first {
			t.Errorf("with key %q: %+v", k, again)
		}
	}
	if _, ok := f.object("control/operations/op-9.json"); ok {
		t.Error("a stop of what is stopped was noted")
	}
}

// A stop that was cut off, and another under another key: the box has one receipt.
func TestAnotherStopIsAnsweredWithTheFirstOnesReceipt(t *testing.T) {
	f := begin(t, "box-1")
	f.run(run(""))
	f.boxes[0].lingers = 100
	ctx, cancel := context.WithCancel(t.Context())
	looks := 0
	f.waits = func() {
		if looks++; looks > 3 {
			cancel()
		}
	}
	if _, err := f.ops.Stop(ctx, stop("op-2")); step(err) != "operation-unsettled" {
		t.Fatal(err)
	}
	f.waits, f.boxes[0].lingers = nil, 0
	f.look() // the box ends the first
	s := f.stop("op-3")
	if !strings.HasSuffix(s.Receipt.Key, "/web/1-op-2.json") || f.claim().Receipts[0].Operation != "op-2" || f.claim().Operation != "op-3" {
		t.Errorf("stopped as %+v, and the claim is %+v", s, f.claim())
	}
	if late := f.stop("op-2"); late.Receipt != s.Receipt {
		t.Errorf("the first is %+v", late)
	}
	v, err := f.ops.Verify(t.Context(), s.Receipt.Key)
	if err != nil || !v.OK {
		t.Errorf("%+v: %v", v, err)
	}
}

// case F17: each check that fails is named, and the claim stays as it is.
//
// Red when: a failed check is passed over, or the claim is released before the receipt is
// looked at.
func TestAReceiptThatIsNotTheOneReleasesNothing(t *testing.T) {
	other, err := roster.ParseStamp(strings.Repeat("b", 64))
	if err != nil {
		t.Fatal(err)
	}
	for check, lie := range map[string]func(b *fakeBox){
		"operation": func(b *fakeBox) { b.lies = func(t *receipt.Target, _ *sign.Key) { t.Operation = "op-1" } },
		"box":       func(b *fakeBox) { b.lies = func(t *receipt.Target, _ *sign.Key) { t.BoxID = "box-9" } },
		"enrollment": func(b *fakeBox) {
			b.lies = func(t *receipt.Target, _ *sign.Key) { t.Enrollment = strings.Repeat("9", 32) }
		},
		"instance":           func(b *fakeBox) { b.lies = func(t *receipt.Target, _ *sign.Key) { t.Instance = "api" } },
		"incarnation":        func(b *fakeBox) { b.lies = func(t *receipt.Target, _ *sign.Key) { t.Incarnation = 9 } },
		"fence":              func(b *fakeBox) { b.lies = func(t *receipt.Target, _ *sign.Key) { t.Session = 9 } },
		"binding":            func(b *fakeBox) { b.lies = func(t *receipt.Target, _ *sign.Key) { t.Binding = other } },
		"directory_revision": func(b *fakeBox) { b.lies = func(t *receipt.Target, _ *sign.Key) { t.RosterRevision = 1000 } },
		"signature":          func(b *fakeBox) { b.lies = func(_ *receipt.Target, k *sign.Key) { *k = key(77) } },
		"sha256": func(b *fakeBox) {
			b.spoils = func(data []byte, _ *receipt.Ref) []byte { return append(data[:len(data)-2], 'x', '}') }
		},
		"stop": func(b *fakeBox) {
			b.spoils = func(data []byte, r *receipt.Ref) []byte {
				r.Key = strings.Replace(r.Key, "1-op-2", "1-op-7", 1)
				b.f.put(b.at(r.Key), data)
				return data
			}
		},
	} {
		f := begin(t, "box-1")
		f.run(run(""))
		before, _ := f.object("control/claims/web.json")
		lie(f.boxes[0])
		_, err := f.ops.Stop(t.Context(), stop("op-2"))
		if step(err) != "receipt-refused" || problem.KindOf(err) != problem.Refused || !strings.Contains(err.Error(), ": "+check+" (") {
			t.Errorf("%s: %v", check, err)
		}
		if after, _ := f.object("control/claims/web.json"); string(after) != string(before) {
			t.Errorf("%s: the claim was changed", check)
		}
	}
}

func TestAStopIsWaitedForAsLongAsItTakes(t *testing.T) {
	f := begin(t, "box-1")
	f.run(run(""))
	f.boxes[0].lingers = 5
	var said []string
	f.ops.Progress = func(k, why string) { said = append(said, k+": "+why) }
	f.stop("op-2")
	if !has(said, "op-2: box box-1 is stopping it: it has not ended yet") {
		t.Errorf("it said %q", said)
	}
}

func TestAnOrderIsGivenAnewToARootThatWasRestarted(t *testing.T) {
	f := begin(t, "box-1")
	once := false
	f.waits = func() {
		if !once {
			once = true
			f.boxes[0].restart()
		}
	}
	f.run(run(""))
	f.waits = nil
	if f.boxes[0].starts != 1 {
		t.Errorf("it was started %d times", f.boxes[0].starts)
	}
	f.boxes[0].restart()
	f.stop("op-2")
}

// Red when: an operation is taken over before it is known to be for the same.
func TestAConflictTakesNothingOver(t *testing.T) {
	f := begin(t, "box-1")
	f.boxes[0].down = true
	ctx, cancel := context.WithCancel(t.Context())
	f.waits = cancel
	if _, err := f.ops.Run(ctx, run("")); step(err) != "operation-unsettled" {
		t.Fatal(err)
	}
	f.waits = nil
	before, _ := f.object("control/operations/op-1.json")
	second := f.console("second", key(3))
	if _, err := second.Run(t.Context(), run("box-9")); step(err) != "operation-conflict" {
		t.Errorf("%v", err)
	}
	if after, _ := f.object("control/operations/op-1.json"); string(after) != string(before) {
		t.Error("it was taken over")
	}
}

// Several at once, of two consoles: those with one key agree, and of those with
// different ones one has the instance.
func TestConsolesThatRunAtOnceAgree(t *testing.T) {
	f := begin(t, "box-1", "box-2")
	consoles := []*console.Ops{f.ops, f.console("second", key(3))}
	type answer struct {
		key string
		ran console.Ran
		err error
	}
	answers := make(chan answer)
	const each = 2
	for n := range 2 * len(consoles) * each {
		go func() {
			req := run("box-" + strconv.Itoa(1+n%2))
			req.Key = "op-" + strconv.Itoa(n%2)
			ran, err := consoles[n/2%2].Run(t.Context(), req)
			answers <- answer{req.Key, ran, err}
		}()
	}
	won := map[string]console.Ran{}
	for range 2 * len(consoles) * each {
		a := <-answers
		if a.err != nil && step(a.err) != "instance-claimed" && step(a.err) != "operation-over" {
			t.Errorf("%s: %v", a.key, a.err)
		}
		if was, ok := won[a.key]; a.err == nil && ok && was != a.ran {
			t.Errorf("%s ran as %+v and as %+v", a.key, was, a.ran)
		}
		if a.err == nil {
			won[a.key] = a.ran
		}
	}
	if len(won) != 1 || f.boxes[0].starts+f.boxes[1].starts != 1 {
		t.Errorf("ran %v, started %d and %d times", won, f.boxes[0].starts, f.boxes[1].starts)
	}
	f.wantNothingHeld()
}

// Red when: the end of ctx is answered as if it were the operation's.
func TestACallThatIsCutOffSaysHowToGoOn(t *testing.T) {
	f := begin(t, "box-1")
	f.boxes[0].down = true
	ctx, cancel := context.WithCancel(t.Context())
	f.waits = cancel
	_, err := f.ops.Run(ctx, run(""))
	p := problem.From(err, "")
	if p.Step != "operation-unsettled" || p.Kind.Exit() != 9 || !strings.Contains(p.Reason, "op-1") || !strings.Contains(p.Reason, "has not answered yet") || p.Hint != "say the same again with --key op-1" {
		t.Errorf("it ended as %+v", p)
	}
	f.waits, f.boxes[0].down = nil, false
	if ran := f.run(run("")); ran.Incarnation != 1 {
		t.Errorf("the same again was %+v", ran)
	}
	f.wantNothingHeld()
}

// A stop while the run is under way: the run is driven as far as it goes, and the box hears
// of the stop whether it can start the run now or not. Red when: the stop waits for the run.
func TestAStopDoesNotWaitForARunThatWaits(t *testing.T) {
	f := begin(t, "box-1")
	f.boxes[0].down = true
	ctx, cancel := context.WithCancel(t.Context())
	f.waits = cancel
	if _, err := f.ops.Run(ctx, run("")); step(err) != "operation-unsettled" {
		t.Fatal(err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	f.waits = cancel
	if _, err := f.ops.Stop(ctx, stop("op-2")); step(err) != "operation-unsettled" || !strings.Contains(err.Error(), "box box-1 has not answered yet") {
		t.Fatal(err)
	}
	f.waits, f.boxes[0].down = nil, false
	f.stop("op-2")
	r, err := f.ops.Resume(t.Context(), "op-1")
	if err != nil || r.Ran == nil || r.Ran.Incarnation != 1 || f.claim().State != claim.Released {
		t.Errorf("the run is %+v: %v", r, err)
	}
	f.wantNothingHeld()
}
