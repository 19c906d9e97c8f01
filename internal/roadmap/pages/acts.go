package pages

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"

	"holdfast/internal/access"
	"holdfast/internal/problem"
	"holdfast/internal/roadmap/event"
)

// maxForm is what a form may carry, in bytes: a text as the browser escapes it.
const maxForm = 3*event.MaxText + 16<<10

// act is something that a form does to a node. Its address ends in its name.
type act struct {
	name   string
	action access.Action
	title  string // of the form and of its button
	about  string
	danger bool
	body   func(words) (event.Body, error)
}

// acts is everything that a node's page can do.
var acts = []act{
	{name: "accept", action: access.Accept, title: "Accept", about: "It is done.", body: func(w words) (event.Body, error) {
		return event.Accepted{Reason: w.text("reason")}, nil
	}},
	{name: "drop", action: access.Accept, title: "Drop", about: "It will not be done.", danger: true, body: func(w words) (event.Body, error) {
		return event.Dropped{Reason: w.text("reason")}, nil
	}},
	{name: "reopen", action: access.ChangePlan, title: "Reopen", about: "It is to be done after all.", body: func(w words) (event.Body, error) {
		return event.Reopened{Reason: w.text("reason")}, nil
	}},
	{name: "claim", action: access.ChangePlan, title: "Assign", about: "Somebody holds it from now on.", body: claimed},
	{name: "release", action: access.ChangePlan, title: "Release", about: "Nobody holds it any more.", body: func(words) (event.Body, error) {
		return event.Released{}, nil
	}},
	{name: "block", action: access.ChangePlan, title: "Block", about: "It cannot go on.", body: func(w words) (event.Body, error) {
		return event.Blocked{Reason: w.text("reason")}, nil
	}},
	{name: "edit", action: access.ChangePlan, title: "Edit", body: func(w words) (event.Body, error) {
		card, err := w.card()
		return event.Edited{Card: card}, err
	}},
	{name: "link", action: access.ChangePlan, title: "Link", body: func(w words) (event.Body, error) {
		relation, to, err := w.link(w.line("relation"), w.line("to"))
		return event.Linked{Relation: relation, To: to}, err
	}},
	{name: "unlink", action: access.ChangePlan, title: "Unlink", body: func(w words) (event.Body, error) {
		relation, to, _ := strings.Cut(w.line("link"), " ")
		r, n, err := w.link(relation, to)
		return event.Unlinked{Relation: r, To: n}, err
	}},
	{name: "comment", action: access.ChangePlan, title: "Comment", body: func(w words) (event.Body, error) {
		return event.CommentCreated{Comment: w.comment(), Body: w.text("body"), Parent: event.Comment(w.line("parent"))}, nil
	}},
	{name: "comment/edit", action: access.ChangePlan, title: "Change the comment", body: func(w words) (event.Body, error) {
		return event.CommentEdited{Comment: event.Comment(w.line("comment")), Body: w.text("body")}, nil
	}},
	{name: "comment/delete", action: access.ChangePlan, title: "Delete", danger: true, body: func(w words) (event.Body, error) {
		return event.CommentDeleted{Comment: event.Comment(w.line("comment"))}, nil
	}},
	{name: "reconcile", action: access.ChangePlan, title: "Keep this line", body: func(w words) (event.Body, error) {
		keep, err := event.ParseID(w.line("keep"))
		return event.Reconciled{Keep: keep}, err
	}},
}

func actNamed(name string) act {
	return acts[slices.IndexFunc(acts, func(a act) bool { return a.name == name })]
}

func claimed(w words) (event.Body, error) {
	assignee, err := w.named(w.line("assignee"))
	if err != nil {
		return nil, err
	}
	to, err := w.named(w.line("return_to"))
	return event.Claimed{Assignee: assignee, ReturnTo: to}, err
}

// words is what a form says.
type words struct {
	url.Values
	named func(string) (event.Principal, error)
}

func (w words) line(name string) string { return strings.TrimSpace(w.Get(name)) }

// text is what was typed, with the ends of lines that it had before the browser.
func (w words) text(name string) string {
	return strings.TrimSpace(strings.ReplaceAll(strings.ReplaceAll(w.Get(name), "\r\n", "\n"), "\r", "\n"))
}

// list is what stands between commas, sorted, each once.
func (w words) list(name string) []string {
	var out []string
	for s := range strings.SplitSeq(w.Get(name), ",") {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (w words) card() (event.Card, error) {
	c := event.Card{Title: w.line("title"), Body: w.text("body"), Labels: w.list("labels"), Run: w.line("run")}
	if s := w.line("priority"); s != "" {
		priority, err := event.ParsePriority(s)
		if err != nil {
			return c, err
		}
		c.Priority = priority
	}
	return c, nil
}

func (w words) link(relation, to string) (event.Relation, event.Node, error) {
	r, err := event.ParseRelation(relation)
	if err != nil {
		return "", "", err
	}
	n, err := event.ParseNode(to)
	return r, n, err
}

// comment is the name of a comment that is made under this form's key, so that the
// form sent again is the same comment.
func (w words) comment() event.Comment {
	sum := sha256.Sum256([]byte(w.line(keyField)))
	return event.Comment("c-" + hex.EncodeToString(sum[:8]))
}

// The fields that every form has.
const (
	keyField    = "key"
	expectField = "expected_revision"
)

// key is the operation's.
func (w words) key() (event.Key, error) { return event.ParseKey(w.line(keyField)) }

// expected is the revision that the form was made on: the heads, where there are
// several.
func (w words) expected() ([]event.ID, error) {
	var out []event.ID
	for _, s := range w.Values[expectField] {
		id, err := event.ParseID(strings.TrimSpace(s))
		if err != nil {
			return nil, err
		}
		out = append(out, id)
	}
	if len(out) == 0 {
		return nil, problem.New(problem.Usage, "revision", "The form does not say which revision it was made on (%s). Nothing was changed.", expectField)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}
