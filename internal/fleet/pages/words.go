package pages

import (
	"strings"
	"time"

	"holdfast/internal/fleet"
	boxroot "holdfast/internal/fleet/box/root"
	"holdfast/internal/fleet/console"
	"holdfast/internal/fleet/order"
	"holdfast/internal/plain"
)

// The states of a box, as package fleet names them.
const (
	active      = "active"
	quarantined = "quarantined"
	retired     = "retired"
)

// stand is what a box may do, in a sentence.
func stand(state string) string {
	switch state {
	case active:
		return "It takes new work."
	case quarantined:
		return "What it has may be finished and stopped. It takes nothing new, and nothing that it was given before is started again."
	case retired:
		return "It does nothing more, for good. What it signed can still be verified."
	default:
		return ""
	}
}

// when is a time in words, and for programs.
type when struct{ Words, Exact string }

func at(t time.Time) when {
	return when{t.UTC().Format("2 Jan 2006, 15:04 UTC"), t.UTC().Format("2006-01-02T15:04:05Z")}
}

// asOf is which version of the roster a page shows.
type asOf struct {
	Revision uint64
	At       when
	Writer   string
}

func asOfRoster(a fleet.At) asOf { return asOf{a.Revision, at(a.WrittenAt), plain.Text(a.Writer)} }

// old is after how long a roster that did not change is said to be old.
const old = 24 * time.Hour

// stale says so of a roster that nobody has written for long; else it is empty.
func stale(a fleet.At, now time.Time) string {
	if now.Sub(a.WrittenAt) <= old {
		return ""
	}
	return "Unchanged since " + at(a.WrittenAt).Words + ": if something should have been written since, the store may be serving an old copy."
}

// short is how a digest is shown in a list.
func short(digest string) string { return plain.Text(digest[:min(12, len(digest))]) }

// factText is a fact's value for people.
func factText(name string, value any) string { return orNone(fleet.FactText(name, value)) }

// change is a fact that a step changed.
type change struct{ Name, From, To string }

// changesOf are the facts that a step changed, with long values cut; none where the box
// was new.
func changesOf(s *fleet.Step) []change {
	var list []change
	for _, f := range s.Facts {
		if f.From != nil {
			list = append(list, change{fleet.FactName(f.Name), fleet.Clip(factText(f.Name, f.From)), fleet.Clip(factText(f.Name, f.To))})
		}
	}
	return list
}

// scope is what a hold is about, in words.
func scope(text string) string {
	kind, name, _ := strings.Cut(text, "/")
	switch kind {
	case "all":
		return "the whole fleet"
	case "region", "box":
		return kind + " " + plain.Text(name)
	default:
		return plain.Text(text)
	}
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return plain.Text(s)
}

// meaning is what a state of an instance means, in a sentence.
func meaning(state string) string {
	switch state {
	case console.StateOrdered:
		return "Its box was told, and has not answered yet."
	case order.BeatInstalled:
		return "Its box has it, and has not started it yet."
	case order.BeatRunning:
		return "Its box has started it."
	case order.BeatStopping:
		return "It is to end. Until there is a receipt, nothing proves that it has."
	case order.BeatExited:
		return "Its first process ended by itself. Stopping it makes the receipt that proves the end."
	case console.StateStopped:
		return "It has ended, and a receipt proves it."
	case console.StateRefused:
		return "It was not started."
	case console.StateLost:
		return "Its box was given up for lost. It may run there still: no receipt says that it does not."
	case console.StateDamaged:
		return "What is known of it cannot be believed."
	default:
		return ""
	}
}

// present is how an incarnation stands that no receipt is of.
func present(state string) string {
	if state == console.StateRefused {
		return "It was refused before anything was started, so there is nothing to prove."
	}
	return "There is no receipt of it: nothing proves that it has ended."
}

// modeWords is whether the root of this machine's box takes orders.
func modeWords(own *fleet.Own) string {
	why := ""
	if own.Why != "" {
		why = ": " + plain.Text(own.Why)
	}
	switch own.Mode {
	case boxroot.Ready:
		return "ready: it takes orders"
	case boxroot.Starting:
		return "starting, and takes no orders yet" + why
	case boxroot.OldJournal:
		return "its journal is an old copy: it starts nothing" + why
	case boxroot.Copied:
		return "its folder was copied from another machine: it starts nothing" + why
	case boxroot.Superseded:
		return "another root has taken its session: it starts nothing" + why
	}
	return plain.Text(string(own.Mode)) + why
}
