package canon

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type openInner struct {
	Word string `json:"word"`
}

type openOuter struct {
	openInner

	N    *int                 `json:"n"`
	List []openInner          `json:"list"`
	By   map[string]openInner `json:"by"`
	Raw  json.RawMessage      `json:"raw"`
	Any  any                  `json:"any"`
}

// Red when a member is compared without its letters: each case has a second one
// that encoding/json would take for the first.
func TestDecodeOpenTakesExactNamesOnly(t *testing.T) {
	one := 1
	for data, want := range map[string]openOuter{
		`{}`:                                     {},
		` {"n":1,"N":2,"later":[{}]} `:           {N: &one},
		`{"N":2,"n":1}`:                          {N: &one},
		`{"N":2}`:                                {},
		`{"word":"a","Word":"b"}`:                {openInner: openInner{"a"}},
		`{"list":[{"word":"a","WORD":"b"},{}]}`:  {List: []openInner{{"a"}, {}}},
		`{"by":{"Word":{"word":"a","wOrd":""}}}`: {By: map[string]openInner{"Word": {"a"}}},
		`{"raw":{"N":1,"n":2}}`:                  {Raw: json.RawMessage(`{"N":1,"n":2}`)},
		`{"any":{"N":true},"n":null}`:            {Any: map[string]any{"N": true}},
		`{"list":null,"\u006e":1}`:               {N: &one},
	} {
		var got openOuter
		if err := DecodeOpen([]byte(data), &got); err != nil {
			t.Errorf("%s: %v", data, err)
		}
		if d := cmp.Diff(want, got, cmp.AllowUnexported(openOuter{})); d != "" {
			t.Errorf("%s: %s", data, d)
		}
	}
}

// Red when the document is not scanned.
func TestDecodeOpenRefusesWhatIsNoDocument(t *testing.T) {
	for _, data := range []string{"", " ", "[]", "7", `{"n":"1"}`, `{"n":1,"n":1}`, `{"later":1,"later":1}`, `{}{}`, `{"list":{}}`, "{\"word\":\"\xff\"}"} {
		var got openOuter
		if err := DecodeOpen([]byte(data), &got); err == nil {
			t.Errorf("%s: %+v", data, got)
		}
	}
	if DecodeOpen([]byte("{}"), openOuter{}) == nil || DecodeOpen([]byte("{}"), nil) == nil {
		t.Error("decoded into nothing")
	}
}

// Whatever is accepted is a document, and is accepted by encoding/json as well.
func FuzzDecodeOpen(f *testing.F) {
	f.Add([]byte(`{"n":1,"N":2,"list":[{"word":"a"}],"by":{"x":{}},"raw":[1],"any":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var got openOuter
		if DecodeOpen(data, &got) == nil && Scan(data) != nil {
			t.Fatalf("%q", data)
		}
	})
}
