package intent

import "holdfast/internal/fleet/order"

// Launch installs an incarnation and starts it.
type Launch struct {
	row     Row
	resumed bool // from a row: what this process did itself is not known yet

	// What was found or done since, and is lost in a crash.
	pause    string
	raised   bool
	allowed  map[Site]bool
	waiting  []byte // the identity of the shim at the gate
	refused  *order.Refused
	lost     bool // the shim is gone, and was never let through
	let      bool // it was let through
	answered bool
}

// NewLaunch is the launch that an order asks for.
func NewLaunch(s Subject) Launch {
	return Launch{row: Row{Kind: KindLaunch, Subject: s, Launch: 1}}
}

func (Launch) act() {}

// Row is what the journal knows of it.
func (l Launch) Row() Row { return l.row }

// Next implements [Act].
func (l Launch) Next() Effect {
	switch {
	case l.pause != "":
		return Pause{l.pause}
	case l.refused != nil && l.waiting != nil:
		return Drop{}
	case l.refused != nil:
		row := l.at(Refused)
		row.Why = *l.refused
		return Commit{Row: row}
	}
	switch l.row.Phase {
	case Ordered:
		if !l.allowed[AtInventory] {
			return Check{AtInventory}
		}
		return Commit{Row: l.at(Intended)}
	case Intended:
		if !l.allowed[AtInventory] {
			return Check{AtInventory}
		}
		return Commit{Row: l.at(Installed)}
	case Installed:
		switch {
		case l.resumed:
			// A shim may have been started that the journal does not know. Its gate is
			// closed; the next has a folder of its own.
			return Commit{Row: l.again()}
		case !l.allowed[AtLaunch]:
			return Check{AtLaunch}
		case l.waiting == nil:
			return Spawn{l.row.Launch}
		}
		return Commit{Row: l.at(Spawned), Identity: l.waiting}
	case Spawned:
		switch {
		case l.let:
			return Commit{Row: l.at(Running)}
		case l.lost:
			return Commit{Row: l.again()}
		case l.resumed:
			return Find{}
		case !l.raised:
			return Raise{}
		case !l.allowed[AtLaunch]:
			return Check{AtLaunch} // it waited meanwhile
		}
		return Release{}
	case Running, Refused:
		switch {
		case l.answered:
			return Finished{}
		case l.row.Phase == Refused && !l.raised:
			return Raise{}
		}
		return Answer{l.answer()}
	case Fenced, Proved, Handed:
	}
	panic("intent: a launch is not " + string(l.row.Phase))
}

func (l Launch) at(p Phase) Row {
	row := l.row
	row.Phase = p
	return row
}

// again is the row with which another shim is started.
func (l Launch) again() Row {
	row := l.at(Installed)
	row.Launch++
	return row
}

func (l Launch) answer() order.Answer {
	if l.row.Phase == Refused {
		return l.row.Why
	}
	return order.Running{}
}

// After implements [Act].
func (l Launch) After(e Event) Act {
	now := l.Next()
	switch e := e.(type) {
	case Again:
		// What was allowed before is not allowed now.
		l.pause, l.allowed = "", nil
		return l
	case Full:
		l.pause = "the disk is full: nothing new is started"
		return l
	case Unreachable:
		l.pause = e.Why
		return l
	case Undecided:
		if now == (Release{}) {
			l.resumed, l.waiting = true, nil // it may have gone: it is looked for
		}
		l.pause = e.Why
		return l
	case Superseded:
		if _, last := now.(Answer); last {
			l.answered = true // whoever has the session now answers, or nobody
			return l
		}
		l.pause = superseded
		return l
	case Denied:
		return l.refuse(e.Step, e.Reason)
	case Moved:
		return l.refuse(l.moved(e))
	case NotSpawned:
		l.waiting = nil
		return l.refuse(e.Step, e.Reason)
	case Allowed:
		l.allow(now.(Check).At)
		return l
	case Raised:
		l.raised = true
		return l
	case Waiting:
		l.waiting = e.Identity
		return l
	case Went:
		l.let, l.waiting = true, nil
		return l
	case NeverWent:
		l.lost, l.waiting = true, nil
		return l
	case Done:
		l.answered = true
		return l
	case Committed:
		return l.committed(now.(Commit).Row)
	case Matched, Answered, Alive, Gone, Sealed:
	}
	panic("intent: an event that comes of nothing a launch does")
}

const superseded = "another root has taken this box's session: the box was cloned, or its disk was set back"

// committed is the launch after its row was written.
func (l Launch) committed(row Row) Launch {
	if row.Phase == Installed && l.row.Phase != Intended {
		// Another shim: all that was found out is for the one before.
		return Launch{row: row}
	}
	l.row, l.refused, l.raised = row, nil, false
	return l
}

// allow copies: an act is a value, and one made from it before must not change.
func (l *Launch) allow(s Site) {
	allowed := map[Site]bool{s: true}
	for at := range l.allowed {
		allowed[at] = true
	}
	l.allowed = allowed
}

func (l Launch) refuse(step, reason string) Launch {
	l.refused = &order.Refused{Step: step, Reason: reason}
	return l
}

// moved words a binding that is another now. Of an act that a crash left, it is obsolete:
// that is for good, since no binding comes back.
func (l Launch) moved(e Moved) (step, reason string) {
	step = "binding-moved"
	if l.resumed || l.row.Phase != Ordered {
		step = "obsolete"
	}
	return step, "What it was ordered under is not so any more: " + e.Facts + ". Nothing was started."
}
