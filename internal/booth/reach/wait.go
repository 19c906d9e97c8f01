package reach

import (
	"context"
	"slices"
	"time"

	"holdfast/internal/booth"
	"holdfast/internal/booth/marks"
	"holdfast/internal/plain"
)

// The states of a question that its mark does not say.
const (
	StateBroken = "broken" // the marks cannot be read, so it can never be answered as it is
	StateGone   = "gone"   // no question has the id
)

// Watcher reads marks, and waits for them to change; [Local] and [Remote] do.
type Watcher interface {
	Marks(ctx context.Context, name string) (marks.Reading, error)
	Watch(ctx context.Context, name string, since int64, waiting []string) (marks.Reading, error)
}

// Want is what a wait waits for.
type Want struct {
	IDs     []string       // questions; with none, those that are open when it begins
	Any     bool           // until one of them has settled, not all
	Since   *int64         // or until the marks' rev is another one
	Timeout *time.Duration // nil: for as long as it takes
}

// Waited is how far questions have come, in JSON. Damage is why the marks cannot
// be read, and is there only then. With exactly one question its members stand at
// the top too.
type Waited struct {
	Name   string        `json:"name"`
	Rev    int64         `json:"rev"`
	Picks  []booth.Asked `json:"picks"`
	Damage string        `json:"damage,omitempty"`
	*Single

	// Idle: no question was named, and none was open, so nothing was waited for.
	Idle bool `json:"-"`
}

// Single is the one question of a wait.
type Single struct {
	ID     string        `json:"id"`
	URL    string        `json:"url"`
	State  string        `json:"state"`
	Answer *marks.Answer `json:"answer"`
}

// WithPage is w with the addresses of its questions on a booth's page; page is
// empty where no desk is known.
func (w Waited) WithPage(page string) Waited {
	w.Picks = slices.Clone(w.Picks)
	for i, p := range w.Picks {
		w.Picks[i].URL = MarkURL(page, p.ID)
	}
	w.Single = nil
	if len(w.Picks) == 1 {
		p := w.Picks[0]
		w.Single = &Single{p.ID, p.URL, p.State, p.Answer}
	}
	return w
}

// MarkURL is where a mark stands, empty where no page is known.
func MarkURL(page, id string) string {
	if page == "" {
		return ""
	}
	return page + "marks#" + booth.Anchor(id)
}

// Wait waits for questions of one booth. What ends it (an answer, a withdrawal,
// damage, the time-out, or ctx) is in the states: a question that is still open
// is open, and never an error. Only a booth that cannot be reached is one; one
// that goes away is Gone.
func Wait(ctx context.Context, b Watcher, name string, want Want) (Waited, error) {
	r, err := b.Marks(ctx, name)
	if err != nil {
		return Waited{}, err
	}
	if want.Timeout != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, *want.Timeout)
		defer cancel()
	}
	ids := want.ids(r)
	idle := len(ids) == 0 && want.Since == nil
	for {
		w := waited(name, r, ids)
		w.Idle = idle
		if idle || want.met(w, len(ids) > 0) {
			return w, nil
		}
		next, err := b.Watch(ctx, name, r.Rev, ids)
		if ctx.Err() != nil {
			return w, nil
		}
		if err != nil {
			return Waited{}, err
		}
		r = next
	}
}

// ids are the questions to wait for, each once, in the order in which they were
// named, else that of the marks.
func (want Want) ids(r marks.Reading) []string {
	var ids []string
	for _, id := range want.IDs {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) > 0 || want.Since != nil {
		return ids
	}
	for _, p := range r.Picks() {
		if p.Open() {
			ids = append(ids, p.MarkID)
		}
	}
	return ids
}

// met says that there is no more to wait for. Damage ends every wait: what is
// asked there cannot be answered until it is mended.
func (want Want) met(w Waited, named bool) bool {
	if w.Damage != "" || want.Since != nil && w.Rev != *want.Since {
		return true
	}
	if !named {
		return false
	}
	settled := func(p booth.Asked) bool { return p.State != string(marks.StateOpen) }
	if want.Any {
		return slices.ContainsFunc(w.Picks, settled)
	}
	return !slices.ContainsFunc(w.Picks, func(p booth.Asked) bool { return !settled(p) })
}

// waited is how far the questions called ids have come; without ids, all.
func waited(name string, r marks.Reading, ids []string) Waited {
	w := Waited{Name: plain.Unicode(name), Rev: r.Rev, Picks: []booth.Asked{}, Damage: r.Why()}
	if len(ids) == 0 {
		for _, p := range r.Picks() {
			ids = append(ids, p.MarkID)
		}
	}
	for _, id := range ids {
		p, found := r.Pick(id)
		asked := booth.NewAsked(name, r.Rev, p)
		switch {
		case !r.Whole(): // an answer that a damaged document shows is not taken for one
			asked.ID, asked.State, asked.Answer = id, StateBroken, nil
		case !found:
			asked = Missing(name, id, r.Rev)
		}
		w.Picks = append(w.Picks, asked)
	}
	return w
}

// Missing is the document about a question that is not there.
func Missing(name, id string, rev int64) booth.Asked {
	a := booth.NewAsked(name, rev, marks.Pick{})
	a.ID, a.State, a.Question = id, StateGone, 0
	return a
}
