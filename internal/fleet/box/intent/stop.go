package intent

import (
	"holdfast/internal/fleet/order"
	"holdfast/internal/fleet/receipt"
)

// Stop fences an incarnation, ends it, and proves it. It asks nothing of the authority:
// its target is compared with the inventory, record to record.
type Stop struct {
	row     Row
	resumed bool // the fence was there before this process

	// What was found or done since, and is lost in a crash.
	pause    string
	matched  bool
	answers  *receipt.Ref // it has a receipt, by another operation
	refused  *order.Refused
	raised   bool
	alive    bool
	lingers  string // why it is not proved yet
	told     string // which of that the console was told
	gone     *Gone
	made     receipt.Made
	put      bool
	answered bool
}

// NewStop is the stop that an order asks for.
func NewStop(s Subject) Stop { return Stop{row: Row{Kind: KindStop, Subject: s}} }

func (Stop) act() {}

// Row is what the journal knows of it.
func (s Stop) Row() Row { return s.row }

// Next implements [Act].
func (s Stop) Next() Effect {
	if s.pause != "" {
		return Pause{s.pause}
	}
	switch s.row.Phase {
	case Ordered:
		switch {
		case s.refused != nil:
			row := s.at(Refused)
			row.Why = *s.refused
			return Commit{Row: row}
		case s.answers != nil && s.answered:
			return Finished{}
		case s.answers != nil:
			return Answer{order.Stopped{Receipt: *s.answers}}
		case !s.matched:
			return Match{}
		}
		return Commit{Row: s.at(Fenced)}
	case Fenced:
		switch {
		case !s.raised:
			return Raise{}
		case s.gone != nil:
			return CommitReceipt{Row: s.at(Proved), Made: s.made, Proof: s.gone.Proof, Exit: s.gone.Exit}
		case s.lingers != "" && s.told != s.lingers:
			return Answer{order.Stopping{Why: s.lingers}}
		case s.lingers != "":
			return Pause{s.lingers}
		case s.alive:
			return End{}
		}
		return Look{}
	case Proved:
		switch {
		case !s.put:
			return Put{}
		case !s.answered:
			return Answer{order.Stopped{Receipt: s.row.Receipt}}
		}
		return Commit{Row: s.at(Handed)}
	case Handed, Refused:
		switch {
		case s.answered:
			return Finished{}
		case s.row.Phase == Refused && !s.raised:
			return Raise{}
		}
		return Answer{s.answer()}
	case Intended, Installed, Spawned, Running:
	}
	panic("intent: a stop is not " + string(s.row.Phase))
}

func (s Stop) at(p Phase) Row {
	row := s.row
	row.Phase = p
	return row
}

func (s Stop) answer() order.Answer {
	if s.row.Phase == Refused {
		return s.row.Why
	}
	return order.Stopped{Receipt: s.row.Receipt}
}

// After implements [Act].
func (s Stop) After(e Event) Act {
	now := s.Next()
	switch e := e.(type) {
	case Again:
		s.pause, s.lingers, s.alive = "", "", false
		return s
	case Full:
		s.pause = "the disk is full, and the reserve is used up"
		return s
	case Unreachable:
		return s.unreachable(now, e.Why)
	case Superseded:
		if _, last := now.(Answer); last {
			s.told, s.answered = s.lingers, s.row.Phase != Fenced
			return s
		}
		if s.row.Phase == Fenced {
			// Whose box this is now plays no part in ending what is seen to be alive here.
			s.raised = true
			return s
		}
		s.pause = superseded
		return s
	case Denied:
		s.refused = &order.Refused{Step: e.Step, Reason: e.Reason}
		return s
	case Matched:
		s.matched = true
		return s
	case Answered:
		s.answers = &e.Receipt
		return s
	case Raised:
		s.raised = true
		return s
	case Alive:
		s.alive = true
		return s
	case Gone:
		s.gone, s.made = &e, s.maker(now, e.Proof)
		return s
	case Undecided:
		if s.row.Phase != Fenced {
			s.pause = e.Why
			return s
		}
		s.lingers = e.Why
		return s
	case Sealed:
		if commit, made := now.(CommitReceipt); made {
			s.row = commit.Row
		} else {
			s.put = true
		}
		s.row.Receipt = e.Receipt
		return s
	case Done:
		if now == (Put{}) {
			s.put = true
		} else {
			s.told, s.answered = s.lingers, s.row.Phase != Fenced
		}
		return s
	case Committed:
		s.row, s.refused, s.raised = now.(Commit).Row, nil, false
		return s
	case Allowed, Moved, Waiting, NotSpawned, Went, NeverWent:
	}
	panic("intent: an event that comes of nothing a stop does")
}

// maker is which constructor the receipt is made by: it follows from who saw what.
func (s Stop) maker(now Effect, p receipt.Proof) receipt.Made {
	switch p.(type) {
	case receipt.Reboot, receipt.NothingStarted:
		return receipt.NoProcess
	case receipt.Namespace:
		if now != (End{}) {
			return receipt.NamespaceGone
		}
	case receipt.Weak: // no namespace is gone: what watched over the work saw it end
	}
	if s.resumed {
		return receipt.Recovered
	}
	return receipt.Normal
}

// unreachable is the stop after the store could not be reached.
func (s Stop) unreachable(now Effect, why string) Stop {
	_, telling := now.(Answer)
	switch {
	case now == (Raise{}) && s.row.Phase == Fenced:
		// Nothing is held up by that: what is stopped is not started by it, and the store
		// hears of the generation with the next.
		s.raised = true
	case telling && s.row.Phase == Fenced:
		s.told = s.lingers // it was only to be shown
	default:
		s.pause = why
	}
	return s
}
