package lifetime

import (
	"fmt"
	"time"
)

// Kind is the state's public name in JSON: kept, held or counting.
func Kind(s State) string {
	switch s.(type) {
	case Kept:
		return "kept"
	case Held:
		return "held"
	case Counting:
		return "counting"
	}
	return "invalid"
}

// Line is the one line that every surface shows for a state. It never shows a
// countdown for a booth that is not counting down.
func Line(s State, now time.Time) string {
	switch s := s.(type) {
	case Kept:
		if s.Marks != "" {
			return "kept · marks unreadable"
		}
		return "kept"
	case Held:
		return s.line()
	case Counting:
		if !s.Until.After(now) {
			return "expires at the next sweep"
		}
		return "expires in " + Span(s.Until.Sub(now))
	}
	return "held · state unknown"
}

func (h Held) line() string {
	switch h.Reason {
	case Open:
		return "held until answered"
	case MarksHold:
		return "held · marks unreadable"
	case TreeHold:
		return "held · cannot be read: " + h.Detail
	case SentinelHold:
		return "held · keep marker unreadable"
	case MountHold:
		return "held · contains a mount"
	case ArrivalHold:
		return "held · arrival unknown"
	case ReviewHold:
		if h.Detail == "" {
			return "held · review record unreadable"
		}
		return "held until " + h.Detail + " is reviewed"
	case BusyHold:
		return "held · in use"
	}
	return "held"
}

// Rule is a sentence that says why the state is what it is, and what ends it.
func Rule(s State, ttl time.Duration) string {
	switch s := s.(type) {
	case Kept:
		return "kept: .forever is there, so it is never swept; removing .forever ends that"
	case Held:
		return s.rule()
	case Counting:
		return fmt.Sprintf("counting: nothing holds it, so it expires %s after its newest stamp", Span(ttl))
	}
	return ""
}

func (h Held) rule() string {
	switch h.Reason {
	case Open:
		return "held: a pick still waits for an answer; it counts down from its newest stamp once that is answered or withdrawn"
	case MarksHold:
		return "held: its marks cannot be read whole (" + h.Detail + "), and nothing is deleted on a read that failed"
	case TreeHold:
		return "held: part of its tree cannot be looked at, so its age is not known"
	case SentinelHold:
		return "held: whether .forever is there cannot be told (" + h.Detail + ")"
	case MountHold:
		return "held: a mount point is inside; unmount it first"
	case ArrivalHold:
		return "held: the desk's record of when booths came cannot be read (" + h.Detail + "), so its age is not known"
	case ReviewHold:
		if h.Detail == "" {
			return "held: the desk's record of what waits for review cannot be read"
		}
		return "held: " + h.Detail + " waits for review of what is shown here; it counts down once that is accepted or dropped"
	case BusyHold:
		return "held: somebody has its lock, and whatever is at work is alive"
	}
	return ""
}

// Span writes a duration in its largest unit and the one below it, rounded
// down, as in "3h 20m".
func Span(d time.Duration) string {
	units := []struct {
		of   time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}}
	for i, u := range units {
		if d < u.of {
			continue
		}
		s := fmt.Sprintf("%d%s", d/u.of, u.name)
		if i+1 < len(units) && d%u.of >= units[i+1].of {
			s += fmt.Sprintf(" %d%s", d%u.of/units[i+1].of, units[i+1].name)
		}
		return s
	}
	return "0s"
}
