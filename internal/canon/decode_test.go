package canon_test

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/canon"
)

// label is a type that reads itself from a string.
type label uint8

func (l *label) UnmarshalText(b []byte) error {
	switch string(b) {
	case "one":
		*l = 1
	case "two":
		*l = 2
	default:
		return errors.New("no such label")
	}
	return nil
}

func (l label) MarshalText() ([]byte, error) {
	return []byte([...]string{"\xff", "one", "two"}[l]), nil
}

// mark stands for a stored document with a bit of everything.
type mark struct {
	ID       string            `json:"id"`
	Rev      int               `json:"rev"`
	Small    uint8             `json:"small,omitempty"`
	Ratio    float64           `json:"ratio,omitempty"`
	At       time.Time         `json:"at,omitzero"`
	Open     *bool             `json:"open,omitempty"`
	Needed   *string           `json:"needed"`
	Labels   []label           `json:"labels,omitempty"`
	Bytes    []byte            `json:"bytes,omitempty"`
	Pair     [2]int            `json:"pair,omitzero"`
	Options  map[string]string `json:"options,omitempty"`
	Extra    json.RawMessage   `json:"extra,omitempty"`
	Anything any               `json:"anything,omitempty"`
	place
	hidden int
}

type place struct {
	Item string `json:"item,omitempty"`
}

type book struct {
	Marks []mark `json:"marks"`
}

const least = `"id":"a","rev":1,"needed":null`

func TestDecodeFillsEveryKindOfField(t *testing.T) {
	var got mark
	err := canon.Decode([]byte(` {`+least+`,"small":255,"ratio":0.5,"at":"2026-01-02T03:04:05Z","open":false,
		"labels":["two","one"],"bytes":"AQI=","pair":[3,4],"options":{"k":"v"},"extra":{"b": 1 },
		"anything":[null,{"x":1}],"item":"a.png"} `), &got)
	if err != nil {
		t.Fatal(err)
	}
	no := false
	want := mark{
		ID: "a", Rev: 1, Small: 255, Ratio: 0.5, At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Open: &no,
		Labels: []label{2, 1}, Bytes: []byte{1, 2}, Pair: [2]int{3, 4}, Options: map[string]string{"k": "v"},
		Extra: json.RawMessage(`{"b": 1 }`), Anything: []any{nil, map[string]any{"x": 1.0}}, place: place{Item: "a.png"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(mark{}, place{})); diff != "" {
		t.Fatal(diff)
	}
}

// Each line goes red without the check that it names; they were tried one by
// one, most by deleting the condition.
func TestDecodeRefusesWithPathAndReason(t *testing.T) {
	for name, c := range map[string]struct{ doc, path, reason string }{
		"empty":               {"", "$", "empty"},
		"blank":               {" \n\t", "$", "blank"},
		"byte order mark":     {"\xef\xbb\xbf{}", "$", "byte order mark"},
		"not UTF-8":           {`{"marks":[{"id":"` + "\xff" + `"}]}`, "$", "byte 17 is not UTF-8"},
		"surrogate as bytes":  {`{"marks":"` + "\xed\xa0\x80" + `"}`, "$", "byte 10 is not UTF-8"},
		"trailing value":      {`{"marks":[]} {}`, "$", "more follows the document at byte 13"},
		"trailing comma":      {`{"marks":[],}`, "$", "member's name"},
		"comma in array":      {`{"marks":[1,]}`, "$.marks[1]", "a value"},
		"cut short":           {`{"marks":[{"id":"a"`, "$.marks[0]", "the document ends"},
		"NUL":                 {"{\"marks\":\x00}", "$.marks", "a value"},
		"only a NUL":          {"\x00", "$", "a value"},
		"leading zero":        {`{"marks":[{"rev":01}]}`, "$.marks[0]", "a comma or }"},
		"single quotes":       {`{'marks':[]}`, "$", "a member's name"},
		"bare control":        {"{\"marks\":\"\t\"}", "$.marks", "a character of a string"},
		"bad escape":          {`{"marks":"\x"}`, "$.marks", "an escape"},
		"bad hex":             {`{"marks":"\u00g0"}`, "$.marks", "a hexadecimal digit"},
		"short hex":           {`{"marks":"\u00`, "$.marks", "the document ends"},
		"lone high":           {`{"marks":"\ud800"}`, "$.marks", "half a surrogate pair"},
		"lone low":            {`{"marks":"\udc00"}`, "$.marks", "half a surrogate pair"},
		"high before letter":  {`{"marks":"\ud800\u0041"}`, "$.marks", "half a surrogate pair"},
		"duplicate":           {`{"marks":[],"marks":[]}`, "$.marks", "twice"},
		"duplicate, escaped":  {`{"marks":[],"m\u0061rks":[]}`, "$.marks", "twice"},
		"duplicate in any":    {`{"marks":[{` + least + `,"anything":{"x":{"a b":1,"a b":1}}}]}`, `$.marks[0].anything.x["a b"]`, "twice"},
		"duplicate in raw":    {`{"marks":[{` + least + `,"extra":{"x":1,"x":1}}]}`, "$.marks[0].extra.x", "twice"},
		"duplicate in map":    {`{"marks":[{` + least + `,"options":{"x":"1","x":"1"}}]}`, "$.marks[0].options.x", "twice"},
		"unknown":             {`{"marks":[],"more":1}`, "$.more", "not known"},
		"unknown by case":     {`{"Marks":[]}`, "$.Marks", "not known"},
		"unexported":          {`{"marks":[{` + least + `,"hidden":1}]}`, "$.marks[0].hidden", "not known"},
		"missing":             {`{}`, "$.marks", "missing"},
		"missing pointer":     {`{"marks":[{"id":"a","rev":1}]}`, "$.marks[0].needed", "missing"},
		"null document":       {`null`, "$", "null"},
		"null list":           {`{"marks":null}`, "$.marks", "null"},
		"null struct":         {`{"marks":[null]}`, "$.marks[0]", "null"},
		"null string":         {`{"marks":[{"id":null,"rev":1,"needed":""}]}`, "$.marks[0].id", "null"},
		"null time":           {`{"marks":[{` + least + `,"at":null}]}`, "$.marks[0].at", "null"},
		"null label":          {`{"marks":[{` + least + `,"labels":[null]}]}`, "$.marks[0].labels[0]", "null"},
		"null map":            {`{"marks":[{` + least + `,"options":null}]}`, "$.marks[0].options", "null"},
		"bad time":            {`{"marks":[{` + least + `,"at":"yesterday"}]}`, "$.marks[0].at", "parsing time"},
		"bad label":           {`{"marks":[{` + least + `,"labels":["one","six"]}]}`, "$.marks[0].labels[1]", "no such label"},
		"label as number":     {`{"marks":[{` + least + `,"labels":[1]}]}`, "$.marks[0].labels[0]", "a number where a string is wanted"},
		"string for a number": {`{"marks":[{"id":"a","rev":"1","needed":null}]}`, "$.marks[0].rev", "a string where an integer is wanted"},
		"fraction":            {`{"marks":[{"id":"a","rev":1.0,"needed":null}]}`, "$.marks[0].rev", "not an integer"},
		"exponent":            {`{"marks":[{"id":"a","rev":1e2,"needed":null}]}`, "$.marks[0].rev", "not an integer"},
		"beyond a double":     {`{"marks":[{"id":"a","rev":9007199254740992,"needed":null}]}`, "$.marks[0].rev", "53 bits"},
		"beyond uint8":        {`{"marks":[{` + least + `,"small":256}]}`, "$.marks[0].small", "8 bits"},
		"below zero":          {`{"marks":[{` + least + `,"small":-1}]}`, "$.marks[0].small", "from 0 up"},
		"negative zero":       {`{"marks":[{"id":"a","rev":-0,"needed":null}]}`, "$.marks[0].rev", "negative zero"},
		"negative zero float": {`{"marks":[{` + least + `,"ratio":-0.0e5}]}`, "$.marks[0].ratio", "negative zero"},
		"huge":                {`{"marks":[{` + least + `,"ratio":1e400}]}`, "$.marks[0].ratio", "beyond a double"},
		"tiny":                {`{"marks":[{` + least + `,"ratio":1e-400}]}`, "$.marks[0].ratio", "too small"},
		"digits lost in any":  {`{"marks":[{` + least + `,"anything":[9007199254740993]}]}`, "$.marks[0].anything[0]", "loses digits"},
		"digits lost in raw":  {`{"marks":[{` + least + `,"extra":[9007199254740993]}]}`, "$.marks[0].extra[0]", "loses digits"},
		"short array":         {`{"marks":[{` + least + `,"pair":[1]}]}`, "$.marks[0].pair", "1 elements where 2"},
		"long array":          {`{"marks":[{` + least + `,"pair":[1,2,3]}]}`, "$.marks[0].pair", "3 elements where 2"},
		"object for list":     {`{"marks":{}}`, "$.marks", "an object where an array is wanted"},
		"list for object":     {`[]`, "$", "an array where an object is wanted"},
		"not base64":          {`{"marks":[{` + least + `,"bytes":"?"}]}`, "$.marks[0].bytes", "base64"},
	} {
		t.Run(name, func(t *testing.T) {
			got := book{Marks: []mark{{ID: "before"}}}
			err := canon.Decode([]byte(c.doc), &got)
			var e *canon.Error
			if !errors.As(err, &e) {
				t.Fatalf("Decode said %v, want a *canon.Error", err)
			}
			if e.Path != c.path || !strings.Contains(e.Reason, c.reason) {
				t.Errorf("said %q %q, want %q and a reason with %q", e.Path, e.Reason, c.path, c.reason)
			}
			if len(got.Marks) != 1 || got.Marks[0].ID != "before" {
				t.Error("a refused document changed the value")
			}
		})
	}
}

func TestEmptyAndBlankAreToldApart(t *testing.T) {
	var v any
	if err := canon.Decode(nil, &v); !errors.Is(err, canon.ErrEmpty) || errors.Is(err, canon.ErrBlank) {
		t.Errorf("no bytes: %v", err)
	}
	if err := canon.Scan([]byte("\n")); !errors.Is(err, canon.ErrBlank) || errors.Is(err, canon.ErrEmpty) {
		t.Errorf("a line's end: %v", err)
	}
}

// Without the copy into a fresh value, the old map keeps its key.
func TestDecodeForgetsWhatTheValueHeld(t *testing.T) {
	v := map[string]int{"old": 1}
	if err := canon.Decode([]byte(`{"new":2}`), &v); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{"new": 2}, v); diff != "" {
		t.Fatal(diff)
	}
}

func TestDepthIsCappedAndTheCapItselfIsAllowed(t *testing.T) {
	nested := func(n int) []byte { return []byte(strings.Repeat("[", n) + strings.Repeat("]", n)) }
	var v any
	if err := canon.Decode(nested(canon.MaxDepth), &v); err != nil {
		t.Errorf("at the cap: %v", err)
	}
	for _, n := range []int{canon.MaxDepth + 1, 1 << 20} {
		if err := canon.Scan(nested(n)); err == nil || !strings.Contains(err.Error(), "deeper") {
			t.Errorf("%d levels: %v", n, err)
		}
	}
}

func TestScanKeepsToTheForm(t *testing.T) {
	for _, doc := range []string{`{"unknown":null}`, `1e400`, `-0`, `12345678901234567890`, `"\ud83d\ude00"`, " true\n", `[-1.5e+3]`} {
		if err := canon.Scan([]byte(doc)); err != nil {
			t.Errorf("%s: %v", doc, err)
		}
	}
}

func TestTypesWithoutOneMeaningAreRefused(t *testing.T) {
	type twice struct {
		A int `json:"B"`
		B int
	}
	type quoted struct {
		A int `json:"a,string"`
	}
	type hidden struct {
		*place
	}
	type clash struct {
		place
		Item string `json:"item"`
	}
	for _, v := range []any{
		new(twice), new(quoted), new(hidden), new(clash), new(map[int]string), new(map[label]string),
		new(interface{ M() }), new(json.Number), new(chan int), new(complex64),
	} {
		for _, doc := range []string{`{}`, `1`} {
			if err := canon.Decode([]byte(doc), v); err == nil || !strings.Contains(err.Error(), "cannot decode into the type") {
				if doc == `{}` && reflect.TypeOf(v).Elem().Kind() != reflect.Struct && reflect.TypeOf(v).Elem().Kind() != reflect.Map {
					continue // told by the other document
				}
				t.Errorf("%T from %s: %v", v, doc, err)
			}
		}
	}
	for _, v := range []any{nil, mark{}, (*mark)(nil)} {
		if err := canon.Decode([]byte(`{}`), v); err == nil {
			t.Errorf("%T is no place to decode into", v)
		}
	}
}

// outer decodes itself with canon, as a sealed sum does.
type outer struct{ inner book }

func (o *outer) UnmarshalJSON(b []byte) error { return canon.Decode(b, &o.inner) }

func TestATypeThatDecodesItselfKeepsItsPath(t *testing.T) {
	var v struct {
		Body outer `json:"body"`
	}
	err := canon.Decode([]byte(`{"body":{"marks":[{}]}}`), &v)
	var e *canon.Error
	if !errors.As(err, &e) || e.Path != "$.body.marks[0].id" {
		t.Fatalf("got %v", err)
	}
}

func TestIntegersUpToTheBoundAreKept(t *testing.T) {
	for _, want := range []int64{1<<53 - 1, -(1<<53 - 1), 0, math.MinInt8} {
		var got int64
		if err := canon.Decode([]byte(strconv.FormatInt(want, 10)), &got); err != nil || got != want {
			t.Errorf("%d came back as %d, %v", want, got, err)
		}
	}
}

func TestIntegersBeyondTheirTypeAreRefused(t *testing.T) {
	for doc, v := range map[string]any{
		"128": new(int8), "-129": new(int8), "65536": new(uint16),
		"9007199254740992": new(uint64), "-9007199254740992": new(int64), "-1": new(uint),
	} {
		if err := canon.Decode([]byte(doc), v); err == nil || !strings.Contains(err.Error(), "is not an integer of at most") {
			t.Errorf("%s into %T: %v", doc, v, err)
		}
	}
}
