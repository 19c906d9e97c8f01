package event

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"holdfast/internal/problem"
)

// Steps at which an event is refused.
const (
	StepEvent            = "event"             // a member is missing, unknown or wrong
	StepEnvelope         = "envelope"          // what the event stands in is wrong
	StepIdentity         = "event-id"          // the id is not that of the bytes
	StepOperationInvalid = "operation-invalid" // the operation key is none
	StepTooLarge         = problem.StepTooLarge
)

// The most that texts may be, in bytes.
const (
	MaxLine  = 512       // a title, a word of a receipt
	MaxText  = 256 << 10 // a body, a comment
	MaxLabel = 64
	maxList  = 64 // labels, picks
)

// Fault is why bytes or a draft are no event.
type Fault struct {
	Step   string
	Node   Node   // as far as it could be read; empty where it could not
	Reason string // a clause without a full stop, for people
}

// Error is the reason.
func (f *Fault) Error() string { return f.Reason }

// in is the fault of these bytes, in which the named members lead to the event.
func (f *Fault) in(data []byte, members ...string) *Fault {
	f.Node = nodeIn(data, members...)
	return f
}

func tooLarge(size int) *Fault {
	return &Fault{Step: StepTooLarge, Reason: "it has " + strconv.Itoa(size) + " bytes, and an event has at most " + strconv.Itoa(MaxBytes)}
}

// checker collects the first thing that is wrong.
type checker struct {
	step, reason string
}

func (c *checker) refuse(member, why string) {
	if c.reason == "" {
		c.step, c.reason = StepEvent, member+" "+why
	}
}

// fault is nil where nothing is wrong.
func (c *checker) fault() *Fault {
	if c.reason == "" {
		return nil
	}
	return &Fault{Step: c.step, Reason: c.reason}
}

func (c *checker) node(member, s string) {
	if !isNode(s) {
		c.refuse(member, "is no name of a node: "+strconv.Quote(clip(s)))
	}
}

func (c *checker) principal(member, s string) {
	if !isPrincipal(s) {
		c.refuse(member, "is no principal: "+strconv.Quote(clip(s)))
	}
}

func (c *checker) id(member, s string) {
	if !idShape.MatchString(s) {
		c.refuse(member, "is no id of an event: "+strconv.Quote(clip(s)))
	}
}

func (c *checker) shaped(member, s string, ok bool, what string) {
	if !ok {
		c.refuse(member, "is no "+what+": "+strconv.Quote(clip(s)))
	}
}

// text checks what may have several lines.
func (c *checker) text(member, s string) {
	switch {
	case s == "":
		c.refuse(member, "is missing or empty")
	case strings.TrimSpace(s) == "":
		c.refuse(member, "is blank")
	case len(s) > MaxText:
		c.refuse(member, "has "+strconv.Itoa(len(s))+" bytes, and a text has at most "+strconv.Itoa(MaxText))
	case !utf8.ValidString(s):
		c.refuse(member, "is no UTF-8")
	case strings.ContainsRune(s, 0):
		c.refuse(member, "has a NUL in it")
	}
}

// line checks what is shown on one line.
func (c *checker) line(member, s string) {
	c.text(member, s)
	switch {
	case len(s) > MaxLine:
		c.refuse(member, "has "+strconv.Itoa(len(s))+" bytes, and a line has at most "+strconv.Itoa(MaxLine))
	case strings.ContainsFunc(s, endsLine):
		c.refuse(member, "is not one line of text")
	}
}

// endsLine is true of what some reader takes for the end of a line, and of all
// other control characters.
func endsLine(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }

func (c *checker) maybeText(member, s string) {
	if s != "" {
		c.text(member, s)
	}
}

func (c *checker) maybeLine(member, s string) {
	if s != "" {
		c.line(member, s)
	}
}

func (d Card) check(c *checker) {
	c.line("title", d.Title)
	c.maybeText("body", d.Body)
	c.lines("labels", d.Labels, MaxLabel)
	if !slices.IsSorted(d.Labels) {
		c.refuse("labels", "is not sorted")
	}
	if d.Priority != "" {
		c.shaped("priority", string(d.Priority), priorityShape.MatchString(string(d.Priority)), "priority from p0 to p4")
	}
	c.maybeLine("run", d.Run)
}

// lines checks a list of short texts, each once.
func (c *checker) lines(member string, list []string, most int) {
	if len(list) > maxList {
		c.refuse(member, "has "+strconv.Itoa(len(list))+" entries, and at most "+strconv.Itoa(maxList)+" are allowed")
		return
	}
	for i, s := range list {
		c.line(member, s)
		if len(s) > most {
			c.refuse(member, "has an entry of "+strconv.Itoa(len(s))+" bytes, and one has at most "+strconv.Itoa(most))
		}
		if slices.Contains(list[:i], s) {
			c.refuse(member, "has "+strconv.Quote(s)+" twice")
		}
	}
}

func checkLink(c *checker, r Relation, to Node) {
	c.shaped("relation", string(r), slices.Contains(Relations, r), "relation of nodes")
	c.node("to", string(to))
}

func checkComment(c *checker, id Comment) {
	c.shaped("comment", string(id), commentShape.MatchString(string(id)), "name of a comment")
}

func (b Opened) check(c *checker)   { b.Card.check(c) }
func (b Edited) check(c *checker)   { b.Card.check(c) }
func (b Linked) check(c *checker)   { checkLink(c, b.Relation, b.To) }
func (b Unlinked) check(c *checker) { checkLink(c, b.Relation, b.To) }

func (b Claimed) check(c *checker) {
	c.principal("assignee", string(b.Assignee))
	c.principal("return_to", string(b.ReturnTo))
}

func (Released) check(*checker)       {}
func (b Progress) check(c *checker)   { c.text("note", b.Note) }
func (b Blocked) check(c *checker)    { c.text("reason", b.Reason) }
func (b HandedBack) check(c *checker) { c.text("reason", b.Reason) }

func (b Receipt) check(c *checker) {
	c.line("obligation", b.Obligation)
	c.line("address", b.Address)
	c.line("verdict", b.Verdict)
}

func (b CommentCreated) check(c *checker) {
	checkComment(c, b.Comment)
	c.text("body", b.Body)
	if b.Parent != "" {
		c.shaped("parent_comment", string(b.Parent), commentShape.MatchString(string(b.Parent)), "name of a comment")
	}
}

func (b CommentEdited) check(c *checker) {
	checkComment(c, b.Comment)
	c.text("body", b.Body)
}

func (b CommentDeleted) check(c *checker) { checkComment(c, b.Comment) }

func (b ResultReturned) check(c *checker) {
	c.shaped("attempt", string(b.Attempt), attemptShape.MatchString(string(b.Attempt)), "name of an attempt")
	c.id("claim", string(b.Claim))
	if b.Outcome == nil {
		c.refuse("outcome", "is missing or unknown")
		return
	}
	b.Outcome.check(c)
}

func (b Accepted) check(c *checker)   { c.maybeText("reason", b.Reason) }
func (b Dropped) check(c *checker)    { c.maybeText("reason", b.Reason) }
func (b Reopened) check(c *checker)   { c.maybeText("reason", b.Reason) }
func (b Reconciled) check(c *checker) { c.id("keep", string(b.Keep)) }

func (o Published) check(c *checker) {
	if o.Head != "" {
		c.shaped("outcome.head", o.Head, headShape.MatchString(o.Head), "commit")
	}
	c.maybeLine("outcome.booth", o.Booth)
}

func (o Waiting) check(c *checker) {
	if len(o.Picks) == 0 {
		c.refuse("outcome.picks", "is missing or empty")
	}
	c.lines("outcome.picks", o.Picks, MaxLine)
}

func (o VerificationFailed) check(c *checker) { c.text("outcome.cause", o.Cause) }
func (o GivenBack) check(c *checker)          { c.text("outcome.reason", o.Reason) }
