package fleet

import (
	"context"
	"maps"
	"slices"
	"time"

	"holdfast/internal/fleet/roster"
	"holdfast/internal/fleet/rosterstore"
	"holdfast/internal/problem"
)

// Box is a box as lists show it. What a box says of itself (when it was last heard,
// how it isolates) is not in the roster.
type Box struct {
	BoxID      string    `json:"box_id"`
	Enrollment string    `json:"enrollment"`
	State      string    `json:"state"`
	Region     string    `json:"region"`
	Pool       string    `json:"pool"`
	Role       string    `json:"role"`
	Group      string    `json:"group"`
	Label      string    `json:"label"`
	Binding    string    `json:"binding"`
	LastHeard  string    `json:"last_heard"` // empty: never
	EnrolledAt time.Time `json:"enrolled_at"`
}

// Boxes are all rows, by box id; the retired ones too.
type Boxes struct {
	Boxes []Box `json:"boxes"`
	At
}

// At says of which version something is said.
type At struct {
	Revision  uint64    `json:"revision"`
	WrittenAt time.Time `json:"written_at"`
	Writer    string    `json:"writer"` // the console; "root" for a version that was restored
}

func at(v *rosterstore.Version) At {
	writer := v.Signer
	if v.Restored {
		writer = roster.RootName
	}
	return At{v.Revision, v.WrittenAt, writer}
}

func boxOf(v *rosterstore.Version, enrollment string) Box {
	b := v.Boxes[enrollment]
	a, _ := v.Actor(enrollment)
	return Box{b.BoxID, enrollment, b.State.String(), b.Region, b.Pool, b.Role, b.Group, b.Label, a.Binding.String(), "", b.EnrolledAt}
}

// Head says which version the roster is at.
func (c *Console) Head(ctx context.Context) (At, error) {
	v, err := c.roster.Read(ctx)
	if err != nil {
		return At{}, err
	}
	return at(v), nil
}

// Boxes reads the roster.
func (c *Console) Boxes(ctx context.Context) (Boxes, error) {
	v, err := c.roster.Read(ctx)
	if err != nil {
		return Boxes{}, err
	}
	list := Boxes{Boxes: []Box{}, At: at(v)}
	for _, e := range v.Enrollments() {
		list.Boxes = append(list.Boxes, boxOf(v, e))
	}
	return list, nil
}

// Shown is all that is known of a box.
type Shown struct {
	Box
	Facts              []Fact   `json:"facts"` // that its binding is made of
	QuarantineRevision uint64   `json:"quarantine_revision"`
	LossIDs            []string `json:"loss_ids"`
	Invitation         string   `json:"invitation"`
	Instances          []string `json:"instances"` // whose last claim was of this box
	// Moved is the step that last moved the binding, left out where the log does not
	// go back so far.
	Moved *Step `json:"moved,omitempty"`
	// Writes is how many versions have followed it without moving the binding.
	Writes uint64 `json:"writes_since"`
	At
}

// Fact is one thing that a binding is made of.
type Fact struct {
	Name  string `json:"name"`
	Value any    `json:"value"`
}

// Step is a version, and which facts of a box it changed.
type Step struct {
	Facts []Changed `json:"facts"`
	At
}

// Changed is a fact that a step changed; From is nil where the box was new.
type Changed struct {
	Name string `json:"name"`
	From any    `json:"from"`
	To   any    `json:"to"`
}

// Show reads a box: the one that is called so and not retired, or the last one that
// was, or else the one with that enrollment. It walks the log back to the step that last moved the box's binding.
func (c *Console) Show(ctx context.Context, box string) (Shown, error) {
	v, err := c.roster.Read(ctx)
	if err != nil {
		return Shown{}, err
	}
	enrollment, ok := find(v, box)
	if !ok {
		return Shown{}, problem.New(problem.Gone, "box-unknown", "No box is called %q.", box).WithHint("holdfast fleet boxes lists those that are enrolled")
	}
	b := v.Boxes[enrollment]
	s := Shown{Box: boxOf(v, enrollment), QuarantineRevision: b.QuarantineRevision, LossIDs: b.LossIDs, Invitation: b.Invitation, Instances: []string{}, At: at(v)}
	facts, _ := v.Facts(enrollment)
	for _, f := range facts {
		s.Facts = append(s.Facts, Fact(f))
	}
	if s.Instances, err = c.instancesOf(ctx, enrollment); err != nil {
		return Shown{}, err
	}
	err = c.roster.Log(ctx, func(e rosterstore.Entry) bool {
		if s.Writes = v.Revision - e.Revision; e.Revision > v.Revision {
			return true // written since
		}
		if changed := changed(e, enrollment); len(changed) > 0 {
			s.Moved = &Step{changed, at(e.Version)}
		}
		return s.Moved == nil
	})
	return s, err
}

// find is the enrollment of the box called id: the live one, else the last, else the
// one whose enrollment id is.
func find(v *rosterstore.Version, id string) (string, bool) {
	if enrollment, _, ok := v.Live(id); ok {
		return enrollment, true
	}
	last, found := "", false
	for _, e := range v.Enrollments() {
		if v.Boxes[e].BoxID == id {
			last, found = e, true
		}
	}
	if _, in := v.Boxes[id]; in && !found {
		return id, true
	}
	return last, found
}

// changed are the facts of a box that a version changed.
func changed(e rosterstore.Entry, enrollment string) []Changed {
	to, in := e.Facts(enrollment)
	if !in {
		return nil
	}
	var from []roster.Fact
	if e.Before != nil {
		from, _ = e.Before.Facts(enrollment)
	}
	var list []Changed
	for i, f := range to {
		switch {
		case from == nil:
			list = append(list, Changed{f.Name, nil, f.Value})
		case from[i].Value != f.Value:
			list = append(list, Changed{f.Name, from[i].Value, f.Value})
		}
	}
	return list
}

// Version is one version in the log, and what it changed.
type Version struct {
	SHA256   string   `json:"sha256"`
	Changes  []string `json:"changes"` // in words
	Moved    []Moved  `json:"moved"`
	Restored bool     `json:"restored"`
	At
}

// Log are the versions, the newest first, at most limit of them (0: all). Each is
// verified, and each step judged: whatever is wrong is the error, and what was read
// before it is returned beside it.
func (c *Console) Log(ctx context.Context, limit int) ([]Version, error) {
	list := []Version{}
	err := c.roster.Log(ctx, func(e rosterstore.Entry) bool {
		list = append(list, versionOf(e))
		return limit == 0 || len(list) < limit
	})
	return list, err
}

func versionOf(e rosterstore.Entry) Version {
	before := roster.New(e.Bucket, time.Duration(e.RequestLimitNS))
	if e.Before != nil {
		before = e.Before.Roster
	}
	changes := append([]string{}, roster.Describe(before, e.Roster)...)
	return Version{e.Digest, changes, movedOf(roster.Moves(before, e.Roster)), e.Restored, at(e.Version)}
}

// Candidates are the versions in the log that can be restored, the newest first, at
// most limit of them.
func (c *Console) Candidates(ctx context.Context, limit int) ([]Version, error) {
	list := []Version{}
	err := c.roster.Candidates(ctx, func(v *rosterstore.Version) bool {
		list = append(list, Version{SHA256: v.Digest, Changes: []string{}, Moved: []Moved{}, Restored: v.Restored, At: at(v)})
		return len(list) < limit
	})
	return list, err
}

// Hold is a part of the fleet that an operation holds, or that an activation changes.
type Hold struct {
	Operation  string    `json:"operation"`
	Console    string    `json:"console"`
	Instance   string    `json:"instance,omitempty"`
	Scope      string    `json:"scope"`
	ReservedAt time.Time `json:"reserved_at"`
}

// Holds are the holds, by key of the operation.
func (c *Console) Holds(ctx context.Context) ([]Hold, At, error) {
	v, err := c.roster.Read(ctx)
	if err != nil {
		return nil, At{}, err
	}
	return holdsOf(v), at(v), nil
}

func holdsOf(v *rosterstore.Version) []Hold {
	list := []Hold{}
	for _, id := range slices.Sorted(maps.Keys(v.Holds)) {
		h := v.Holds[id]
		list = append(list, Hold{id, h.Console, h.Instance, h.Scope.String(), h.ReservedAt})
	}
	return list
}

// Activations are the activations, by key of the operation.
func (c *Console) Activations(ctx context.Context) ([]Hold, At, error) {
	v, err := c.roster.Read(ctx)
	if err != nil {
		return nil, At{}, err
	}
	return activationsOf(v), at(v), nil
}

func activationsOf(v *rosterstore.Version) []Hold {
	list := []Hold{}
	for _, id := range slices.Sorted(maps.Keys(v.Activations)) {
		a := v.Activations[id]
		list = append(list, Hold{id, a.Console, "", a.Scope.String(), a.ReservedAt})
	}
	return list
}
