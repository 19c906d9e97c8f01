package pages

import (
	"net/http"
	"net/url"
	"strconv"

	"holdfast/internal/roadmap"
	"holdfast/internal/roadmap/event"
)

type commentView struct {
	Anchor        string
	Depth         int // of the thread, at most maxDepth
	By            *who
	At            string
	Body          text
	Edited, Aside bool
	Deleted       bool
	Answer, Edit  string // where that is done; empty where it may not
	Change        *form  // what it is edited with
	Delete        *form
}

// answered is the comment that the one being written answers.
type answered struct {
	By     *who
	Cancel string
}

const maxDepth = 4

// talk fills in the comments, as threads, of which the newest page is shown first.
func (p *Pages) talk(r *http.Request, d roadmap.Whole, v *nodePage, b *budget, acting bool, done *done) {
	all := threaded(d.Comments)
	last := max((len(all)+maxTalk-1)/maxTalk, 1)
	asked := r.URL.Query().Get("talk")
	if asked == "" {
		asked = strconv.Itoa(last)
	}
	shown, pager := turn(all, maxTalk, asked, func(n int) string {
		return p.here(r, url.Values{"talk": {strconv.Itoa(n)}}) + "#comments"
	})
	v.Talk = pager
	q := r.URL.Query()
	for _, t := range shown {
		c := t.comment
		view := commentView{
			Anchor: "c-" + c.Event.Short(), Depth: t.depth, By: person(c.Author), At: stamp(c.At), Edited: c.Edited, Aside: c.Aside, Deleted: c.Deleted,
		}
		if !c.Deleted {
			view.Body = p.text(c.Body, 3, b)
		}
		if acting && !c.Deleted && !c.Aside && d.Revision != "" {
			id := string(c.Event)
			view.Answer = p.here(r, url.Values{"answer": {id}, "edit": nil}) + "#say"
			view.Edit = p.here(r, url.Values{"edit": {id}, "answer": nil}) + "#" + view.Anchor
			if q.Get("edit") == id || done.isOn("comment/edit", string(c.Comment)) {
				f := p.form(r, d, actNamed("comment/edit"), done, field{Name: "body", Label: "The comment", Kind: "text", Value: c.Body})
				f.hide("comment", string(c.Comment))
				f.Cancel = p.here(r, url.Values{"edit": nil}) + "#" + view.Anchor
				view.Change, view.Edit = &f, ""
			}
			f := p.form(r, d, actNamed("comment/delete"), nil)
			f.hide("comment", string(c.Comment))
			view.Delete = &f
			if v.Say != nil && (q.Get("answer") == id || done.isOn("comment", string(c.Comment))) {
				v.Say.hide("parent", string(c.Comment))
				v.Answers = &answered{By: view.By, Cancel: p.here(r, url.Values{"answer": nil}) + "#say"}
			}
		}
		v.Comments = append(v.Comments, view)
	}
}

// say is the form of a new comment.
func (p *Pages) say(r *http.Request, d roadmap.Whole, done *done) *form {
	f := p.form(r, d, actNamed("comment"), done, field{Name: "body", Label: "Say something", Note: "markdown", Kind: "text"})
	return &f
}

type inThread struct {
	comment roadmap.Comment
	depth   int
}

// threaded puts each comment below the one that it answers, and else in their
// order.
func threaded(all []roadmap.Comment) []inThread {
	answers := map[event.ID][]roadmap.Comment{}
	there := map[event.ID]bool{}
	for _, c := range all {
		there[c.Event] = true
	}
	for _, c := range all {
		to := c.Answers
		if !there[to] || to == c.Event {
			to = ""
		}
		answers[to] = append(answers[to], c)
	}
	out := make([]inThread, 0, len(all))
	// An answer comes after what it answers, so that no ring is possible; the stack is
	// of what is still to be put down, the next one last.
	var stack []inThread
	push := func(of event.ID, depth int) {
		list := answers[of]
		for i := len(list) - 1; i >= 0; i-- {
			stack = append(stack, inThread{list[i], depth})
		}
	}
	push("", 0)
	for len(stack) > 0 {
		t := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		out = append(out, t)
		push(t.comment.Event, min(t.depth+1, maxDepth))
	}
	return out
}
