package fleet

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/internal/bucket"
	"holdfast/internal/fleet/box/root"
	"holdfast/internal/fleet/claim"
	"holdfast/internal/fleet/order"
	"holdfast/internal/sign"
)

// copyOf copies a folder as a person does.
func copyOf(t *testing.T, from, to string) {
	t.Helper()
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
}

// counted is a command that leaves a line for each time that it was started.
func counted(g *rig) []string {
	return []string{"sh", "-c", "echo started >> " + filepath.Join(filepath.Dir(g.home.Box), "..", "starts") + "; exec sleep 1000"}
}

// wantStarts waits until the work has come to say so, as often as it should.
func (g *rig) wantStarts(n int) {
	g.Helper()
	got := -1
	for begun := time.Now(); got < n && time.Since(begun) < time.Minute; {
		data, _ := os.ReadFile(filepath.Join(filepath.Dir(g.home.Box), "..", "starts"))
		if got = strings.Count(string(data), "\n"); got < n {
			time.Sleep(time.Millisecond)
		}
	}
	if got != n {
		g.Errorf("it was started %d times, want %d", got, n)
	}
}

// case F06: the box's folder is copied, keys and all, and a second root serves the copy. The
// first sees it at its next step, refuses all work and says what to do; also when it is
// started anew. Red when: raise and holds do not compare the session in the store with their
// own; when takeSession does not ask whose the session was (two are alive).
func TestAClonedBoxIsSupersededAndRefusesAllWork(t *testing.T) {
	g := newRig(t)
	first := g.client
	own, err := first.Status(t.Context(), 0)
	g.must(err)
	clone := *g
	clone.home.Box = filepath.Join(t.TempDir(), "box")
	copyOf(t, g.home.Box, clone.home.Box)
	clone.start()
	defer clone.end()
	taken, err := clone.client.Status(t.Context(), 0)
	g.must(err)

	// What is ordered under the session of the clone, the first refuses; what was ordered
	// under its own, it does not start.
	c := g.claim(g.name, "run-1")
	run := order.Order{Kind: order.Run, Operation: "run-1", Work: &order.Work{Command: counted(g), Env: map[string]string{}}}
	g.wantRefused(run, c, taken.Session, "order-session")
	data, err := about(run, c, g.id, own.Session).Seal(g.console.key)
	g.must(err)
	_, err = first.Order(t.Context(), strings.NewReader(string(data)), c.Binding)
	g.must(err)
	s := g.until(func(s root.Status) bool { return s.Mode == root.Superseded })
	for _, words := range []string{"another root has taken this box's session", "stop what runs here", "join by a new invitation"} {
		if !strings.Contains(s.Why, words) {
			t.Errorf("it says %q, without %q", s.Why, words)
		}
	}
	g.wantStarts(0)

	// The clone works. The journals of the two have the same generation now; the first,
	// started anew, is none the less not taken for the one that the clone's work is in.
	clone.order(run, c)
	clone.answer("run-1", "running")
	g.wantStarts(1)
	g.end()
	s = g.startAs(root.OldJournal)
	if !strings.Contains(s.Why, "another root has worked for this box") || !strings.Contains(s.Why, "join by a new invitation") {
		t.Errorf("it says %q", s.Why)
	}
	time.Sleep(1500 * time.Millisecond) // it has been tried twice
	g.wantStarts(1)
	g.wantAlive(1)
	if now, err := clone.client.Status(t.Context(), 0); err != nil || now.Mode != root.Ready {
		t.Errorf("the clone: %+v %v", now, err)
	}
	ctx, done := context.WithTimeout(t.Context(), 30*time.Second)
	defer done()
	_, err = clone.client.Down(ctx, 0, 30*time.Second)
	g.must(err)
}

// A journal that was set back starts nothing, and ends what it knows of; of what it does not
// know it proves nothing. Red when: takeSession does not compare the generations; when match
// takes what is not in an old journal for what never was.
func TestARestoredJournalStartsNothingAndStopsWhatItKnows(t *testing.T) {
	g := newRig(t)
	known := g.run(g.name, "run-1", counted(g)...)
	g.answer("run-1", "running")
	g.end()
	old := filepath.Join(t.TempDir(), "root")
	copyOf(t, filepath.Join(g.home.Box, "root"), old)
	g.start()
	forgotten := g.run(g.name+"-b", "run-2", counted(g)...)
	g.answer("run-2", "running")
	g.end()
	now := filepath.Join(g.home.Box, "root-now")
	g.must(os.Rename(filepath.Join(g.home.Box, "root"), now))
	copyOf(t, old, filepath.Join(g.home.Box, "root"))

	g.startAs(root.OldJournal)
	more := g.claim(g.name+"-c", "run-3")
	g.order(order.Order{Kind: order.Run, Operation: "run-3", Work: &order.Work{Command: counted(g), Env: map[string]string{}}}, more)
	g.order(order.Order{Kind: order.Stop, Operation: "stop-2"}, forgotten)
	g.order(order.Order{Kind: order.Stop, Operation: "stop-1"}, known)
	g.proved(known, "stop-1")
	g.wantAlive(0) // of the one that it knows
	g.until(func(s root.Status) bool {
		waits := 0
		for _, i := range s.Intents {
			if strings.Contains(i.Waits, "older copy") {
				waits++
			}
		}
		return waits == 2 // the run, and the stop of what it does not know
	})
	for _, operation := range []string{"run-3", "stop-2"} {
		if a, is := g.answered(operation); is && order.Phase(a) != "stopping" {
			t.Errorf("%s is answered %+v", operation, a)
		}
	}
	g.wantStarts(2)
	g.end()

	// The journal that knows all is put back. Another root has worked meanwhile, so it starts
	// nothing; what runs can be stopped here.
	g.must(os.RemoveAll(filepath.Join(g.home.Box, "root")))
	g.must(os.Rename(now, filepath.Join(g.home.Box, "root")))
	g.startAs(root.OldJournal)
	g.wantDown(g.name + "-b")
}

// The same while the store is away: nothing tells the root that its journal is old, and what
// it does not know counts for nothing all the same, then and after. Red when: look or match
// conclude from what is absent before the session is there; when a fence of that time raises
// the generation.
func TestARestoredJournalIsNotMadeNewWhileTheStoreIsAway(t *testing.T) {
	g := newRig(t)
	known := g.run(g.name, "run-1", counted(g)...)
	g.answer("run-1", "running")
	g.end()
	old := filepath.Join(t.TempDir(), "root")
	copyOf(t, filepath.Join(g.home.Box, "root"), old)
	g.start()
	forgotten := g.run(g.name+"-b", "run-2", counted(g)...)
	g.answer("run-2", "running")
	g.wantStarts(2)
	g.end()
	now := filepath.Join(g.home.Box, "root-now")
	g.must(os.Rename(filepath.Join(g.home.Box, "root"), now))
	copyOf(t, old, filepath.Join(g.home.Box, "root"))
	away := g.home.Bucket + "-away"
	g.must(os.Rename(g.home.Bucket, away))
	g.must(os.Mkdir(g.home.Bucket, 0o700))

	g.startAs(root.Starting)
	list, err := g.client.Down(t.Context(), 0, 30*time.Second)
	if err != nil || len(list) != 1 || list[0].Instance != known.Instance || list[0].Receipt == "" {
		t.Errorf("what is seen to end is proved without the store: %+v %v", list, err)
	}
	g.end()
	g.must(os.RemoveAll(g.home.Bucket))
	g.must(os.Rename(away, g.home.Bucket))
	g.startAs(root.OldJournal)
	g.order(order.Order{Kind: order.Stop, Operation: "stop-2"}, forgotten)
	g.until(func(s root.Status) bool {
		return slices.ContainsFunc(s.Intents, func(i root.Intent) bool { return i.Operation == "stop-2" && i.Waits != "" })
	})
	if a, is := g.answered("stop-2"); is && order.Phase(a) != "stopping" {
		t.Errorf("it is answered %+v", a)
	}
	g.name += "-b"
	g.wantAlive(1)
	g.end()

	// By the journal that knows it, it can be stopped here.
	g.must(os.RemoveAll(filepath.Join(g.home.Box, "root")))
	g.must(os.Rename(now, filepath.Join(g.home.Box, "root")))
	g.startAs(root.OldJournal)
	g.wantDown(g.name)
}

// wantDown stops all here, and wants a receipt of one.
func (g *rig) wantDown(instance string) {
	g.Helper()
	go func() {
		ctx, done := context.WithTimeout(context.Background(), 5*time.Second)
		defer done()
		g.client.Down(ctx, 0, 30*time.Second)
	}()
	g.until(func(root.Status) bool {
		list, err := g.client.Receipts(g.Context())
		g.must(err)
		return slices.ContainsFunc(list, func(e root.Evidence) bool { return e.Instance == instance })
	})
}

// case F06: the folder of the journal is wiped. Red when: an empty journal counts as new
// though the session's generation is above 0; when look takes what it does not know for
// what never was.
func TestAWipedJournalStartsNothingAndProvesNothing(t *testing.T) {
	g := newRig(t)
	c := g.run(g.name, "run-1", counted(g)...)
	g.answer("run-1", "running")
	g.end()
	kept := filepath.Join(g.home.Box, "root-kept")
	g.must(os.Rename(filepath.Join(g.home.Box, "root"), kept))
	s := g.startAs(root.OldJournal)
	if !strings.Contains(s.Why, "it may have forgotten what runs") {
		t.Errorf("it says %q", s.Why)
	}
	g.order(order.Order{Kind: order.Stop, Operation: "stop-1"}, c)
	data, err := about(order.Order{Kind: order.Run, Operation: "run-1", Work: &order.Work{Command: counted(g), Env: map[string]string{}}}, c, g.id, s.Session).Seal(g.console.key)
	g.must(err)
	_, err = g.client.Order(t.Context(), strings.NewReader(string(data)), c.Binding)
	g.must(err)
	time.Sleep(1500 * time.Millisecond) // it has been tried twice
	g.wantNoReceipt()
	g.wantStarts(1)
	g.wantAlive(1)
	g.end()
	g.must(os.RemoveAll(filepath.Join(g.home.Box, "root")))
	g.must(os.Rename(kept, filepath.Join(g.home.Box, "root")))
	g.startAs(root.OldJournal)
	g.wantDown(g.name)
	g.wantAlive(0)
}

// Red when: Take does not verify, or mine does not compare, what the order says.
func TestAnOrderThatIsNotAConsolesForThisSessionStartsNothing(t *testing.T) {
	g := newRig(t)
	s, err := g.client.Status(t.Context(), 0)
	g.must(err)
	c := g.claim(g.name, "run-1")
	good := about(order.Order{Kind: order.Run, Operation: "run-1", Work: &order.Work{Command: counted(g), Env: map[string]string{}}}, c, g.id, s.Session)
	seal := func(key sign.Key, change func(*order.Order)) []byte {
		o := good
		change(&o)
		data, err := o.Seal(key)
		g.must(err)
		return data
	}
	same := func(*order.Order) {}
	stranger, err := sign.CreateKey(g.console.dir, "stranger.key")
	g.must(err)
	valid := seal(g.console.key, same)
	for name, one := range map[string]struct {
		data  []byte
		steps []string
	}{
		"nothing":                {nil, []string{"envelope-format"}},
		"unsigned":               {[]byte(strings.Replace(string(valid), `"signatures":[{`, `"signatures":[],"x":[{`, 1)), []string{"envelope-format"}},
		"one byte changed":       {[]byte(strings.Replace(string(valid), `"payload":"e`, `"payload":"f`, 1)), []string{"envelope", "signature", "order-format"}},
		"signed by a stranger":   {seal(stranger, same), []string{"signer", "signature", "envelope-signer", "key-unknown", "signer-unknown"}},
		"by an unknown console":  {seal(g.console.key, func(o *order.Order) { o.Console = "second" }), []string{"console-unknown"}},
		"of another fleet":       {seal(g.console.key, func(o *order.Order) { o.Bucket = strings.Repeat("a", len(o.Bucket)) }), []string{"order-bucket"}},
		"for another enrollment": {seal(g.console.key, func(o *order.Order) { o.Enrollment = strings.Repeat("a", len(o.Enrollment)) }), []string{"order-foreign"}},
		"for another box":        {seal(g.console.key, func(o *order.Order) { o.BoxID = "two" }), []string{"order-foreign"}},
		"for another session":    {seal(g.console.key, func(o *order.Order) { o.BoxSession = strings.Repeat("a", 32) }), []string{"order-session"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := g.client.Order(t.Context(), strings.NewReader(string(one.data)), c.Binding)
			t.Log(err)
			for _, step := range one.steps {
				if err != nil && strings.Contains(err.Error(), step+":") {
					return
				}
			}
			t.Errorf("refused: %v, want %v", err, one.steps)
		})
	}
	list, err := g.client.Status(t.Context(), 0)
	g.must(err)
	if len(list.Intents)+len(list.Instances) > 0 {
		t.Errorf("something came of it: %+v", list)
	}
	g.wantStarts(0)

	// The order itself; and replayed as it is, under this session and the next.
	_, err = g.client.Order(t.Context(), strings.NewReader(string(valid)), c.Binding)
	g.must(err)
	g.answer("run-1", "running")
	_, err = g.client.Order(t.Context(), strings.NewReader(string(valid)), c.Binding)
	g.must(err)
	g.wantRefusedBytes(seal(g.console.key, func(o *order.Order) {
		o.Work = &order.Work{Command: []string{"sleep", "2000"}, Env: map[string]string{}}
	}), c, "operation-conflict")
	g.end()
	g.start()
	g.wantRefusedBytes(valid, c, "order-session")
	g.stop(c, "stop-1", 0)
	s, err = g.client.Status(t.Context(), 0)
	g.must(err)
	_, err = g.client.Order(t.Context(), strings.NewReader(string(seal(g.console.key, func(o *order.Order) { o.BoxSession = s.Session }))), c.Binding)
	g.must(err)
	g.until(func(s root.Status) bool { return len(s.Intents) == 0 })
	g.wantStarts(1)
	g.wantAlive(0)
}

// An order is nothing without the claim that it speaks of. Red when: claimed leaves a
// comparison out, or check takes a claim that cannot be believed for one that is not there.
func TestAClaimThatIsNotThisBoxsStartsNothing(t *testing.T) {
	stranger := sign.Generate()
	for name, one := range map[string]struct {
		claim func(g *rig, c claim.Claim) claim.Claim // what is in the store
		key   *sign.Key
		step  string // of the refusal, "" where it waits
	}{
		"signed by a stranger": {func(_ *rig, c claim.Claim) claim.Claim { return c }, &stranger, ""},
		"of another box": {func(_ *rig, c claim.Claim) claim.Claim {
			c.Enrollment = strings.Repeat("a", len(c.Enrollment))
			return c
		}, nil, "claim-elsewhere"},
		"of another operation": {func(_ *rig, c claim.Claim) claim.Claim { c.Operation = "run-2"; return c }, nil, "claim-moved"},
		"gone on":              {func(_ *rig, c claim.Claim) claim.Claim { c.Session++; c.Incarnation++; return c }, nil, "claim-moved"},
		"released":             {func(_ *rig, c claim.Claim) claim.Claim { c.State = claim.Released; return c }, nil, "claim-elsewhere"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newRig(t)
			c := g.claim(g.name, "run-1")
			v, err := g.console.roster.Read(t.Context())
			g.must(err)
			key, err := claim.Key(g.name)
			g.must(err)
			reading, err := g.console.bucket.Get(t.Context(), key)
			g.must(err)
			is := one.claim(g, c)
			data, err := claim.Codec(v.Roster, "main", g.console.key, g.name).Encode(is, is.History.Next(bucket.NewWriteID()))
			g.must(err)
			if one.key != nil {
				data = signedBy(t, data, *one.key)
			}
			if _, done := g.console.bucket.Put(t.Context(), key, data, bucket.At{Version: reading.(bucket.Found).Version}).(bucket.Done); !done {
				t.Fatal("the claim is not written")
			}
			g.order(order.Order{Kind: order.Run, Operation: "run-1", Work: &order.Work{Command: counted(g), Env: map[string]string{}}}, c)
			if one.step != "" {
				if no := g.answer("run-1", "refused").(order.Refused); no.Step != one.step {
					t.Errorf("refused: %+v", no)
				}
			} else {
				time.Sleep(1500 * time.Millisecond) // it has been tried twice
				if a, answered := g.answered("run-1"); answered {
					t.Errorf("answered: %+v", a)
				}
			}
			g.wantStarts(0)
		})
	}
}

// signedBy is an envelope with another signature.
func signedBy(t *testing.T, data []byte, key sign.Key) []byte {
	t.Helper()
	var e struct {
		Payload     []byte `json:"payload"`
		PayloadType string `json:"payloadType"`
	}
	err := json.Unmarshal(data, &e)
	if err == nil {
		data, err = sign.Seal(sign.Purpose(e.PayloadType), e.Payload, key)
	}
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// case F14: no clock decides anything. Red when: an order, a session or an act is compared
// with the time.
func TestAClockThatJumpsByADayDecidesNothing(t *testing.T) {
	for name, off := range map[string]time.Duration{"ahead": 24 * time.Hour, "behind": -24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			jump := off
			g := newRig(t, func(c *Running) { c.Now = func() time.Time { return time.Now().Add(jump) } })
			c := g.run(g.name, "run-1", counted(g)...)
			g.answer("run-1", "running")
			jump = -off // and back by two days, while it runs and at the next start
			g.end()
			g.start()
			g.wantAlive(1)
			g.stop(c, "stop-1", 0)
			g.wantAlive(0)
			g.wantStarts(1)
			g.until(func(s root.Status) bool { return len(s.Intents) == 0 })
		})
	}
}
