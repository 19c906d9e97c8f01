package census

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/roadmap/snapshot"
)

var ns = snapshot.NamespaceOf("/srv/home/plan/carrier.git")

// at is the path of a snapshot of ns with a suffix of that letter.
func at(letter string) string {
	return "/srv/home/plan/snapshots/holdfast-roadmap-snapshot." + ns.String() + "." + strings.Repeat(letter, 10)
}

// golden is a receipt with all that one can have: the bytes are the format.
var golden = `{"close_failures":[{"at":"2026-01-02T03:04:05Z","exit_code":128,"operation":"record","schema":"holdfast.snapshot-close-failure/v1","seq":3,"stderr":"fatal: no","worktree":"` + at("A") + `"}],` +
	`"close_failures_covered":3,"namespace":"` + ns.String() + `","observed_at":"2026-01-02T12:00:00Z","present_across_censuses":["` + at("B") + `"],` +
	`"prior":{"close_failures_covered":2,"snapshots":["` + at("0") + `","` + at("B") + `"],"standing":"read"},"schema":"holdfast.roadmap-snapshot-census/v1",` +
	`"snapshots":[{"owner":{"standing":"alive"},"path":"` + at("A") + `","seen":"both"},` +
	`{"owner":{"evidence":"its lock","standing":"gone"},"path":"` + at("B") + `","seen":"git"},` +
	`{"owner":{"reason":"no file","standing":"unknown"},"path":"` + at("C") + `","seen":"folder"}]}`

func TestAReceiptIsReadAndWrittenAlike(t *testing.T) {
	r, err := Decode(ns, []byte(golden))
	if err != nil {
		t.Fatal(err)
	}
	data, err := Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(golden, string(data)); d != "" {
		t.Error(d)
	}
}

// case R14. Each row is what a check in check, checkFailures, owned or canon refuses:
// red when that one is left out.
func TestAReceiptThatContradictsItselfIsRefused(t *testing.T) {
	other := snapshot.NamespaceOf("/srv/other/plan/carrier.git").String()
	for name, c := range map[string]struct{ old, new, want string }{
		"empty":                        {golden, "", "the document is empty"},
		"blank":                        {golden, " \n", "the document is blank"},
		"torn":                         {golden[50:], "", ""},
		"not JSON":                     {golden, "x", ""},
		"another namespace":            {`"namespace":"` + ns.String(), `"namespace":"` + other, "of another namespace"},
		"another schema":               {`census/v1`, `census/v2`, "its schema"},
		"counts added":                 {`"schema":"holdfast.roadmap`, `"snapshot_count":3,"schema":"holdfast.roadmap`, "snapshot_count: the member is not known"},
		"a leak added":                 {`"schema":"holdfast.roadmap`, `"leaked":[],"schema":"holdfast.roadmap`, "leaked: the member is not known"},
		"a member missing":             {`"close_failures_covered":3,`, ``, "the member is missing"},
		"a member twice":               {`"close_failures_covered":3,`, `"close_failures_covered":3,"close_failures_covered":3,`, ""},
		"a path of another shape":      {`"path":"` + at("C"), `"path":"` + at("C") + "x", "has not the shape"},
		"a path of another namespace":  {`"path":"` + at("C"), `"path":"` + strings.Replace(at("C"), ns.String(), other, 1), "has not the shape"},
		"a path elsewhere":             {`"path":"` + at("C"), `"path":"/tmp` + at("C"), "has not the shape"},
		"a path that is no text":       {`"path":"` + at("C") + `"`, `"path":7`, ""},
		"a prior path of other shape":  {`"snapshots":["` + at("0"), `"snapshots":["` + at("-"), "has not the shape"},
		"a duplicate":                  {`"path":"` + at("C"), `"path":"` + at("B"), "twice"},
		"a prior duplicate":            {`"snapshots":["` + at("0"), `"snapshots":["` + at("B"), "twice"},
		"out of order":                 {`"path":"` + at("A"), `"path":"` + at("D"), "out of order"},
		"across, and not current":      {`censuses":["` + at("B"), `censuses":["` + at("0"), "not exactly"},
		"across, and not in the prior": {`censuses":["` + at("B"), `censuses":["` + at("A"), "not exactly"},
		"across is missing one":        {`censuses":["` + at("B") + `"]`, `censuses":[]`, "not exactly"},
		"across twice":                 {`censuses":["` + at("B"), `censuses":["` + at("B") + `","` + at("B"), "twice"},
		"across an absent prior":       {`{"close_failures_covered":2,"snapshots":["` + at("0") + `","` + at("B") + `"],"standing":"read"}`, `{"standing":"absent"}`, "not exactly"},
		"a prior without snapshots":    {`"snapshots":["` + at("0") + `","` + at("B") + `"],"standing":"read"`, `"standing":"read"`, "its prior"},
		"an absent prior with some":    {`"standing":"read"`, `"standing":"absent"`, "its prior"},
		"unreadable without a reason":  {`"standing":"read"`, `"standing":"unreadable"`, "its prior"},
		"an unknown prior":             {`"standing":"read"`, `"standing":"guessed"`, "its prior"},
		"a prior that covers -1":       {`{"close_failures_covered":2`, `{"close_failures_covered":-1`, "its prior"},
		"seen by nothing":              {`"seen":"both"`, `"seen":""`, "in no way"},
		"seen by an invalid":           {`"seen":"both"`, `"seen":"invalid"`, "in no way"},
		"alive with evidence":          {`{"standing":"alive"}`, `{"evidence":"x","standing":"alive"}`, "neither alive"},
		"gone without evidence":        {`{"evidence":"its lock","standing":"gone"}`, `{"standing":"gone"}`, "neither alive"},
		"gone with empty evidence":     {`"its lock"`, `""`, "neither alive"},
		"unknown without a reason":     {`{"reason":"no file","standing":"unknown"}`, `{"standing":"unknown"}`, "neither alive"},
		"a leaked owner":               {`"standing":"alive"`, `"standing":"leaked"`, "neither alive"},
		"a time with an offset":        {`T12:00:00Z`, `T12:00:00+00:00`, "its time"},
		"a time with a fraction":       {`T12:00:00Z`, `T12:00:00.5Z`, "its time"},
		"no time":                      {`2026-01-02T12:00:00Z`, ``, "its time"},
		"a failure left out":           {`"close_failures_covered":3,"n`, `"close_failures_covered":4,"n`, "not exactly those"},
		"a failure too many":           {`{"close_failures_covered":2`, `{"close_failures_covered":3`, "not exactly those"},
		"a failure of another number":  {`"seq":3`, `"seq":2`, "in their order"},
		"a failure with a member more": {`"seq":3`, `"seq":3,"x":1`, ""},
		"a negative number covered":    {`"close_failures_covered":3,"n`, `"close_failures_covered":-3,"n`, "negative"},
		"null snapshots":               {`"present_across_censuses":["` + at("B") + `"]`, `"present_across_censuses":null`, ""},
	} {
		text := strings.Replace(golden, c.old, c.new, 1)
		if text == golden {
			t.Fatalf("%s changes nothing", name)
		}
		if _, err := Decode(ns, []byte(text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What contradicts itself is not written either.
func TestWhatWouldNotBeReadIsNotWritten(t *testing.T) {
	r, err := Decode(ns, []byte(golden))
	if err != nil {
		t.Fatal(err)
	}
	r.PresentAcross = nil
	if _, err := Encode(r); err == nil {
		t.Error("written")
	}
	if _, err := Encode(Receipt{Namespace: ns}); err == nil {
		t.Error("written without a prior")
	}
}

func FuzzReceipt(f *testing.F) {
	f.Add([]byte(golden))
	f.Add([]byte(strings.Replace(golden, `"standing":"read"`, `"standing":"absent"`, 1)))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Decode(ns, data)
		if err != nil {
			return
		}
		once, err := Encode(r)
		if err != nil {
			t.Fatalf("it was read and cannot be written: %v", err)
		}
		again, err := Decode(ns, once)
		if err != nil {
			t.Fatal(err)
		}
		if twice, err := Encode(again); err != nil || string(twice) != string(once) {
			t.Errorf("%s, %v", twice, err)
		}
	})
}
