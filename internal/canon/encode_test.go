package canon_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"holdfast/internal/canon"
)

// The examples of RFC 8785: sections 3.2.2 and 3.2.4, 3.2.3, appendix B.
func TestTheExamplesOfTheStandard(t *testing.T) {
	for name, c := range map[string]struct{ in, out string }{
		"3.2.2": {
			`{
  "numbers": [333333333.33333329, 1E30, 4.50,
              2e-3, 0.000000000000000000000000001],
  "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
  "literals": [null, true, false]
}`,
			`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],` +
				`"string":"€$\u000f\nA'B\"\\\\\"/"}`,
		},
		"3.2.3": {
			`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One",` +
				`"\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`,
			`{"\r":"Carriage Return","1":"One","` + "\u0080" + `":"Control","ö":"Latin Small Letter O With Diaeresis",` +
				`"€":"Euro Sign","😀":"Emoji: Grinning Face","` + "\ufb33" + `":"Hebrew Letter Dalet With Dagesh"}`,
		},
	} {
		for _, v := range []any{new(any), new(json.RawMessage)} {
			if err := canon.Decode([]byte(c.in), v); err != nil {
				t.Fatal(err)
			}
			out, err := canon.Encode(v)
			if err != nil || string(out) != c.out {
				t.Errorf("%s through %T:\n%s %v\nwant\n%s", name, v, out, err, c.out)
			}
		}
	}
}

func TestTheNumbersOfTheStandard(t *testing.T) {
	for bits, want := range map[uint64]string{
		0x0000000000000000: "0",
		0x8000000000000000: "0",
		0x0000000000000001: "5e-324",
		0x8000000000000001: "-5e-324",
		0x7fefffffffffffff: "1.7976931348623157e+308",
		0xffefffffffffffff: "-1.7976931348623157e+308",
		0x4340000000000000: "9007199254740992",
		0xc340000000000000: "-9007199254740992",
		0x4430000000000000: "295147905179352830000",
		0x44b52d02c7e14af5: "9.999999999999997e+22",
		0x44b52d02c7e14af6: "1e+23",
		0x44b52d02c7e14af7: "1.0000000000000001e+23",
		0x444b1ae4d6e2ef4e: "999999999999999700000",
		0x444b1ae4d6e2ef4f: "999999999999999900000",
		0x444b1ae4d6e2ef50: "1e+21",
		0x3eb0c6f7a0b5ed8c: "9.999999999999997e-7",
		0x3eb0c6f7a0b5ed8d: "0.000001",
		0x41b3de4355555553: "333333333.3333332",
		0x41b3de4355555554: "333333333.33333325",
		0x41b3de4355555555: "333333333.3333333",
		0x41b3de4355555556: "333333333.3333334",
		0x41b3de4355555557: "333333333.33333343",
		0xbecbf647612f3696: "-0.0000033333333333333333",
		0x43143ff3c1cb0959: "1424953923781206.2",
	} {
		out, err := canon.Encode(math.Float64frombits(bits))
		if err != nil || string(out) != want {
			t.Errorf("%016x: %s %v, want %s", bits, out, err, want)
		}
	}
}

// encoding/json writes all but the first four of these without complaint.
// Without faithful, the texts come out with U+FFFD in them, the integers with
// other digits, the lists as null.
func TestEncodeRefusesWhatWouldComeOutAsSomethingElse(t *testing.T) {
	deep := any(0)
	for range canon.MaxDepth + 1 {
		deep = []any{deep}
	}
	type loop struct {
		Next *loop `json:"next"`
	}
	round := &loop{}
	round.Next = round
	for name, c := range map[string]struct {
		v      any
		path   string
		reason string
	}{
		"NaN":              {[]any{math.NaN()}, "$", "NaN"},
		"infinity":         {math.Inf(-1), "$", "Inf"},
		"channel":          {make(chan int), "$", "chan"},
		"cycle":            {round, "$", "cycle"},
		"text":             {mark{ID: "a\xff"}, "$.id", "not UTF-8"},
		"text in any":      {map[string]any{"k": []any{"\xc3("}}, "$.k[0]", "not UTF-8"},
		"text of embedded": {mark{place: place{Item: "\xff"}}, "$.item", "not UTF-8"},
		"member's name":    {map[string]int{"\xff": 1}, `$["\xff"]`, "not UTF-8"},
		"label":            {[]label{1, 0}, "$[1]", "not UTF-8"},
		"label's pointer":  {[]*label{new(label)}, "$[0]", "not UTF-8"},
		"raw text":         {json.RawMessage("\"\xff\""), "$", "not UTF-8"},
		"raw half pair":    {json.RawMessage(`["\ud800"]`), "$[0]", "half a surrogate"},
		"raw duplicate":    {json.RawMessage(`{"a":1,"a":1}`), "$.a", "twice"},
		"raw huge":         {json.RawMessage(`1e400`), "$", "beyond a double"},
		"raw digits":       {json.RawMessage(`9007199254740993`), "$", "loses digits"},
		"large int":        {int64(1 << 53), "$", "beyond"},
		"low int":          {[]int{-(1 << 53)}, "$[0]", "beyond"},
		"large uint":       {uint64(math.MaxUint64), "$", "beyond"},
		"nil slice":        {book{}, "$.marks", "nil slice"},
		"nil map":          {map[string]any{"m": map[string]int(nil)}, "$.m", "nil map"},
		"number keys":      {map[int]int{1: 1}, "$", "no plain strings"},
		"deep":             {deep, "$" + strings.Repeat("[0]", canon.MaxDepth), "deeper"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := canon.Encode(c.v)
			e, ok := err.(*canon.Error)
			if !ok || e.Path != c.path || !strings.Contains(e.Reason, c.reason) {
				t.Fatalf("got %s, %v; want %s and %q", out, err, c.path, c.reason)
			}
		})
	}
}

func TestEncodeKeepsHonestReplacementCharactersAndMarkup(t *testing.T) {
	out, err := canon.Encode(map[string]any{"v": "\uFFFD<&>\u2028\u007f", "raw": json.RawMessage(`"\ufffd"`)})
	if want := "{\"raw\":\"\uFFFD\",\"v\":\"\uFFFD<&>\u2028\u007f\"}"; err != nil || string(out) != want {
		t.Fatalf("%q %v, want %q", out, err, want)
	}
}

func TestEncodeLeavesOutWhatTheTagLeavesOut(t *testing.T) {
	out, err := canon.Encode(mark{ID: "a", hidden: 1})
	if want := `{"id":"a","needed":null,"rev":0}`; err != nil || string(out) != want {
		t.Fatalf("%s %v, want %s", out, err, want)
	}
}

func TestDigestIsOfTheCanonicalBytes(t *testing.T) {
	a, err := canon.Digest(json.RawMessage(`{"b":1.0,"a":"\u0041"}`))
	if err != nil {
		t.Fatal(err)
	}
	b, err := canon.Digest(map[string]any{"a": "A", "b": 1})
	// sha256 of {"a":"A","b":1}
	const want = "2fbac9efdc203ac32532d2f2dc78f5009d3f0cc6649bcd905622e1e50aa7e28e"
	if err != nil || a != b || a != want {
		t.Fatalf("%s and %s, %v; want %s", a, b, err, want)
	}
}

func TestWhatEncodeWritesDecodeReads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := mark{
			ID:      rapid.String().Draw(t, "id"),
			Rev:     rapid.IntRange(-(1<<53-1), 1<<53-1).Draw(t, "rev"),
			Ratio:   rapid.Float64().Draw(t, "ratio"),
			Bytes:   rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"),
			Options: rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "options"),
		}
		first, err := canon.Encode(in)
		if err != nil {
			t.Fatal(err)
		}
		var back mark
		if err := canon.Decode(first, &back); err != nil {
			t.Fatalf("%s: %v", first, err)
		}
		second, err := canon.Encode(back)
		if err != nil || string(first) != string(second) {
			t.Fatalf("%s, then %s, %v", first, second, err)
		}
	})
}

// checkFixpoint: what is accepted can be written, and writing it is a fixpoint.
func checkFixpoint[T any](t *testing.T, data []byte) {
	t.Helper()
	var v, w T
	if canon.Decode(data, &v) != nil {
		return
	}
	if !json.Valid(data) {
		t.Fatalf("accepted what is no JSON: %q", data)
	}
	first, err := canon.Encode(v)
	if err != nil {
		t.Fatalf("accepted %q, and cannot write it: %v", data, err)
	}
	if err := canon.Decode(first, &w); err != nil {
		t.Fatalf("%q became %q: %v", data, first, err)
	}
	second, err := canon.Encode(w)
	if err != nil || string(first) != string(second) {
		t.Fatalf("%q became %q, then %q, %v", data, first, second, err)
	}
}

func FuzzDecodeIsTotalAndEncodeAFixpoint(f *testing.F) {
	for _, seed := range []string{
		"", " ", "null", `{}`, `[1,2.5e3,-0,1e400,"\ud83d\ude00"]`, `{"a":{"a":[]},"a":1}`, "\xef\xbb\xbf1", `"\ud800"`,
		`{"marks":[{` + least + `,"small":255,"ratio":0.5,"at":"2026-01-02T03:04:05Z","labels":["two"],"bytes":"AQI=",` +
			`"pair":[3,4],"options":{"k":"v"},"extra":{"b": 1 },"anything":[null],"item":"a.png"}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		checkFixpoint[any](t, data)
		checkFixpoint[book](t, data)
		checkFixpoint[json.RawMessage](t, data)
		checkFixpoint[map[string]float32](t, data)
		if err := canon.Scan(data); err == nil && !json.Valid(data) {
			t.Fatalf("Scan accepted what is no JSON: %q", data)
		}
	})
}
