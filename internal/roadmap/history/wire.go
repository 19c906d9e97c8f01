package history

import (
	"encoding/json"
	"errors"
	"time"

	"holdfast/internal/canon"
	"holdfast/internal/roadmap/event"
)

// wireState is how an index keeps a state. It is private to the index, which can
// be made again from the log, and may change with it.
type wireState struct {
	Node     event.Node      `json:"node"`
	Events   int             `json:"events"`
	Head     event.ID        `json:"head,omitempty"`
	Card     wireCard        `json:"card"`
	Standing *wireStanding   `json:"standing,omitempty"`
	Holder   event.Principal `json:"holder,omitempty"`
	Since    time.Time       `json:"since,omitzero"`
	ReturnTo event.Principal `json:"return_to,omitempty"`
	Claim    event.ID        `json:"claim,omitempty"`
	Claims   []wireClaim     `json:"claims,omitempty"`
	Links    []wireLink      `json:"links,omitempty"`
	Opened   wireStamp       `json:"opened"`
	Updated  wireStamp       `json:"updated"`
}

type wireCard struct {
	Title    string         `json:"title,omitempty"`
	Body     string         `json:"body,omitempty"`
	Labels   []string       `json:"labels,omitempty"`
	Priority event.Priority `json:"priority,omitempty"`
	Run      string         `json:"run,omitempty"`
}

// wireStanding is named by its public key here; reading it back is the one place
// where a key says what a standing is.
type wireStanding struct {
	Kind    string          `json:"kind"`
	By      event.Principal `json:"by,omitempty"`
	Text    string          `json:"text,omitempty"`
	Since   time.Time       `json:"since,omitzero"`
	Picks   []string        `json:"picks,omitempty"`
	Events  []event.ID      `json:"events,omitempty"`
	Attempt event.Attempt   `json:"attempt,omitempty"`
	Claim   event.ID        `json:"claim,omitempty"`
	Head    string          `json:"head,omitempty"`
	Booth   string          `json:"booth,omitempty"`
}

type wireClaim struct {
	Event    event.ID        `json:"event"`
	Assignee event.Principal `json:"assignee"`
	ReturnTo event.Principal `json:"return_to"`
	At       time.Time       `json:"at"`
	Attempts []event.Attempt `json:"attempts,omitempty"`
	Spent    bool            `json:"spent"`
}

type wireLink struct {
	Relation event.Relation `json:"relation"`
	To       event.Node     `json:"to"`
}

type wireStamp struct {
	By event.Principal `json:"by,omitempty"`
	At time.Time       `json:"at,omitzero"`
}

// Encode is the form in which an index keeps s.
func (s State) Encode() ([]byte, error) {
	w := wireState{
		Node: s.Node, Events: s.Events, Head: s.Head, Card: wireCard(s.Card), Standing: wireOf(s.Standing),
		Holder: s.Holder, Since: s.Since, ReturnTo: s.ReturnTo, Claim: s.Claim, Opened: wireStamp(s.Opened), Updated: wireStamp(s.Updated),
	}
	for _, c := range s.Claims {
		w.Claims = append(w.Claims, wireClaim(c))
	}
	for _, l := range s.Links {
		w.Links = append(w.Links, wireLink(l))
	}
	return json.Marshal(w) // the index is private, and made of many
}

// DecodeState reads what [State.Encode] wrote, and nothing else.
func DecodeState(data []byte) (State, error) {
	var w wireState
	if err := canon.Decode(data, &w); err != nil {
		return State{}, err
	}
	standing, err := w.Standing.read()
	if err != nil {
		return State{}, err
	}
	s := State{
		Node: w.Node, Events: w.Events, Head: w.Head, Card: event.Card(w.Card), Standing: standing,
		Holder: w.Holder, Since: w.Since, ReturnTo: w.ReturnTo, Claim: w.Claim, Opened: Stamp(w.Opened), Updated: Stamp(w.Updated),
	}
	for _, c := range w.Claims {
		s.Claims = append(s.Claims, Claim(c))
	}
	for _, l := range w.Links {
		s.Links = append(s.Links, Link(l))
	}
	return s, nil
}

func wireOf(s Standing) *wireStanding {
	w := &wireStanding{Kind: Key(s)}
	switch s := s.(type) {
	case Open:
	case Claimed:
		w.By, w.Since = s.By, s.Since
	case InProgress:
		w.By, w.Text = s.By, s.Note
	case Blocked:
		w.By, w.Text, w.Picks = s.By, s.Reason, s.Picks
	case HandedBack:
		w.By, w.Text = s.By, s.Reason
	case ReadyForReview:
		r := s.Result
		w.By, w.Events, w.Attempt, w.Claim, w.Head, w.Booth = s.By, []event.ID{r.Event}, r.Attempt, r.Claim, r.Head, r.Booth
	case Accepted:
		w.By, w.Text = s.By, s.Reason
	case Dropped:
		w.By, w.Text = s.By, s.Reason
	case Forked:
		w.Events = s.Heads
	case Incomplete:
		w.Events = s.Missing
	default:
		return nil
	}
	return w
}

func (w *wireStanding) read() (Standing, error) {
	if w == nil {
		return nil, nil
	}
	switch w.Kind {
	case Key(Open{}):
		return Open{}, nil
	case Key(Claimed{}):
		return Claimed{By: w.By, Since: w.Since}, nil
	case Key(InProgress{}):
		return InProgress{By: w.By, Note: w.Text}, nil
	case Key(Blocked{}):
		return Blocked{By: w.By, Reason: w.Text, Picks: w.Picks}, nil
	case Key(HandedBack{}):
		return HandedBack{By: w.By, Reason: w.Text}, nil
	case Key(ReadyForReview{}):
		return w.review()
	case Key(Accepted{}):
		return Accepted{By: w.By, Reason: w.Text}, nil
	case Key(Dropped{}):
		return Dropped{By: w.By, Reason: w.Text}, nil
	case Key(Forked{}):
		return Forked{Heads: w.Events}, nil
	case Key(Incomplete{}):
		return Incomplete{Missing: w.Events}, nil
	}
	return nil, errors.New("$.standing.kind: no standing is named so")
}

func (w *wireStanding) review() (Standing, error) {
	if len(w.Events) != 1 {
		return nil, errors.New("$.standing.events: a result is one event")
	}
	return ReadyForReview{By: w.By, Result: Result{
		Event: w.Events[0], Attempt: w.Attempt, Claim: w.Claim, Head: w.Head, Booth: w.Booth,
	}}, nil
}
