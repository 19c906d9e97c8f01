package history

import (
	"fmt"
	"strings"

	"holdfast/internal/plain"
	"holdfast/internal/problem"
	"holdfast/internal/roadmap/event"
)

// StepUnordered is where a statement stops that an unordered history does not
// take.
const StepUnordered = "history-unordered"

// Text says to people why there is no order, and what mends it. It is a clause.
func (u Unordered) Text() string {
	switch why := u.Why.(type) {
	case Incomplete:
		return "it builds on " + plain.Count(len(why.Missing), "event") + " that cannot be found (" + shorts(why.Missing) +
			"), and it mends itself when the log has them"
	case Forked:
		return "it has " + plain.Count(len(why.Heads), "head") + " (" + shorts(why.Heads) +
			"), and is mended by reconciling them: one is kept, and the comments of the others stay"
	}
	return "why is not known"
}

// Refusal is the answer to whoever needs the order.
func (u Unordered) Refusal() *problem.Error {
	e := problem.Refusal(StepUnordered, "%s has a history that cannot be ordered: %s. Nothing was changed.", u.Node, u.Text())
	if _, ok := u.Why.(Forked); ok {
		return e.WithHint("holdfast roadmap reconcile %s --keep ID keeps the line that ends in ID.", u.Node)
	}
	return e
}

// shorts names some events, and how many there are beyond those.
func shorts(ids []event.ID) string {
	const most = 8
	var b strings.Builder
	for i, id := range ids[:min(most, len(ids))] {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(id.Short())
	}
	if more := len(ids) - most; more > 0 {
		fmt.Fprintf(&b, " and %d more", more)
	}
	return b.String()
}

// Phrase is a standing in words, to be part of a sentence after "it is".
func Phrase(s Standing) string {
	switch s := s.(type) {
	case Open:
		return "open"
	case Claimed:
		return "claimed by " + s.By.Subject()
	case InProgress:
		return "in progress"
	case Blocked:
		if len(s.Picks) > 0 {
			return "waiting for " + plain.Count(len(s.Picks), "answer")
		}
		return "blocked"
	case HandedBack:
		return "handed back"
	case ReadyForReview:
		return "ready for review"
	case Accepted:
		return "accepted"
	case Dropped:
		return "dropped"
	case Forked:
		return "forked"
	case Incomplete:
		return "incomplete"
	}
	return "not there"
}
