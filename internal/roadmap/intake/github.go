package intake

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"holdfast/internal/canon"
	"holdfast/internal/roadmap/event"
)

// issue is what is read of one of GitHub's. Its REST API and its command line name
// some members differently.
type issue struct {
	Number      int64           `json:"number"`
	Title       string          `json:"title"`
	Body        string          `json:"body"`
	State       string          `json:"state"`
	Reason      string          `json:"state_reason"`
	ReasonCLI   string          `json:"stateReason"`
	Labels      json.RawMessage `json:"labels"`
	User        person          `json:"user"`
	Author      person          `json:"author"`
	Assignees   []person        `json:"assignees"`
	Milestone   json.RawMessage `json:"milestone"`
	HTMLURL     string          `json:"html_url"`
	URL         string          `json:"url"`
	Created     string          `json:"created_at"`
	CreatedCLI  string          `json:"createdAt"`
	Comments    json.RawMessage `json:"comments"`
	PullRequest json.RawMessage `json:"pull_request"`
}

type person struct {
	Login string `json:"login"`
}

type label struct {
	Name string `json:"name"`
}

type remark struct {
	ID      json.RawMessage `json:"id"`
	Author  person          `json:"author"`
	User    person          `json:"user"`
	Body    string          `json:"body"`
	Created string          `json:"createdAt"`
	REST    string          `json:"created_at"`
}

func (b *Batch) github(records []record) error {
	for _, r := range records {
		var is issue
		if err := r.decode(&is); err != nil {
			return err
		}
		if is.Number <= 0 || strings.TrimSpace(is.Title) == "" {
			return r.refuse("is no issue of GitHub's: it has no number or no title")
		}
		if given(is.PullRequest) {
			b.left["pull requests"]++
			continue
		}
		it, err := b.fromIssue(r, is)
		if err != nil {
			return err
		}
		b.items = append(b.items, it)
	}
	return nil
}

func (b *Batch) fromIssue(r record, is issue) (item, error) {
	it := item{source: "#" + strconv.FormatInt(is.Number, 10), title: is.Title, body: is.Body, end: is.end()}
	address := first(is.HTMLURL, is.URL)
	if address != "" {
		it.source = address
	}
	it.body += footer(fmt.Sprintf("#%d", is.Number), address, first(is.User.Login, is.Author.Login), first(is.Created, is.CreatedCLI))
	var err error
	if it.labels, err = labels(r, is.Labels); err != nil {
		return it, err
	}
	b.left["assignees: nobody is claimed for"] += len(is.Assignees)
	if given(is.Milestone) {
		b.left["milestones"]++
	}
	it.comments, err = b.remarks(r, is.Comments)
	return it, err
}

// end is where a closed one stands.
func (is issue) end() event.Body {
	if !strings.EqualFold(is.State, "closed") {
		return nil
	}
	switch reason := strings.ToLower(first(is.Reason, is.ReasonCLI)); reason {
	case "", "completed":
		return event.Accepted{Reason: "closed on GitHub"}
	default:
		return event.Dropped{Reason: "closed on GitHub: " + strings.ReplaceAll(reason, "_", " ")}
	}
}

// labels are objects with a name, or texts.
func labels(r record, raw json.RawMessage) ([]string, error) {
	if !given(raw) {
		return nil, nil
	}
	var names []string
	if canon.DecodeOpen(raw, &names) == nil {
		return names, nil
	}
	var list []label
	if err := (record{r.where, raw}).decode(&list); err != nil {
		return nil, err
	}
	for _, l := range list {
		names = append(names, l.Name)
	}
	return names, nil
}

// remarks are a list, or how many there are, which says nothing.
func (b *Batch) remarks(r record, raw json.RawMessage) ([]comment, error) {
	if !given(raw) {
		return nil, nil
	}
	var many int
	if canon.DecodeOpen(raw, &many) == nil {
		b.left["comments, of which the file has only the number"] += many
		return nil, nil
	}
	var list []remark
	if err := (record{r.where, raw}).decode(&list); err != nil {
		return nil, err
	}
	var out []comment
	for i, c := range list {
		out = append(out, comment{
			source: first(strings.Trim(string(c.ID), `"`), strconv.Itoa(i)),
			body:   said(first(c.Author.Login, c.User.Login), first(c.Created, c.REST), c.Body),
		})
	}
	return out, nil
}

// given says whether a member is there, and not null.
func given(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// footer says where a body came from.
func footer(id, address, who, when string) string {
	text := "\n\nImported: " + id
	if address != "" {
		text += ", " + address
	}
	if who != "" {
		text += ", by " + who
	}
	if when != "" {
		text += ", " + when
	}
	return text
}

// said is a comment of somebody who is not whoever imports it.
func said(who, when, body string) string {
	head := strings.TrimSpace(strings.Join([]string{first(who, "somebody"), when}, ", "))
	return strings.TrimSuffix(head, ",") + ":\n\n" + body
}
