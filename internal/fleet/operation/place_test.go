package operation_test

import (
	"strings"
	"testing"
	"time"

	"holdfast/internal/fleet/operation"
	"holdfast/internal/fleet/roster"
)

// Red when: placement looks at boxes that are not active, or takes one of several.
func TestWhereWorkGoesIfNothingElseIsSaid(t *testing.T) {
	row := func(id, region string, s roster.State) roster.Box {
		return roster.Box{BoxID: id, Region: region, State: s, Role: "web"}
	}
	for what, c := range map[string]struct {
		boxes []roster.Box
		home  string
		role  string
		want  string // the box, or the step
	}{
		"none":                      {nil, "", "", "box-choice"},
		"the only one":              {[]roster.Box{row("a", "eu", roster.Active)}, "", "", "a"},
		"the only one, abroad":      {[]roster.Box{row("a", "eu", roster.Active)}, "us", "", "a"},
		"the only active one":       {[]roster.Box{row("a", "eu", roster.Quarantined), row("b", "eu", roster.Active), row("c", "eu", roster.Retired)}, "", "", "b"},
		"the one at home":           {[]roster.Box{row("a", "eu", roster.Active), row("b", "us", roster.Active)}, "us", "", "b"},
		"two":                       {[]roster.Box{row("a", "eu", roster.Active), row("b", "us", roster.Active)}, "", "", "box-choice"},
		"two at home":               {[]roster.Box{row("a", "eu", roster.Active), row("b", "eu", roster.Active)}, "eu", "", "box-choice"},
		"no such role":              {[]roster.Box{row("a", "eu", roster.Active)}, "", "db", "box-choice"},
		"the role":                  {[]roster.Box{row("a", "eu", roster.Active)}, "", "web", "a"},
		"home is quarantined, else": {[]roster.Box{row("a", "us", roster.Quarantined), row("b", "eu", roster.Active)}, "us", "", "b"},
	} {
		r := roster.New(fleetID, time.Second)
		r.HomeRegion = c.home
		for n, b := range c.boxes {
			r.Boxes[strings.Repeat(string(rune('1'+n)), 32)] = b
		}
		e, err := operation.Place(r, operation.Wish{Role: c.role})
		got := r.Boxes[e].BoxID
		if err != nil {
			got = step(err)
		}
		if got != c.want {
			t.Errorf("%s: %s", what, got)
		}
	}
}

func TestProofsThatCount(t *testing.T) {
	for _, c := range []struct {
		proof   string
		weak    bool
		allowed []string
		want    string
	}{
		{"namespace", false, nil, ""},
		{"weak", false, nil, "proof-weak"},
		{"weak", false, []string{"weak"}, "proof-weak"},
		{"weak", true, nil, ""},
		{"weak", true, []string{"namespace"}, "floor-proof"},
		{"namespace", false, []string{"cgroup"}, "floor-proof"},
		{"namespace", false, []string{"cgroup", "namespace"}, ""},
	} {
		err := operation.Counts("box-1", c.proof, "", c.weak, c.allowed)
		if (err == nil) != (c.want == "") || err != nil && step(err) != c.want {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
