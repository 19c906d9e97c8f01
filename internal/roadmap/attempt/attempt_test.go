package attempt

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"holdfast/internal/roadmap/event"
)

const (
	claim = event.ID("d18da0131bbcf7e8f1a5aeec2f978bb0ab8f4f4b35a999613a22aa9c04f389db")
	ada   = event.Principal("principal:agent/studio/ada")
	bob   = event.Principal("principal:agent/studio/bob")

	golden = `{"claim":"` + string(claim) + `","holder":"` + string(ada) + `","node":"fix-login","schema":"holdfast-request-binding/1","try":1}`
)

var first = Binding{Node: "fix-login", Claim: claim, Try: First, Holder: ada}

// The keys are those of sha256sum. Red when: Key leaves out the slash or the try, or
// takes other digits.
func TestAnAttemptIsNamedByItsClaimAndTry(t *testing.T) {
	for try, want := range map[int]event.Attempt{1: "2389976a833c9706", 12: "1aa5ae382255c618"} {
		if got := Key(claim, try); got != want {
			t.Errorf("try %d is %s, want %s", try, got, want)
		}
	}
}

// Red when: keyShape is another one than that of an event's attempt.
func TestAnEventTakesAKeyForAnAttempt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(
			rapid.Map(rapid.IntMin(First), func(try int) event.Attempt { return Key(claim, try) }),
			rapid.Map(rapid.StringMatching(`[0-9a-fA-Fg]{15,17}`), func(s string) event.Attempt { return event.Attempt(s) }),
		).Draw(t, "name")
		d := event.Draft{
			Node: "fix-login", Author: ada, Parents: []event.ID{claim}, At: time.Unix(1, 0),
			Body: event.ResultReturned{Attempt: name, Claim: claim, Outcome: event.Published{}},
		}
		if _, err := d.Seal(); (err == nil) != keyShape.MatchString(string(name)) {
			t.Errorf("%s: %v", name, err)
		}
	})
}

// Red when: a member is renamed, added or left out.
func TestABindingIsTheseBytes(t *testing.T) {
	data, err := first.encode()
	if err != nil || string(data) != golden {
		t.Errorf("%s, %v", data, err)
	}
	if b, err := Decode([]byte(golden)); err != nil || b != first {
		t.Errorf("%+v, %v", b, err)
	}
}

// bad is what is no binding, and a word of why.
var bad = map[string]struct{ data, why string }{
	"empty":              {"", "empty"},
	"blank":              {" \n", "blank"},
	"torn":               {golden[:len(golden)-9], ""},
	"two":                {golden + golden, ""},
	"null":               {"null", "null"},
	"another schema":     {strings.Replace(golden, "binding/1", "binding/2", 1), "schema"},
	"an unknown member":  {strings.Replace(golden, `{`, `{"attempt":"0123456789abcdef",`, 1), "not known"},
	"a member twice":     {strings.Replace(golden, `{`, `{"try":1,`, 1), "twice"},
	"a member missing":   {strings.Replace(golden, `,"try":1`, "", 1), "missing"},
	"a member of null":   {strings.Replace(golden, `"try":1`, `"try":null`, 1), "null"},
	"another spelling":   {strings.Replace(golden, `"try"`, `"Try"`, 1), "not known"},
	"try 0":              {strings.Replace(golden, `"try":1`, `"try":0`, 1), "from 1"},
	"try −1":             {strings.Replace(golden, `"try":1`, `"try":-1`, 1), "from 1"},
	"a try in words":     {strings.Replace(golden, `"try":1`, `"try":"1"`, 1), "integer"},
	"no node":            {strings.Replace(golden, "fix-login", "Fix Login", 1), "no name of a node"},
	"no claim":           {strings.Replace(golden, "d18d", "D18D", 1), "no id of an event"},
	"a holder by name":   {strings.Replace(golden, string(ada), "ada", 1), "names nobody"},
	"too many bytes":     {golden + strings.Repeat(" ", maxBinding), "over 4096 bytes"},
	"a byte order mark":  {"\ufeff" + golden, ""},
	"a list of bindings": {"[" + golden + "]", "object"},
}

// Red when: Decode takes unknown members (canon.DecodeOpen), or leaves out check or one
// of its lines, or the schema.
func TestWhatIsNoBindingIsRefusedWithItsReason(t *testing.T) {
	for name, c := range bad {
		b, err := Decode([]byte(c.data))
		if err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %+v, %v", name, b, err)
		}
	}
}

// Red when: encode leaves out check.
func TestNothingUnreadableIsEncoded(t *testing.T) {
	for _, b := range []Binding{{}, {"fix-login", claim, 0, ada}, {"Fix", claim, 1, ada}, {"fix-login", "d18d", 1, ada}, {"fix-login", claim, 1, "ada"}} {
		if data, err := b.encode(); err == nil {
			t.Errorf("%s", data)
		}
	}
}

// FuzzDecode: what is a binding is written and read again as the same, and no bytes
// break the reader.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(golden))
	for _, c := range bad {
		f.Add([]byte(c.data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := Decode(data)
		if err != nil {
			return
		}
		again, err := b.encode()
		if err != nil {
			t.Fatalf("%s was read as %+v, and cannot be written: %v", data, b, err)
		}
		if c, err := Decode(again); err != nil || c != b {
			t.Errorf("%s: %+v, %v", again, c, err)
		}
		if !keyShape.MatchString(string(b.Attempt())) {
			t.Errorf("%s", b.Attempt())
		}
	})
}
