// Package lifetime decides how long a booth lives.
//
// A lifetime is derived, never declared: [Decide] is one pure function over the
// [Facts] of one strict read, and every surface (page, card, command line, JSON,
// sweeper) shows the [State] that it returned. The state is a closed sum, decided
// in this order:
//
//	Kept      .forever is there
//	Held      something is owed, or could not be read; see [Reason]
//	Counting  everything else; expires when its age exceeds the TTL
//
// Strictness binds the timer. Anything that could not be read is a hold, because
// the other answer would delete on a guess; an operator's own delete asks nothing
// of this package.
package lifetime

import "time"

// Facts are what one strict read of a booth's folder found. Facts that were
// not looked for have no zero value here: a caller fills in every field.
type Facts struct {
	Sentinel Sentinel
	Marks    Marks
	Tree     Tree
	// Mount is the path, inside the booth, of a mount point; empty for none.
	Mount   string
	Arrival Arrival
	Review  Review
	// Busy: somebody else has the booth's lock, and so is at work on it.
	Busy bool
}

// Sentinel is what is known of the keep marker, .forever.
//
//sumtype:decl
type Sentinel interface{ sentinel() }

// SentinelAbsent: there is surely no keep marker.
type SentinelAbsent struct{}

// SentinelPresent: the booth is kept. Why may be empty.
type SentinelPresent struct{ Why string }

// SentinelUnreadable: whether there is one cannot be told.
type SentinelUnreadable struct{ Detail string }

func (SentinelAbsent) sentinel()     {}
func (SentinelPresent) sentinel()    {}
func (SentinelUnreadable) sentinel() {}

// Marks is what the strict read of the marks file found.
//
//sumtype:decl
type Marks interface{ marks() }

// MarksRead: the file was read whole (or is not there). Open counts the picks
// that still owe an answer.
type MarksRead struct{ Open int }

// MarksDamaged: the file, or an entry of it, could not be read.
type MarksDamaged struct{ Detail string }

func (MarksRead) marks()    {}
func (MarksDamaged) marks() {}

// Tree is what the walk over the booth's files found.
//
//sumtype:decl
type Tree interface{ tree() }

// TreeWalked: every entry was seen. Newest is the newest stamp, and is never
// later than the time of the read.
type TreeWalked struct{ Newest time.Time }

// TreeUnreadable: something in the tree could not be looked at.
type TreeUnreadable struct{ Path string }

func (TreeWalked) tree()     {}
func (TreeUnreadable) tree() {}

// Arrival is when the desk first saw the booth: copies keep the times of what
// they copy, so a folder that came a moment ago can be full of old stamps.
//
//sumtype:decl
type Arrival interface{ arrival() }

// ArrivalSeen: the desk saw it first at At, which counts as a stamp.
type ArrivalSeen struct{ At time.Time }

// ArrivalNew: the desk has not seen it yet, so it counts from At, the time of
// this read.
type ArrivalNew struct{ At time.Time }

// ArrivalUnreadable: the desk's record of arrivals cannot be read.
type ArrivalUnreadable struct{ Detail string }

func (ArrivalSeen) arrival()       {}
func (ArrivalNew) arrival()        {}
func (ArrivalUnreadable) arrival() {}

// Review is what the desk's hold record says of the booth.
//
//sumtype:decl
type Review interface{ review() }

// ReviewNone: no node waits for a review of the booth.
type ReviewNone struct{}

// ReviewAwaited: the booth shows the result of Node, which waits for review.
type ReviewAwaited struct{ Node string }

// ReviewUnreadable: whether one waits cannot be told.
type ReviewUnreadable struct{ Detail string }

func (ReviewNone) review()       {}
func (ReviewAwaited) review()    {}
func (ReviewUnreadable) review() {}

// State is a booth's lifetime: [Kept], [Held] or [Counting].
//
//sumtype:decl
type State interface{ state() }

// Kept: never swept. Marks is why the marks cannot be read, empty where they
// can: damage rides along, since the kept lane is where losing marks costs most.
type Kept struct {
	Why   string
	Marks string
}

// Held: not swept while the reason holds. Detail is the path, or the words of
// what went wrong; it may be empty.
type Held struct {
	Reason Reason
	Detail string
}

// Counting: expires at Until, which may have passed.
type Counting struct{ Until time.Time }

func (Kept) state()     {}
func (Held) state()     {}
func (Counting) state() {}

// Reason says what holds a booth.
type Reason uint8

// The reasons, in the order in which they are asked.
const (
	Open         Reason = iota + 1 // a pick has a required part without an answer
	MarksHold                      // the marks, or one of them, cannot be read
	TreeHold                       // an entry of the tree cannot be looked at
	SentinelHold                   // whether the keep marker is there cannot be told
	MountHold                      // a mount point is inside
	ArrivalHold                    // when the booth came cannot be read
	ReviewHold                     // a node waits for review of what the booth shows
	BusyHold                       // somebody has the booth's lock
)

// String is the reason's public name in JSON.
func (r Reason) String() string {
	switch r {
	case Open:
		return "open"
	case MarksHold:
		return "marks"
	case TreeHold:
		return "tree"
	case SentinelHold:
		return "sentinel"
	case MountHold:
		return "mount"
	case ArrivalHold:
		return "arrival"
	case ReviewHold:
		return "review"
	case BusyHold:
		return "busy"
	}
	return "invalid"
}

// Decide is the one rule. ttl is how long a booth outlives its newest stamp.
func Decide(f Facts, ttl time.Duration) State {
	damage := ""
	if d, ok := f.Marks.(MarksDamaged); ok {
		damage = d.Detail
	}
	if s, ok := f.Sentinel.(SentinelPresent); ok {
		return Kept{Why: s.Why, Marks: damage}
	}
	if h, held := hold(f); held {
		return h
	}
	until, ok := Expiry(f, ttl)
	if !ok {
		return Held{Reason: TreeHold}
	}
	return Counting{Until: until}
}

// hold is the first reason in the stated order. A fact that is missing (a nil
// sum) is a fact that was not read, and holds.
func hold(f Facts) (Held, bool) {
	switch m := f.Marks.(type) {
	case MarksRead:
		if m.Open > 0 {
			return Held{Reason: Open}, true
		}
	case MarksDamaged:
		return Held{Reason: MarksHold, Detail: m.Detail}, true
	default:
		return Held{Reason: MarksHold, Detail: "not read"}, true
	}
	switch t := f.Tree.(type) {
	case TreeWalked:
	case TreeUnreadable:
		return Held{Reason: TreeHold, Detail: t.Path}, true
	default:
		return Held{Reason: TreeHold, Detail: "not read"}, true
	}
	switch s := f.Sentinel.(type) {
	case SentinelAbsent, SentinelPresent:
	case SentinelUnreadable:
		return Held{Reason: SentinelHold, Detail: s.Detail}, true
	default:
		return Held{Reason: SentinelHold, Detail: "not read"}, true
	}
	if f.Mount != "" {
		return Held{Reason: MountHold, Detail: f.Mount}, true
	}
	switch a := f.Arrival.(type) {
	case ArrivalSeen, ArrivalNew:
	case ArrivalUnreadable:
		return Held{Reason: ArrivalHold, Detail: a.Detail}, true
	default:
		return Held{Reason: ArrivalHold, Detail: "not read"}, true
	}
	switch r := f.Review.(type) {
	case ReviewNone:
	case ReviewAwaited:
		return Held{Reason: ReviewHold, Detail: r.Node}, true
	case ReviewUnreadable:
		return Held{Reason: ReviewHold}, true
	default:
		return Held{Reason: ReviewHold}, true
	}
	if f.Busy {
		return Held{Reason: BusyHold}, true
	}
	return Held{}, false
}

// Expiry is when the booth would expire by its age alone, kept or held or not.
// It is not known where the tree could not be walked.
func Expiry(f Facts, ttl time.Duration) (time.Time, bool) {
	t, ok := f.Tree.(TreeWalked)
	if !ok {
		return time.Time{}, false
	}
	newest := t.Newest
	if came, ok := Came(f.Arrival); ok && came.After(newest) {
		newest = came
	}
	return newest.Add(ttl), true
}

// Came is the stamp of an arrival, if it has one.
func Came(a Arrival) (time.Time, bool) {
	switch a := a.(type) {
	case ArrivalSeen:
		return a.At, true
	case ArrivalNew:
		return a.At, true
	case ArrivalUnreadable:
	}
	return time.Time{}, false
}
