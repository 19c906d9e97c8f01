package operation_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/fleet/claim"
	"holdfast/internal/fleet/operation"
	"holdfast/internal/fleet/order"
	"holdfast/internal/fleet/receipt"
)

var update = flag.Bool("update", false, "write the table anew")

// everything is every event, each claim and answer that there can be, with its name.
func everything(o operation.Operation) map[string]operation.Event {
	held := func(state claim.State, session uint64, by string) operation.Event {
		return operation.ClaimIs{Exists: true, Claim: claim.Claim{
			Instance: o.Instance, State: state, Session: session, Incarnation: session, Operation: by, BoxID: "box-1", Enrollment: enrolled1,
		}}
	}
	noted := claim.Noted{Operation: o.Key, Enrollment: o.Enrollment, Incarnation: o.Incarnation, Ref: ref()}
	proved := held(claim.Released, o.Session, o.Key).(operation.ClaimIs)
	proved.Claim.Receipts = []claim.Noted{noted}
	ack := func(a order.Answer) operation.Event {
		return operation.AckIs{Ack: order.Ack{Bucket: fleetID, Enrollment: o.Enrollment, Operation: o.Key, Instance: o.Instance, Incarnation: o.Incarnation, Session: o.Session, Answer: a}}
	}
	foreign := ack(order.Running{}).(operation.AckIs)
	foreign.Ack.Incarnation++
	return map[string]operation.Event{
		"ClaimIs none":      operation.ClaimIs{},
		"ClaimIs base":      held(claim.Released, 4, "op-0"),
		"ClaimIs ours":      held(claim.Held, o.Session, o.Key),
		"ClaimIs given up":  held(claim.Released, o.Session, o.Key),
		"ClaimIs another's": held(claim.Held, o.Session, "op-7"),
		"ClaimIs gone on":   held(claim.Released, o.Session+3, "op-7"),
		"ClaimIs older":     held(claim.Held, 3, "op-0"),
		"ClaimIs proved":    proved,
		"Reserved":          operation.Reserved{},
		"HoldReleased":      operation.HoldReleased{},
		"SessionIs":         operation.SessionIs{ID: enrolled1},
		"NoSession":         operation.NoSession{},
		"Ordered":           operation.Ordered{},
		"AckIs running":     ack(order.Running{}),
		"AckIs refused":     ack(order.Refused{Step: "box-full", Reason: "no room"}),
		"AckIs stopping":    ack(order.Stopping{Why: "it does not die"}),
		"AckIs stopped":     ack(order.Stopped{Receipt: ref()}),
		"AckIs foreign":     foreign,
		"NoAck":             operation.NoAck{},
		"Proved":            operation.Proved{Noted: noted, Proof: "namespace", DirectoryRevision: "7", Binding: o.Binding},
		"Proved another":    operation.Proved{Noted: claim.Noted{Operation: o.Key, Enrollment: o.Enrollment, Incarnation: 1, Ref: ref()}},
		"Unproved":          operation.Unproved{Check: "fence", Detail: "it says 3"},
		"NoReceipt":         operation.NoReceipt{},
		"RunSettled":        operation.RunSettled{},
		"Concluded running": operation.Concluded{Outcome: operation.Running{}},
		"TakenOver":         operation.TakenOver{Console: "second"},
		"Woken":             operation.Woken{},
		"Refused":           operation.Refused{Step: "scope-activating", Reason: "it is being changed"},
		"Unreachable":       operation.Unreachable{Why: "no route"},
		"Unknown":           operation.Unknown{Why: "no answer"},
		"Broken":            operation.Broken{Step: "claim-format", Reason: "it is no claim"},
	}
}

func ref() receipt.Ref {
	return receipt.Ref{Key: "evidence/" + enrolled1 + "/web/5-op-1.json", SHA256: digest1}
}

func based(kind order.Kind) operation.Operation {
	w := newWorld()
	w.claim = claim.Claim{Instance: "web", State: claim.Released, Session: 4, Incarnation: 4, Operation: "op-0"}
	o := w.noteRun("op-1", enrolled1)
	if kind == order.Stop {
		o.Kind, o.BaseSession, o.Work = order.Stop, o.Session, nil
	}
	return o
}

// show is a state as the table has it: what it does next, and what it is about to say.
func show(s operation.State) string {
	switch e := s.Next().(type) {
	case operation.Wait:
		return "Wait (" + e.Why + ")"
	case operation.Stuck:
		return "Stuck " + e.Step
	case operation.Conclude:
		return "Conclude " + said(e.Outcome)
	case operation.Done:
		return "Done " + said(e.Outcome)
	default:
		return name(e)
	}
}

func said(o operation.Outcome) string {
	if r, ok := o.(operation.Refusal); ok {
		return r.Step
	}
	return name(o)
}

// Each effect that an operation ever comes to, with each event, by what came before it:
// the table in testdata is what was read and agreed to. Where nothing is said, the event
// does not come of the effect, and the state is stuck as astray.
func TestEveryEffectMeetsEveryEvent(t *testing.T) {
	var table strings.Builder
	for _, kind := range []order.Kind{order.Run, order.Stop} {
		o := based(kind)
		events := everything(o)
		names := slices.Sorted(func(yield func(string) bool) {
			for n := range events {
				if !yield(n) {
					return
				}
			}
		})
		type place struct {
			state operation.State
			way   string
		}
		// Two states that answer each event alike are shown once.
		queue, seen, shown := []place{{operation.Begin(o), "begin"}}, map[string]bool{}, map[string]bool{}
		for len(queue) > 0 {
			p := queue[0]
			queue = queue[1:]
			if id := fmt.Sprintf("%+v", p.state); seen[id] {
				continue
			} else {
				seen[id] = true
			}
			rows := ""
			for _, n := range names {
				next := p.state.After(events[n])
				if _, stuck := p.state.Next().(operation.Stuck); stuck && show(next) != show(p.state) {
					t.Errorf("%s was stuck, and goes on after %s with %s", p.way, n, show(next))
				}
				_, waits := p.state.Next().(operation.Wait)
				if again := n == "Unreachable" || n == "Unknown"; again && !waits && !idle(p.state) {
					// Nothing is known of it: the same is done again after a while, or, where it was
					// for the box, from the look at the claim or the session.
					woken := next.After(operation.Woken{})
					if show(woken) != show(p.state) && show(woken) != "LookClaim" && show(woken) != "ReadSession" {
						t.Errorf("%s: after %s it waits and goes on with %s", show(p.state), n, show(woken))
					}
					continue
				}
				if got := show(next); got != "Stuck operation-astray" && !idle(p.state) {
					rows += fmt.Sprintf("    %-18s → %s\n", n, got)
				}
				queue = append(queue, place{next, strings.Fields(show(p.state))[0] + ", " + n})
			}
			if row := show(p.state) + rows; !shown[row] {
				shown[row] = true
				fmt.Fprintf(&table, "%s: %s (first after: %s)\n%s", kind, show(p.state), p.way, rows)
			}
		}
	}
	if *update {
		if err := os.WriteFile("testdata/steps.txt", []byte(table.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/steps.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), table.String()); diff != "" {
		t.Error(diff)
	}
}

func idle(s operation.State) bool {
	_, done := s.Next().(operation.Done)
	_, stuck := s.Next().(operation.Stuck)
	return done || stuck
}
