// Package crashtest kills real processes at each step of a run and of a stop, and looks at
// what comes of it when all is started again. It is for tests.
//
// The steps are not a list that somebody keeps. [Launches] and [Stops] try every outcome of
// every effect of a box's acts, a crash after each included, and name all that is ever come
// to; [Operations] reads the table in which package operation does that for a console's. A
// step at which the tests do not kill must be named, with the reason.
package crashtest

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"holdfast/internal/fleet/box/intent"
	"holdfast/internal/fleet/operation"
	"holdfast/internal/fleet/order"
	"holdfast/internal/fleet/receipt"
)

// maxLaunch bounds how often a launch is begun anew.
const maxLaunch = 3

// Launches are the names of all that a launch ever does, Stops those of a stop.
func Launches() []string { return steps(intent.NewLaunch(subject)) }

// Stops are the names of all that a stop ever does.
func Stops() []string { return steps(intent.NewStop(subject)) }

var subject = intent.Subject{Operation: "op-1", Instance: "demo", Incarnation: 1, Session: 1}

func steps(first intent.Act) []string {
	names, seen := map[string]bool{}, map[string]bool{}
	for queue := []intent.Act{first}; len(queue) > 0; queue = queue[1:] {
		act := queue[0]
		if id := text(act); seen[id] || rowOf(act).Launch > maxLaunch {
			continue
		} else {
			seen[id] = true
		}
		row, e := rowOf(act), act.Next()
		names[intent.Name(row.Kind, e)] = true
		for _, ev := range outcomes(e) {
			queue = append(queue, act.After(ev))
		}
		if row.Phase != intent.Ordered {
			queue = append(queue, intent.Resume(row)) // a crash
		}
	}
	return sorted(names)
}

func rowOf(a intent.Act) intent.Row {
	switch a := a.(type) {
	case intent.Launch:
		return a.Row()
	case intent.Stop:
		return a.Row()
	}
	panic("crashtest: an act of no kind")
}

// outcomes are the events that an effect may come to, as package intent says.
func outcomes(e intent.Effect) []intent.Event {
	away, unclear := intent.Unreachable{Why: "away"}, intent.Undecided{Why: "unclear"}
	denied := intent.Denied{Step: "no", Reason: "No."}
	ref := receipt.Ref{Key: "evidence/e/demo/1-op-1.json", SHA256: "0"}
	gone := func(p receipt.Proof) intent.Event { return intent.Gone{Proof: p, Exit: receipt.Exited{}} }
	switch e.(type) {
	case intent.Check:
		return []intent.Event{intent.Allowed{}, denied, intent.Moved{Facts: "facts"}, away}
	case intent.Match:
		return []intent.Event{intent.Matched{}, denied, intent.Answered{Receipt: ref}, unclear}
	case intent.Commit:
		return []intent.Event{intent.Committed{}, intent.Full{}, unclear}
	case intent.Raise:
		return []intent.Event{intent.Raised{}, intent.Superseded{}, away}
	case intent.Spawn:
		return []intent.Event{intent.Waiting{Identity: []byte("shim")}, intent.NotSpawned(denied)}
	case intent.Release:
		return []intent.Event{intent.Went{}, intent.NeverWent{}, intent.NotSpawned(denied), unclear}
	case intent.Find:
		return []intent.Event{intent.Went{}, intent.NeverWent{}, unclear}
	case intent.Drop:
		return []intent.Event{intent.NeverWent{}}
	case intent.Look:
		return []intent.Event{intent.Alive{}, gone(receipt.Namespace{}), gone(receipt.Reboot{}), unclear}
	case intent.End:
		return []intent.Event{gone(receipt.Namespace{}), unclear}
	case intent.CommitReceipt:
		return []intent.Event{intent.Sealed{Receipt: ref}, intent.Full{}, unclear}
	case intent.Put:
		return []intent.Event{intent.Done{}, away, intent.Sealed{Receipt: ref}}
	case intent.Answer:
		return []intent.Event{intent.Done{}, intent.Superseded{}, away}
	case intent.Pause:
		return []intent.Event{intent.Again{}}
	case intent.Finished:
		return nil
	}
	panic("crashtest: an effect without outcomes")
}

// Operations are the names of all that an operation of a console does: those in the table
// of package operation, in which each effect meets each event.
func Operations(table string) []string {
	names := map[string]bool{operation.Noted(order.Run): true, operation.Noted(order.Stop): true}
	for _, found := range effectLine.FindAllStringSubmatch(table, -1) {
		word := hump.ReplaceAllStringFunc(found[2], func(c string) string { return "-" + strings.ToLower(c) })
		names["console."+found[1]+"."+strings.TrimPrefix(word, "-")] = true
	}
	return sorted(names)
}

var (
	effectLine = regexp.MustCompile(`(?m)^(run|stop): ([A-Za-z]+)`)
	hump       = regexp.MustCompile(`[A-Z]`)
)

func sorted(names map[string]bool) []string {
	var list []string
	for n := range names {
		list = append(list, n)
	}
	slices.Sort(list)
	return list
}

// text is a value with all that it points to, so that two are told apart.
func text(v any) string {
	var b strings.Builder
	write(&b, reflect.ValueOf(v))
	return b.String()
}

func write(b *strings.Builder, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			b.WriteString("nil")
			return
		}
		fmt.Fprintf(b, "%s:", v.Elem().Type())
		write(b, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			b.WriteByte('{')
			write(b, v.Field(i))
		}
		b.WriteByte('}')
	case reflect.Map:
		var all []string
		for _, k := range v.MapKeys() {
			all = append(all, fmt.Sprintf("%v=%v", k, v.MapIndex(k)))
		}
		slices.Sort(all)
		fmt.Fprint(b, all)
	default:
		fmt.Fprintf(b, "%v", v)
	}
}
