package pages

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"holdfast/internal/fleet"
	"holdfast/internal/fleet/console"
	"holdfast/internal/fleet/order"
	"holdfast/internal/page"
	"holdfast/internal/plain"
)

// How often a page that shows what runs looks again while somebody looks at it, in
// seconds.
const (
	everyInstance = 2
	everyList     = 5
)

type instancesPage struct {
	Page      page.Frame
	Version   string
	Every     int
	Counts    string
	Instances rows
	More      string
	Boxes     bool // there is a box that may be given work
	Fleet     string
	ReadAt    when
}

// rows are the instances of a list, with the box of each or without.
type rows struct {
	Boxes bool
	Rows  []instanceRow
}

// instanceRow is an instance in a list.
type instanceRow struct {
	Name, URL   string
	State       string
	Box, BoxURL string // no address where the claim cannot be read
	Incarnation uint64
	Started     *when
	Says        string // why it was refused, or how it ended
	Seen        string // how old is what the box says; empty where it is no beat's
}

func (p *Pages) instanceURL(name string, more ...string) string {
	return p.Base.URL(append([]string{instancesRoot, name}, more...)...)
}

// list is the document of the instances: that of the command ps.
func (p *Pages) list(r *http.Request, c *fleet.Console) (any, error) {
	list, err := c.Work(nil).List(r.Context())
	return struct {
		Instances []console.Instance `json:"instances"`
	}{list}, err
}

func (p *Pages) serveInstances(w http.ResponseWriter, r *http.Request, c *fleet.Console) error {
	list, err := c.Work(nil).List(r.Context())
	if err != nil {
		return err
	}
	v := instancesPage{Every: everyList, Counts: countStates(list), Fleet: p.fleetURL()}
	if len(list) == 0 {
		boxes, err := c.Boxes(r.Context())
		if err != nil {
			return err
		}
		for _, b := range boxes.Boxes {
			v.Boxes = v.Boxes || b.State == active
		}
	}
	v.Instances = rows{true, p.instanceRows(list)}
	if more := len(list) - len(v.Instances.Rows); more > 0 {
		v.More = plain.Count(more, "more instance") + ": holdfast ps lists them all"
	}
	if v.Version, err = fingerprint(v); err != nil || unchanged(w, r, v.Version) {
		return err
	}
	v.ReadAt, v.Page = at(p.Now()), p.frameIn(p.instances, r, "Instances")
	return p.instances.Write(w, "instances.html", v)
}

// instanceRows are the rows of a list, at most maxRows.
func (p *Pages) instanceRows(list []console.Instance) []instanceRow {
	var rows []instanceRow
	for _, i := range list[:min(len(list), maxRows)] {
		w := instanceRow{
			Name: plain.Text(i.Instance), URL: p.instanceURL(i.Instance), State: p.stateOf(i), Box: plain.Text(i.Box), Incarnation: i.Incarnation,
			Started: started(i.Started), Says: says(i), Seen: seen(i),
		}
		if i.Enrollment != "" {
			w.BoxURL = p.rowURL(i.Enrollment)
		}
		rows = append(rows, w)
	}
	return rows
}

// stateOf is an instance's state; what is being stopped from here is stopping before its
// box has said so.
func (p *Pages) stateOf(i console.Instance) string {
	if s := p.stops.of(i.Instance); s.Under && i.State != console.StateStopped {
		return order.BeatStopping
	}
	return i.State
}

// countStates is how many instances there are, and of each state.
func countStates(list []console.Instance) string {
	counts := map[string]int{}
	for _, i := range list {
		counts[i.State]++
	}
	words := []string{plain.Count(len(list), "instance")}
	for _, state := range []string{
		order.BeatRunning, console.StateOrdered, order.BeatInstalled, order.BeatStopping, order.BeatExited, console.StateStopped, console.StateRefused, console.StateLost, console.StateDamaged,
	} {
		if n := counts[state]; n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, state))
		}
	}
	return strings.Join(words, " · ")
}

func started(t time.Time) *when {
	if t.IsZero() {
		return nil
	}
	w := at(t)
	return &w
}

// says is what there is to say of an instance beside its state.
func says(i console.Instance) string {
	if i.Refusal != "" {
		return sentence(i.Refusal)
	}
	return plain.Text(i.Exit)
}

// seen is how old is what a box says of an instance.
func seen(i console.Instance) string {
	if i.Seen.IsZero() {
		return ""
	}
	return "said " + ago(time.Duration(i.AgeNS))
}

// ago is a time that has passed, in words; the clocks of two machines may differ.
func ago(d time.Duration) string {
	switch {
	case d < -time.Minute:
		return "by a clock that is ahead of this one's"
	case d < time.Minute:
		return "less than a minute ago"
	case d < 2*time.Hour:
		return plain.Count(int(d/time.Minute), "minute") + " ago"
	case d < 48*time.Hour:
		return plain.Count(int(d/time.Hour), "hour") + " ago"
	default:
		return plain.Count(int(d/(24*time.Hour)), "day") + " ago"
	}
}
