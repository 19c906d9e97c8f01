package fleet

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/internal/durable"
	"holdfast/internal/fleet/box/root"
	"holdfast/internal/fleet/order"
	"holdfast/internal/fleet/receipt"
	"holdfast/internal/fleet/roster"
	"holdfast/internal/sign"
)

func (g *rig) change(f func(*roster.Roster) error) uint64 {
	g.Helper()
	v, err := g.console.roster.Update(g.Context(), g.console.key, f)
	g.must(err)
	return v.Revision
}

func (g *rig) revision() uint64 {
	g.Helper()
	v, err := g.console.roster.Read(g.Context())
	g.must(err)
	return v.Revision
}

// churn is six real writes of the roster that have nothing to do with what is installed:
// reserve, release, activation reserve, cancel, attempt, role. The revision moves by six.
func (g *rig) churn(n string) {
	g.Helper()
	before, at := g.revision(), time.Now().UTC().Truncate(time.Second)
	v, err := g.console.roster.Read(g.Context())
	g.must(err)
	_, box, _ := v.Live("one")
	g.change(func(r *roster.Roster) error {
		return r.ReserveHold("hold-"+n, roster.Hold{Console: "main", Instance: "other", Scope: roster.OneBox("one"), ReservedAt: at})
	})
	g.change(func(r *roster.Roster) error { return r.ReleaseHold("hold-"+n, "main") })
	g.change(func(r *roster.Roster) error {
		return r.ReserveActivation("act-"+n, roster.Activation{Console: "main", Scope: roster.All(), ReservedAt: at})
	})
	g.change(func(r *roster.Roster) error { return r.CancelActivation("act-" + n) })
	g.change(func(r *roster.Roster) error {
		return r.BeginAttempt(roster.Admission{Invitation: strings.Repeat(n, 32), Uses: 2, BoxID: "more-" + n, Namespace: box.Namespace, Region: box.Region, Pool: box.Pool, Cloud: box.Cloud}, strings.Repeat("c", 64), at)
	})
	g.change(func(r *roster.Roster) error { return r.SetRole("one", "role-"+n) })
	if after := g.revision(); after != before+6 {
		g.Errorf("the revision went from %d to %d", before, after)
	}
}

// TestL2 and TestL3: an install, six writes of the roster, and a second install, a launch
// and a stop all pass; the same after a restart of root. Red when: the holds are in the
// tuple that the binding is of.
func TestL2AndL3WritesOfOthersStrandNothing(t *testing.T) {
	g := newRig(t)
	g.name += "-a"
	first := g.run(g.name, "run-a", "sleep", "1000")
	g.answer("run-a", "running")
	claimed := g.claim(strings.TrimSuffix(g.name, "-a")+"-b", "run-b") // under the binding of now
	g.churn("1")
	g.order(order.Order{Kind: order.Run, Operation: "run-b", Work: &order.Work{Command: []string{"sleep", "1000"}, Env: map[string]string{}}}, claimed)
	g.answer("run-b", "running")
	r := g.stop(first, "stop-a", 0)
	if r.RosterRevision < g.revision() {
		t.Errorf("its numeral is %d, the roster's %d", r.RosterRevision, g.revision())
	}
	// L3
	later := g.claim(strings.TrimSuffix(g.name, "-a")+"-c", "run-c")
	g.end()
	g.churn("2")
	g.start()
	g.order(order.Order{Kind: order.Run, Operation: "run-c", Work: &order.Work{Command: []string{"sleep", "1000"}, Env: map[string]string{}}}, later)
	g.answer("run-c", "running")
	g.stop(claimed, "stop-b", 0)
	g.stop(later, "stop-c", 0)
}

// TestL4, as far as its parts exist: in quarantine new work is refused and what was
// installed under B0 is stopped; after readmission B0 is refused for good, and an agent that
// started under it installs nothing. Red when: the quarantine's revision is not in the tuple.
func TestL4QuarantineRefusesNewWorkAndStopsOld(t *testing.T) {
	g := newRig(t)
	base := g.name
	c := g.run(g.name, "run-1", "sleep", "1000")
	g.answer("run-1", "running")
	b0 := c.Binding
	waiting := g.claim(base+"-b", "run-2")
	work := &order.Work{Command: []string{"sleep", "1000"}, Env: map[string]string{}}
	_, err := g.console.Quarantine(t.Context(), "one", "", Granted)
	g.must(err)
	refused := func(operation string) order.Refused { return g.answer(operation, "refused").(order.Refused) }
	g.order(order.Order{Kind: order.Run, Operation: "run-2", Work: work}, waiting)
	if no := refused("run-2"); no.Step != "box-quarantined" {
		t.Errorf("in quarantine: %+v", no)
	}
	g.wantAlive(1)
	r := g.stop(c, "stop-1", 0)
	if !r.Binding.Same(b0) {
		t.Errorf("its receipt is bound to %s, not to %s", r.Binding, b0)
	}
	g.wantAlive(0)
	_, err = g.console.Readmit(t.Context(), "one", Granted)
	g.must(err)
	// B0 again.
	old := g.claim(base+"-c", "run-3")
	fresh := old.Binding
	if fresh.Same(b0) {
		t.Fatal("the binding came back")
	}
	old.Binding = b0
	g.order(order.Order{Kind: order.Run, Operation: "run-3", Work: work}, old)
	if no := refused("run-3"); no.Step != "binding-moved" {
		t.Errorf("B0 after readmission: %+v", no)
	}
	// B1, by an agent that is bound to B0.
	late := g.claim(base+"-d", "run-4")
	s, err := g.client.Status(t.Context(), 0)
	g.must(err)
	data, err := about(order.Order{Kind: order.Run, Operation: "run-4", Work: work}, late, g.id, s.Session).Seal(g.console.key)
	g.must(err)
	_, err = g.client.Order(t.Context(), strings.NewReader(string(data)), b0)
	g.must(err)
	if no := refused("run-4"); no.Step != "agent-pinned" {
		t.Errorf("an old pin's install: %+v", no)
	}
	// B1, after a restart.
	g.end()
	g.start()
	g.name = base + "-e"
	c = g.run(g.name, "run-5", "sleep", "1000")
	g.answer("run-5", "running")
	g.stop(c, "stop-5", 0)
}

// oldReceipt is what a verifier knows that was written before there were bindings: all but
// them, and it reads the numeral as a number.
type oldReceipt struct {
	Operation         string      `json:"operation"`
	Enrollment        string      `json:"enrollment"`
	Instance          string      `json:"instance"`
	Incarnation       uint64      `json:"incarnation"`
	DirectoryRevision json.Number `json:"directory_revision"`
}

// TestL7a: the numeral and the binding are in the receipt of every constructor, as the fence
// had them. TestL7b: a verifier that knows no binding believes it, and one in which the
// binding stands in the numeral's place is believed by nobody.
//
// Mutation "binding written to the numeral" (encode in package receipt): this test is red,
// TestARunAndAStopAreProved, and five of package receipt.
//
// Red when: the binding is written to the numeral.
func TestL7aAndL7bReceiptsCarryNumeralAndBinding(t *testing.T) {
	made := map[receipt.Made]bool{}
	check := func(g *rig, c interface{ String() string }, r receipt.Receipt, data []byte) {
		t.Helper()
		made[r.Made] = true
		if r.RosterRevision == 0 || r.RosterRevision > g.revision() || r.Binding.String() != c.String() {
			t.Errorf("%s: numeral %d of %d, binding %s, want %s", r.Made, r.RosterRevision, g.revision(), r.Binding, c)
		}
		var e struct {
			Payload     []byte `json:"payload"`
			PayloadType string `json:"payloadType"`
		}
		g.must(json.Unmarshal(data, &e))
		var old oldReceipt
		g.must(json.Unmarshal(e.Payload, &old))
		n, err := old.DirectoryRevision.Int64()
		if err != nil || uint64(n) != r.RosterRevision || old.Incarnation != r.Incarnation {
			t.Errorf("%s: an old verifier reads %+v: %v", r.Made, old, err)
		}
		bad := strings.Replace(string(e.Payload), `"directory_revision":"`+old.DirectoryRevision.String()+`"`, `"directory_revision":"`+c.String()+`"`, 1)
		if bad == string(e.Payload) {
			t.Fatalf("no numeral in %s", e.Payload)
		}
		if json.Unmarshal([]byte(bad), &old) == nil {
			t.Error("an old verifier takes a binding for a numeral")
		}
		box, err := durable.OpenDir(g.home.Box)
		g.must(err)
		defer box.Close()
		key, err := sign.ReadKey(box, evidenceKey)
		g.must(err)
		forged, err := sign.Seal(sign.Purpose(e.PayloadType), []byte(bad), key)
		g.must(err)
		if _, err := receipt.Read(forged, key.Public()); err == nil {
			t.Error("a binding is taken for a numeral")
		}
	}
	file := func(g *rig, operation string) []byte {
		found, err := filepath.Glob(filepath.Join(g.home.Bucket, "evidence", g.id, g.name, "1-"+operation+".json"))
		if err != nil || len(found) != 1 {
			t.Fatal(found, err)
		}
		data, err := os.ReadFile(found[0])
		g.must(err)
		return data
	}
	g := newRig(t)
	base := g.name
	for n, way := range []struct {
		operation string
		work      string
		first     func()
	}{
		{"normal", "exec sleep 1000", func() {}},
		{"gone", "exit 3", func() { g.until(func(s root.Status) bool { return s.Instances[len(s.Instances)-1].State == "exited" }) }},
	} {
		g.name = base + string(rune('a'+n))
		c := g.run(g.name, "run-"+way.operation, "sh", "-c", way.work)
		g.answer("run-"+way.operation, "running")
		way.first()
		check(g, c.Binding, g.stop(c, way.operation, 0), file(g, way.operation))
	}
	// Nothing was ever started of it.
	g.name = base + "x"
	c := g.claim(g.name, "run-none")
	check(g, c.Binding, g.stop(c, "none", 0), file(g, "none"))
	// The fourth, of a stop that a crash came into, is made in TestN1 of package crashtest.
	for _, m := range []receipt.Made{receipt.Normal, receipt.NamespaceGone, receipt.NoProcess} {
		if !made[m] {
			t.Errorf("no receipt was made %s", m)
		}
	}
}
