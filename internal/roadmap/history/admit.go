package history

import (
	"slices"

	"holdfast/internal/problem"
	"holdfast/internal/roadmap/event"
)

// Steps at which a statement is refused that would be a good event, besides
// [StepUnordered].
const (
	StepNode            = "node"              // gone: there is no such node
	StepNodeExists      = "node-exists"       // it was opened before
	StepRevision        = "revision-conflict" // it does not build on the head
	StepClaimHeld       = "claim-held"        // somebody else holds the node
	StepStanding        = "standing"          // it does not fit where the node stands
	StepLink            = "link"              // the link is there already, is not there, or is to itself
	StepComment         = "comment"           // the comment is there already, or is not there
	StepReconcile       = "reconcile"         // there is no fork to mend
	StepResultClaim     = "result-claim"      // it names no claim of the node
	StepResultDuplicate = "result-duplicate"  // that attempt has returned a result
)

// Conflicts says whether a refusal at this step is of a statement that does not fit the
// history as it is: who looks at the node again sees why.
func Conflicts(step string) bool {
	switch step {
	case StepNodeExists, StepRevision, StepClaimHeld, StepStanding, StepLink, StepComment, StepReconcile, StepResultClaim, StepResultDuplicate, StepUnordered:
		return true
	}
	return false
}

// CommentStanding is what is known of a comment's name within a node.
type CommentStanding uint8

// The standings of a comment.
const (
	CommentUnknown CommentStanding = iota + 1
	CommentShown
	CommentDeleted
)

// Comments says where a comment of the node stands. The state does not know,
// since it is small.
type Comments func(event.Comment) CommentStanding

// Admit says whether a statement may follow this history. The error is a
// [*problem.Error].
func Admit(o Ordering, d event.Draft) error {
	switch o := o.(type) {
	case Ordered:
		return admitted(Fold(o).refuse(d, func(c event.Comment) CommentStanding { return Details(o).standing(c) }))
	case Unordered:
		return admitted(o.state().refuse(d, nil))
	}
	return problem.New(problem.Failed, problem.StepInternal, "The history was not ordered, so nothing was recorded.")
}

// Admit is [Admit] for whoever has the state and not the events. comments is asked
// for statements about comments alone.
func (s State) Admit(d event.Draft, comments Comments) error {
	return admitted(s.refuse(d, comments))
}

// admitted keeps a nil *problem.Error from becoming an error.
func admitted(e *problem.Error) error {
	if e == nil {
		return nil
	}
	return e
}

func (s State) refuse(d event.Draft, comments Comments) *problem.Error {
	if f, ok := s.Standing.(Forked); ok {
		return s.refuseForked(d, f)
	}
	if gap, ok := s.Standing.(Incomplete); ok {
		return s.unordered(gap).Refusal()
	}
	_, opens := d.Body.(event.Opened)
	if s.Events == 0 {
		if opens {
			return nil
		}
		return problem.New(problem.Gone, StepNode, "There is no node %s. Nothing was recorded.", d.Node).
			WithHint("holdfast roadmap open %s --title … makes it.", d.Node)
	}
	if opens {
		return problem.Refusal(StepNodeExists, "%s was opened before, by %s. Nothing was recorded.", s.Node, s.Opened.By.Subject())
	}
	if _, mends := d.Body.(event.Reconciled); mends {
		return problem.Refusal(StepReconcile, "%s has one history, and nothing to reconcile. Nothing was recorded.", s.Node)
	}
	if len(d.Parents) != 1 || d.Parents[0] != s.Head {
		return s.conflict("its newest event is " + s.Head.Short())
	}
	return s.refuseBody(d, comments)
}

func (s State) unordered(why Disorder) Unordered { return Unordered{Node: s.Node, Why: why} }

// refuseForked takes nothing but what names exactly the heads.
func (s State) refuseForked(d event.Draft, f Forked) *problem.Error {
	if _, mends := d.Body.(event.Reconciled); !mends {
		return s.unordered(f).Refusal()
	}
	named := slices.Sorted(slices.Values(d.Parents))
	if !slices.Equal(named, f.Heads) {
		return s.conflict("its heads are " + shorts(f.Heads) + ", and a reconciliation names all of them and no other")
	}
	return nil
}

func (s State) conflict(what string) *problem.Error {
	return problem.Refusal(StepRevision, "%s has changed: %s. Nothing was recorded.", s.Node, what).
		WithHint("Look at it again, and say it again if it is still right.")
}

// refuseBody is the table of the package comment.
func (s State) refuseBody(d event.Draft, comments Comments) *problem.Error {
	closed := Closed(s.Standing)
	switch b := d.Body.(type) {
	case event.Linked:
		return s.refuseLink(Link(b))
	case event.Unlinked:
		if !s.linked(Link(b)) {
			return problem.Refusal(StepLink, "%s has no link %s %s. Nothing was recorded.", s.Node, b.Relation, b.To)
		}
	case event.Claimed:
		return s.refuseClaim(b)
	case event.Released:
		_, open := s.Standing.(Open)
		return s.refuseUnless(s.Holder != "" || !open && !closed, b.Kind())
	case event.Progress, event.HandedBack:
		return s.refuseUnless(s.Holder != "" && !closed, b.Kind())
	case event.Blocked, event.Accepted, event.Dropped:
		return s.refuseUnless(!closed, b.Kind())
	case event.Reopened:
		return s.refuseUnless(s.mayReopen(), b.Kind())
	case event.CommentCreated:
		return s.refuseComment(b, comments)
	case event.CommentEdited:
		return s.wantComment(b.Comment, comments)
	case event.CommentDeleted:
		return s.wantComment(b.Comment, comments)
	case event.ResultReturned:
		return s.refuseResult(b)
	case event.Opened, event.Edited, event.Receipt, event.Reconciled:
	}
	return nil
}

func (s State) refuseLink(l Link) *problem.Error {
	if l.To == s.Node {
		return problem.Refusal(StepLink, "%s cannot be linked to itself. Nothing was recorded.", s.Node)
	}
	if s.linked(l) {
		return problem.Refusal(StepLink, "%s is linked already: %s %s. Nothing was recorded.", s.Node, l.Relation, l.To)
	}
	return nil
}

func (s State) refuseClaim(b event.Claimed) *problem.Error {
	if s.Holder != "" {
		holds := "holds"
		if s.Holder == b.Assignee {
			holds = "already holds"
		}
		return problem.Refusal(StepClaimHeld, "%s %s %s since %s. Nothing was recorded.", s.Holder.Subject(), holds, s.Node, s.Since.UTC().Format("2006-01-02 15:04 MST")).
			WithHint("Once it is released, it can be claimed.")
	}
	switch s.Standing.(type) {
	case Open, HandedBack:
		return nil
	case Claimed, InProgress, Blocked, ReadyForReview, Accepted, Dropped, Forked, Incomplete:
	}
	return s.unfit(event.KindClaimed, "It can be claimed while it is open, or was handed back.")
}

func (s State) refuseUnless(fits bool, kind event.Kind) *problem.Error {
	if fits {
		return nil
	}
	return s.unfit(kind, "")
}

func (s State) mayReopen() bool {
	switch s.Standing.(type) {
	case Accepted, Dropped, ReadyForReview, HandedBack, Blocked:
		return true
	case Open, Claimed, InProgress, Forked, Incomplete:
	}
	return false
}

func (s State) unfit(kind event.Kind, hint string) *problem.Error {
	held := ""
	if s.Holder == "" && !Closed(s.Standing) {
		held = ", and nobody holds it"
	}
	e := problem.Refusal(StepStanding, "%s is %s%s, so it cannot be %s. Nothing was recorded.", s.Node, Phrase(s.Standing), held, deeds[kind])
	if hint != "" {
		return e.WithHint("%s", hint)
	}
	return e
}

// deeds is what is done to a node, after "it cannot be".
var deeds = map[event.Kind]string{
	event.KindClaimed:    "claimed",
	event.KindReleased:   "released",
	event.KindProgress:   "worked on",
	event.KindBlocked:    "blocked",
	event.KindHandedBack: "handed back",
	event.KindAccepted:   "accepted",
	event.KindDropped:    "dropped",
	event.KindReopened:   "reopened",
}

func (s State) refuseComment(b event.CommentCreated, comments Comments) *problem.Error {
	if comments(b.Comment) != CommentUnknown {
		return problem.Refusal(StepComment, "%s has a comment %s already. Nothing was recorded.", s.Node, b.Comment)
	}
	if b.Parent != "" {
		return s.wantComment(b.Parent, comments)
	}
	return nil
}

func (s State) wantComment(c event.Comment, comments Comments) *problem.Error {
	switch comments(c) {
	case CommentShown:
		return nil
	case CommentDeleted:
		return problem.Refusal(StepComment, "The comment %s of %s was deleted. Nothing was recorded.", c, s.Node)
	case CommentUnknown:
	}
	return problem.Refusal(StepComment, "%s has no comment %s. Nothing was recorded.", s.Node, c)
}

// refuseResult takes the result of any claim of the line, not of the newest
// alone, and of a spent one too: whether an attempt might begin was decided when
// it began, and what it amounts to is not to be lost.
func (s State) refuseResult(b event.ResultReturned) *problem.Error {
	if s.returned(b.Attempt) {
		return problem.Refusal(StepResultDuplicate, "The attempt %s of %s has returned a result. Nothing was recorded.", b.Attempt, s.Node)
	}
	if _, ok := s.claim(b.Claim); !ok {
		return problem.Refusal(StepResultClaim, "%s has no claim %s on the line that is its history. Nothing was recorded.", s.Node, b.Claim.Short())
	}
	return nil
}
