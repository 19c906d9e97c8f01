package roster

import (
	"maps"
	"slices"
	"time"

	"holdfast/internal/problem"
)

// Publish announces a publication floor, the first of two writes: from here on and
// until [Roster.PinFloor] no root starts anything new.
func (r *Roster) Publish(publication string) error {
	if err := CheckName("publication", publication); err != nil {
		return err
	}
	if r.Publication == publication {
		return ErrUnchanged
	}
	r.Publication, r.FloorSHA256 = publication, ""
	return nil
}

// PinFloor says which floor the publication is, the second write. Until the next
// publication it is fixed.
func (r *Roster) PinFloor(publication, digest string) error {
	switch {
	case !isHex(digest, 64):
		return problem.New(problem.Usage, "floor-digest", "A digest is 64 lower-case hexadecimal digits. Nothing was changed.")
	case r.Publication != publication:
		return refuse("floor-publication", "The publication in force is %q, not %q.", r.Publication, publication)
	case r.FloorSHA256 == digest:
		return ErrUnchanged
	case r.FloorSHA256 != "":
		return refuse("floor-fixed", "The floor of the publication %s is fixed.", publication).WithHint("publish another under a new name")
	}
	r.FloorSHA256 = digest
	return nil
}

// ReserveHold keeps what h is about from being changed, for the operation of a key.
// The same hold again is ErrUnchanged.
func (r *Roster) ReserveHold(operation string, h Hold) error {
	if err := r.reservable(operation, h.Console, h.Scope); err != nil {
		return err
	}
	h.ReservedAt = stamp(h.ReservedAt)
	if held, ok := r.Holds[operation]; ok {
		if h.ReservedAt = held.ReservedAt; held == h {
			return ErrUnchanged
		}
		return refuse("operation-conflict", "The operation %s holds something else.", operation)
	}
	if id, a, ok := r.activated(h.Scope); ok {
		return refuse("scope-activating", "%s is being changed by the activation %s of console %s.", h.Scope, id, a.Console).
			WithHint("wait until it is complete; holdfast fleet activations shows it")
	}
	r.Holds[operation] = h
	return nil
}

// ReleaseHold ends the hold of an operation, by the console whose operation it is.
// A hold that is not there is ErrUnchanged.
func (r *Roster) ReleaseHold(operation, console string) error {
	h, ok := r.Holds[operation]
	if !ok {
		return ErrUnchanged
	}
	if h.Console != console {
		return refuse("hold-elsewhere", "The hold %s is that of console %s.", operation, h.Console)
	}
	delete(r.Holds, operation)
	return nil
}

// CancelHold ends a hold, whosever it is: an operation that ended without it, or an
// operator's word.
func (r *Roster) CancelHold(operation string) error {
	if _, ok := r.Holds[operation]; !ok {
		return ErrUnchanged
	}
	delete(r.Holds, operation)
	return nil
}

// ReserveActivation keeps a part of the fleet for one change of it.
func (r *Roster) ReserveActivation(operation string, a Activation) error {
	if err := r.reservable(operation, a.Console, a.Scope); err != nil {
		return err
	}
	a.ReservedAt = stamp(a.ReservedAt)
	if held, ok := r.Activations[operation]; ok {
		if a.ReservedAt = held.ReservedAt; held == a {
			return ErrUnchanged
		}
		return refuse("operation-conflict", "The activation %s is about something else.", operation)
	}
	if id, other, ok := r.activated(a.Scope); ok {
		return refuse("scope-activating", "%s is being changed by the activation %s of console %s.", a.Scope, id, other.Console)
	}
	for _, id := range slices.Sorted(maps.Keys(r.Holds)) {
		if h := r.Holds[id]; r.overlap(a.Scope, h.Scope) {
			return refuse("scope-held", "%s is held for the operation %s of console %s.", h.Scope, id, h.Console).
				WithHint("wait until it has ended; holdfast fleet holds shows it")
		}
	}
	r.Activations[operation] = a
	return nil
}

func (r *Roster) reservable(operation, console string, s Scope) error {
	if !isKey(operation) {
		return problem.New(problem.Usage, "operation-invalid", "A key of an operation is 1 to 128 letters, digits, _ and -; %q is none. Nothing was changed.", operation)
	}
	if _, ok := r.Consoles[console]; !ok {
		return refuse("console-unknown", "No console is called %q.", console)
	}
	if s.kind == "box" {
		if _, _, err := r.box(s.name); err != nil {
			return err
		}
	}
	_, err := ParseScope(s.String())
	return err
}

// activated finds the first activation, if there is one, that a scope overlaps.
func (r *Roster) activated(s Scope) (string, Activation, bool) {
	for _, id := range slices.Sorted(maps.Keys(r.Activations)) {
		if a := r.Activations[id]; r.overlap(s, a.Scope) {
			return id, a, true
		}
	}
	return "", Activation{}, false
}

// CompleteActivation ends an activation that did its work, by the console whose it
// is. One that is not there is ErrUnchanged.
func (r *Roster) CompleteActivation(operation, console string) error {
	a, ok := r.Activations[operation]
	if !ok {
		return ErrUnchanged
	}
	if a.Console != console {
		return refuse("activation-elsewhere", "The activation %s is that of console %s.", operation, a.Console)
	}
	delete(r.Activations, operation)
	return nil
}

// CancelActivation ends an activation, whosever it is.
func (r *Roster) CancelActivation(operation string) error {
	if _, ok := r.Activations[operation]; !ok {
		return ErrUnchanged
	}
	delete(r.Activations, operation)
	return nil
}

// ConfigureRegion is the first phase of bringing up a region: its row, and how long a
// call of the store may take.
func (r *Roster) ConfigureRegion(region, label string, limit time.Duration, at time.Time) error {
	if err := CheckName("region", region); err != nil {
		return err
	}
	if err := CheckLabel(label); err != nil {
		return err
	}
	if limit < time.Millisecond || limit > time.Hour {
		return problem.New(problem.Usage, "request-limit", "The limit of a request is between a millisecond and an hour. Nothing was changed.")
	}
	g, there := r.Regions[region]
	if there && g.Label == label && r.RequestLimitNS == int64(limit) {
		return ErrUnchanged
	}
	if !there {
		g.ConfiguredAt = stamp(at)
	}
	g.Label = label
	r.Regions[region], r.RequestLimitNS = g, int64(limit)
	return nil
}

// SetHome is the second phase: where new work goes if nothing else is said. It is set
// once.
func (r *Roster) SetHome(region string) error {
	switch _, ok := r.Regions[region]; {
	case !ok:
		return refuse("region-unknown", "No region is called %q.", region)
	case r.HomeRegion == region:
		return ErrUnchanged
	case r.HomeRegion != "":
		return refuse("home-fixed", "The home region is %s, and stays.", r.HomeRegion)
	}
	r.HomeRegion = region
	return nil
}

// RootName stands in lists in the place of a console where the root key signed.
const RootName = "root"

// EnrollConsole is the third phase: a console with its key and its grant, which
// whoever signs the roster has verified.
func (r *Roster) EnrollConsole(console, public, grant string, at time.Time) error {
	if err := CheckName("console", console); err != nil {
		return err
	}
	if console == RootName {
		return problem.New(problem.Usage, "console", "No console can be called %s: that is how a roster is put down that the root key restored. Nothing was changed.", RootName)
	}
	for id, c := range r.Consoles {
		switch {
		case id == console && c.PublicKey == public:
			return ErrUnchanged
		case id == console:
			return refuse("console-taken", "A console called %s is enrolled, with another key.", console)
		case c.PublicKey == public:
			return refuse("console-taken", "This key is enrolled as the console %s.", id)
		}
	}
	r.Consoles[console] = Console{public, grant, stamp(at)}
	return nil
}
