package marks

import (
	"fmt"
	"strings"
	"testing"
)

func doc(entries ...string) string {
	return fmt.Sprintf(`{"schema":"holdfast.marks/v1","rev":3,"marks":[%s]}`, strings.Join(entries, ","))
}

const (
	note    = `{"id":"n","shape":"note","text":"nice"}`
	flag    = `{"id":"f","shape":"flag","target":"a.png"}`
	choice  = `{"id":"part","prompt":"which","kind":"choice","options":[{"id":"a","label":"A"}]}`
	text    = `{"id":"words","kind":"text"}`
	maybe   = `{"id":"extra","kind":"text","required":false}`
	confirm = `{"id":"sure","kind":"confirm"}`
)

func pick(parts, rest string) string {
	return `{"id":"p","shape":"pick","title":"Which?","parts":[` + parts + `]` + rest + `}`
}

// TestDamageIsNeverSilent: case B26. Every kind of damage is said, and what
// hydrates beside it is still there. Red when Parse answers an empty reading for
// blank bytes, or skips an entry that does not hydrate.
func TestDamageIsNeverSilent(t *testing.T) {
	broken := make([]string, 0, 10)
	for i := range 9 {
		broken = append(broken, fmt.Sprintf(`{"id":"n%d","shape":"note","text":"x"}`, i))
	}
	cases := []struct {
		name, data, why string
		marks           int
	}{
		{"empty", "", "it is empty", 0},
		{"blank", " \n\t", "it is blank", 0},
		{"null", "null", "schema, rev or marks is missing", 0},
		{"list", "[]", "it is no marks document", 0},
		{"text", `"hello"`, "it is no marks document", 0},
		{"truncated", doc(note)[:40], "", 0},
		{"truncated in the second", doc(note, flag)[:90], "", 1},
		{"two documents", doc(note) + doc(note), "", 1},
		{"not UTF-8", doc("{\"id\":\"n\",\"shape\":\"note\",\"text\":\"\xff\"}"), "", 0},
		{"no schema", `{"rev":1,"marks":[]}`, "is missing", 0},
		{"another schema", strings.Replace(doc(), "v1", "v9", 1), "is not one that this version reads", 0},
		{"negative rev", strings.Replace(doc(), "3", "-3", 1), "negative", 0},
		{"marks null", `{"schema":"holdfast.marks/v1","rev":1,"marks":null}`, "is missing", 0},
		{"a member twice", strings.Replace(doc(note), `"rev":3`, `"rev":3,"rev":4`, 1), "", 1},
		{"one broken among ten", doc(append(broken, `{"id":"b","shape":"pick"}`)...), "mark 10 cannot be read: its title is missing", 9},
		{"an id twice", doc(note, note), `its id "n" is taken`, 1},
		{"no id", doc(`{"shape":"note","text":"x"}`), "has no id", 0},
		{"no shape", doc(`{"id":"x"}`), "has no shape", 0},
		{"unknown shape", doc(`{"id":"x","shape":"poll"}`), `shape "poll" is not known`, 0},
		{"not an object", doc(`7`, note), "mark 1 cannot be read", 1},
		{"note without text", doc(`{"id":"x","shape":"note","text":" "}`), "text is missing", 0},
		{"flag without target", doc(`{"id":"x","shape":"flag"}`), "target is missing", 0},
		{"pick without parts", doc(pick("", "")), "asks nothing", 0},
		{"pick without options", doc(pick(`{"id":"a","kind":"choice","options":[]}`, "")), "can never be answered", 0},
		{"unknown part", doc(pick(`{"id":"a","kind":"dance"}`, "")), "which is not known", 0},
		{"a part twice", doc(pick(text+","+text, "")), "two parts have the id", 0},
		{"part without id", doc(pick(`{"kind":"text"}`, "")), "a part has no id", 0},
		{"wrong type", doc(`{"id":"x","shape":"note","text":7}`), "is a number", 0},
		{"too large", strings.Repeat(" ", MaxSize+1), "more than 4194304 bytes", 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := Parse([]byte(c.data))
			if r.Whole() {
				t.Fatal("the damage is not said")
			}
			if !strings.Contains(r.Why(), c.why) {
				t.Errorf("says %q, want %q in it", r.Why(), c.why)
			}
			if len(r.Marks) != c.marks {
				t.Errorf("%d marks hydrate, want %d", len(r.Marks), c.marks)
			}
		})
	}
}

// TestOpenMeansARequiredPartWithoutAnAnswer: red when answered takes an empty
// answer for one, or Open counts a withdrawn pick.
func TestOpenMeansARequiredPartWithoutAnAnswer(t *testing.T) {
	answer := func(parts string) string { return `,"answer":{"by":"o","parts":{` + parts + `}}` }
	cases := []struct {
		name string
		doc  string
		open int
	}{
		{"nothing", doc(), 0},
		{"a note and a flag", doc(note, flag), 0},
		{"a pick", doc(pick(choice, "")), 1},
		{"answered", doc(pick(choice, answer(`"part":{"choices":["a"]}`))), 0},
		{"none of these", doc(pick(choice, answer(`"part":{"none":true}`))), 0},
		{"an empty choice", doc(pick(choice, answer(`"part":{"choices":[]}`))), 1},
		{"a blank text", doc(pick(text, answer(`"words":{"text":" \n"}`))), 1},
		{"a text", doc(pick(text, answer(`"words":{"text":"so"}`))), 0},
		{"no is an answer", doc(pick(confirm, answer(`"sure":{"confirm":false}`))), 0},
		{"the wrong kind of answer", doc(pick(confirm, answer(`"sure":{"text":"yes"}`))), 1},
		{"partly answered", doc(pick(choice+","+text, answer(`"part":{"choices":["a"]}`))), 1},
		{"only optional parts", doc(pick(maybe, "")), 0},
		{"an optional part left", doc(pick(choice+","+maybe, answer(`"part":{"choices":["a"]}`))), 0},
		{"withdrawn", doc(pick(choice, `,"withdrawn":{"by":"w"}`)), 0},
		{"two", doc(pick(choice, ""), strings.Replace(pick(text, ""), `"p"`, `"q"`, 1)), 2},
		{"members of another version", doc(strings.Replace(pick(choice, ""), `"title"`, `"colour":"red","title"`, 1)), 1},
	}
	for _, c := range cases {
		r := Parse([]byte(c.doc))
		if !r.Whole() {
			t.Errorf("%s: damage: %s", c.name, r.Why())
		}
		if r.Open() != c.open {
			t.Errorf("%s: %d open, want %d", c.name, r.Open(), c.open)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(doc(note, flag, pick(choice, ""))))
	f.Add([]byte(doc("7")))
	f.Add([]byte(""))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := Parse(data)
		if r.Whole() && len(data) == 0 {
			t.Fatal("empty bytes were read whole")
		}
		if r.Open() > len(r.Marks) {
			t.Fatal("more open than there are")
		}
	})
}
