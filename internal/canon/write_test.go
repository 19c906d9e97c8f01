package canon_test

import (
	"encoding/json"
	"math"
	"testing"

	"holdfast/internal/canon"

	"github.com/gowebpki/jcs"
	"pgregory.net/rapid"
)

// The canonical form is that of RFC 8785, as another implementation writes it.
//
// Red when: members are sorted by bytes, a character is escaped otherwise, or a number
// is spelt as encoding/json does.
func TestEncodeWritesWhatAnotherImplementationWrites(t *testing.T) {
	word := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.SampledFrom([]rune("a\u20ac\ufb33\U0001f602\u0080\u2028\u007f\x00\x1f\b\t\n\f\r\"\\\\/<>&"))))
	number := rapid.Float64().Filter(func(f float64) bool {
		return !math.IsInf(f, 0) && !math.IsNaN(f) && (math.Abs(f) < 1<<53 || f != math.Trunc(f))
	})
	leaf := rapid.OneOf(rapid.Map(word, func(s string) any { return s }), rapid.Map(number, func(f float64) any { return f }),
		rapid.Map(rapid.Int64Range(-1<<53+1, 1<<53-1), func(i int64) any { return i }), rapid.SampledFrom([]any{nil, true, false}))
	var value *rapid.Generator[any]
	depth := 0
	value = rapid.Custom(func(t *rapid.T) any {
		depth++
		defer func() { depth-- }()
		switch kind := rapid.IntRange(0, 3).Draw(t, "kind"); {
		case kind == 0 && depth < 5:
			return rapid.SliceOfN(value, 0, 4).Draw(t, "array")
		case kind == 1 && depth < 5:
			return rapid.MapOfN(word, value, 0, 5).Draw(t, "object")
		}
		return leaf.Draw(t, "leaf")
	})
	rapid.Check(t, func(t *rapid.T) {
		v := value.Draw(t, "value")
		loose, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		want, err := jcs.Transform(loose)
		if err != nil {
			return // it takes only arrays and objects
		}
		if have, err := canon.Encode(v); err != nil || string(have) != string(want) {
			t.Fatalf("%v\n%q\n%q", err, have, want)
		}
	})
}
