package intake

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"holdfast/internal/roadmap/event"
)

// ticket is what is read of a line of a tracker that is kept in git.
type ticket struct {
	ID           string          `json:"id"`
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	Design       string          `json:"design"`
	Acceptance   string          `json:"acceptance_criteria"`
	Notes        string          `json:"notes"`
	Status       string          `json:"status"`
	Priority     json.RawMessage `json:"priority"`
	Type         string          `json:"issue_type"`
	Assignee     string          `json:"assignee"`
	Labels       []string        `json:"labels"`
	Dependencies []dependency    `json:"dependencies"`
	Comments     []utterance     `json:"comments"`
	Created      string          `json:"created_at"`
	CreatedBy    string          `json:"created_by"`
	CloseReason  string          `json:"close_reason"`
	External     string          `json:"external_ref"`
}

type dependency struct {
	From string `json:"issue_id"`
	To   string `json:"depends_on_id"`
	Type string `json:"type"`
}

type utterance struct {
	ID      json.RawMessage `json:"id"`
	Author  string          `json:"author"`
	Text    string          `json:"text"`
	Created string          `json:"created_at"`
}

func (b *Batch) tracker(records []record) error {
	for _, r := range records {
		var t ticket
		if err := r.decode(&t); err != nil {
			return err
		}
		if t.ID == "" || strings.TrimSpace(t.Title) == "" {
			return r.refuse("is no unit of work: it has no id or no title")
		}
		if t.Status == "tombstone" {
			b.left["deleted in the source"]++
			continue
		}
		it, err := b.fromTicket(r, t)
		if err != nil {
			return err
		}
		b.items = append(b.items, it)
	}
	return nil
}

func (b *Batch) fromTicket(r record, t ticket) (item, error) {
	it := item{source: t.ID, title: t.Title, body: t.body(), labels: t.Labels, end: b.standing(t)}
	if t.Type != "" {
		it.labels = append(it.labels, t.Type)
	}
	if given(t.Priority) {
		p, err := event.ParsePriority(strings.ToLower(strings.Trim(string(t.Priority), `"`)))
		if err != nil {
			return it, r.refuse("has no priority from 0 to 4")
		}
		it.priority = p
	}
	if t.Assignee != "" {
		b.left["assignees: nobody is claimed for"]++
	}
	for _, d := range t.Dependencies {
		if relation, ok := relations[d.Type]; ok && (d.From == "" || d.From == t.ID) {
			it.links = append(it.links, link{relation, d.To})
		} else {
			b.left[fmt.Sprintf("links of the kind %q", d.Type)]++
		}
	}
	for i, c := range t.Comments {
		id := strings.Trim(string(c.ID), `"`)
		it.comments = append(it.comments, comment{first(id, strconv.Itoa(i)), said(c.Author, c.Created, c.Text)})
	}
	return it, nil
}

// relations is what a tracker's kinds of dependency are in the plan.
var relations = map[string]event.Relation{
	"":                event.BlockedBy,
	"blocks":          event.BlockedBy,
	"parent-child":    event.ChildOf,
	"related":         event.Related,
	"relates-to":      event.Related,
	"discovered-from": event.Related,
}

// body is all that a ticket says, with headings where it says several things.
func (t ticket) body() string {
	text := t.Description
	for _, part := range []struct{ heading, text string }{
		{"Design", t.Design}, {"Acceptance", t.Acceptance}, {"Notes", t.Notes},
	} {
		if strings.TrimSpace(part.text) != "" {
			text += "\n\n## " + part.heading + "\n\n" + part.text
		}
	}
	return text + footer(t.ID, t.External, t.CreatedBy, t.Created)
}

// standing is where a ticket stands, if not open.
func (b *Batch) standing(t ticket) event.Body {
	switch strings.ToLower(t.Status) {
	case "closed", "done":
		return event.Accepted{Reason: first(t.CloseReason, "closed in the tracker that it came from")}
	case "blocked":
		return event.Blocked{Reason: "blocked in the tracker that it came from"}
	case "", "open":
	default:
		b.left[fmt.Sprintf("the status %q: it is open here", t.Status)]++
	}
	return nil
}
