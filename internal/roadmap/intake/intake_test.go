package intake

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"holdfast/internal/problem"
	"holdfast/internal/roadmap/event"
)

const ada = event.Principal("principal:local/studio/ada")

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func empty() Log {
	return Log{Nodes: map[event.Node]bool{}, Keys: map[event.Key]event.Event{}}
}

// read reads what must be readable.
func read(t *testing.T, format, data string) Batch {
	t.Helper()
	b, err := Read(format, []byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// against orders a batch, and has the log have all of it.
func against(t *testing.T, b Batch, log Log) Orders {
	t.Helper()
	o := b.Against(log, ada, now)
	heads := map[event.Node][]event.ID{}
	for _, c := range o.Commands {
		if len(c.Expect) > 0 && !cmp.Equal(c.Expect, heads[c.Node]) {
			t.Errorf("%s %s expects %v, and the node is at %v", c.Node, c.Body.Kind(), c.Expect, heads[c.Node])
		}
		parents := heads[c.Node]
		if parents != nil && len(c.Expect) == 0 && !log.Nodes[c.Node] {
			t.Errorf("%s %s, of a new node, expects nothing", c.Node, c.Body.Kind())
		}
		if parents == nil {
			parents = []event.ID{}
			for _, e := range log.Keys {
				if e.Node() == c.Node {
					parents = []event.ID{e.ID()} // any will do
				}
			}
		}
		e, err := c.Seal(parents)
		if err != nil {
			t.Fatalf("%s %s: %v", c.Node, c.Body.Kind(), err)
		}
		if _, twice := log.Keys[c.Key]; twice {
			t.Errorf("the key of %s %s is there already", c.Node, c.Body.Kind())
		}
		heads[c.Node] = []event.ID{e.ID()}
		log.Keys[c.Key] = e
	}
	for n := range heads {
		log.Nodes[n] = true
	}
	return o
}

// told is the commands in short.
func told(o Orders) []string {
	var out []string
	for _, c := range o.Commands {
		line := string(c.Node) + " " + string(c.Body.Kind())
		switch b := c.Body.(type) {
		case event.Linked:
			line += " " + string(b.Relation) + " " + string(b.To)
		case event.Opened:
			line += ": " + b.Card.Title
		}
		out = append(out, line)
	}
	return out
}

const tickets = `{"id":"t-2","title":"Lay the roof","status":"open","priority":0,"issue_type":"task","dependencies":[{"issue_id":"t-2","depends_on_id":"t-1","type":"blocks"},{"issue_id":"t-2","depends_on_id":"t-3","type":"parent-child"}],"comments":[{"id":7,"author":"bob","text":"Slate?","created_at":"2026-01-02T03:04:05Z"}]}
{"id":"t-1","title":"Lay the base","status":"closed","close_reason":"it stands","assignee":"eve"}

{"id":"t-3","title":"The house","status":"in_progress","design":"stone","created_by":"eve"}
`

// Red when blockers come after what waits for them, or a link before what it leads
// to is open.
func TestWhatWaitsComesAfterItsBlocker(t *testing.T) {
	o := against(t, read(t, "", tickets), empty())
	want := []string{
		"lay-the-base opened: Lay the base",
		"lay-the-roof opened: Lay the roof",
		"lay-the-roof linked blocked_by lay-the-base",
		"the-house opened: The house",
		"lay-the-base accepted",
		"lay-the-roof linked child_of the-house",
		"lay-the-roof comment_created",
	}
	if diff := cmp.Diff(want, told(o)); diff != "" {
		t.Error(diff)
	}
	counts := []Count{{"assignees: nobody is claimed for", 1}, {`the status "in_progress": it is open here`, 1}}
	if diff := cmp.Diff(counts, o.Left.Counts()); diff != "" {
		t.Error(diff)
	}
}

// Red when a key depends on anything but the source's ids, or what is there is
// ordered again.
func TestTheSameAgainOrdersNothing(t *testing.T) {
	log := empty()
	first := against(t, read(t, "", tickets), log)
	again := against(t, read(t, "", tickets), log)
	if len(again.Commands) != 0 || again.There != len(first.Commands) || len(again.Said) != 0 {
		t.Errorf("ordered again: %v, %d there, %v", told(again), again.There, again.Said)
	}
	// New in the source: only that, on the node that it was imported as.
	more := against(t, read(t, "", strings.Replace(tickets, `"comments":[`, `"comments":[{"id":8,"text":"Thatch?"},`, 1)), log)
	if diff := cmp.Diff([]string{"lay-the-roof comment_created"}, told(more)); diff != "" {
		t.Error(diff)
	}
	// Changed in the source: said, and left alone.
	changed := against(t, read(t, "", strings.Replace(tickets, "The house", "The hut", 1)), log)
	if len(changed.Commands) != 0 || len(changed.Said) != 1 || !strings.Contains(changed.Said[0], "t-3 has changed") {
		t.Errorf("%v, %v", told(changed), changed.Said)
	}
}

// Red when two titles alike, or a name that somebody has, become one node.
func TestNamesAreEachOnes(t *testing.T) {
	log := empty()
	log.Nodes["one"] = true
	b := read(t, GitHub, `[{"number":1,"title":"One"},{"number":2,"title":"one!"},{"number":3,"title":"Üß"},{"number":4,"title":"…"},{"number":5,"title":"`+strings.Repeat("long title ", 20)+`"}]`)
	var got []string
	for _, n := range against(t, b, log).Nodes {
		got = append(got, n.Source+" "+string(n.Node))
	}
	want := []string{"#1 one-1", "#2 one-2", "#3 node", "#4 node-4", "#5 long-title-long-title-long-title-long-title"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestGitHubsIssuesAsTheAPIAndItsCommandLineWriteThem(t *testing.T) {
	api := `[{"number":7,"title":"Fix it","body":null,"state":"closed","state_reason":"not_planned","html_url":"https://github.com/a/b/issues/7","user":{"login":"eve"},"labels":[{"name":"bug","color":"red"}],"comments":3,"created_at":"2026-01-02T03:04:05Z","score":1.0},
{"number":8,"title":"A change","pull_request":{"url":"x"}}]`
	cli := `{"number":7,"title":"Fix it","body":"","state":"CLOSED","stateReason":"COMPLETED","url":"https://github.com/a/b/issues/7","author":{"login":"eve"},"labels":["bug"],"comments":[{"id":"IC_1","author":{"login":"bob"},"body":"me too","createdAt":"2026-01-02T03:04:05Z"}]}
{"number":9,"title":"Another","state":"OPEN"}`
	o := against(t, read(t, "", api), empty())
	if diff := cmp.Diff([]string{"fix-it opened: Fix it", "fix-it dropped"}, told(o)); diff != "" {
		t.Error(diff)
	}
	card := o.Commands[0].Body.(event.Opened).Card
	if diff := cmp.Diff(event.Card{Title: "Fix it", Labels: []string{"bug"}, Body: "Imported: #7, https://github.com/a/b/issues/7, by eve, 2026-01-02T03:04:05Z"}, card); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Count{{"comments, of which the file has only the number", 3}, {"pull requests", 1}}, o.Left.Counts()); diff != "" {
		t.Error(diff)
	}
	o = against(t, read(t, "", cli), empty())
	if diff := cmp.Diff([]string{"fix-it opened: Fix it", "another opened: Another", "fix-it comment_created", "fix-it accepted"}, told(o)); diff != "" {
		t.Error(diff)
	}
	if got := o.Commands[2].Body.(event.CommentCreated).Body; got != "bob, 2026-01-02T03:04:05Z:\n\nme too" {
		t.Errorf("%q", got)
	}
}

// Red when a cycle hangs, is left out in silence, or takes its nodes with it.
func TestCyclesAndUnknownBlockersAreSaid(t *testing.T) {
	o := against(t, read(t, "", `{"id":"a","title":"A","dependencies":[{"depends_on_id":"b","type":"blocks"},{"depends_on_id":"z","type":"blocks"},{"depends_on_id":"a","type":"blocks"},{"depends_on_id":"b","type":"blocks"}]}
{"id":"b","title":"B","dependencies":[{"depends_on_id":"a","type":"blocks"}]}`), empty())
	if diff := cmp.Diff([]string{"b opened: B", "a opened: A", "a linked blocked_by b", "b linked blocked_by a"}, told(o)); diff != "" {
		t.Error(diff)
	}
	for i, want := range []string{"these wait for each other", "a is linked (blocked_by) to z, which is not in the file", "a is linked to itself"} {
		if i >= len(o.Said) || !strings.Contains(o.Said[i], want) {
			t.Errorf("said %q, want %q", o.Said, want)
		}
	}
}

// Red when a part of a damaged file is taken, or the line is not named.
func TestADamagedFileIsRefusedWhole(t *testing.T) {
	whole := string(Line(sealed(t, 1, nil)))
	for want, data := range map[string]string{
		"It is empty":                     " \n",
		"Line 2 is no JSON, or torn":      tickets[:strings.Index(tickets, "\n")] + "\n" + `{"id":"t-9","tit`,
		"Line 2 is no JSON object":        `{"id":"a","title":"A"}` + "\n7",
		"It is no JSON object":            `"text"`,
		"It is no JSON, or torn":          `[{"number":1,"title":"A"}`,
		"an array with nothing in it":     `[]`,
		"Entry 2 is no JSON object":       `[{"number":1,"title":"A"},2]`,
		"It has a twice":                  `{"id":"a","title":"A"}` + "\n" + `{"id":"a","title":"B"}`,
		"Line 2 is no unit of work":       `{"id":"a","title":"A"}` + "\n" + `{"id":"b"}`,
		"Entry 1 is no issue":             `[{"number":0,"title":"A"}]`,
		"no priority":                     `{"id":"a","title":"A","priority":9}`,
		"It cannot be read":               `{"id":"a","title":7}`,
		"its last line is not":            whole + whole,
		"it had 2 events, and has 1":      whole + `{"type":"end","events":2}`,
		"Line 1 is no event of an export": strings.Replace(whole, "Lay", "Lie", 1) + `{"type":"end","events":1}`,
		"The export is of an empty plan":  `{"type":"end","events":0}`,
		"Line 1 is no JSON, or torn":      "\xff\xfe{}\n{}",
		"title":                           `{"id":"a","title":"A","title":"B"}`,
	} {
		_, err := Read("", []byte(data))
		if err == nil || !strings.Contains(problem.From(err, "").Reason, want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
}

// sealed is an event on top of others.
func sealed(t *testing.T, seq int64, parents []event.ID) event.Envelope {
	t.Helper()
	d := event.Draft{Node: "base", Author: "principal:local/studio/bob", Parents: []event.ID{}, At: now.AddDate(-1, 0, 0), Body: event.Opened{Card: event.Card{Title: "Lay the base"}}}
	if len(parents) > 0 {
		d.Parents, d.Body = parents, event.Progress{Note: fmt.Sprint("note ", seq)}
	}
	e, err := d.Seal()
	if err != nil {
		t.Fatal(err)
	}
	return event.Envelope{Seq: seq, Key: event.Key(fmt.Sprint("k", seq)), Event: e}
}

// Red when a replayed event has another author, time or parent.
func TestAnExportIsTheSameLogAgain(t *testing.T) {
	one := sealed(t, 1, nil)
	two := sealed(t, 2, []event.ID{one.Event.ID()})
	data := string(Line(one)) + string(Line(two)) + `{"type":"end","events":2}` + "\n"
	log := empty()
	against(t, read(t, JSONL, data), log)
	if log.Keys["k1"].ID() != one.Event.ID() || log.Keys["k2"].ID() != two.Event.ID() {
		t.Errorf("the ids are others: %v", log.Keys)
	}
	if again := against(t, read(t, "", data), log); len(again.Commands) != 0 || again.There != 2 {
		t.Errorf("%v", told(again))
	}
	fork := sealed(t, 3, []event.ID{one.Event.ID()})
	o := against(t, read(t, "", string(Line(one))+string(Line(two))+string(Line(fork))+`{"type":"end","events":3}`), empty())
	if len(o.Commands) != 0 || len(o.Said) != 1 {
		t.Errorf("a fork was replayed: %v, %v", told(o), o.Said)
	}
}

// Red when a text of any size or kind makes a command that the plan refuses.
func TestWhateverIsReadCanBeStated(t *testing.T) {
	huge := strings.Repeat("ü", event.MaxText)
	o := against(t, read(t, "", fmt.Sprintf(`{"id":"a","title":"%s","description":"a\u0000b%s","labels":["","%s","x\ny","x y"],"comments":[{"text":"%s"},{"text":""}]}`,
		strings.Repeat("t", 600), huge, strings.Repeat("l", 65), huge)), empty())
	card := o.Commands[0].Body.(event.Opened).Card
	if len(card.Title) > event.MaxLine || len(card.Body) > event.MaxText || !cmp.Equal(card.Labels, []string{"x y"}) {
		t.Errorf("%d, %d, %q", len(card.Title), len(card.Body), card.Labels)
	}
	if len(o.Left) != 3 || len(o.Commands) != 3 {
		t.Errorf("%v, %v", told(o), o.Left)
	}
	rapid.Check(t, func(rt *rapid.T) {
		title := rapid.String().Draw(rt, "title")
		b := Batch{From: "tracker", left: Left{}, items: []item{{source: rapid.String().Draw(rt, "source"), title: title, body: rapid.String().Draw(rt, "body"), labels: rapid.SliceOf(rapid.String()).Draw(rt, "labels")}}}
		for _, c := range b.Against(empty(), ada, now).Commands {
			if err := c.Check(); err != nil {
				rt.Errorf("%s: %v", c.Body.Kind(), err)
			}
		}
	})
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(tickets))
	f.Add([]byte(`[{"number":1,"title":"A"}]`))
	f.Fuzz(func(_ *testing.T, data []byte) {
		b, err := Read("", data)
		if err == nil {
			b.Against(empty(), ada, now)
		}
	})
}
