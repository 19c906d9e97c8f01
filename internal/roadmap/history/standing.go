package history

import (
	"time"

	"holdfast/internal/roadmap/event"
)

// Standing is where a node stands: one of [Open], [Claimed], [InProgress],
// [Blocked], [HandedBack], [ReadyForReview], [Accepted] and [Dropped], or the
// [Disorder] of its history. A node without events has none, which is nil.
//
//sumtype:decl
type Standing interface{ standing() }

// Open: to be done, and nobody holds it.
type Open struct{}

// Claimed: By holds it; Since is what the claimer's clock said.
type Claimed struct {
	By    event.Principal
	Since time.Time
}

// InProgress: By says that it is being worked on.
type InProgress struct {
	By   event.Principal
	Note string
}

// Blocked: By says that it cannot go on. An attempt that waits for answers names
// the picks instead of a reason.
type Blocked struct {
	By     event.Principal
	Reason string
	Picks  []string
}

// HandedBack: By gave it back undone, and nobody holds it.
type HandedBack struct {
	By     event.Principal
	Reason string
}

// ReadyForReview: By returned a result to look at.
type ReadyForReview struct {
	By     event.Principal
	Result Result
}

// Result is what is to be reviewed.
type Result struct {
	Event   event.ID // which returned it
	Attempt event.Attempt
	Claim   event.ID
	Head    string // a commit; may be empty
	Booth   string // where it is shown; may be empty
}

// Accepted: done, By says.
type Accepted struct {
	By     event.Principal
	Reason string // may be empty
}

// Dropped: will not be done, By says.
type Dropped struct {
	By     event.Principal
	Reason string // may be empty
}

func (Open) standing()           {}
func (Claimed) standing()        {}
func (InProgress) standing()     {}
func (Blocked) standing()        {}
func (HandedBack) standing()     {}
func (ReadyForReview) standing() {}
func (Accepted) standing()       {}
func (Dropped) standing()        {}
func (Forked) standing()         {}
func (Incomplete) standing()     {}

// Key is a standing's public name, for JSON and for CSS. It is output: nothing
// decides by it. No standing has an empty one.
func Key(s Standing) string {
	switch s.(type) {
	case Open:
		return "open"
	case Claimed:
		return "claimed"
	case InProgress:
		return "in_progress"
	case Blocked:
		return "blocked"
	case HandedBack:
		return "handed_back"
	case ReadyForReview:
		return "ready_for_review"
	case Accepted:
		return "accepted"
	case Dropped:
		return "dropped"
	case Forked:
		return "forked"
	case Incomplete:
		return "history_incomplete"
	}
	return ""
}

// Closed reports whether nothing more is to be done: accepted or dropped.
func Closed(s Standing) bool {
	switch s.(type) {
	case Accepted, Dropped:
		return true
	case Open, Claimed, InProgress, Blocked, HandedBack, ReadyForReview, Forked, Incomplete:
	}
	return false
}
