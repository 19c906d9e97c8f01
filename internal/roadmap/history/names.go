package history

import (
	"fmt"
	"strings"

	"holdfast/internal/roadmap/event"
)

// Keys is every name that [Key] gives, in the order of a board: what waits for
// somebody first.
func Keys() []string {
	return []string{
		Key(ReadyForReview{}), Key(Forked{}), Key(Incomplete{}), Key(HandedBack{}), Key(Blocked{}),
		Key(InProgress{}), Key(Claimed{}), Key(Open{}), Key(Accepted{}), Key(Dropped{}),
	}
}

// String is a blocker's public name.
func (b BlockerIs) String() string {
	switch b {
	case BlockerAccepted:
		return "accepted"
	case BlockerOpen:
		return "open"
	case BlockerDropped:
		return "dropped"
	case BlockerUnordered:
		return "unordered"
	case BlockerMissing:
		return "missing"
	default:
		return "invalid"
	}
}

// Sorted is events so that each comes after its parents, and else by id: for
// histories that have no order.
func Sorted(events []event.Event) []event.Event { return setOf(events).topological() }

// Tell is what a statement says, in words that follow its author's name.
func Tell(b event.Body) string {
	switch b := b.(type) {
	case event.Opened:
		return "opened it: " + b.Card.Title
	case event.Edited:
		return "edited the card: " + b.Card.Title
	case event.Linked:
		return "linked it: " + relationWords(b.Relation) + " " + string(b.To)
	case event.Unlinked:
		return "took away the link: " + relationWords(b.Relation) + " " + string(b.To)
	case event.Claimed:
		return "claimed it for " + b.Assignee.Subject() + ", to be returned to " + b.ReturnTo.Subject()
	case event.Released:
		return "released it"
	case event.Progress:
		return "works on it: " + b.Note
	case event.Blocked:
		return "is blocked: " + b.Reason
	case event.HandedBack:
		return "handed it back: " + b.Reason
	case event.Receipt:
		return fmt.Sprintf("pointed at evidence of %s (%s): %s", b.Obligation, b.Verdict, b.Address)
	case event.CommentCreated:
		return "commented: " + b.Body
	case event.CommentEdited:
		return "edited a comment: " + b.Body
	case event.CommentDeleted:
		return "deleted a comment"
	case event.ResultReturned:
		return "returned a result: " + tellOutcome(b.Outcome)
	case event.Accepted:
		return because("accepted it", b.Reason)
	case event.Dropped:
		return because("dropped it", b.Reason)
	case event.Reopened:
		return because("reopened it", b.Reason)
	case event.Reconciled:
		return "mended a fork, and kept the line of " + b.Keep.Short()
	}
	return "stated something"
}

func tellOutcome(o event.Outcome) string {
	switch o := o.(type) {
	case event.Published:
		return strings.TrimRight("published "+strings.TrimSpace(o.Booth+" "+event.ID(o.Head).Short()), " ")
	case event.Waiting:
		return "waiting for " + strings.Join(o.Picks, ", ")
	case event.VerificationFailed:
		return "its check failed: " + o.Cause
	case event.GivenBack:
		return "handed back: " + o.Reason
	}
	return "unknown"
}

func because(what, reason string) string {
	if reason == "" {
		return what
	}
	return what + ": " + reason
}

func relationWords(r event.Relation) string { return strings.ReplaceAll(string(r), "_", " ") }
