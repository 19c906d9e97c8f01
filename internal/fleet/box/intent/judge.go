package intent

import (
	"fmt"

	"holdfast/internal/fleet/claim"
	"holdfast/internal/fleet/roster"
)

// Authority is what a box has just read and verified.
type Authority struct {
	Roster     *roster.Roster
	Enrollment string
	Claim      *claim.Claim // nil: the instance has none
	// Installer is what the agent that handed the order on was bound to when it started.
	// One that does not know the box's present binding installs nothing.
	Installer roster.Stamp
	// Floor is why the floor that is in force keeps this box from starting anything;
	// nil where it does not.
	Floor *Denied
}

// Installation is an incarnation in the box's inventory.
type Installation struct {
	Subject         // its operation is the one that installed it
	Fenced     bool // a stop of it has begun
	Receipted  bool // and is proved
	Identified bool // a shim was started whose identity is recorded
}

// Judge says whether an act may go on at a site: by the roster and the claim, and by what
// of the instance is installed here. It comes to [Allowed], [Denied] or [Moved].
func Judge(at Site, s Subject, a Authority, here []Installation) Event {
	if no := present(at, s, here); no != nil {
		return *no
	}
	actor, ok := a.Roster.Actor(a.Enrollment)
	switch {
	case !ok:
		return Denied{"box-unknown", "This box is not in the roster. Nothing was started."}
	case actor.State != roster.Active:
		return Denied{"box-" + actor.State.String(), "The box " + actor.BoxID + " is " + actor.State.String() + ", and starts nothing new."}
	case !s.Stamp.Current(actor.Binding):
		return Moved{fmt.Sprintf("the box was bound to %.12s then, and is to %.12s now", s.Stamp, actor.Binding)}
	case at == AtInventory && !a.Installer.Current(actor.Binding):
		return Denied{"agent-pinned", "The box's agent started under another binding than the box has now, and installs nothing more. Nothing was started."}
	case a.Roster.Publication != "" && a.Roster.FloorSHA256 == "":
		return Denied{"floor-announced", "The floor " + a.Roster.Publication + " is announced and not fixed yet. Nothing was started."}
	case a.Floor != nil:
		return *a.Floor
	}
	return claimed(s, a)
}

// present looks at what of the instance is here, record to record.
func present(at Site, s Subject, here []Installation) *Denied {
	var own *Installation
	for i, is := range here {
		switch {
		case is.Incarnation == s.Incarnation:
			own = &here[i]
		case !is.Receipted && (is.Identified || is.Incarnation > s.Incarnation):
			return &Denied{"instance-present", fmt.Sprintf("Incarnation %d of %s is on this box, and its end is not proved. Nothing was started.", is.Incarnation, s.Instance)}
		}
	}
	switch {
	case own != nil && own.Fenced:
		return &Denied{"fenced", fmt.Sprintf("Incarnation %d of %s was stopped. Nothing was started.", s.Incarnation, s.Instance)}
	case own != nil && (own.Operation != s.Operation || own.Session != s.Session || !own.Stamp.Same(s.Stamp)):
		return &Denied{"installation", fmt.Sprintf("Incarnation %d of %s was installed by another order. Nothing was started.", s.Incarnation, s.Instance)}
	case own == nil && at == AtLaunch:
		return &Denied{"installation", fmt.Sprintf("Incarnation %d of %s is not installed. Nothing was started.", s.Incarnation, s.Instance)}
	}
	return nil
}

func claimed(s Subject, a Authority) Event {
	c := a.Claim
	switch {
	case c == nil:
		return Denied{"claim-absent", "No console has claimed " + s.Instance + ". Nothing was started."}
	case c.Session != s.Session || c.Incarnation != s.Incarnation || c.Operation != s.Operation:
		return Denied{"claim-moved", fmt.Sprintf("The claim of %s is at session %d and incarnation %d; this order is for %d and %d. Nothing was started.", s.Instance, c.Session, c.Incarnation, s.Session, s.Incarnation)}
	case c.State != claim.Held || c.Enrollment != a.Enrollment:
		return Denied{"claim-elsewhere", "This box has no claim on " + s.Instance + ". Nothing was started."}
	}
	return Allowed{}
}
