package lifetime

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	noon = time.Date(2026, 9, 22, 12, 0, 0, 0, time.UTC)
	day  = 24 * time.Hour
)

// quiet is a booth that nothing holds, last touched at noon.
func quiet() Facts {
	return Facts{Sentinel: SentinelAbsent{}, Marks: MarksRead{}, Tree: TreeWalked{Newest: noon}, Arrival: ArrivalSeen{}, Review: ReviewNone{}}
}

func with(change func(*Facts)) Facts {
	f := quiet()
	change(&f)
	return f
}

// TestEachFactHasItsState is the lifetime table. Red when a case of hold is
// taken out or two of them change places.
func TestEachFactHasItsState(t *testing.T) {
	cases := []struct {
		name  string
		facts Facts
		want  State
		line  string
	}{
		{"nothing holds", quiet(), Counting{noon.Add(day)}, "expires in 23h 59m"},
		{"kept", with(func(f *Facts) { f.Sentinel = SentinelPresent{"a reference"} }), Kept{Why: "a reference"}, "kept"},
		{
			"kept with damaged marks", with(func(f *Facts) {
				f.Sentinel, f.Marks = SentinelPresent{}, MarksDamaged{"it is blank"}
			}),
			Kept{Marks: "it is blank"},
			"kept · marks unreadable",
		},
		{"kept beats every hold", with(func(f *Facts) {
			*f = Facts{Sentinel: SentinelPresent{}, Marks: MarksRead{Open: 1}, Tree: TreeUnreadable{"x"}, Mount: "m"}
		}), Kept{}, "kept"},
		{"open", with(func(f *Facts) { f.Marks = MarksRead{Open: 2} }), Held{Reason: Open}, "held until answered"},
		{"marks", with(func(f *Facts) { f.Marks = MarksDamaged{"bad"} }), Held{MarksHold, "bad"}, "held · marks unreadable"},
		{"tree", with(func(f *Facts) { f.Tree = TreeUnreadable{"a/b"} }), Held{TreeHold, "a/b"}, "held · cannot be read: a/b"},
		{"sentinel", with(func(f *Facts) { f.Sentinel = SentinelUnreadable{"no permission"} }), Held{SentinelHold, "no permission"}, "held · keep marker unreadable"},
		{"mount", with(func(f *Facts) { f.Mount = "disk" }), Held{MountHold, "disk"}, "held · contains a mount"},
		{
			"open is asked before tree", with(func(f *Facts) { f.Marks, f.Tree = MarksRead{Open: 1}, TreeUnreadable{"x"} }),
			Held{Reason: Open},
			"held until answered",
		},
		{
			"marks before sentinel", with(func(f *Facts) { f.Marks, f.Sentinel = MarksDamaged{"m"}, SentinelUnreadable{"s"} }),
			Held{MarksHold, "m"},
			"held · marks unreadable",
		},
		{
			"tree before sentinel and mount", with(func(f *Facts) { f.Tree, f.Sentinel, f.Mount = TreeUnreadable{"t"}, SentinelUnreadable{"s"}, "m" }),
			Held{TreeHold, "t"},
			"held · cannot be read: t",
		},
		{
			"sentinel before mount", with(func(f *Facts) { f.Sentinel, f.Mount = SentinelUnreadable{"s"}, "m" }),
			Held{SentinelHold, "s"},
			"held · keep marker unreadable",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := Decide(c.facts, day)
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("state (-want +got):\n%s", d)
			}
			if line := Line(got, noon.Add(time.Second)); line != c.line {
				t.Errorf("line = %q, want %q", line, c.line)
			}
			if Rule(got, day) == "" {
				t.Error("the state has no rule to explain it")
			}
		})
	}
}

// TestAFactThatWasNotReadHolds: red when hold's default arms are taken out, so
// that a nil sum counts as "nothing there".
func TestAFactThatWasNotReadHolds(t *testing.T) {
	for name, f := range map[string]Facts{
		"no marks":    with(func(f *Facts) { f.Marks = nil }),
		"no tree":     with(func(f *Facts) { f.Tree = nil }),
		"no sentinel": with(func(f *Facts) { f.Sentinel = nil }),
		"nothing":     {},
	} {
		if _, held := Decide(f, day).(Held); !held {
			t.Errorf("%s: got %#v, want a hold", name, Decide(f, day))
		}
	}
}

// TestAgeIsOneSubtraction (INV-1): a held booth's age still says when it would
// expire. Red when Expiry looks at marks or sentinel.
func TestAgeIsOneSubtraction(t *testing.T) {
	held := with(func(f *Facts) { f.Marks, f.Sentinel = MarksRead{Open: 1}, SentinelPresent{} })
	got, ok := Expiry(held, day)
	if want := noon.Add(day); !ok || !got.Equal(want) {
		t.Errorf("Expiry = %v, %v; want %v", got, ok, want)
	}
	if _, ok := Expiry(with(func(f *Facts) { f.Tree = TreeUnreadable{"x"} }), day); ok {
		t.Error("a tree that was not walked has an expiry")
	}
}

func TestLineRoundsDownAndNeverGoesNegative(t *testing.T) {
	for in, want := range map[time.Duration]string{
		-time.Hour:                              "expires at the next sweep",
		0:                                       "expires at the next sweep",
		500 * time.Millisecond:                  "expires in 0s",
		59 * time.Second:                        "expires in 59s",
		61 * time.Second:                        "expires in 1m 1s",
		time.Hour:                               "expires in 1h",
		3*time.Hour + 20*time.Minute + 59*1e9:   "expires in 3h 20m",
		72*time.Hour + 5*time.Minute:            "expires in 3d",
		24*time.Hour + 23*time.Hour + 59*60*1e9: "expires in 1d 23h",
		time.Hour + 59*time.Second:              "expires in 1h",
	} {
		if got := Line(Counting{noon.Add(in)}, noon); got != want {
			t.Errorf("in %v: %q, want %q", in, got, want)
		}
	}
}
