package pages

import (
	"net/http"
	"strings"

	"holdfast/internal/fleet"
	"holdfast/internal/fleet/console"
	"holdfast/internal/plain"
)

// runningBoxes is what boxes say of themselves, and what runs on them.
type runningBoxes struct {
	lives     map[string]console.Life
	instances map[string][]console.Instance // by enrollment
	own       *fleet.Own
	trouble   *trouble
}

// runningOn is what runs on boxes, and how their roots are. That it cannot be told hides
// nothing of the roster.
func (p *Pages) runningOn(r *http.Request, c *fleet.Console, o fleet.Overview) runningBoxes {
	run := runningBoxes{instances: map[string][]console.Instance{}, own: fleet.OwnBox(r.Context(), p.Home)}
	var enrolled []string
	for _, b := range o.Boxes {
		if b.State != retired {
			enrolled = append(enrolled, b.Enrollment)
		}
	}
	ops := c.Work(nil)
	lives, err := ops.Lives(r.Context(), enrolled)
	run.lives = lives
	if err != nil {
		run.trouble = troubleOf(err)
		return run
	}
	list, err := ops.List(r.Context())
	run.trouble = troubleOf(err)
	for _, i := range list {
		run.instances[i.Enrollment] = append(run.instances[i.Enrollment], i)
	}
	return run
}

// rootView is what the root of a box says of itself.
type rootView struct {
	Proof, Isolation string // empty: not known
	Why              string // the proof is weak, or nothing is known
	Own              string // how it is now, where it is this home's own box
	OwnHint          string
	Version          string
	Since            *when
}

func (b runningBoxes) root(enrollment string) rootView {
	v := rootView{}
	life, known := b.lives[enrollment]
	switch {
	case life.Session != nil:
		s := life.Session
		v.Proof, v.Isolation, v.Why, v.Version, v.Since = s.Proof, s.Isolation, sentence(s.ProofWhy), plain.Text(s.Version), started(s.StartedAt)
	case life.Why != "":
		v.Why = sentence(life.Why)
	case known:
		v.Why = "It was never started: say holdfast up on that machine."
	}
	if b.own == nil || b.own.Enrollment != enrollment {
		return v
	}
	if t := troubleOf(b.own.Trouble); t != nil {
		v.Own, v.OwnHint = t.Reason, t.Hint
		return v
	}
	v.Own = sentence(modeWords(b.own))
	return v
}

// counts is how many instances a box has of each state, but those that ended.
func (b runningBoxes) counts(enrollment string) string {
	var live []console.Instance
	for _, i := range b.instances[enrollment] {
		if i.State != console.StateStopped && i.State != console.StateRefused {
			live = append(live, i)
		}
	}
	if len(live) == 0 {
		return ""
	}
	_, states, _ := strings.Cut(countStates(live), " · ")
	return states
}
