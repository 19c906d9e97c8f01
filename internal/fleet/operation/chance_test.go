package operation_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"holdfast/internal/fleet/claim"
	"holdfast/internal/fleet/operation"
	"holdfast/internal/fleet/order"
)

// play is a world with many drivers, of whom each does one thing at a time.
type play struct {
	w       *world
	drivers []operation.State
	notes   int
}

// step lets a driver do its next thing, which may fail before or after it took effect.
func (p *play) step(t *rapid.T, i int, faults bool) {
	s := p.drivers[i]
	e := s.Next()
	if stuck, ok := e.(operation.Stuck); ok {
		t.Fatalf("the driver of %s is stuck: %s: %s", s.Operation().Key, stuck.Step, stuck.Reason)
	}
	fault := "none"
	if _, waits := e.(operation.Wait); faults && !waits {
		fault = rapid.SampledFrom([]string{"none", "none", "none", "none", "unreachable", "unknown before", "unknown after", "crash", "crash after"}).Draw(t, "fault")
	}
	switch fault {
	case "unreachable":
		p.drivers[i] = s.After(operation.Unreachable{Why: "planned"})
	case "unknown before":
		p.drivers[i] = s.After(operation.Unknown{Why: "planned"})
	case "unknown after":
		p.w.do(s.Operation(), e)
		p.drivers[i] = s.After(operation.Unknown{Why: "planned"})
	case "crash":
		p.drivers[i] = operation.Begin(p.w.docs[s.Operation().Key])
	case "crash after":
		p.w.do(s.Operation(), e)
		p.drivers[i] = operation.Begin(p.w.docs[s.Operation().Key])
	default:
		p.drivers[i] = s.After(p.w.do(s.Operation(), e))
	}
}

// note begins another operation, if there is one to begin: a stop of what is claimed, or
// a run on a base that is free; two of them drive it, of whom the second may come late.
func (p *play) note(t *rapid.T) {
	if p.notes >= 5 {
		return
	}
	key := fmt.Sprintf("op-%d", p.notes)
	var o operation.Operation
	if p.w.exists && p.w.claim.State == claim.Held {
		o = p.w.noteStop(key)
	} else {
		o = p.w.noteRun(key, rapid.SampledFrom([]string{enrolled1, enrolled2}).Draw(t, "box"))
	}
	p.notes++
	p.drivers = append(p.drivers, operation.Begin(o), operation.Begin(o))
}

// recover releases the holds of what is over, as a console does at its start.
func (p *play) recover() {
	for key := range maps.Clone(p.w.holds) {
		if p.w.docs[key].Outcome != nil {
			delete(p.w.holds, key)
		}
	}
}

// Two drivers of each of several operations on one instance, who are cut off and delayed
// at will, with boxes that are restarted and refuse at will. [world.check] says what
// must hold at each moment. At the end all come to their end, and agree.
//
// Red when: Taking does not look at the base session; a refused hold is concluded without
// Forgo; Concluding replaces an outcome; Forgoing's standing is not looked at again.
func TestDriversInAnyOrderAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &play{w: newWorld()}
		p.note(t)
		for range rapid.IntRange(0, 120).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"drive", "drive", "drive", "drive", "drive", "drive", "root", "root", "note", "restart", "whim", "activation", "cancel", "recover", "epoch"}).Draw(t, "act") {
			case "drive":
				p.step(t, rapid.IntRange(0, len(p.drivers)-1).Draw(t, "driver"), true)
			case "root":
				p.w.root()
			case "note":
				p.note(t)
			case "restart":
				p.w.boxes[rapid.SampledFrom([]string{enrolled1, enrolled2}).Draw(t, "box")].session++
			case "whim":
				b := p.w.boxes[rapid.SampledFrom([]string{enrolled1, enrolled2}).Draw(t, "box")]
				b.refuse = !b.refuse
			case "activation":
				p.w.activating = !p.w.activating && len(p.w.holds) == 0
			case "cancel":
				clear(p.w.holds) // by an operator's word
			case "recover":
				p.recover()
			case "epoch":
				o := p.drivers[rapid.IntRange(0, len(p.drivers)-1).Draw(t, "driver")].Operation()
				if next, err := operation.TakingOver("second")(p.w.docs[o.Key], true); err == nil {
					p.w.docs[o.Key] = next
					p.drivers = append(p.drivers, operation.Begin(next))
				}
			}
			p.w.check(t)
		}
		p.w.activating = false
		for range 400 {
			for i := range p.drivers {
				p.step(t, i, false)
			}
			p.w.root()
			p.w.check(t)
		}
		p.recover()
		for _, s := range p.drivers {
			e, done := s.Next().(operation.Done)
			if !done {
				t.Fatalf("the driver of %s is at %v", s.Operation().Key, s.Next())
			}
			if noted := p.w.docs[s.Operation().Key].Outcome; e.Outcome != noted {
				t.Fatalf("a driver of %s says %v, and noted is %v", s.Operation().Key, e.Outcome, noted)
			}
		}
		if len(p.w.holds) > 0 {
			t.Fatalf("held for ever: %v", slices.Collect(maps.Keys(p.w.holds)))
		}
		// No order was ever written by a run that was refused before it had the claim.
		for _, o := range p.w.orders {
			if o.Kind == order.Run && o.Session == 0 {
				t.Fatalf("%+v", o)
			}
		}
	})
}
