package event

// Kind is the public name of what an event states.
type Kind string

// The kinds of events.
const (
	KindOpened         Kind = "opened"
	KindEdited         Kind = "edited"
	KindLinked         Kind = "linked"
	KindUnlinked       Kind = "unlinked"
	KindClaimed        Kind = "claimed"
	KindReleased       Kind = "released"
	KindProgress       Kind = "progress"
	KindBlocked        Kind = "blocked"
	KindHandedBack     Kind = "handed_back"
	KindReceipt        Kind = "receipt"
	KindCommentCreated Kind = "comment_created"
	KindCommentEdited  Kind = "comment_edited"
	KindCommentDeleted Kind = "comment_deleted"
	KindResultReturned Kind = "result_returned"
	KindAccepted       Kind = "accepted"
	KindDropped        Kind = "dropped"
	KindReopened       Kind = "reopened"
	KindReconciled     Kind = "reconciled"
)

// Body is what an event states: one type for each kind. What a statement does to
// its node, package history says.
//
//sumtype:decl
type Body interface {
	Kind() Kind
	check(*checker)
	write(*wire)
}

// Card is what a node says of itself. Editing replaces it whole.
type Card struct {
	Title    string   // one line
	Body     string   // text, CommonMark; may be empty
	Labels   []string // sorted, each once
	Priority Priority // may be empty
	Run      string   // which worker does it; may be empty
}

// Opened: the node begins.
type Opened struct{ Card Card }

// Edited: the node has another card.
type Edited struct{ Card Card }

// Linked: the node stands in a relation to another one.
type Linked struct {
	Relation Relation
	To       Node
}

// Unlinked: it does no longer.
type Unlinked struct {
	Relation Relation
	To       Node
}

// Claimed: somebody holds the node from now on.
type Claimed struct {
	Assignee Principal
	ReturnTo Principal // who holds it when a result is published
}

// Released: nobody holds it any more.
type Released struct{}

// Progress: it is being worked on.
type Progress struct{ Note string }

// Blocked: it cannot go on.
type Blocked struct{ Reason string }

// HandedBack: whoever held it gives it back undone.
type HandedBack struct{ Reason string }

// Receipt points at evidence: a booth, a stop receipt.
type Receipt struct {
	Obligation string // what was owed, such as stop-proof
	Address    string // where the evidence is
	Verdict    string // what it says, in a word
}

// CommentCreated: somebody says something about the node.
type CommentCreated struct {
	Comment Comment
	Body    string
	Parent  Comment // that it answers to; may be empty
}

// CommentEdited: a comment has another text.
type CommentEdited struct {
	Comment Comment
	Body    string
}

// CommentDeleted: a comment is shown no more. The log keeps it.
type CommentDeleted struct{ Comment Comment }

// ResultReturned: an attempt under a claim came to an end.
type ResultReturned struct {
	Attempt Attempt
	Claim   ID // the event that claimed, which need not be the newest claim
	Outcome Outcome
}

// Accepted: the node is done.
type Accepted struct{ Reason string }

// Dropped: the node will not be done.
type Dropped struct{ Reason string }

// Reopened: the node is to be done after all.
type Reopened struct{ Reason string }

// Reconciled mends a fork. The parents are every head of the node, and the line
// of the kept one is its history.
type Reconciled struct{ Keep ID }

// About is the comment that a statement is about, if it is about one.
func About(b Body) (Comment, bool) {
	c, ok := b.(interface{ about() Comment })
	if !ok {
		return "", false
	}
	return c.about(), true
}

func (b CommentCreated) about() Comment { return b.Comment }
func (b CommentEdited) about() Comment  { return b.Comment }
func (b CommentDeleted) about() Comment { return b.Comment }

// Outcome is what a finished attempt amounted to.
//
//sumtype:decl
type Outcome interface {
	name() string
	check(*checker)
	write(*wireOutcome)
}

// Published: there is something to review.
type Published struct {
	Head  string // a commit; may be empty
	Booth string // where it is shown; may be empty
}

// Waiting: the attempt ended in order to wait for answers.
type Waiting struct{ Picks []string } // BOOTH/ID each

// VerificationFailed: what it made did not pass its check.
type VerificationFailed struct{ Cause string }

// GivenBack: the worker could not do it.
type GivenBack struct{ Reason string }

func (Opened) Kind() Kind         { return KindOpened }
func (Edited) Kind() Kind         { return KindEdited }
func (Linked) Kind() Kind         { return KindLinked }
func (Unlinked) Kind() Kind       { return KindUnlinked }
func (Claimed) Kind() Kind        { return KindClaimed }
func (Released) Kind() Kind       { return KindReleased }
func (Progress) Kind() Kind       { return KindProgress }
func (Blocked) Kind() Kind        { return KindBlocked }
func (HandedBack) Kind() Kind     { return KindHandedBack }
func (Receipt) Kind() Kind        { return KindReceipt }
func (CommentCreated) Kind() Kind { return KindCommentCreated }
func (CommentEdited) Kind() Kind  { return KindCommentEdited }
func (CommentDeleted) Kind() Kind { return KindCommentDeleted }
func (ResultReturned) Kind() Kind { return KindResultReturned }
func (Accepted) Kind() Kind       { return KindAccepted }
func (Dropped) Kind() Kind        { return KindDropped }
func (Reopened) Kind() Kind       { return KindReopened }
func (Reconciled) Kind() Kind     { return KindReconciled }

func (Published) name() string          { return "published" }
func (Waiting) name() string            { return "waiting" }
func (VerificationFailed) name() string { return "verification_failed" }
func (GivenBack) name() string          { return "handed_back" }
