package event

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/internal/canon"
)

// faultOf fails the test unless err is a fault with all that a reader needs.
func faultOf(t testing.TB, err error) *Fault {
	t.Helper()
	var f *Fault
	if !errors.As(err, &f) {
		t.Fatalf("no fault: %v", err)
	}
	if f.Reason == "" || strings.HasSuffix(f.Reason, ".") || f.Error() != f.Reason {
		t.Errorf("reason %q is no clause", f.Reason)
	}
	return f
}

// case R08, of one event. What
// is done to good bytes, and the step, the node and a word of the reason. Red
// when Decode leaves out its comparison (every case of another spelling), or
// nodeIn its count (the doubled ones).
func TestBytesThatAreNoEventAreRefused(t *testing.T) {
	const node = "fix-login"
	replace := func(from, to string) func(string) string {
		return func(s string) string { return strings.Replace(s, from, to, 1) }
	}
	big := strings.Repeat("x", 2<<20)
	cases := []struct {
		name, vector string
		change       func(string) string
		step         string
		node         Node
		reason       string
	}{
		{"nothing", "opened", func(string) string { return "" }, StepEvent, "", "empty"},
		{"a space", "opened", func(string) string { return " " }, StepEvent, "", "blank"},
		{"null", "opened", func(string) string { return "null" }, StepEvent, "", "schema"},
		{"a list", "opened", func(s string) string { return "[" + s + "]" }, StepEvent, "", "object"},
		{"torn before the node", "accepted", func(s string) string { return s[:60] }, StepEvent, "", ""},
		{"torn after the node", "accepted", replace(`"parents"`, ""), StepEvent, node, ""},
		{"two values", "accepted", func(s string) string { return s + s }, StepEvent, node, ""},
		{"a byte order mark", "accepted", func(s string) string { return "\ufeff" + s }, StepEvent, "", "byte order mark"},
		{"a line's end", "accepted", func(s string) string { return s + "\n" }, StepEvent, node, "canonical"},
		{"a space inside", "accepted", replace(":", ": "), StepEvent, node, "canonical"},
		{"invalid UTF-8", "accepted", replace("looks", "looks\xff"), StepEvent, node, "UTF-8"},
		{"half a surrogate pair", "accepted", replace("looks", `looks\ud83d`), StepEvent, node, "surrogate"},
		{"a pair that is escaped", "accepted", replace("looks", `looks\ud83d\udd11`), StepEvent, node, "canonical"},
		{"U+2028 that is escaped", "opened", replace("\u2028", `\u2028`), StepEvent, node, "canonical"},
		{"a slash that is escaped", "opened", replace(`"p1"`, `"p1","x":"\/"`), StepEvent, node, "x"},
		{"upper-case escape", "opened", replace(`\u0001`, `\u000B`), StepEvent, node, "canonical"},
		{"long escape", "opened", replace(`\n`, `\u000a`), StepEvent, node, "canonical"},
		{"a letter that is escaped", "accepted", replace("looks", `l\u006foks`), StepEvent, node, "canonical"},
		{"a name that is escaped", "accepted", replace(`"reason"`, `"r\u0065ason"`), StepEvent, node, "canonical"},
		{"swapped members", "released", replace(`"kind":"released","node":"fix-login"`, `"node":"fix-login","kind":"released"`), StepEvent, node, "canonical"},

		{"another schema", "opened", replace("event/1", "event/2"), StepEvent, node, "schema"},
		{"no schema", "opened", replace(`"schema":"holdfast-event/1",`, ""), StepEvent, node, "schema"},
		{"an unknown kind", "released", replace("released", "paused"), StepEvent, node, `kind "paused"`},
		{"no kind", "released", replace(`"kind":"released",`, ""), StepEvent, node, "kind"},
		{"a kind in capitals", "released", replace("released", "Released"), StepEvent, node, "kind"},
		{"no node", "released", replace(`"node":"fix-login",`, ""), StepEvent, "", "node"},
		{"a node of another shape", "released", replace("fix-login", "Fix Login"), StepEvent, "", "node"},
		{"a node twice", "released", replace(`"node"`, `"node":"other","node"`), StepEvent, "", "node"},
		{"a node twice, in two cases", "released", replace(`"node"`, `"Node":"other","node"`), StepEvent, "", "Node"},
		{"a node that is a number", "released", replace(`"fix-login"`, `7`), StepEvent, "", "node"},
		{"no author", "released", replace(`"author":"principal:local/studio/ada",`, ""), StepEvent, node, "author"},
		{"an author that is no principal", "released", replace("local/studio/ada", "ada"), StepEvent, node, "author"},
		{"no parents", "opened-least", replace(`"parents":[],`, ""), StepEvent, node, "parents"},
		{"null parents", "opened-least", replace(`[]`, "null"), StepEvent, node, "parents"},
		{"a null parent", "released", replace(`["d`, `[null,"d`), StepEvent, node, "parents"},
		{"a parent in capitals", "released", strings.ToUpper, StepEvent, "", "schema"},
		{"no time", "released", replace(`"recorded_at":"2026-11-30T12:00:00.000Z",`, ""), StepEvent, node, "recorded_at"},
		{"a time without milliseconds", "released", replace(".000Z", "Z"), StepEvent, node, "recorded_at"},
		{"a time with a comma", "released", replace(".000Z", ",000Z"), StepEvent, node, "canonical"},
		{"a time in another zone", "released", replace(".000Z", ".000+00:00"), StepEvent, node, "recorded_at"},
		{"a day that is not", "released", replace("11-30", "11-31"), StepEvent, node, "recorded_at"},
		{"the year 1", "released", replace("2026", "0001"), StepEvent, node, "recorded_at"},

		{"an extra member", "released", replace(`"kind"`, `"extra":1,"kind"`), StepEvent, node, "extra"},
		{"a member of another kind", "released", replace(`"parents"`, `"note":"x","parents"`), StepEvent, node, "canonical"},
		{"a wrong case", "accepted", replace(`"reason"`, `"Reason"`), StepEvent, node, "Reason"},
		{"a wrong case of a name that folds", "accepted", replace(`"reason"`, `"rea`+"\u017f"+`on"`), StepEvent, node, "rea"},
		{"a member twice", "accepted", replace(`"reason"`, `"reason":"looks right","reason"`), StepEvent, node, "twice"},
		{"an empty text", "accepted", replace("looks right", ""), StepEvent, node, "canonical"},
		{"a null text", "accepted", replace(`"looks right"`, "null"), StepEvent, node, "null"},
		{"an empty list", "opened", replace(`["bug","web"]`, "[]"), StepEvent, node, "canonical"},
		{"a null list", "opened", replace(`["bug","web"]`, "null"), StepEvent, node, "null"},
		{"a list of numbers", "opened", replace(`["bug","web"]`, "[1]"), StepEvent, node, "labels"},
		{"a title that is a list", "opened-least", replace(`"title":"x"`, `"title":["x"]`), StepEvent, node, "title"},
		{"no title", "opened-least", replace(`,"title":"x"`, ""), StepEvent, node, "title"},
		{"an extra member of an outcome", "result_returned-published-least", replace(`"kind":"published"`, `"extra":"x","kind":"published"`), StepEvent, node, "extra"},
		{"a member of another outcome", "result_returned-published-least", replace(`"kind":"published"`, `"cause":"x","kind":"published"`), StepEvent, node, "canonical"},
		{"an unknown outcome", "result_returned-published-least", replace(`"published"`, `"done"`), StepEvent, node, "outcome"},
		{"no outcome", "result_returned-published-least", replace(`"outcome":{"kind":"published"},`, ""), StepEvent, node, "outcome"},
		{"a null outcome", "result_returned-published-least", replace(`{"kind":"published"}`, "null"), StepEvent, node, "outcome"},
		{"an outcome with a space", "result_returned-published-least", replace(`{"kind"`, `{ "kind"`), StepEvent, node, "canonical"},
		{"no picks", "result_returned-waiting", replace(`,"picks":["fix-login-1/q1","fix-login-1/q2"]`, ""), StepEvent, node, "picks"},

		{"2 MB of body", "opened", replace("It forgets", big), StepTooLarge, node, "2097"},
		{"2 MB of an unknown member", "released", replace(`"kind"`, `"extra":"`+big+`","kind"`), StepTooLarge, node, "bytes"},
		{"deep lists", "released", replace(`"kind"`, `"extra":`+strings.Repeat("[", 100_000)+strings.Repeat("]", 100_000)+`,"kind"`), StepEvent, "", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			good := string(vector(t, c.vector))
			bad := c.change(good)
			if bad == good {
				t.Fatal("the change changes nothing")
			}
			_, err := Decode([]byte(bad))
			if err == nil {
				t.Fatalf("accepted: %s", bad)
			}
			f := faultOf(t, err)
			if f.Step != c.step || f.Node != c.node || !strings.Contains(f.Reason, c.reason) {
				t.Errorf("step %q, node %q, reason %q; want %q, %q, %q", f.Step, f.Node, f.Reason, c.step, c.node, c.reason)
			}
		})
	}
}

// TestDraftsThatAreNoEventAreRefused: what a checker of its own refuses. Red, one
// by one, when the check of the named member is taken out.
func TestDraftsThatAreNoEventAreRefused(t *testing.T) {
	parent := []ID{vectors[0].id}
	long := strings.Repeat("x", MaxLine+1)
	many := make([]string, maxList+1)
	for i := range many {
		many[i] = strings.Repeat("x", i+1)
	}
	card := func(change func(*Card)) Body {
		c := Card{Title: "t"}
		change(&c)
		return Edited{c}
	}
	result := func(o Outcome) Body {
		return ResultReturned{Attempt: "0123456789abcdef", Claim: parent[0], Outcome: o}
	}
	cases := []struct {
		reason  string // begins so
		parents []ID
		body    Body
	}{
		{"kind", parent, nil},
		{"title is missing", parent, card(func(c *Card) { c.Title = "" })},
		{"title is blank", parent, card(func(c *Card) { c.Title = " \u00a0" })},
		{"title is not one line", parent, card(func(c *Card) { c.Title = "a\nb" })},
		{"title is not one line", parent, card(func(c *Card) { c.Title = "a\x1b[2J" })},
		{"title is not one line", parent, card(func(c *Card) { c.Title = "a\u2028b" })},
		{"title is not one line", parent, card(func(c *Card) { c.Title = "a\u2029b" })},
		{"title is not one line", parent, card(func(c *Card) { c.Title = "a\u0085b" })},
		{"title has 513 bytes", parent, card(func(c *Card) { c.Title = long })},
		{"title is no UTF-8", parent, card(func(c *Card) { c.Title = "\xff" })},
		{"body is blank", parent, card(func(c *Card) { c.Body = "\n\n" })},
		{"body has a NUL", parent, card(func(c *Card) { c.Body = "a\x00" })},
		{"body has 262145 bytes", parent, card(func(c *Card) { c.Body = strings.Repeat("x", MaxText+1) })},
		{"labels is missing or empty", parent, card(func(c *Card) { c.Labels = []string{""} })},
		{"labels is not sorted", parent, card(func(c *Card) { c.Labels = []string{"b", "a"} })},
		{`labels has "a" twice`, parent, card(func(c *Card) { c.Labels = []string{"a", "a"} })},
		{"labels has 65 entries", parent, card(func(c *Card) { c.Labels = many })},
		{"labels has an entry of 65 bytes", parent, card(func(c *Card) { c.Labels = []string{strings.Repeat("x", MaxLabel+1)} })},
		{"priority", parent, card(func(c *Card) { c.Priority = "p5" })},
		{"run", parent, card(func(c *Card) { c.Run = "a\nb" })},
		{"relation", parent, Linked{"blocks", "b"}},
		{"to", parent, Linked{Related, ""}},
		{"to", parent, Unlinked{Related, "b c"}},
		{"assignee", parent, Claimed{"", "principal:a/b/c"}},
		{"return_to", parent, Claimed{"principal:a/b/c", "principal:a/b"}},
		{"note", parent, Progress{}},
		{"reason", parent, Blocked{}},
		{"reason", parent, HandedBack{}},
		{"obligation", parent, Receipt{"", "a", "b"}},
		{"address", parent, Receipt{"a", "a\nb", "b"}},
		{"verdict", parent, Receipt{"a", "b", ""}},
		{"comment", parent, CommentCreated{"", "b", ""}},
		{"body", parent, CommentCreated{"c", "", ""}},
		{"parent_comment", parent, CommentCreated{"c", "b", "a b"}},
		{"body", parent, CommentEdited{"c", ""}},
		{"comment", parent, CommentDeleted{Comment(strings.Repeat("c", 65))}},
		{"attempt", parent, ResultReturned{"", parent[0], Published{}}},
		{"claim", parent, ResultReturned{"0123456789abcdef", "", Published{}}},
		{"outcome is missing", parent, result(nil)},
		{"outcome.head", parent, result(Published{Head: "main"})},
		{"outcome.booth", parent, result(Published{Booth: "a\nb"})},
		{"outcome.picks is missing", parent, result(Waiting{})},
		{"outcome.picks has", parent, result(Waiting{[]string{"a", "a"}})},
		{"outcome.cause", parent, result(VerificationFailed{})},
		{"outcome.reason", parent, result(GivenBack{})},
		{"reason is blank", parent, Accepted{" "}},
		{"reason is blank", parent, Dropped{"\t"}},
		{"reason is blank", parent, Reopened{"\n"}},
		{"keep", []ID{vectors[0].id, vectors[1].id}, Reconciled{vectors[2].id}},
		{"keep", []ID{vectors[0].id, vectors[1].id}, Reconciled{}},
		{"parents names one event", parent, Reconciled{parent[0]}},
		{"parents names several", []ID{vectors[0].id, vectors[1].id}, Released{}},
		{"parents names " + string(parent[0]) + " twice", []ID{parent[0], parent[0]}, Reconciled{parent[0]}},
		{"parents is empty", nil, Released{}},
		{"parents must be empty", parent, Opened{Card{Title: "t"}}},
		{"parents is no id", []ID{"x"}, Released{}},
		{"parents names one event", parent, &Reconciled{parent[0]}}, // a pointer is what it points at
	}
	for _, c := range cases {
		d := draft()
		d.Parents, d.Body = c.parents, c.body
		_, err := d.Seal()
		if err == nil {
			t.Errorf("%s: sealed %#v", c.reason, c.body)
			continue
		}
		f := faultOf(t, err)
		if f.Step != StepEvent || f.Node != d.Node || !strings.HasPrefix(f.Reason, c.reason) {
			t.Errorf("step %q, node %q, reason %q; want %q", f.Step, f.Node, f.Reason, c.reason)
		}
	}
}

func TestDraftsOfNobodyAboutNothingAreRefused(t *testing.T) {
	for reason, change := range map[string]func(*Draft){
		"node":        func(d *Draft) { d.Node = "a--b" },
		"author":      func(d *Draft) { d.Author = "ada" },
		"recorded_at": func(d *Draft) { d.At = time.Time{} },
		"bytes":       func(d *Draft) { d.Body = Opened{Card{Title: "t", Body: strings.Repeat("\x01", MaxText)}} },
	} {
		d := draft()
		change(&d)
		_, err := d.Seal()
		if f := faultOf(t, err); !strings.Contains(f.Reason, reason) {
			t.Errorf("%s: %q", reason, f.Reason)
		}
	}
}

// case R08, of a line of the
// log. Red when DecodeEnvelope does not compare, or trusts the id.
func TestEnvelopesThatAreNoneAreRefused(t *testing.T) {
	const node = "fix-login"
	e, err := Decode(vector(t, "accepted"))
	if err != nil {
		t.Fatal(err)
	}
	good := string(Envelope{Seq: 7, Key: "op-1", Event: e}.Bytes())
	replace := func(from, to string) string { return strings.Replace(good, from, to, 1) }
	cases := []struct {
		name, bad, step string
		node            Node
		reason          string
	}{
		{"nothing", "", StepEnvelope, "", "empty"},
		{"a list", "[]", StepEnvelope, "", "object"},
		{"torn", good[:len(good)-1], StepEnvelope, node, ""},
		{"another id", replace(string(e.ID()), string(vectors[0].id)), StepIdentity, node, string(vectors[0].id)},
		{"an id in capitals", replace(string(e.ID()), strings.ToUpper(string(e.ID()))), StepIdentity, node, "id"},
		{"no id", replace(`,"id":"`+string(e.ID())+`"`, ""), StepIdentity, node, "id"},
		{"changed words", replace("looks right", "looks wrong"), StepIdentity, node, "id"},
		{"seq 0", replace(`"seq":7`, `"seq":0`), StepEnvelope, node, "seq"},
		{"no seq", replace(`,"seq":7`, ""), StepEnvelope, node, "seq"},
		{"a negative seq", replace(`"seq":7`, `"seq":-7`), StepEnvelope, node, "seq"},
		{"a seq with a nought", replace(`"seq":7`, `"seq":07`), StepEnvelope, node, ""},
		{"a seq in another form", replace(`"seq":7`, `"seq":7e0`), StepEnvelope, node, "seq"},
		{"a seq that is a text", replace(`"seq":7`, `"seq":"7"`), StepEnvelope, node, "seq"},
		{"a seq beyond a double", replace(`"seq":7`, `"seq":9007199254740992`), StepEnvelope, node, "seq"},
		{"a key with a dot", replace("op-1", "op.1"), StepEnvelope, node, "key"},
		{"no key", replace(`"key":"op-1",`, ""), StepEnvelope, node, "key"},
		{"a key in another spelling", replace("op-1", `\u006fp-1`), StepEnvelope, node, "canonical"},
		{"a signature", replace(`"seq":7`, `"seq":7,"sig":"x"`), StepEnvelope, node, "sig"},
		{"a member twice", replace(`"seq":7`, `"seq":7,"seq":7`), StepEnvelope, node, "twice"},
		{"a member in capitals", replace(`"seq"`, `"Seq"`), StepEnvelope, node, "Seq"},
		{"two events", replace(`"id"`, `"event":{"node":"other"},"id"`), StepEvent, "", ""},
		{"no event", `{"id":"` + string(e.ID()) + `","key":"op-1","seq":7}`, StepEvent, "", "empty"},
		{"a null event", `{"event":null,"id":"` + string(e.ID()) + `","key":"op-1","seq":7}`, StepEvent, "", "schema"},
		{"a space before", " " + good, StepEnvelope, node, "canonical"},
		{"a line's end", good + "\n", StepEnvelope, node, "canonical"},
		{"a space round the event", replace(`"event":{`, `"event": {`), StepEnvelope, node, "canonical"},
		{"a space in the event", replace(`{"author"`, `{ "author"`), StepEvent, node, "canonical"},
		{"an unknown kind", replace(`"accepted"`, `"praised"`), StepEvent, node, "praised"},
		{"2 MB", replace("looks right", strings.Repeat("x", 2<<20)), StepTooLarge, node, "bytes"},
		{"a little too much", replace("looks right", strings.Repeat("x", MaxBytes)), StepTooLarge, node, "bytes"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if c.bad == good {
				t.Fatal("the change changes nothing")
			}
			_, err := DecodeEnvelope([]byte(c.bad))
			if err == nil {
				t.Fatalf("accepted: %s", c.bad)
			}
			f := faultOf(t, err)
			if f.Step != c.step || f.Node != c.node || !strings.Contains(f.Reason, c.reason) {
				t.Errorf("step %q, node %q, reason %q; want %q, %q, %q", f.Step, f.Node, f.Reason, c.step, c.node, c.reason)
			}
		})
	}
}

var steps = []string{StepEvent, StepEnvelope, StepIdentity, StepTooLarge}

// FuzzDecode: what is accepted is canonical, seals to itself, and decodes
// strictly; what is not is a fault.
func FuzzDecode(f *testing.F) {
	for _, v := range vectors {
		f.Add(vector(f, v.name))
	}
	f.Add([]byte(`{"node":"a","NODE":"b","outcome":{"kind":"waiting","picks":[]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := Decode(data)
		if err != nil {
			if fault := faultOf(t, err); !slices.Contains(steps, fault.Step) {
				t.Errorf("step %q", fault.Step)
			}
			return
		}
		var w wire
		if err := canon.Decode(data, &w); err != nil {
			t.Fatalf("accepted what is not strict: %v", err)
		}
		again, err := canon.Encode(w)
		if err != nil || string(again) != string(data) || string(e.Bytes()) != string(data) {
			t.Fatalf("accepted what is not canonical: %v\n%s\n%s", err, data, again)
		}
		if sealed, err := draftOf(e).Seal(); err != nil || sealed.ID() != e.ID() {
			t.Fatalf("sealed again: %v", err)
		}
	})
}

// FuzzDecodeEnvelope: what is accepted is written again as it was.
func FuzzDecodeEnvelope(f *testing.F) {
	for _, v := range vectors {
		e, err := Decode(vector(f, v.name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(Envelope{Seq: 1, Key: "op-1", Event: e}.Bytes())
	}
	f.Add([]byte(`{"event":{"node":"a"},"event":{"node":"b"},"id":"","key":"","seq":-0}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		env, err := DecodeEnvelope(data)
		if err != nil {
			if fault := faultOf(t, err); !slices.Contains(steps, fault.Step) {
				t.Errorf("step %q", fault.Step)
			}
			return
		}
		var w wireEnvelope
		if err := canon.Decode(data, &w); err != nil || string(env.Bytes()) != string(data) || !json.Valid(data) {
			t.Fatalf("accepted what is not canonical: %v\n%s", err, data)
		}
	})
}
