package roster

import (
	"fmt"
	"maps"
	"slices"
)

// Describe says in words what next changed of prev, a clause for each thing, in a
// stated order: boxes by box id, then holds, activations, attempts, consoles, regions
// and the facts of the deployment.
func Describe(prev, next *Roster) []string {
	var d describer
	for _, enrollment := range next.Enrollments() {
		was, known := prev.Boxes[enrollment]
		is := next.Boxes[enrollment]
		if !known {
			d.say("box %s enrolled", is.BoxID)
			continue
		}
		d.row(was, is)
	}
	comings(&d, "hold", prev.Holds, next.Holds, func(h Hold) string { return " of " + h.Scope.String() })
	comings(&d, "activation", prev.Activations, next.Activations, func(a Activation) string { return " of " + a.Scope.String() })
	comings(&d, "enrollment attempt", prev.EnrollmentAttempts, next.EnrollmentAttempts, func(a Attempt) string { return " of box " + a.BoxID })
	comings(&d, "console", prev.Consoles, next.Consoles, func(Console) string { return "" })
	comings(&d, "region", prev.Regions, next.Regions, func(Region) string { return "" })
	d.moved("home region", prev.HomeRegion, next.HomeRegion)
	d.moved("publication", prev.Publication, next.Publication)
	d.moved("floor", prev.FloorSHA256, next.FloorSHA256)
	if prev.RequestLimitNS != next.RequestLimitNS {
		d.say("request limit changed")
	}
	return d.list
}

type describer struct{ list []string }

func (d *describer) say(format string, args ...any) {
	d.list = append(d.list, fmt.Sprintf(format, args...))
}

func (d *describer) moved(what, from, to string) {
	switch {
	case from == to:
	case to == "":
		d.say("%s taken away", what)
	default:
		d.say("%s set to %s", what, to)
	}
}

func (d *describer) row(was, is Box) {
	switch {
	case len(is.LossIDs) > len(was.LossIDs):
		d.say("box %s quarantined as lost", is.BoxID)
	case is.QuarantineRevision != was.QuarantineRevision:
		d.say("box %s quarantined", is.BoxID)
	case is.State != was.State && is.State == Active:
		d.say("box %s readmitted", is.BoxID)
	case is.State != was.State:
		d.say("box %s %s", is.BoxID, is.State)
	}
	d.moved("role of box "+is.BoxID, was.Role, is.Role)
	d.moved("group of box "+is.BoxID, was.Group, is.Group)
	d.moved("label of box "+is.BoxID, was.Label, is.Label)
	d.moved("census key of box "+is.BoxID, was.CensusPublicKey, is.CensusPublicKey)
}

// comings says what came, went or changed of a map.
func comings[V comparable](d *describer, what string, prev, next map[string]V, of func(V) string) {
	for _, id := range slices.Sorted(maps.Keys(next)) {
		was, known := prev[id]
		switch {
		case !known:
			d.say("%s %s%s added", what, id, of(next[id]))
		case was != next[id]:
			d.say("%s %s changed", what, id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(prev)) {
		if _, stays := next[id]; !stays {
			d.say("%s %s%s ended", what, id, of(prev[id]))
		}
	}
}
