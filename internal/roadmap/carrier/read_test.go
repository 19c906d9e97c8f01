package carrier

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/internal/remotetest"
	"holdfast/internal/roadmap/event"
	"holdfast/internal/roadmap/index"
)

// writing makes a log by hand, as somebody else's program would.
type writing struct {
	seq   int64
	heads map[event.Node]event.ID
}

// envelope is the next event of a node, opening it if need be.
func (w *writing) envelope(t testing.TB, n event.Node) event.Envelope {
	t.Helper()
	if w.heads == nil {
		w.heads = map[event.Node]event.ID{}
	}
	d := event.Draft{Node: n, Author: ada, At: time.Unix(1_800_000_000, 0), Parents: []event.ID{}, Body: opened("Node " + string(n))}
	if head, ok := w.heads[n]; ok {
		d.Parents, d.Body = []event.ID{head}, event.Edited{Card: event.Card{Title: fmt.Sprintf("Again at %d", w.seq)}}
	}
	e, err := d.Seal()
	if err != nil {
		t.Fatal(err)
	}
	w.seq++
	w.heads[n] = e.ID()
	return event.Envelope{Seq: w.seq, Key: event.Key(fmt.Sprintf("k%d", w.seq)), Event: e}
}

// read is what a newcomer makes of a tree.
func readTree(t testing.TB, files map[string]string, links ...string) (nodes map[event.Node]int, refusals []index.Refusal) {
	t.Helper()
	repo := remotetest.Path(t)
	changes := []remotetest.Change{remotetest.Put(formatPath, formatText)}
	for path, body := range files {
		changes = append(changes, remotetest.Put(path, body))
	}
	for _, path := range links {
		changes = append(changes, remotetest.Link(path, "format"))
	}
	repo.Commit(branch, changes...)
	c := begin(t, newHome(t), repo.Dir)
	v, err := c.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	nodes = map[event.Node]int{}
	states, err := v.States()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range states {
		nodes[s.Node] = s.Events
	}
	refusals, err = v.Refusals()
	if err != nil {
		t.Fatal(err)
	}
	return nodes, refusals
}

// case R08, in the tail. Red when: readTailFile takes an envelope without
// decoding it strictly, without comparing its name, or without take.
func TestADamagedTailFileRefusesItsNodeAndNoOther(t *testing.T) {
	t.Parallel()
	var w writing
	good := w.envelope(t, "good")
	bad := w.envelope(t, "bad")
	text, path := string(bad.Bytes()), tailPath(bad)
	forged := func(from, to string) string { return strings.Replace(text, from, to, 1) }
	for name, c := range map[string]struct {
		path, body, step string
		node             event.Node // blamed
		link             bool
	}{
		"a wrong id":         {path, forged(string(bad.Event.ID()), strings.Repeat("ab", 32)), event.StepIdentity, "bad", false},
		"another content":    {path, forged("Node bad", "Node BAD"), event.StepIdentity, "bad", false},
		"an unknown kind":    {path, forged(`"opened"`, `"openedx"`), event.StepEvent, "bad", false},
		"a member less":      {path, forged(`"title":"Node bad"`, `"run":"x"`), event.StepEvent, "bad", false},
		"a member more":      {path, forged(`"kind"`, `"extra":"x","kind"`), event.StepEvent, "bad", false},
		"an envelope's more": {path, forged(`"key"`, `"jey":"x","key"`), event.StepEnvelope, "bad", false},
		"a body of 2 MB":     {path, forged(`"kind"`, `"body":"`+strings.Repeat("x", 2<<20)+`","kind"`), event.StepTooLarge, "bad", false},
		"invalid UTF-8":      {path, forged("Node bad", "Node \xff"), event.StepEvent, "bad", false},
		"a line's end":       {path, text + "\n", event.StepEnvelope, "bad", false},
		"empty":              {path, "", event.StepEnvelope, "", false},
		"another's name":     {"tail/0000000002-000000000000.json", text, StepTailName, "bad", false},
		"a double place":     {"tail/0000000001-" + string(bad.Event.ID()[:12]) + ".json", forged(`"seq":2`, `"seq":1`), StepSequence, "bad", false},
		"a link":             {path, "", StepLayout, "", true},
		"a tree":             {path + "/inside.json", text, StepLayout, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{tailPath(good): string(good.Bytes())}
			var links []string
			if c.link {
				links = append(links, c.path)
			} else {
				files[c.path] = c.body
			}
			nodes, refusals := readTree(t, files, links...)
			// Of a place taken twice, whoever's name sorts later is refused.
			if name == "a double place" && len(refusals) == 1 && refusals[0].Node == "good" {
				return
			}
			if nodes["good"] != 1 || nodes["bad"] != 0 {
				t.Errorf("the nodes are %v, want the good one alone", nodes)
			}
			if len(refusals) != 1 || refusals[0].Node != c.node || refusals[0].Step != c.step {
				t.Errorf("refused is %+v, want %q at %s", refusals, c.node, c.step)
			}
		})
	}
}

func segment(list ...string) string { return strings.Join(list, "\n") + "\n" }

// case R08, in a segment, as a newcomer sees it.
func TestADamagedSegmentRefusesItsNodesAndNoOther(t *testing.T) {
	t.Parallel()
	var w writing
	var lines []string
	for i := range 6 {
		e := w.envelope(t, event.Node(fmt.Sprintf("n%d", i)))
		lines = append(lines, string(e.Bytes()))
	}
	swap := append([]string(nil), lines...)
	swap[2], swap[3] = swap[3], swap[2]
	changed := append([]string(nil), lines...)
	changed[2] = strings.Replace(changed[2], "Node n2", "Node N2", 1)
	for name, c := range map[string]struct {
		body    string
		step    string
		node    event.Node
		missing event.Node
	}{
		"a line changed": {segment(changed...), event.StepIdentity, "n2", "n2"},
		"a line cut":     {segment(append(append([]string(nil), lines[:2]...), lines[3:]...)...), StepSequence, "", "n2"},
		"lines swapped":  {segment(swap...), StepSequence, "n2", "n2"},
		"its end cut":    {strings.TrimSuffix(segment(lines...), "\n"), event.StepEnvelope, "n5", "n5"},
		"a line doubled": {segment(append(append([]string(nil), lines...), lines[5])...), StepSequence, "n5", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nodes, refusals := readTree(t, map[string]string{segmentPath(1): c.body})
			if n, ok := nodes[c.missing]; ok {
				t.Errorf("%s has %d events", c.missing, n)
			}
			if want := 6 - min(1, len(c.missing)); len(nodes) != want {
				t.Errorf("the nodes are %v, want %d", nodes, want)
			}
			found := false
			for _, r := range refusals {
				found = found || r.Node == c.node && r.Step == c.step
			}
			if !found {
				t.Errorf("refused is %+v, want %q at %s", refusals, c.node, c.step)
			}
		})
	}
}

// A log with damage in it goes on: what is damaged stays where it is, and what is
// sealed around it is read by everybody as before.
func TestADamagedLogGoesOn(t *testing.T) {
	t.Parallel()
	var w writing
	good, bad := w.envelope(t, "good"), w.envelope(t, "bad")
	repo := remotetest.Path(t)
	repo.Commit(branch, remotetest.Put(formatPath, formatText), remotetest.Put(tailPath(good), string(good.Bytes())),
		remotetest.Put(tailPath(bad), "no event"))
	c := begin(t, newHome(t), repo.Dir)
	var list []event.Command
	for i := range 300 {
		list = append(list, command(fmt.Sprintf("more%d", i), event.Node(fmt.Sprintf("more%d", i)), opened("A node")))
	}
	if _, err := c.AppendAll(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	appended(t, c, command("last", "last", opened("The last one")))
	for who, c := range map[string]*Carrier{"the writer": c, "a newcomer": begin(t, newHome(t), repo.Dir)} {
		refresh(t, c)
		v, err := c.View(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer v.Close()
		states, _ := v.States()
		refusals, _ := v.Refusals()
		if len(states) != 302 || len(refusals) != 1 {
			t.Errorf("%s sees %d nodes, and refuses %+v", who, len(states), refusals)
		}
	}
}

// Red when: sort lets a branch pass that has no format file, or another.
func TestABranchOfSomethingElseIsNoLog(t *testing.T) {
	t.Parallel()
	repo := remotetest.Path(t)
	repo.Commit(branch, remotetest.Put("README.md", "a project"))
	if _, err := Init(t.Context(), newHome(t), repo.Dir); err == nil || !strings.Contains(err.Error(), "format") {
		t.Errorf("it was taken for a log: %v", err)
	}
}
