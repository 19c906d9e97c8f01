package operation

import (
	"fmt"
	"strings"
	"unicode"

	"holdfast/internal/fleet/order"
)

// course is what a run and a stop have in common.
type course struct {
	doc     Operation
	session string // the box's session under which the order was last written
	waiting string // not empty: why to wait before the next effect
	outcome Outcome
	stuck   *Stuck
}

// Operation is the document that the state began with.
func (c course) Operation() Operation { return c.doc }

// halted is the effect of a state that goes on with nothing now.
func (c course) halted() (Effect, bool) {
	switch {
	case c.stuck != nil:
		return *c.stuck, true
	case c.waiting != "":
		return Wait{c.waiting}, true
	}
	return nil, false
}

// Why a state waits after what may come of any effect. Both alike are asked again after a
// while: what was asked for is idempotent.
func (e Unreachable) words() string { return "the store cannot be reached: " + e.Why }

func (e Unknown) words() string {
	return "whether a write took effect is not known yet: " + e.Why
}

func (e TakenOver) words() string { return "console " + e.Console + " goes on with it" }
func (c course) silent() string   { return "box " + c.doc.BoxID + " has no session" }
func (c course) unanswered() string {
	return "box " + c.doc.BoxID + " has not answered yet"
}

// astray is a state to which something happened that does not come of its effect.
func (c course) astray(doing Effect, e Event) course {
	c.stuck = &Stuck{"operation-astray", fmt.Sprintf("The operation %s did %T, and %T is not what comes of that.", c.doc.Key, doing, e)}
	if r, ok := e.(Refused); ok { // of what is not refused to anybody
		c.stuck = &Stuck{r.Step, r.Reason}
	}
	return c
}

// contradicted is a state that saw what cannot be.
func (c course) contradicted(step, format string, args ...any) course {
	c.stuck = &Stuck{step, fmt.Sprintf(format, args...)}
	return c
}

// foreign says whether an answer is one to something else.
func (c course) foreign(a order.Ack) bool {
	return a.Operation != c.doc.Key || a.Enrollment != c.doc.Enrollment || a.Instance != c.doc.Instance ||
		a.Incarnation != c.doc.Incarnation || a.Session != c.doc.Session
}

// stray is the contradiction of a box that answers something else.
func (c course) stray(a order.Ack) course {
	return c.contradicted("ack-foreign", "What box %s answered to the operation %s is an answer to something else (%T for incarnation %d of %s). Nothing was concluded from it.",
		c.doc.BoxID, c.doc.Key, a.Answer, a.Incarnation, a.Instance)
}

// refusal is an outcome in words that can be written down: those of a store or of another
// program may be long, or of several lines.
func refusal(step, format string, args ...any) Outcome {
	printable := func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}
	reason := strings.Map(printable, strings.ToValidUTF8(fmt.Sprintf(format, args...), "?"))
	if reason = strings.Join(strings.Fields(reason), " "); reason == "" {
		reason = "No reason was given."
	}
	if len(reason) > maxReason {
		reason = strings.ToValidUTF8(reason[:maxReason-3], "") + "…"
	}
	return Refusal{step, reason}
}
