package access

import (
	"errors"
	"testing"

	"holdfast/internal/problem"
)

// The table of booth.md, written out by hand a second time. The columns:
//
//	anonymous, operator, observer, worker at its booth, worker at another, worker at none, frame at its booth, frame at another
//
// Red when: any cell of rules is flipped; allowWorker drops its comparison
// with booth, or its guard against an empty one; Allow asks what anyone may do
// for a Frame.
var rights = map[Action]string{
	ReadPublic:     "+ + + + + + O O",
	SignIn:         "+ + + + + + O O",
	ReadContent:    "S + O O O O + B",
	ReadPages:      "+ + + + + + O O",
	ReadMetrics:    "+ + + + + + O O",
	RecordView:     "S + O O O O O O",
	Publish:        "S + O + B B O O",
	Ask:            "S + O + B B O O",
	Withdraw:       "S + O + B B O O",
	Note:           "S + O + B B O O",
	Flag:           "S + O + B B O O",
	Repair:         "S + O + B B O O",
	Progress:       "S + O + B B O O",
	Result:         "S + O + B B O O",
	Answer:         "S + O O O O O O",
	Keep:           "S + O O O O O O",
	Delete:         "S + O O O O O O",
	ChangePlan:     "S + O O O O O O",
	Accept:         "S + O O O O O O",
	Operate:        "S + O O O O O O",
	MintSignInLink: "S + O O O O O O",
}

// What a required login changes.
var rightsWithLogin = map[Action]string{
	ReadPages:   "S + + + B B O O",
	ReadMetrics: "S + + O O O O O",
}

var columns = []struct {
	name  string
	party Party
	booth string
}{
	{"anonymous", Anonymous{}, "demo"},
	{"operator", Operator{Principal: "ann"}, "demo"},
	{"observer", Observer{}, "demo"},
	{"worker", Worker{"demo"}, "demo"},
	{"worker at another booth", Worker{"other"}, "demo"},
	{"worker at no booth", Worker{"demo"}, ""},
	{"frame", Frame{"demo", "s1"}, "demo"},
	{"frame of another booth", Frame{"other", "s1"}, "demo"},
}

var steps = map[byte]string{
	'+': "", 'S': problem.StepNotSignedIn, 'O': problem.StepNotOperator, 'B': StepOtherBooth,
}

func TestEveryPartyMayDoExactlyWhatTheTableSays(t *testing.T) {
	if len(rights) != len(Actions()) || len(Actions()) != len(rules) {
		t.Fatalf("%d rows here, %d actions, %d rules", len(rights), len(Actions()), len(rules))
	}
	for _, a := range Actions() {
		withLogin, changed := rightsWithLogin[a]
		if !changed {
			withLogin = rights[a]
		}
		checkRow(t, Policy{}, a, rights[a])
		checkRow(t, Policy{LoginRequired: true}, a, withLogin)
	}
}

func checkRow(t *testing.T, pol Policy, a Action, row string) {
	t.Helper()
	for i, column := range columns {
		if got, want := step(pol.Allow(column.party, a, column.booth)), steps[row[2*i]]; got != want {
			t.Errorf("%+v: %s, %v: %q, want %q", pol, column.name, a, got, want)
		}
	}
}

func step(err error) string {
	if err == nil {
		return ""
	}
	var e *problem.Error
	if !errors.As(err, &e) {
		return "no public words"
	}
	if e.Kind != problem.Refused {
		return e.Kind.String() + " " + e.Step
	}
	return e.Step
}

// Red when: Allow's default arm or the checks on empty members answer nil.
func TestNoZeroValueIsARight(t *testing.T) {
	parties := []Party{nil, Operator{}, &Operator{Principal: "ann"}, Worker{}, Frame{}, Frame{Booth: "demo"}, Frame{Session: "s1"}}
	for _, p := range parties {
		for _, a := range []Action{Delete, Publish, ReadContent} {
			for _, booth := range []string{"", "demo"} {
				if err := (Policy{}).Allow(p, a, booth); err == nil {
					t.Errorf("%#v may %v at %q", p, a, booth)
				}
			}
		}
	}
	for _, a := range []Action{0, Action(len(rules) + 1), 255} {
		if err := (Policy{}).Allow(Operator{Principal: "ann"}, a, ""); err == nil || a.Valid() {
			t.Errorf("%v is allowed", a)
		}
	}
}

// Red when: allowFrame forgets the policy.
func TestAFrameMadeForNobodyEndsWhenALoginIsRequired(t *testing.T) {
	f := Frame{"demo", AnonymousSession}
	if err := (Policy{}).Allow(f, ReadContent, "demo"); err != nil {
		t.Error(err)
	}
	if got := step(Policy{LoginRequired: true}.Allow(f, ReadContent, "demo")); got != problem.StepNotSignedIn {
		t.Errorf("step %q", got)
	}
}
